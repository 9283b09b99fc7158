package codegen

import (
	"fmt"
	"math"
	"slices"

	"github.com/cilium/ebpf/asm"
)

// The compiler in the kernel (do_jit in arch/x86/net/bpf_jit_comp.c) finds the lengths of
// jumps in passes: each takes the distances of the pass before, and when the whole is as long
// as before, the next is to be the final one. Of a jump back the start is of the pass before
// and the target of this one, so it may become longer than it was, while another becomes
// shorter; then the final pass differs, or none is final, and the program is not compiled
// ("bpf_jit: fatal error"). Returns count as jumps back to the first of them.
//
// Without jumps back no jump becomes longer from pass to pass, and as long as before means the same.

// Arrangements is how many orders there are for code that the kernel does not
// compile as it is.
const Arrangements = 4

// An Arranged is code in another order.
type Arranged struct {
	Code  *Code
	Slots []int // where each slot of the code was before
}

// Arrange is linked code with the blocks of its functions in an order in which
// only loops jump back, with one return at the end of each. For the sake of
// loops all but the first of the arrangements set r0 in front of calls, which
// moves the rest: n is 0 ≤ n < Arrangements.
func (c *Code) Arrange(n int) (*Arranged, error) {
	a := &arranger{code: c, pad: n, slot: make([]int, len(c.Insns)+1), index: map[int]int{}}
	for i := range c.Insns {
		a.index[a.slot[i]] = i
		a.slot[i+1] = a.slot[i] + int(c.Insns[i].Width())
	}
	moved := *c
	moved.Relocs, moved.Lines = nil, nil
	moved.Funcs = slices.Clone(c.Funcs)
	a.index[a.slot[len(c.Insns)]] = len(c.Insns)
	for i, f := range c.Funcs {
		end := len(c.Insns)
		if i+1 < len(c.Funcs) {
			end = a.index[c.Funcs[i+1].Slot]
		}
		moved.Funcs[i].Slot = len(a.out.Slots)
		begin, ok := a.index[f.Slot]
		if !ok || begin >= end {
			return nil, fmt.Errorf("%s: no function begins in slot %d", f.Name, f.Slot)
		}
		if err := a.fn(begin, end); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for _, call := range a.calls {
		f := slices.IndexFunc(c.Funcs, func(f Func) bool { return f.Slot == call.to })
		if f < 0 {
			return nil, fmt.Errorf("a call of slot %d, where no function begins", call.to)
		}
		// A call and the address of a callback have the distance in the same field.
		in := &a.insns[call.at]
		if in.Constant = int64(moved.Funcs[f].Slot - call.slot - 1); in.OpCode == loadImm {
			in.Constant = int64(uint32(int32(in.Constant)))
		}
	}
	moved.Insns = a.insns
	a.out.Code = &moved
	return &a.out, nil
}

// An arranger is the state of Arrange.
type arranger struct {
	code  *Code
	pad   int
	slot  []int       // of each instruction
	index map[int]int // of the instruction at a slot

	out   Arranged
	insns asm.Instructions
	calls []target // of functions
	count int      // calls seen
}

// A target is what an instruction refers to: the slot in the code as it was.
type target struct{ at, slot, to int }

// leadsTo is the index of the instruction that a jump leads to.
func (a *arranger) leadsTo(i int) (int, error) {
	in := &a.code.Insns[i]
	off := int64(in.Offset)
	if in.OpCode == longJump {
		off = in.Constant
	}
	to, ok := a.index[a.slot[i]+1+int(off)]
	if !ok {
		return 0, fmt.Errorf("instruction %d jumps to nowhere", i)
	}
	return to, nil
}

var (
	jumpAlways = asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)
	longJump   = asm.OpCode(asm.Jump32Class).SetJumpOp(asm.Ja)
	toReturn   = asm.OpCode(asm.JumpClass).SetJumpOp(asm.Exit)
)

// ends reports whether an instruction ends a block, and whether the next one may follow it.
func ends(in *asm.Instruction) (ends, goesOn bool) {
	op := in.OpCode
	switch {
	case !op.Class().IsJump() || op.JumpOp() == asm.Call:
		return false, true
	case op == jumpAlways, op == longJump, op == toReturn:
		return true, false
	}
	return true, true
}

