package arch

import (
	"fmt"
	"strconv"
	"strings"
)

// Offsets in struct pt_regs of arch/x86/include/asm/ptrace.h.
const (
	amdBP, amdBX, amdR11, amdR10 = 32, 40, 48, 56
	amdR9, amdR8, amdAX, amdCX   = 64, 72, 80, 88
	amdDX, amdSI, amdDI, amdOrig = 96, 104, 112, 120
	amdIP, amdCS, amdFlags       = 128, 136, 144
	amdSP, amdSS                 = 152, 160
)

// AMD64 is 64-bit x86.
var AMD64 = &Arch{
	Name:          "x86_64",
	GoArch:        "amd64",
	Args:          []int{amdDI, amdSI, amdDX, amdCX, amdR8, amdR9},
	GoArgs:        []int{amdAX, amdBX, amdCX, amdDI, amdSI, amdR8, amdR9, amdR10, amdR11},
	GoG:           8, // r14
	Ret:           amdAX,
	IP:            amdIP,
	SP:            amdSP,
	FP:            amdBP,
	Return:        0,
	Stack:         8,
	WatchModes:    []string{"x", "w", "rw"},
	SyscallArgs:   []int{amdDI, amdSI, amdDX, amdR10, amdR8, amdR9},
	SyscallNumber: Reg{Offset: amdOrig, Width: 64},
	SyscallRet:    amdAX,
	User: struct {
		Offset      int
		Mask, Equal uint64
	}{amdCS, 3, 3},
	Compat: struct { // TS_COMPAT of arch/x86/include/asm/thread_info.h
		Field []string
		Mask  uint64
		Args  []int
	}{[]string{"thread_info", "status"}, 2, []int{40, 88, 96, 104, 112, 32}}, // bx, cx, dx, si, di, bp
	Unwind:  struct{ SP, FP, PC, Link int }{SP: 160, FP: 120, PC: 168}, // struct ucontext with struct sigcontext_64
	reg:     amdReg,
	operand: amdOperand,
}

// amdReg is where in struct pt_regs a register is, by its short name: ax, r15.
func amdReg(name string) (Reg, bool) {
	off := -1
	switch name {
	case "r15":
		off = 0
	case "r14":
		off = 8
	case "r13":
		off = 16
	case "r12":
		off = 24
	case "bp":
		off = amdBP
	case "bx":
		off = amdBX
	case "r11":
		off = amdR11
	case "r10":
		off = amdR10
	case "r9":
		off = amdR9
	case "r8":
		off = amdR8
	case "ax":
		off = amdAX
	case "cx":
		off = amdCX
	case "dx":
		off = amdDX
	case "si":
		off = amdSI
	case "di":
		off = amdDI
	case "orig_rax", "orig_ax":
		off = amdOrig
	case "ip", "pc":
		off = amdIP
	case "cs":
		off = amdCS
	case "flags":
		off = amdFlags
	case "sp":
		off = amdSP
	case "ss":
		off = amdSS
	default:
		return Reg{}, false
	}
	return full(off), true
}

// amdOperandReg finds a register by its assembler name without "%", the
// narrower names included.
func amdOperandReg(name string) (Reg, bool) {
	if len(name) < 2 {
		return Reg{}, false
	}
	part := func(base string, shift, width int) (Reg, bool) {
		r, ok := amdReg(base)
		r.Shift, r.Width = shift, width
		return r, ok
	}
	switch name {
	case "rip":
		return full(amdIP), true
	case "al", "bl", "cl", "dl":
		return part(name[:1]+"x", 0, 8)
	case "ah", "bh", "ch", "dh":
		return part(name[:1]+"x", 8, 8)
	case "sil", "dil", "bpl", "spl":
		return part(name[:2], 0, 8)
	case "ax", "bx", "cx", "dx", "si", "di", "bp", "sp":
		return part(name, 0, 16)
	case "eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp":
		return part(name[1:], 0, 32)
	case "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp":
		return part(name[1:], 0, 64)
	}
	if name[0] != 'r' || name[1] < '0' || name[1] > '9' {
		return Reg{}, false
	}
	width := 64
	switch last := len(name) - 1; name[last] {
	case 'd':
		name, width = name[:last], 32
	case 'w':
		name, width = name[:last], 16
	case 'b', 'l':
		name, width = name[:last], 8
	}
	return part(name, 0, width)
}

// amdOperand parses an operand in AT&T syntax.
func amdOperand(text string) (USDTArg, error) {
	switch {
	case strings.HasPrefix(text, "$"):
		rest := text[1:]
		if n, err := number(rest); err == nil {
			return USDTArg{Kind: USDTConst, Value: n}, nil
		}
		sym, off, err := symbolPlus(rest)
		if err != nil {
			return USDTArg{}, err
		}
		return USDTArg{Kind: USDTSymbol, Symbol: sym, Value: off}, nil
	case strings.HasPrefix(text, "%"):
		if isVector(text[1:]) {
			return USDTArg{Kind: USDTFloatReg}, nil
		}
		r, ok := amdOperandReg(text[1:])
		if !ok {
			return USDTArg{}, fmt.Errorf("unknown register %s", text)
		}
		return USDTArg{Kind: USDTReg, Base: &r}, nil
	}
	disp, inner, ok := cutParen(text)
	if !ok {
		// A bare symbol or number is an absolute address.
		if n, err := number(text); err == nil {
			return USDTArg{Kind: USDTMem, Value: n}, nil
		}
		sym, off, err := symbolPlus(text)
		if err != nil {
			return USDTArg{}, err
		}
		return USDTArg{Kind: USDTMem, Symbol: sym, Value: off}, nil
	}
	a := USDTArg{Kind: USDTMem}
	if disp != "" {
		n, err := number(disp)
		if err != nil {
			if a.Symbol, n, err = symbolPlus(disp); err != nil {
				return a, err
			}
		}
		a.Value = n
	}
	parts := strings.Split(inner, ",")
	if len(parts) > 3 {
		return a, fmt.Errorf("more than base, index and scale")
	}
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	if parts[0] == "%rip" && a.Symbol != "" && len(parts) == 1 {
		return a, nil // the symbol says where; %rip only how the code is written
	}
	if parts[0] != "" {
		r, err := amdAddressReg(parts[0])
		if err != nil {
			return a, err
		}
		a.Base = &r
	}
	if len(parts) > 1 && parts[1] != "" {
		r, err := amdAddressReg(parts[1])
		if err != nil {
			return a, err
		}
		a.Index, a.Scale = &r, 1
	}
	if len(parts) > 2 {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n != 1 && n != 2 && n != 4 && n != 8 || a.Index == nil {
			return a, fmt.Errorf("bad scale %q", parts[2])
		}
		a.Scale = n
	}
	if a.Base == nil && a.Index == nil {
		return a, fmt.Errorf("no register in parentheses")
	}
	return a, nil
}

func amdAddressReg(text string) (Reg, error) {
	name, ok := strings.CutPrefix(text, "%")
	r, known := amdOperandReg(name)
	if !ok || !known || r.Width < 32 {
		return Reg{}, fmt.Errorf("%q is no address register", text)
	}
	return r, nil
}

// isVector reports whether a register is one that pt_regs does not hold.
func isVector(name string) bool {
	for _, p := range [...]string{"xmm", "ymm", "zmm", "st", "mm"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
