package user

import (
	"encoding/binary"
	"strings"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/probe"
)

// A breakpoint on an instruction that the kernel steps costs some thirty times
// what it costs on one that the kernel emulates. Where a function begins with
// instructions that only compute, and nothing else leads to behind them, the probe
// goes to the first one behind them that is emulated: it fires for the same calls
// and finds the same arguments. See docs/performance.md.

// Limits of what is looked at for a better place, bytes.
const (
	maxPrologue = 64
	maxFunction = 256 << 10
	maxCode     = 24 << 20 // of a file: all of it is searched for jumps
)

// argumentRegs are the registers of arguments, from the first on, by the numbers
// that instructions give them.
var argumentRegs = map[arch.ABI][]insn.Registers{
	arch.ABIC:  {1 << 7, 1 << 6, 1 << 2, 1 << 1, 1 << 8, 1 << 9},
	arch.ABIGo: {1 << 0, 1 << 3, 1 << 1, 1 << 7, 1 << 6, 1 << 8, 1 << 9, 1 << 10, 1 << 11},
}

// regsRead is what a program reads of the registers at the start of a function: the
// first arguments, and others where the stack is.
func regsRead(x arch.ABI, u probe.Uses) (regs insn.Registers) {
	list, n := argumentRegs[x], u.ArgN
	if u.Args {
		n = len(list) + 1
	}
	if n > len(list) {
		n, regs = len(list), insn.StackPointer
	}
	for _, r := range list[:n] {
		regs |= r
	}
	return regs
}

// A mover finds better places for the probes of a group in one file.
type mover struct {
	file   *exe.File
	moved  []uint64           // by point: how far, bytes
	beside map[uint64]*beside // by function
}

// beside is what the probes that the script has on calls of a function and on its first
// instructions leave to one that is moved: their order must stay what it is at the places that
// the script names.
type beside struct {
	start uint64         // in the file
	keep  insn.Registers // that one of them reads
	near  uint64         // how far behind the start the first instruction with a probe is; 0: there is none
	stays bool           // one of them stays at the start
}

// allBeside finds the probes of the script on the functions that some points of a group are on, all
// in one file. Those on the same calls move alike. Return probes have nothing to say at the start.
func allBeside(g *probe.Group, points []int, o *probe.Options) map[uint64]*beside {
	all := map[uint64]*beside{}
	for _, i := range points {
		if p := g.Points[i]; p.Kind.Retval == nil {
			all[p.Place.Func] = &beside{start: p.Place.Offset}
		}
	}
	for _, h := range o.Groups {
		for _, p := range h.Points {
			if p.Place == nil || p.Kind.Retval != nil || p.Target != g.Points[points[0]].Target {
				continue
			}
			b := all[p.Place.Func]
			if b == nil {
				continue
			}
			behind := p.Place.Offset - b.start
			if behind == 0 {
				b.keep |= regsRead(p.Place.ABI, h.Uses)
				b.stays = b.stays || !movable(h) || !mayMove(p)
			} else if b.near == 0 || behind < b.near {
				b.near = behind
			}
		}
	}
	return all
}

// movable reports whether probes of a group may stand behind the first instruction
// of their functions: the program does not ask where it is, nor for registers that
// are not arguments.
func movable(g *probe.Group) bool {
	u := g.Uses
	return !u.Regs && !u.Ctx && !u.Stack
}

// cheaperPlaces is how far each point of a group is moved; nil if none is.
func cheaperPlaces(g *probe.Group, o *probe.Options) []uint64 {
	// On ARM the kernel emulates few instructions, and stepping costs no more than that.
	if !movable(g) || insn.Native(o.Machine.Arch().GoArch) != insn.AMD64 {
		return nil
	}
	// Each file is opened once: all of its code is searched for jumps.
	files := map[string][]int{}
	for i, p := range g.Points {
		if mayMove(p) {
			files[p.Target] = append(files[p.Target], i)
		}
	}
	moved := make([]uint64, len(g.Points))
	for path, points := range files {
		file, err := o.Machine.Executables.Open(path)
		if err != nil {
			continue // who attaches says so
		}
		m := mover{file, moved, allBeside(g, points, o)}
		for _, i := range points {
			m.look(i, g.Points[i].Place, g)
		}
		file.Close()
	}
	return moved
}

