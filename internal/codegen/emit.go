package codegen

import (
	"fmt"
	"math"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/regalloc"
)

// forward skips blocks that only jump on.
func forward(b *regalloc.Block) *regalloc.Block {
	for range 100 { // an empty endless loop has no end to find
		if len(b.Instrs) != 1 || b.Instrs[0].Form != regalloc.Jump {
			break
		}
		b = b.Succs[0]
	}
	return b
}

// layout orders the reachable blocks: each is followed by the successor that runs most often, as
// far as that is free; cold ones come last. A jump that is not taken costs the CPU less, and code
// that runs rarely does not take room in its caches.
func layout(f *regalloc.Func) []*regalloc.Block {
	shortcut(f)
	entry := forward(f.Blocks[0])
	l := placing{waits: predecessors(f, entry), placed: make([]bool, len(f.Blocks)), hot: []*regalloc.Block{entry}}
	for b := l.begin(); b != nil; b = l.begin() {
		for b != nil && !l.placed[b.ID] {
			l.placed[b.ID] = true
			l.order = append(l.order, b)
			b = l.successor(b)
		}
	}
	return l.order
}

// shortcut takes jumps past blocks that only jump, and makes of a short return that is jumped to
// a copy.
func shortcut(f *regalloc.Func) {
	for _, b := range f.Blocks {
		for i, s := range b.Succs {
			b.Succs[i] = forward(s)
		}
		last := &b.Instrs[len(b.Instrs)-1]
		if len(b.Succs) == 2 && b.Succs[0] == b.Succs[1] && last.Form == regalloc.CondJump {
			*last = regalloc.Instr{Form: regalloc.Jump, Src: regalloc.NoReg, At: last.At}
			b.Succs = b.Succs[:1]
		}
	}
	for _, b := range f.Blocks {
		n := len(b.Instrs) - 1
		if to := b.Succs; len(to) == 1 && b.Instrs[n].Form == regalloc.Jump && returns(to[0]) {
			b.Instrs = append(b.Instrs[:n:n], to[0].Instrs...)
			b.Succs = nil
		}
	}
}

// predecessors counts by block those of its predecessors that it is to wait for, as far as they
// can be reached from entry.
func predecessors(f *regalloc.Func, entry *regalloc.Block) []int {
	preds := make([]int, len(f.Blocks))
	reached := make([]bool, len(f.Blocks))
	work := []*regalloc.Block{entry}
	reached[entry.ID] = true
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range b.Succs {
			if counts(b, s) {
				preds[s.ID]++
			}
			if !reached[s.ID] {
				reached[s.ID] = true
				work = append(work, s)
			}
		}
	}
	return preds
}

// A placing is the order of blocks while it is made.
type placing struct {
	order  []*regalloc.Block
	placed []bool // by block
	waits  []int  // by block: predecessors that count and are not placed yet
	// Where to go on when a row of blocks has come to its end: the newest of hot, then the oldest of
	// late, then the oldest of cold.
	hot, late, cold []*regalloc.Block
}

// begin takes the block that the next row of blocks begins with; nil when there is none left.
func (l *placing) begin() (b *regalloc.Block) {
	switch {
	case len(l.hot) > 0:
		b, l.hot = l.hot[len(l.hot)-1], l.hot[:len(l.hot)-1]
	case len(l.late) > 0:
		b, l.late = l.late[0], l.late[1:]
	case len(l.cold) > 0:
		b, l.cold = l.cold[0], l.cold[1:]
	}
	return b
}

// successor chooses what follows a block that has been placed, and keeps its other successors for
// later; nil ends the row.
func (l *placing) successor(b *regalloc.Block) *regalloc.Block {
	var next *regalloc.Block
	succs := b.Succs
	last := b.Instrs[len(b.Instrs)-1]
	test := last.Form == regalloc.CondJump && last.Op.JumpOp() == asm.JSet
	if test {
		// A bit test has no inverse: its first successor cannot follow.
		succs = []*regalloc.Block{b.Succs[1], b.Succs[0]}
	}
	for _, s := range succs {
		if counts(b, s) {
			l.waits[s.ID]--
		}
		switch {
		case l.placed[s.ID]:
		case s.Cold && !b.Cold:
			l.cold = append(l.cold, s)
		case next == nil:
			next = s
		case !test && better(s, next, l.waits):
			l.hot = append(l.hot, next)
			next = s
		default:
			l.hot = append(l.hot, s)
		}
	}
	// A join is better placed after the last path that leads to it,
	// if there is another path to place first.
	if next != nil && l.waits[next.ID] > 0 && next.Weight <= b.Weight && l.pending() {
		l.late = append(l.late, next)
		return nil
	}
	return next
}

