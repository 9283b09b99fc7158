package unwind

import (
	"debug/elf"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

// goRows are the rules of code that Go compiled, by the table that its runtime
// walks stacks with. Go's code keeps frame pointers on x86-64, but for functions
// that need none, whose callers would be missing, and the assembly of its
// cryptography, which uses the register otherwise. Other machines have registers enough.
//
// A function that goes to another stack is left to the frame pointer, which
// leads back.
func goRows(f *exe.File, out []row) []row {
	if f.Machine != elf.EM_X86_64 {
		return out
	}
	// Sizes are of the stack as the compiler reckons it, without the return address.
	f.GoFrames(func(g *exe.GoFrame) bool {
		rule := object.Rule(object.RuleFail)
		switch {
		case g.Switches:
			rule = object.NewRule(object.RuleGuess, 0, 0)
		// that one is the first on its stack, but the kernel has left the registers of the code
		// that was interrupted
		case g.First && g.Func != "runtime.sigtramp":
			rule = object.NewRule(object.RuleEnd, 0, 0)
		case g.Size == 0:
			rule = object.NewRule(object.RuleSP, 1, 0)
		case g.Size > 0 && g.Size%8 == 0:
			// the frame pointer is saved below the return address
			rule = object.NewRule(object.RuleSP, int(min(g.Size/8+1, object.RuleMost+1)), 2)
		}
		if g.Func == "runtime.sigreturn__sigaction" {
			// The kernel lets handlers return there without a call in front of it.
			out = append(out, row{g.Start - 1, object.NewRule(object.RuleSignal, 0, 0)})
			rule = object.NewRule(object.RuleSignal, 0, 0)
		}
		out = append(out, row{g.Start, rule}, row{g.End, object.RuleNone})
		return len(out) <= maxRows
	})
	return out
}
