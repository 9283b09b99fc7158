package codegen

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf/asm"
)

func TestEither(t *testing.T) {
	program := func(result int32, lines ...int) *Code {
		c := &Code{Insns: asm.Instructions{asm.LoadImm(asm.R0, int64(result), asm.DWord), asm.Return()},
			Funcs: []Func{{Name: "main", NParams: 1}}, StackUsed: 64}
		for _, l := range lines {
			c.Lines = append(c.Lines, Line{Slot: l})
		}
		return c
	}
	e, err := Either(77, program(1, 0), program(2, 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	var slots []int
	for _, f := range e.Funcs {
		slots = append(slots, f.Slot)
	}
	// Nine slots in front; the load of each program takes two.
	if len(slots) != 3 || slots[0] != 0 || slots[1] != 9 || slots[2] != 12 || !e.Funcs[1].Static || e.Funcs[0].Static {
		t.Errorf("functions %+v", e.Funcs)
	}
	if len(e.Lines) != 3 || e.Lines[0].Slot != 9 || e.Lines[1].Slot != 12 || e.Lines[2].Slot != 14 {
		t.Errorf("lines %+v", e.Lines)
	}
	calls := map[asm.Register][]int64{}
	for i, in := range e.Insns {
		if in.OpCode.JumpOp() == asm.Call {
			target := in.Constant
			if in.Src == asm.PseudoCall {
				target += int64(i) + 1 // up to there every instruction takes one slot
			}
			calls[in.Src] = append(calls[in.Src], target)
		}
	}
	if got := calls[asm.PseudoCall]; len(got) != 2 || got[0] != 9 || got[1] != 12 {
		t.Errorf("calls of %v, want 9 and 12", got)
	}
	if got := calls[asm.PseudoKfuncCall]; len(got) != 1 || got[0] != 77 {
		t.Errorf("kernel functions %v", got)
	}
	if e.Slots() != 15 || e.StackUsed != 96 {
		t.Errorf("%d slots, %d bytes of stack", e.Slots(), e.StackUsed)
	}
	large := program(1)
	large.StackUsed = MaxStack
	if _, err := Either(77, large, program(2)); !errors.Is(err, ErrStack) {
		t.Errorf("a frame of %d bytes: %v", MaxStack, err)
	}
}