// order is the blocks of a function, each by the index of its first
// instruction, such that only loops lead back, and how long each is.
func (a *arranger) order(begin, end int) (order []int, until map[int]int, err error) {
	starts := map[int]bool{begin: true}
	for i := begin; i < end; i++ {
		in := &a.code.Insns[i]
		if last, _ := ends(in); !last {
			continue
		}
		starts[i+1] = true
		if in.OpCode == toReturn {
			continue
		}
		to, err := a.leadsTo(i)
		if err != nil {
			return nil, nil, err
		}
		starts[to] = true
	}
	until = map[int]int{}
	first := -1
	for i := begin; i <= end; i++ {
		if starts[i] || i == end {
			if first >= 0 {
				until[first] = i
			}
			first = i
		}
	}
	// A depth-first walk without recursion: a block comes after all that it leads to, which is
	// turned round at the end. What it falls through to is walked last, to come next to it.
	type visit struct {
		block int
		left  []int
	}
	seen := map[int]bool{}
	enter := func(b int) (visit, error) {
		seen[b] = true
		v := visit{block: b}
		last := until[b] - 1
		in := &a.code.Insns[last]
		jumps, goesOn := ends(in)
		if goesOn {
			v.left = append(v.left, last+1)
		}
		if jumps && in.OpCode != toReturn {
			to, err := a.leadsTo(last)
			if err != nil {
				return v, err
			}
			v.left = append(v.left, to)
		}
		return v, nil
	}
	v, err := enter(begin)
	stack := []visit{v}
	for err == nil && len(stack) > 0 {
		top := &stack[len(stack)-1]
		n := len(top.left)
		if n == 0 {
			order = append(order, top.block)
			stack = stack[:len(stack)-1]
			continue
		}
		next := top.left[n-1]
		top.left = top.left[:n-1]
		if until[next] == 0 {
			return nil, nil, fmt.Errorf("instruction %d leads out of the function", until[top.block]-1)
		}
		if !seen[next] {
			v, err = enter(next)
			stack = append(stack, v)
		}
	}
	slices.Reverse(order)
	return order, until, err
}

// fn writes a function.
func (a *arranger) fn(begin, end int) error {
	order, until, err := a.order(begin, end)
	if err != nil {
		return err
	}
	at := map[int]int{} // slot of each block
	// No block has this number: blocks go by the index of their first instruction.
	const theReturn = -1
	var jumps []target
	jump := func(in asm.Instruction, from, to int) {
		jumps = append(jumps, target{len(a.insns), len(a.out.Slots), to})
		a.add(in, from)
	}
	always := asm.Instruction{OpCode: jumpAlways}
	for k, b := range order {
		at[b] = len(a.out.Slots)
		next := theReturn
		if k+1 < len(order) {
			next = order[k+1]
		}
		last := until[b] - 1
		for i := b; i < last; i++ {
			a.plain(i)
		}
		in := a.code.Insns[last]
		jumps, goesOn := ends(&in)
		to := theReturn
		if jumps && in.OpCode != toReturn {
			if to, err = a.leadsTo(last); err != nil {
				return err
			}
		}
		switch {
		case !jumps:
			a.plain(last)
		case goesOn:
			jump(in, last, to)
		case to != next:
			jump(always, last, to)
		}
		if goesOn && last+1 != next {
			jump(always, last, last+1)
		}
	}
	at[theReturn] = len(a.out.Slots)
	a.add(asm.Return(), end-1)
	for _, j := range jumps {
		off := at[j.to] - j.slot - 1
		in := &a.insns[j.at]
		switch {
		case off >= math.MinInt16 && off <= math.MaxInt16:
			in.Offset = int16(off)
		case in.OpCode == jumpAlways && a.code.longJumps:
			in.OpCode, in.Constant = longJump, int64(off)
		default:
			return fmt.Errorf("%w: a jump over %d instructions", ErrLong, off)
		}
	}
	return nil
}

// plain writes an instruction that does not jump.
func (a *arranger) plain(i int) {
	in := a.code.Insns[i]
	refers := in.OpCode == loadImm && in.Src == asm.PseudoFunc
	if in.OpCode.Class().IsJump() {
		refers = in.Src == asm.PseudoCall
		// No call reads r0.
		if a.count++; a.pad > 0 && a.count%a.pad == 0 {
			a.add(asm.Mov.Imm(asm.R0, 1), i)
		}
	}
	if refers {
		a.calls = append(a.calls, target{len(a.insns), len(a.out.Slots), a.slot[i] + 1 + int(int32(in.Constant))})
	}
	a.add(in, i)
}

// add writes an instruction that stands for the one that was at an index.
func (a *arranger) add(in asm.Instruction, was int) {
	a.insns = append(a.insns, in)
	for range in.Width() {
		a.out.Slots = append(a.out.Slots, a.slot[was])
	}
}
