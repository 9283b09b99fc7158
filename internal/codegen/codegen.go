// Package codegen turns optimised IR into eBPF instructions: it selects
// instructions over virtual registers, has regalloc assign machine registers
// and frame slots, lays out the blocks and resolves every jump.
//
// The result refers to maps by number; Link puts file descriptors in:
//
//   - the address of map n is a 64-bit load with source PseudoMapFD and n as
//     its constant;
//   - the address of byte k of the data map is a 64-bit load with source
//     PseudoMapValue and k in the upper half of its constant;
//   - the address of a callback is a 64-bit load with source PseudoFunc and a
//     relative distance, final already;
//   - a piece is a call with source PseudoCall and a relative distance, final
//     already;
//   - a kernel function is a call with source PseudoKfuncCall and its BTF ID.
//
// No instruction carries metadata; symbols and references are not used.
package codegen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/regalloc"
	"github.com/hawktrace/hawk/internal/source"
)

// Options says what the target understands.
type Options struct {
	CPUv4     bool // sdiv, smod, movsx, ldsx, gotol
	BigEndian bool // byte order of the target
}

// A Code is one program ready to link.
type Code struct {
	Insns asm.Instructions
	Lines []Line // in order of Slot
	Funcs []Func // in order of Slot, main first
	// StackUsed is the frame size of the deepest call chain in bytes, with
	// each frame rounded up as the verifier does.
	StackUsed int
	Relocs    []Reloc

	longJumps bool
}

// A Line says that the instructions from Slot on come from a place in the script.
type Line struct {
	Slot int // in units of 8 bytes, as BTF line info and the verifier count
	At   source.Span
}

// A Func is where a function begins.
type Func struct {
	Slot    int // in units of 8 bytes
	Name    string
	NParams int
	Static  bool
	Piece   bool // global: of two parameters the second is the context; else they are numbers
	Stack   int  // bytes of its frame
}

// MaxStack is the stack of a call chain in bytes.
const MaxStack = 512

// ErrStack means that a frame, or a chain of them, does not fit the stack.
var ErrStack = errors.New("stack frame too large")

// ErrLong means that there are too many instructions for a jump to pass over.
var ErrLong = errors.New("program too long")

// Generate compiles p, whose objects have been placed (opt.Run does it). It
// does not change p. Errors are faults of an earlier stage, ErrStack or ErrLong.
func Generate(p *ir.Prog, o Options) (*Code, error) {
	e := &emitter{code: &Code{longJumps: o.CPUv4}, start: map[*ir.Func]int{},
		apart: slices.ContainsFunc(p.Funcs, func(f *ir.Func) bool { return f.Piece })}
	frames := map[*ir.Func]int{}
	for _, f := range p.Funcs {
		mf, err := selectFunc(f, o)
		if err != nil {
			return nil, err
		}
		if err := regalloc.Allocate(mf); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		// The verifier would refuse it too, but without a word about which of the script's values
		// are large.
		if mf.Frame > MaxStack {
			return nil, fmt.Errorf("%s: %w: %d bytes", f.Name, ErrStack, mf.Frame)
		}
		if err := e.fn(f, mf); err != nil {
			return nil, err
		}
		frames[f] = mf.Frame
	}
	e.code.StackUsed = frames[p.Funcs[0]]
	if len(p.Funcs) > 1 {
		e.code.StackUsed = deepest(p.Funcs[0], frames, map[*ir.Func]int{})
		if e.code.StackUsed > MaxStack {
			return nil, fmt.Errorf("%s: %w: %d bytes with the functions it calls", p.Name, ErrStack, e.code.StackUsed)
		}
	}
	if err := e.finish(); err != nil {
		return nil, err
	}
	return e.code, nil
}

// deepest is the stack that f and the deepest chain of functions under it
// take; known has the answers given so far.
func deepest(f *ir.Func, frames, known map[*ir.Func]int) int {
	if n, ok := known[f]; ok {
		return n
	}
	below := 0
	for _, c := range f.Callees() {
		below = max(below, deepest(c, frames, known))
	}
	known[f] = roundFrame(frames[f]) + below
	return known[f]
}