// pending reports whether one of the hot blocks has no place yet.
func (l *placing) pending() bool {
	return slices.ContainsFunc(l.hot, func(b *regalloc.Block) bool { return !l.placed[b.ID] })
}

// counts reports whether a block is to wait for a predecessor: not for one that
// goes to the end.
func counts(pred, b *regalloc.Block) bool { return b.Cold || !pred.Cold }

// returns reports whether b only returns a constant, or what is in r0.
func returns(b *regalloc.Block) bool {
	n := len(b.Instrs)
	return n <= 2 && b.Instrs[n-1].Form == regalloc.Exit && (n == 1 || b.Instrs[0].Form == regalloc.Set)
}

// better reports whether a should follow its predecessor rather than b. One with few paths left
// that lead to it comes next, since others wait for it.
func better(a, b *regalloc.Block, waits []int) bool {
	if a.Weight != b.Weight {
		return a.Weight > b.Weight
	}
	if x, y := returns(a), returns(b); x != y {
		return y
	}
	return waits[a.ID] < waits[b.ID]
}

var inverse = map[asm.JumpOp]asm.JumpOp{
	asm.JEq: asm.JNE, asm.JNE: asm.JEq, asm.JGT: asm.JLE, asm.JLE: asm.JGT, asm.JGE: asm.JLT, asm.JLT: asm.JGE,
	asm.JSGT: asm.JSLE, asm.JSLE: asm.JSGT, asm.JSGE: asm.JSLT, asm.JSLT: asm.JSGE,
}

// An emitter writes functions one after the other.
type emitter struct {
	code  *Code
	slots int  // 8-byte units written
	apart bool // the program is in pieces
	// These are known only at the end:
	start map[*ir.Func]int
	calls []fixup // addresses of functions
}

// A fixup is an instruction whose distance is not known before its target has a place: a block or a
// function.
type fixup struct {
	index, slot int // of the instruction
	fn          *ir.Func
	block       *regalloc.Block
}

// add writes an instruction. One that loads 64 bits takes two slots.
func (e *emitter) add(in asm.Instruction) {
	e.code.Insns = append(e.code.Insns, in)
	e.slots += int(in.Width())
}

// fn writes a function: the blocks in their order, then the distances of jumps. A jump to the next
// block is left out; a condition is turned round if that lets its first successor follow.
func (e *emitter) fn(f *ir.Func, mf *regalloc.Func) error {
	e.start[f] = e.slots
	e.code.Funcs = append(e.code.Funcs, Func{Slot: e.slots, Name: f.Name, NParams: f.NParams,
		Static: f.Static, Piece: f.Piece, Stack: mf.Frame})
	order := layout(mf)
	at := make([]int, len(mf.Blocks)) // slot of each block, once it is placed
	for i := range at {
		at[i] = -1
	}
	var jumps []fixup
	jump := func(in asm.Instruction, to *regalloc.Block) {
		jumps = append(jumps, fixup{index: len(e.code.Insns), slot: e.slots, block: to})
		e.add(in)
	}
	ja := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)}
	for i, b := range order {
		at[b.ID] = e.slots
		var next *regalloc.Block
		if i+1 < len(order) {
			next = order[i+1]
		}
		for k := range b.Instrs {
			in := &b.Instrs[k]
			e.line(in)
			switch in.Form {
			case regalloc.Jump:
				if b.Succs[0] != next {
					jump(ja, b.Succs[0])
				}
			case regalloc.MayGoto:
				// may_goto jumps when the budget is used up.
				jump(asm.Instruction{OpCode: in.Op}, b.Succs[1])
				if b.Succs[0] != next {
					jump(ja, b.Succs[0])
				}
			case regalloc.CondJump:
				yes, no := b.Succs[0], b.Succs[1]
				op := in.Op
				follows := yes == next && !e.sooner(b, no, yes, at) || e.sooner(b, yes, no, at)
				if inv, ok := inverse[op.JumpOp()]; ok && follows {
					op, yes, no = op.SetJumpOp(inv), no, yes
				}
				jump(asm.Instruction{OpCode: op, Dst: machine(in.Dst), Src: machine(in.Src), Constant: in.Imm}, yes)
				if no != next {
					jump(ja, no)
				}
			case regalloc.Frame:
				d := machine(in.Dst)
				e.add(asm.Mov.Reg(d, asm.RFP))
				if in.Imm != 0 {
					e.add(asm.Add.Imm(d, int32(in.Imm)))
				}
			case regalloc.Least:
				e.add(asm.Instruction{OpCode: in.Op, Dst: machine(in.Dst), Src: machine(in.Src), Constant: in.Imm,
					Offset: 1})
				e.add(asm.Instruction{OpCode: asm.Mov.Op(in.Op.Source()), Dst: machine(in.Dst),
					Src: machine(in.Src), Constant: in.Imm})
			default:
				e.plain(in)
			}
		}
	}
	for _, j := range jumps {
		off := at[j.block.ID] - j.slot - 1
		in := &e.code.Insns[j.index]
		switch {
		case off >= math.MinInt16 && off <= math.MaxInt16:
			in.Offset = int16(off)
		// Jumps with a distance of 32 bits (gotol, Linux 6.6) have no condition.
		case in.OpCode == ja.OpCode && e.code.longJumps:
			in.OpCode = asm.OpCode(asm.Jump32Class).SetJumpOp(asm.Ja)
			in.Constant = int64(off)
		default:
			return fmt.Errorf("%s: %w: a jump over %d instructions", f.Name, ErrLong, off)
		}
	}
	return nil
}

