package unwind

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

// sigreturn is the function that signal handlers return to on arm64.
const sigreturn = "__kernel_rt_sigreturn"

// vdsoRows are the rules of arm64's vDSO, by its symbols and its code: the kernel
// builds it without call frame information. Most of its functions call none, and
// leave the return address in the link register.
func vdsoRows(f *exe.File, regs registers) (out []row) {
	for s := range f.Symbols() {
		name, size := string(s.Name), max(s.Size, 8) // that of the assembly is 8 or 0
		if name == sigreturn {
			// No call is in front of it.
			out = append(out, row{s.Addr - 1, object.NewRule(object.RuleSignal, 0, 0)},
				row{s.Addr + size, object.RuleNone})
		} else if code := f.Code(s.Addr, size); s.IsFunc() && uint64(len(code)) == size {
			out = append(append(out, prologue(code, s.Addr, regs)...), row{s.Addr + size, object.RuleNone})
		}
	}
	return out
}

// prologue reads the rules of a function of arm64 off its code: they change
// where it makes its frame and where it drops it. What follows a return is code
// that others of its branches lead to, with the frame if there is one.
func prologue(code []byte, addr uint64, regs registers) []row {
	out := []row{{addr, regs.entry()}}
	frame := object.Rule(object.RuleNone) // none has been made
	for ; len(code) >= 4; code, addr = code[4:], addr+4 {
		w := binary.LittleEndian.Uint32(code)
		switch {
		case w&0xffc07fff == 0xa9807bfd: // stp x29, x30, [sp, #-N]!
			words := -int(int32(w<<10) >> 25)
			frame = object.NewRule(object.RuleSP, words, words)
			out = append(out, row{addr + 4, frame})
		case w == 0x910003fd && frame != object.RuleNone: // mov x29, sp
			words := int(frame >> object.RuleCFAShift & object.RuleMost)
			frame = object.NewRule(object.RuleFP, words, words)
			out = append(out, row{addr + 4, frame})
		case w&0xffc07fff == 0xa8c07bfd: // ldp x29, x30, [sp], #N
			out = append(out, row{addr + 4, regs.entry()})
		case w == 0xd65f03c0 && frame != object.RuleNone: // ret
			out = append(out, row{addr + 4, frame})
		case w&0xff8003ff == 0xd10003ff && frame == object.RuleNone: // sub sp, sp, #N: no frame of this kind
			return nil
		}
	}
	return out
}