// roundFrame is the size the verifier reckons with when frames add up.
func roundFrame(n int) int { return max(n+31, 32) &^ 31 }

// Link is the code with file descriptors in place of the numbers of maps; the code itself stays as
// it is. dataFD is not used by programs that never touch the data map. A Code is linked once for
// each run, and once more for each way to load it that is tried.
func (c *Code) Link(mapFD func(n int) int, dataFD int) (*Code, error) {
	linked := *c
	linked.Insns = slices.Clone(c.Insns)
	for i := range linked.Insns {
		in := &linked.Insns[i]
		if in.OpCode != loadImm {
			continue
		}
		switch in.Src {
		case asm.PseudoMapFD:
			fd := mapFD(int(in.Constant))
			if fd < 0 {
				return nil, fmt.Errorf("map %d has no file descriptor", in.Constant)
			}
			in.Constant = int64(fd)
		case asm.PseudoMapValue:
			if dataFD < 0 {
				return nil, errors.New("the data map has no file descriptor")
			}
			// The upper half is the offset in the data map already.
			in.Constant = in.Constant&^(1<<32-1) | int64(dataFD)
		}
	}
	return &linked, nil
}

// Maps calls fn with the number of every map that the code refers to;
// data reports whether it refers to the data map.
func (c *Code) Maps(fn func(n int)) (data bool) {
	for i := range c.Insns {
		if in := &c.Insns[i]; in.OpCode == loadImm {
			switch in.Src {
			case asm.PseudoMapFD:
				fn(int(in.Constant))
			case asm.PseudoMapValue:
				data = true
			}
		}
	}
	return data
}

// Slots is the length of the code in units of 8 bytes.
func (c *Code) Slots() int {
	n := 0
	for i := range c.Insns {
		n += int(c.Insns[i].Width())
	}
	return n
}

// Marshal encodes the instructions in the machine's byte order, as the bpf
// system call takes them.
func (c *Code) Marshal() ([]byte, error) {
	out := make([]byte, 0, c.Slots()*asm.InstructionSize)
	for i := range c.Insns {
		var err error
		if out, err = encode(out, &c.Insns[i]); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	return out, nil
}

// hostBig is whether this machine stores the most significant byte first.
var hostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// encode appends the one or two slots of an instruction. The library's own
// Marshal does the same through an io.Writer, several times slower.
func encode(out []byte, in *asm.Instruction) ([]byte, error) {
	op := in.OpCode
	off, imm := in.Offset, uint32(in.Constant)
	regs := uint8(in.Src)<<4 | uint8(in.Dst)
	if hostBig {
		regs = uint8(in.Dst)<<4 | uint8(in.Src)
	}
	switch {
	case op.Class().IsALU():
		switch op.ALUOp() {
		// The library has operations of its own where the machine has an offset: signed division
		// is division with offset 1.
		case asm.SDiv:
			op, off = op.SetALUOp(asm.Div), 1
		case asm.SMod:
			op, off = op.SetALUOp(asm.Mod), 1
		case asm.MovSX8:
			op, off = op.SetALUOp(asm.Mov), 8
		case asm.MovSX16:
			op, off = op.SetALUOp(asm.Mov), 16
		case asm.MovSX32:
			op, off = op.SetALUOp(asm.Mov), 32
		}
	case op.AtomicOp() != asm.InvalidAtomic:
		// The operation sits above the opcode byte; in the machine it is the immediate.
		imm = uint32(op.AtomicOp() >> 8)
		op &= 0xff
	}
	if op > 0xff {
		return nil, fmt.Errorf("bad opcode %#x", uint32(op))
	}
	out = append(out, uint8(op), regs)
	out = binary.NativeEndian.AppendUint16(out, uint16(off))
	out = binary.NativeEndian.AppendUint32(out, imm)
	if op.IsDWordLoad() {
		out = append(out, 0, 0, 0, 0)
		out = binary.NativeEndian.AppendUint32(out, uint32(in.Constant>>32))
	}
	return out, nil
}