// sooner reports whether the verifier should walk the way from b to x before that to y. It goes on
// with the instruction behind a jump and keeps the way that is jumped to for later, of which it
// keeps 8,192. A loop whose rounds it walks one after the other would have it keep one for each
// round until it is out of the loop, and the next loop as many in addition, unless it leaves the
// loop in the first round. Only programs in pieces are for verifiers to whom that matters, as it
// costs a jump.
func (e *emitter) sooner(b, x, y *regalloc.Block, at []int) bool {
	if !e.apart {
		return false
	}
	if x.Loops < b.Loops && y.Loops >= b.Loops {
		return true
	}
	back := [2]bool{}
	for i, s := range [2]*regalloc.Block{x, y} {
		back[i] = at[s.ID] >= 0 || len(s.Succs) == 1 && at[s.Succs[0].ID] >= 0 // moves and the jump
	}
	return back[1] && !back[0]
}

// plain emits an instruction that has one machine instruction to it.
func (e *emitter) plain(in *regalloc.Instr) {
	out := asm.Instruction{OpCode: in.Op, Dst: machine(in.Dst), Src: machine(in.Src), Offset: in.Off, Constant: in.Imm}
	switch in.Form {
	case regalloc.Set:
		out.Src = in.Pseudo
		switch in.Pseudo {
		case asm.PseudoMapValue:
			out.Constant = in.Imm << 32 // the low half is the map, see Link
		case asm.PseudoFunc:
			e.calls = append(e.calls, fixup{index: len(e.code.Insns), slot: e.slots, fn: in.Fn})
		}
	case regalloc.Call:
		out.Dst, out.Src = 0, in.Pseudo
		if in.Pseudo == asm.PseudoCall {
			e.calls = append(e.calls, fixup{index: len(e.code.Insns), slot: e.slots, fn: in.Fn})
		}
	case regalloc.Exit:
		out.Dst, out.Src = 0, 0
	}
	if in.Reloc != 0 {
		e.code.Relocs = append(e.code.Relocs, Reloc{Insn: len(e.code.Insns), Number: in.Reloc - 1})
	}
	e.add(out)
}

// machine is the register that regalloc has assigned; instructions without one have 0 there.
func machine(r regalloc.Reg) asm.Register {
	if r < 0 {
		return 0
	}
	return asm.Register(r)
}

// line notes where a script position begins. Of several positions at one slot the last counts, as
// instructions that vanished have no line.
func (e *emitter) line(in *regalloc.Instr) {
	if !in.At.Valid() || in.Form == regalloc.Jump {
		return
	}
	lines := e.code.Lines
	if n := len(lines); n > 0 {
		if lines[n-1].At == in.At {
			return
		}
		if lines[n-1].Slot == e.slots {
			lines[n-1].At = in.At
			return
		}
	}
	e.code.Lines = append(lines, Line{Slot: e.slots, At: in.At})
}

// finish fills in the addresses of functions: the distance from the
// instruction after, as for jumps.
func (e *emitter) finish() error {
	for _, c := range e.calls {
		to, ok := e.start[c.fn]
		if !ok {
			return fmt.Errorf("use of a function that is not in the program: %q", c.fn.Name)
		}
		in := &e.code.Insns[c.index]
		if in.Constant = int64(to - c.slot - 1); in.OpCode == loadImm {
			in.Constant = int64(uint32(int32(in.Constant)))
		}
	}
	return nil
}