// mayMove reports whether a point means calls of a function, not an instruction.
func mayMove(p *probe.Point) bool {
	written := p.Parts[len(p.Parts)-1].Text
	// The offset +0, if it is written, asks for the first instruction itself.
	pl := p.Place
	return pl.Err == nil && pl.Unsafe == nil && pl.Returns == nil && pl.Func != 0 &&
		pl.Size > 0 && pl.Size <= maxFunction && argumentRegs[pl.ABI] != nil &&
		p.Func != "" && p.Offset == 0 && p.Pattern.Source == nil && !strings.Contains(written, "+")
}

// look finds where the i-th point could go.
func (m *mover) look(i int, pl *probe.Place, g *probe.Group) {
	code := m.file.Code(pl.Func, pl.Size)
	if code == nil || hasTableJump(code) {
		return
	}
	// Instructions that write an argument the script reads are not passed: it would find what
	// they left there.
	keep := regsRead(pl.ABI, g.Uses)
	if g.Points[i].Kind.Retval != nil {
		keep = insn.StackPointer // the kernel looks for the return address there
	}
	if pl.ABI == arch.ABIGo {
		keep |= insn.GoroutineAt
	}
	near := uint64(maxPrologue)
	if b := m.beside[pl.Func]; b != nil {
		if b.stays {
			return
		}
		if keep |= b.keep; b.near > 0 {
			near = b.near
		}
	}
	n := uint64(insn.AMD64.Cheaper(code[:min(len(code), maxPrologue)], keep, pl.ABI == arch.ABIGo))
	if n == 0 || n >= near || m.nearJump(pl.Func, n) {
		return
	}
	if led := ledPlaces.Of(m.file); led != nil &&
		!led.anyIn(pl.Func+1, pl.Func+n) {
		m.moved[i] = n
	}
}

// nearJump reports whether a short jump around a function may lead to one of the n
// bytes behind its start.
func (m *mover) nearJump(fn, n uint64) bool {
	code, from := m.file.CodeAround(fn, insn.ShortReach, n+insn.ShortReach)
	return insn.MayJumpInto(code, int(fn+1-from), int(fn+n-from))
}

// hasTableJump reports whether code may jump to an address that it computes. What
// looks like it in the middle of another instruction counts as well.
func hasTableJump(code []byte) bool {
	for i, b := range code[:len(code)-1] {
		if b == 0xff && code[i+1]>>3&7 == 4 {
			return true
		}
	}
	return false
}

// places is a set of addresses in the code of a file.
type places struct {
	low  uint64
	bits []uint64 // from low on, one for each address
}

// maxSpan bounds how far apart the code of a file is, bytes.
const maxSpan = 4 * maxCode

// ledPlaces are the places that something leads to.
var ledPlaces = exe.FactOf(ledTo)

// ledTo finds the places that anything leads to: symbols, and what could be a jump,
// a call or the making of an address, which is taken for one wherever an instruction
// may start. It is nil for files of which that cannot be told.
func ledTo(file *exe.File) *places {
	low, high := file.CodeSpan()
	// The set has a bit for each address, and the search looks at each byte: for the largest
	// programs that is more than the probe would ever save.
	if file.CodeSize() > maxCode || high-low > maxSpan {
		return nil
	}
	led := &places{low, make([]uint64, (high-low)/64+1)}
	// A symbol may be called from another file, or by its address in a table.
	for s := range file.Symbols() {
		led.add(s.Addr)
	}
	// An instruction may start at any byte, since nobody knows where data lies between functions.
	// Taking more for jumps than are errs on the safe side: a probe stays where it was.
	const opcode, far = 2, 4 // bytes of an opcode, of the distance behind it
	all := file.Chunks(opcode+far, func(c exe.Chunk) {
		code := c.Code
		for i := 1; i+far <= len(code); i++ {
			if insn.LeadsTo(code[max(i-opcode, 0)], code[i-1]) {
				led.add(c.Addr + uint64(i) + far + uint64(int64(int32(binary.LittleEndian.Uint32(code[i:])))))
			}
		}
	})
	if !all {
		return nil
	}
	return led
}

// add notes an address. Those outside of the code wrap to large differences and are passed over.
func (s *places) add(addr uint64) {
	if at := addr - s.low; at/64 < uint64(len(s.bits)) {
		s.bits[at/64] |= 1 << (at % 64)
	}
}

// anyIn reports whether one of the addresses from first to last is in the set.
func (s *places) anyIn(first, last uint64) bool {
	for addr := first; addr <= last; addr++ {
		at := addr - s.low
		if at/64 < uint64(len(s.bits)) && s.bits[at/64]&(1<<(at%64)) != 0 {
			return true
		}
	}
	return false
}
