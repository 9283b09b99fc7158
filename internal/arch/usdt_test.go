package arch

import (
	"fmt"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

func (a USDTArg) dump() string {
	s := fmt.Sprintf("%d", a.Size)
	if a.Signed {
		s = "-" + s
	}
	if a.Float {
		s += "f"
	}
	reg := func(r *Reg) string { return fmt.Sprintf("r%d.%d:%d", r.Offset, r.Shift, r.Width) }
	switch a.Kind {
	case USDTConst:
		return fmt.Sprintf("%s const %d", s, a.Value)
	case USDTReg:
		return s + " " + reg(a.Base)
	case USDTFloatReg:
		return s + " float"
	case USDTSymbol:
		return fmt.Sprintf("%s &%s+%d", s, a.Symbol, a.Value)
	}
	s += " mem"
	if a.Symbol != "" {
		s += " " + a.Symbol
	}
	if a.Base != nil {
		s += " " + reg(a.Base)
	}
	if a.Index != nil {
		s += fmt.Sprintf(" %s*%d", reg(a.Index), a.Scale)
		if a.IndexSigned {
			s += "s"
		}
	}
	return fmt.Sprintf("%s %+d", s, a.Value)
}

func TestParseUSDTArgs(t *testing.T) {
	for _, c := range []struct {
		arch       *Arch
		text, want string
	}{
		{AMD64, "-4@%ebx", "-4 r40.0:32"},
		{AMD64, "8@%r12", "8 r24.0:64"},
		{AMD64, "2@$77", "2 const 77"},
		{AMD64, "1@$240", "1 const 240"},
		{AMD64, "-1@$-16", "-1 const -16"},
		{AMD64, "1@$-16", "1 const 240"},
		{AMD64, "8@$18446744073709551615", "8 const -1"},
		{AMD64, "-1@%ah", "-1 r80.8:8"},
		{AMD64, "4@%r8d", "4 r72.0:32"},
		{AMD64, "2@%r10w", "2 r56.0:16"},
		{AMD64, "1@%r15b", "1 r0.0:8"},
		{AMD64, "1@%sil", "1 r104.0:8"},
		{AMD64, "-4@-20(%rbp)", "-4 mem r32.0:64 -20"},
		{AMD64, "8@(%rsi)", "8 mem r104.0:64 +0"},
		{AMD64, "1@-96(%rbp,%rax,8)", "1 mem r32.0:64 r80.0:64*8 -96"},
		{AMD64, "8@(,%rcx,4)", "8 mem r88.0:64*4 +0"},
		{AMD64, "8@(%rax,%rbx)", "8 mem r80.0:64 r40.0:64*1 +0"},
		{AMD64, "4@8+counter(%rip)", "4 mem counter +8"},
		{AMD64, "4@counter+8(%rip)", "4 mem counter +8"},
		{AMD64, "-4@counter(%rip)", "-4 mem counter +0"},
		{AMD64, "8@table(,%rax,8)", "8 mem table r80.0:64*8 +0"},
		{AMD64, "8@$sym", "8 &sym+0"},
		{AMD64, "8@$sym+4", "8 &sym+4"},
		{AMD64, "%eax", "8 r80.0:32"},
		{AMD64, "8f@%xmm0", "8f float"},
		{AMD64, "8f@-8(%rbp)", "8f mem r32.0:64 -8"},
		{AMD64, "-8f@%xmm15", "8f float"},
		{AMD64, "-4f@(%rdx)", "4f mem r96.0:64 +0"},
		{AMD64, "8f@$4607182418800017408", "8f const 4607182418800017408"},
		{AMD64, "-8@$-9223372036854775808", "-8 const -9223372036854775808"},
		{AMD64, "-4@$-1", "-4 const -1"},
		{AMD64, "4@$-1", "4 const 4294967295"},
		{AMD64, "-2@$65535", "-2 const -1"},
		{AMD64, "4@$0x10", "4 const 16"},
		{AMD64, "-2@%cx", "-2 r88.0:16"},
		{AMD64, "8@%rsp", "8 r152.0:64"},
		{AMD64, "8@-0x10(%rsp)", "8 mem r152.0:64 -16"},
		{AMD64, "2@16(%rax,%rbx,1)", "2 mem r80.0:64 r40.0:64*1 +16"},
		{AMD64, "8@(%r8,%r15,2)", "8 mem r72.0:64 r0.0:64*2 +0"},
		{AMD64, "8@table-8(%rip)", "8 mem table -8"},
		{AMD64, "4@-4+table+8(%rip)", "4 mem table +4"},
		{AMD64, "8@table", "8 mem table +0"},
		{AMD64, "4@4202512", "4 mem +4202512"},
		{ARM64, "-4@w3", "-4 r24.0:32"},
		{ARM64, "8@x3", "8 r24.0:64"},
		{ARM64, "8@sp", "8 r248.0:64"},
		{ARM64, "4@[sp, 12]", "4 mem r248.0:64 +12"},
		{ARM64, "-8@[x29,-16]", "-8 mem r232.0:64 -16"},
		{ARM64, "8@[x0]", "8 mem r0.0:64 +0"},
		{ARM64, "-4@5", "-4 const 5"},
		{ARM64, "4@-3", "4 const 4294967293"},
		{ARM64, "8@[x1, x2, lsl 3]", "8 mem r8.0:64 r16.0:64*8 +0"},
		{ARM64, "8@[x0, x1]", "8 mem r0.0:64 r8.0:64*1 +0"},
		{ARM64, "4@[x0, w1, sxtw 2]", "4 mem r0.0:64 r8.0:32*4s +0"},
		{ARM64, "8f@d0", "8f float"},
		{ARM64, "-4f@s31", "4f float"},
		{ARM64, "8f@[sp, 8]", "8f mem r248.0:64 +8"},
		{ARM64, "-8@-9223372036854775808", "-8 const -9223372036854775808"},
		{ARM64, "2@-1", "2 const 65535"},
		{ARM64, "-1@255", "-1 const -1"},
		{ARM64, "4@#5", "4 const 5"},
		{ARM64, "8@xzr", "8 const 0"},
		{ARM64, "4@wzr", "4 const 0"},
		{ARM64, "8@x30", "8 r240.0:64"},
		{ARM64, "-2@w12", "-2 r96.0:32"},
		{ARM64, "4@wsp", "4 r248.0:32"},
		{ARM64, "8@[x29, #-16]", "8 mem r232.0:64 -16"},
		{ARM64, "8@[x0, w1, uxtw]", "8 mem r0.0:64 r8.0:32*1 +0"},
		{ARM64, "1@[x0, w1, uxtw #0]", "1 mem r0.0:64 r8.0:32*1 +0"},
		{ARM64, "8@[x20, x21, sxtx 3]", "8 mem r160.0:64 r168.0:64*8 +0"},
		{ARM64, "4@[x0, #:lo12:counter]", "4 mem counter +0"},
		{ARM64, "4@[x0, :lo12:counter+8]", "4 mem counter +8"},
		{ARM64, "8@counter+4", "8 &counter+4"},
	} {
		args, err := ParseUSDTArgs(c.arch, c.text)
		if err != nil || len(args) != 1 {
			t.Errorf("%s: %v, %v", c.text, args, err)
			continue
		}
		if got := args[0].dump(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
	if args, err := ParseUSDTArgs(AMD64, ""); args != nil || err != nil {
		t.Errorf("no arguments: %v, %v", args, err)
	}
	args, err := ParseUSDTArgs(ARM64, "-4@[sp, 60] 8@[x0,96] -4@w1")
	if err != nil || len(args) != 3 {
		t.Errorf("three arguments: %v, %v", args, err)
	}
}

func TestParseUSDTArgsErrors(t *testing.T) {
	for _, c := range []struct {
		arch *Arch
		text string
	}{
		{AMD64, "3@%eax"}, {AMD64, "4@"}, {AMD64, "4@%zz"}, {AMD64, "4@(%al)"},
		{AMD64, "4@(%rax,%rbx,3)"}, {AMD64, "4@()"}, {AMD64, "4@(%rax,%rbx,1,2)"},
		{AMD64, "4@$"}, {AMD64, "1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1"},
		{ARM64, "4@[x0"}, {ARM64, "4@[x99]"}, {ARM64, "4@[x0, w1]"}, {ARM64, "4@[x0, x1, ror 3]"},
		{ARM64, "4@x31"},
	} {
		if args, err := ParseUSDTArgs(c.arch, c.text); err == nil && (c.text != "4@x31" || args[0].Kind != USDTSymbol) {
			t.Errorf("%s: no error, but %s", c.text, args[0].dump())
		}
	}
}

func TestReg(t *testing.T) {
	for _, c := range []struct {
		arch *Arch
		name string
		off  int // -1: unknown
	}{
		{AMD64, "ax", 80}, {AMD64, "pc", 128}, {AMD64, "ip", 128}, {AMD64, "orig_rax", 120}, {AMD64, "zz", -1},
		{AMD64, "", -1}, {ARM64, "r0", 0}, {ARM64, "r30", 240}, {ARM64, "r31", -1}, {ARM64, "regs[7]", 56},
		{ARM64, "pc", 256}, {ARM64, "pstate", 264}, {ARM64, "compat_lr", 112}, {ARM64, "regs[", -1}, {ARM64, "r", -1},
	} {
		r, ok := c.arch.Reg(c.name)
		if ok != (c.off >= 0) || ok && r.Offset != c.off {
			t.Errorf("%s %q: %+v, %v", c.arch.Name, c.name, r, ok)
		}
	}
}

func FuzzParseUSDTArgs(f *testing.F) {
	f.Add("-4@%ebx 8@-96(%rbp,%rax,8) 8@$x+4", true)
	f.Add("-4@[sp, 60] 8@[x0, w1, sxtw 2]", false)
	f.Fuzz(func(t *testing.T, text string, amd bool) {
		a := ARM64
		if amd {
			a = AMD64
		}
		bound.Run(t, len(text), func() {
			args, _ := ParseUSDTArgs(a, text)
			for _, arg := range args {
				if (arg.Kind == USDTReg) != (arg.Base != nil && arg.Kind != USDTMem) {
					t.Errorf("%q: %+v", text, arg)
				}
			}
		})
	})
}
