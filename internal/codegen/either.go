package codegen

import (
	"github.com/cilium/ebpf/asm"
)

// mainFrame is what the verifier charges for a frame without anything in it.
const mainFrame = 32

// Either is a program that runs one of two others: second if the kernel
// function answers true, first if not. The function is given the context; it
// is named by its type in the kernel's BTF. ErrStack says that the two leave
// no room for a frame above theirs.
func Either(kfunc uint32, first, second *Code) (*Code, error) {
	if max(first.StackUsed, second.StackUsed)+mainFrame > MaxStack {
		return nil, ErrStack
	}
	call := func(src asm.Register, imm int64) asm.Instruction {
		return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: src, Constant: imm}
	}
	const head = 9 // instructions, of one slot each
	callFirst, callSecond := 5, 7
	insns := asm.Instructions{
		// The context has to outlive the call, which destroys r1 to r5.
		asm.Mov.Reg(asm.R6, asm.R1),
		call(asm.PseudoKfuncCall, int64(kfunc)),
		asm.And.Imm(asm.R0, 1), // of a bool the rest is not defined
		asm.Mov.Reg(asm.R1, asm.R6),
		{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.JNE).SetSource(asm.ImmSource), Dst: asm.R0, Offset: 2},
		call(asm.PseudoCall, int64(head-callFirst-1)),
		asm.Return(),
		call(asm.PseudoCall, int64(head+first.Slots()-callSecond-1)),
		asm.Return(),
	}
	out := &Code{StackUsed: max(first.StackUsed, second.StackUsed) + mainFrame,
		longJumps: first.longJumps && second.longJumps}
	out.Funcs = append(out.Funcs, Func{Name: "either", NParams: 1})
	at := head
	for _, c := range []*Code{first, second} {
		insns = append(insns, c.Insns...)
		for _, f := range c.Funcs {
			f.Slot += at
			// The verifier checks static functions where they are called, with what is known of
			// their arguments; global ones on their own, without that.
			f.Static = true
			out.Funcs = append(out.Funcs, f)
		}
		for _, l := range c.Lines {
			l.Slot += at
			out.Lines = append(out.Lines, l)
		}
		at += c.Slots()
	}
	out.Insns = insns
	return out, nil
}
