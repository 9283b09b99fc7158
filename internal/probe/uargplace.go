package probe

import (
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/target/dwarf"
	"github.com/hawktrace/hawk/internal/types"
)

// An argIn says where an argument travels.
type argIn uint8

const (
	inNothing argIn = iota // it has no bytes
	inRegs                 // in registers
	inFloats               // in registers that programs cannot read, at least in part
	inStack                // on the stack
	inAddress              // in memory, its address as if that were the argument
)

// A placedArg is an argument with its place.
type placedArg struct {
	in    argIn
	reg   int          // number of the first register
	regs  []int        // offsets of the registers in the context
	parts []dwarf.Leaf // what of the value each register holds
	stack int          // distance from the stack pointer, bytes
	param *dwarf.Param
}

// A placer hands out registers and stack as a calling convention does: that of
// System V for x86-64, of ARM for 64 bits (AAPCS64), of Go.
type placer struct {
	abi    abi
	arch   *arch.Arch
	ints   int // registers taken
	floats int
	stack  int // bytes taken
}

// floatRegs is how many registers take floating-point arguments.
func (a *placer) floatRegs() int {
	switch {
	case a.abi != abiGo:
		return 8
	case a.arch == arch.AMD64:
		return 15
	}
	return 16
}

// result takes account of the result: one that is too large for registers is
// written where an argument in front of the others says.
func (a *placer) result(s dwarf.Shape) {
	if a.abi == abiC && a.arch == arch.AMD64 && (s.ByAddress || s.Composite && (s.Bytes > 16 || a.inMemory(s))) {
		a.ints++
	}
}

// place finds where the next argument is.
func (a *placer) place(s dwarf.Shape) placedArg {
	switch {
	case s.ByAddress:
		at := a.words(8, 1)
		if at.in == inStack {
			return placedArg{in: inAddress, stack: at.stack}
		}
		return placedArg{in: inAddress, reg: at.reg, regs: at.regs}
	case a.abi == abiGo:
		return a.placeGo(s)
	case s.Bytes == 0 || s.Composite && len(s.Leaves) == 0 && s.Bytes == 1:
		return placedArg{}
	case !s.Composite && s.Float():
		return a.float(s)
	case !s.Composite:
		return a.words(max(s.Bytes, 8), (s.Bytes+7)/8)
	case a.arch == arch.ARM64:
		return a.compositeARM(s)
	}
	return a.compositeAMD(s)
}

// take hands out n registers, and what the i-th holds of the value.
func (a *placer) take(n int, part func(i int) dwarf.Leaf) placedArg {
	at := placedArg{in: inRegs, reg: a.ints}
	for i := range n {
		at.regs = append(at.regs, a.abi.regs(a.arch)[a.ints+i])
		at.parts = append(at.parts, part(i))
	}
	a.ints += n
	return at
}

// free reports whether n registers are left.
func (a *placer) free(n int) bool { return a.ints+n <= len(a.abi.regs(a.arch)) }

// words places n words in registers if they are there.
func (a *placer) words(bytes, n int) placedArg {
	if n > 1 && a.arch == arch.ARM64 {
		a.ints += a.ints & 1 // pairs begin with an even number
	}
	if !a.free(n) {
		return a.onStack(bytes, 8)
	}
	return a.take(n, func(i int) dwarf.Leaf { return dwarf.Leaf{Offset: 8 * i, Bytes: 8} })
}

func (a *placer) onStack(bytes, align int) placedArg {
	if a.abi == abiC {
		if align = max(align, 8); a.arch == arch.ARM64 {
			align = min(align, 16)
		}
	}
	a.stack = types.RoundUp(a.stack, max(align, 1))
	at := placedArg{in: inStack, stack: a.abi.stack(a.arch) + a.stack}
	a.stack += bytes
	if a.abi == abiC {
		a.stack = types.RoundUp(a.stack, 8)
	}
	return at
}

// float places a floating-point value.
func (a *placer) float(s dwarf.Shape) placedArg {
	if a.arch == arch.AMD64 && s.Bytes > 8 || a.floats >= a.floatRegs() {
		return a.onStack(s.Bytes, s.Align) // long double, or no register left
	}
	a.floats++
	return placedArg{in: inFloats}
}

// inMemory reports whether a struct of up to 16 bytes has to be in memory: it
// has a long double, or a member that is not aligned.
func (a *placer) inMemory(s dwarf.Shape) bool {
	for _, l := range s.Leaves {
		if l.Float && l.Bytes > 8 || l.Bytes > 0 && l.Bytes <= 8 && l.Offset%l.Bytes != 0 {
			return true
		}
	}
	return s.Leaves == nil
}

// compositeAMD places a struct: up to 16 bytes by words, each in a register of
// the kind that its members ask for.
func (a *placer) compositeAMD(s dwarf.Shape) placedArg {
	n := (s.Bytes + 7) / 8
	if n > 2 || a.inMemory(s) {
		return a.onStack(s.Bytes, s.Align)
	}
	ints, floats := 0, 0
	for w := range n {
		whole := true // all members in this word are floating-point
		for _, l := range s.Leaves {
			whole = whole && (l.Float || l.Offset/8 != w)
		}
		if whole {
			floats++
		} else {
			ints++
		}
	}
	switch {
	case !a.free(ints) || a.floats+floats > a.floatRegs():
		return a.onStack(s.Bytes, s.Align)
	case floats > 0:
		a.ints, a.floats = a.ints+ints, a.floats+floats
		return placedArg{in: inFloats}
	}
	return a.words(s.Bytes, ints)
}

// compositeARM places a struct: up to four floating-point values of one size in
// registers for them, else up to 16 bytes in general ones, more by address.
func (a *placer) compositeARM(s dwarf.Shape) placedArg {
	n := len(s.Leaves)
	alike := n > 0 && n <= 4
	for _, l := range s.Leaves {
		alike = alike && l.Float && l.Bytes == s.Leaves[0].Bytes
	}
	switch {
	case alike && a.floats+n <= a.floatRegs():
		a.floats += n
		return placedArg{in: inFloats}
	case alike:
		a.floats = a.floatRegs()
		return a.onStack(s.Bytes, s.Align)
	case s.Bytes > 16:
		at := a.words(8, 1)
		at.in = inAddress
		return at
	}
	words := (s.Bytes + 7) / 8
	if !a.free(words) {
		a.ints = len(a.abi.regs(a.arch)) // what follows goes to the stack too
		return a.onStack(s.Bytes, s.Align)
	}
	if s.Align < 16 {
		return a.take(words, func(i int) dwarf.Leaf { return dwarf.Leaf{Offset: 8 * i, Bytes: 8} })
	}
	return a.words(s.Bytes, words)
}

// placeGo gives each scalar of a value a register, or puts all of it on the
// stack.
func (a *placer) placeGo(s dwarf.Shape) placedArg {
	var ints []dwarf.Leaf
	floats := 0
	for _, l := range s.Leaves {
		if l.Float {
			floats++
		} else {
			ints = append(ints, l)
		}
	}
	switch {
	case s.Bytes == 0:
		return placedArg{}
	case s.Leaves == nil || s.Several || !a.free(len(ints)) || a.floats+floats > a.floatRegs():
		return a.onStack(s.Bytes, s.Align)
	case floats > 0:
		a.ints, a.floats = a.ints+len(ints), a.floats+floats
		return placedArg{in: inFloats}
	}
	return a.take(len(ints), func(i int) dwarf.Leaf { return ints[i] })
}
