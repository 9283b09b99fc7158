package arch

import (
	"fmt"
	"strconv"
	"strings"
)

// Offsets in struct pt_regs of arch/arm64/include/asm/ptrace.h.
const (
	armSP, armPC, armState  = 248, 256, 264
	armOrigX0, armSyscallNo = 272, 280
)

// ARM64 is 64-bit ARM.
var ARM64 = &Arch{
	Name:              "aarch64",
	GoArch:            "arm64",
	Args:              []int{0, 8, 16, 24, 32, 40, 48, 56},
	GoArgs:            []int{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120},
	GoG:               28 * 8,
	Ret:               0,
	IP:                armPC,
	SP:                armSP,
	FP:                29 * 8,
	Return:            -1,
	Stack:             0,
	LargeByAddress:    true,
	EvenRegisters:     true,
	StackFromThen:     true,
	WatchModes:        []string{"r", "w", "rw", "x"},
	WatchKernelForAll: true,
	SyscallArgs:       []int{armOrigX0, 8, 16, 24, 32, 40},
	SyscallNumber:     Reg{Offset: armSyscallNo, Width: 32},
	SyscallRet:        0,
	User: struct { // exception level 0 in PSR_MODE
		Offset      int
		Mask, Equal uint64
	}{armState, 0xf, 0},
	Compat: struct { // TIF_32BIT of arch/arm64/include/asm/thread_info.h
		Field []string
		Mask  uint64
		Args  []int
	}{[]string{"thread_info", "flags"}, 1 << 22, nil},
	Unwind: struct{ SP, FP, PC, Link int }{armFrameRegs + armSP, armFrameRegs + 29*8,
		armFrameRegs + armPC, armFrameRegs + 30*8},
	Link:     30 * 8,
	CodeBits: 48, // programs get addresses beyond only if they ask for them
	reg:      armReg,
	operand:  armOperand,
}

// armFrameRegs is where the registers are in struct rt_sigframe: behind struct
// siginfo, what is in front of the 16-byte aligned uc_mcontext in struct
// ucontext, and fault_address in struct sigcontext.
const armFrameRegs = 128 + 176 + 8

// armReg is where in struct pt_regs a register is, by its name.
func armReg(name string) (Reg, bool) {
	switch name {
	case "sp":
		return full(armSP), true
	case "pc", "ip":
		return full(armPC), true
	case "pstate":
		return full(armState), true
	case "compat_fp":
		return full(11 * 8), true
	case "compat_sp":
		return full(13 * 8), true
	case "compat_lr":
		return full(14 * 8), true
	}
	num, ok := strings.CutPrefix(name, "r")
	if rest, array := strings.CutPrefix(name, "regs["); array {
		num, ok = strings.CutSuffix(rest, "]")
	}
	if !ok {
		return Reg{}, false
	}
	return armNumbered(num)
}

func armNumbered(num string) (Reg, bool) {
	n, err := strconv.ParseUint(num, 10, 8)
	if err != nil || n > 30 || num[0] == '0' && len(num) > 1 {
		return Reg{}, false
	}
	return full(int(n) * 8), true
}

// armOperandReg finds a register by its assembler name.
func armOperandReg(name string) (Reg, bool) {
	switch name {
	case "sp":
		return full(armSP), true
	case "wsp":
		return Reg{Offset: armSP, Width: 32}, true
	case "fp":
		return full(29 * 8), true
	case "lr":
		return full(30 * 8), true
	}
	if len(name) < 2 {
		return Reg{}, false
	}
	r, ok := armNumbered(name[1:])
	switch name[0] {
	case 'x':
		return r, ok
	case 'w':
		r.Width = 32
		return r, ok
	}
	return Reg{}, false
}

// armOperand parses an operand of the GNU assembler.
func armOperand(text string) (USDTArg, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return USDTArg{}, fmt.Errorf("unclosed [")
		}
		return armMemory(inner)
	}
	if n, err := number(strings.TrimPrefix(text, "#")); err == nil {
		return USDTArg{Kind: USDTConst, Value: n}, nil
	}
	if text == "xzr" || text == "wzr" {
		return USDTArg{Kind: USDTConst}, nil
	}
	if r, ok := armOperandReg(text); ok {
		return USDTArg{Kind: USDTReg, Base: &r}, nil
	}
	if len(text) > 1 && strings.IndexByte("vqdsh", text[0]) >= 0 && text[1] >= '0' && text[1] <= '9' {
		return USDTArg{Kind: USDTFloatReg}, nil
	}
	sym, off, err := symbolPlus(text)
	if err != nil {
		return USDTArg{}, err
	}
	return USDTArg{Kind: USDTSymbol, Symbol: sym, Value: off}, nil
}

// armMemory parses what is between brackets: base, offset or index with an
// extension or a shift.
func armMemory(inner string) (USDTArg, error) {
	a := USDTArg{Kind: USDTMem}
	parts := strings.Split(inner, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	base, ok := armOperandReg(parts[0])
	if !ok || base.Width != 64 {
		return a, fmt.Errorf("%q is no base register", parts[0])
	}
	a.Base = &base
	if len(parts) == 1 {
		return a, nil
	}
	index, isReg := armOperandReg(parts[1])
	if !isReg {
		n, err := number(strings.TrimPrefix(parts[1], "#"))
		if err == nil && len(parts) == 2 {
			a.Value = n
			return a, nil
		}
		sym, isLo12 := strings.CutPrefix(parts[1], "#:lo12:")
		if !isLo12 {
			sym, isLo12 = strings.CutPrefix(parts[1], ":lo12:")
		}
		if isLo12 && len(parts) == 2 {
			// The base holds the page of the symbol: the whole is its address.
			name, off, err := symbolPlus(sym)
			return USDTArg{Kind: USDTMem, Symbol: name, Value: off}, err
		}
		return a, fmt.Errorf("bad offset %q", parts[1])
	}
	a.Index, a.Scale = &index, 1
	if len(parts) == 2 {
		if index.Width != 64 {
			return a, fmt.Errorf("index %s needs an extension", parts[1])
		}
		return a, nil
	}
	words := strings.Fields(parts[2])
	if len(parts) > 3 || len(words) == 0 || len(words) > 2 {
		return a, fmt.Errorf("bad index %q", parts[2:])
	}
	switch words[0] {
	case "lsl", "sxtx", "uxtx":
	case "sxtw":
		index.Width, a.IndexSigned = 32, true
	case "uxtw":
		index.Width = 32
	default:
		return a, fmt.Errorf("unknown extension %q", words[0])
	}
	if len(words) == 2 {
		n, err := number(strings.TrimPrefix(words[1], "#"))
		if err != nil || n < 0 || n > 4 {
			return a, fmt.Errorf("bad shift %q", words[1])
		}
		a.Scale = 1 << n
	}
	return a, nil
}
