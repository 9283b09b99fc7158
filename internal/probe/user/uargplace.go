package user

import (
	"slices"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// A placer hands out registers and stack as a calling convention does: that of
// System V for x86-64, of ARM for 64 bits (AAPCS64), of Go.
type placer struct {
	abi    arch.ABI
	rust   bool // by the rules of Rust, where that is not C's
	arch   *arch.Arch
	ints   int // registers taken
	floats int
	stack  int // bytes taken
}

// floatRegs is how many registers take floating-point arguments.
func (a *placer) floatRegs() int {
	switch {
	case a.abi == arch.ABIGoStack:
		return 0
	// C and Rust have eight on both machines (xmm0 to xmm7, v0 to v7).
	case a.abi != arch.ABIGo:
		return 8
	case a.arch == arch.AMD64:
		return 15
	}
	return 16
}

// result takes account of the result: one that is too large for registers is written where an
// argument in front of the others says. On ARM it is a register of its own, x8, that takes none
// from the arguments.
func (a *placer) result(s dwarf.Shape) {
	if a.rust {
		if _, pair := scalars(s); !pair && s.Bytes > 16 && a.arch == arch.AMD64 {
			a.ints++
		}
		return
	}
	if a.abi == arch.ABIC && a.arch == arch.AMD64 && (s.ByAddress || s.Composite && (s.Bytes > 16 || a.inMemory(s))) {
		a.ints++
	}
}

// params finds where the parameters of a function are.
func (a *placer) params(fn *dwarf.Func) []probe.PlacedArg {
	var out []probe.PlacedArg
	for i, param := range fn.Params {
		// The dictionary takes a register and has no name, so that no field stands for it.
		if i == fn.Dictionary {
			a.ints++
		}
		out = append(out, a.place(param.Shape))
	}
	return out
}

// results finds where the results of a function of Go are, once its parameters
// have been placed: in the same registers from the first on, or behind the
// parameters on the stack.
func (a *placer) results(fn *dwarf.Func) []probe.PlacedArg {
	// Results begin anew with the first register; on the stack they lie behind the arguments,
	// aligned to a word.
	a.ints, a.floats, a.stack = 0, 0, types.RoundUp(a.stack, 8)
	var out []probe.PlacedArg
	for _, r := range fn.Results {
		out = append(out, a.place(r.Shape))
	}
	return out
}

// place finds where the next argument is.
func (a *placer) place(s dwarf.Shape) probe.PlacedArg {
	switch {
	case s.ByAddress:
		return a.address()
	case a.abi.IsGo():
		return a.placeGo(s)
	case a.rust && s.Composite && s.Bytes > 0:
		return a.placeRust(s)
	// An empty class of C++ has one byte, that is not passed.
	case s.Bytes == 0 || s.Composite && len(s.Leaves) == 0 && s.Bytes == 1:
		return probe.PlacedArg{}
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
func (a *placer) take(n int, part func(i int) dwarf.Leaf) probe.PlacedArg {
	at := probe.PlacedArg{In: probe.InRegs, Reg: a.ints}
	for i := range n {
		at.Regs = append(at.Regs, a.abi.Regs(a.arch)[a.ints+i])
		at.Parts = append(at.Parts, part(i))
	}
	a.ints += n
	return at
}

// free reports whether n registers are left.
func (a *placer) free(n int) bool { return a.ints+n <= len(a.abi.Regs(a.arch)) }

// words places n words in registers if they are there.
func (a *placer) words(bytes, n int) probe.PlacedArg {
	if n > 1 && a.arch == arch.ARM64 {
		a.ints += a.ints & 1 // pairs begin with an even number
	}
	if !a.free(n) {
		return a.onStack(bytes, 8)
	}
	return a.take(n, func(i int) dwarf.Leaf { return dwarf.Leaf{Offset: 8 * i, Bytes: 8} })
}

// address places the address of a value.
func (a *placer) address() probe.PlacedArg {
	// The argument is a pointer: it takes one word, wherever the value itself is.
	at := a.words(8, 1)
	at.In = probe.InAddress
	return at
}

// onStack places a value on the stack, where C gives every argument whole words; Go packs them as
// fields.
func (a *placer) onStack(bytes, align int) probe.PlacedArg {
	if a.abi == arch.ABIC {
		if align = max(align, 8); a.arch == arch.ARM64 {
			align = min(align, 16)
		}
	}
	a.stack = types.RoundUp(a.stack, max(align, 1))
	at := probe.PlacedArg{In: probe.InStack, Stack: a.abi.Stack(a.arch) + a.stack}
	a.stack += bytes
	if a.abi == arch.ABIC {
		a.stack = types.RoundUp(a.stack, 8)
	}
	return at
}

// float places a floating-point value.
func (a *placer) float(s dwarf.Shape) probe.PlacedArg {
	if a.arch == arch.AMD64 && s.Bytes > 8 || a.floats >= a.floatRegs() {
		return a.onStack(s.Bytes, s.Align) // long double, or no register left
	}
	a.floats++
	return probe.PlacedArg{In: probe.InFloats}
}

// inMemory reports whether a struct of up to 16 bytes has to be in memory: it
// has a long double, or a member that is not aligned.
func (a *placer) inMemory(s dwarf.Shape) bool {
	for _, l := range s.Leaves {
		if l.Float && l.Bytes > 8 || l.Bytes > 0 && l.Bytes <= 8 && l.Offset%l.Bytes != 0 {
			return true
		}
	}
	// A shape without leaves has too many of them, or is not known: it is taken for one that has
	// no registers.
	return s.Leaves == nil
}

// compositeAMD places a struct: up to 16 bytes by words, each in a register of
// the kind that its members ask for.
func (a *placer) compositeAMD(s dwarf.Shape) probe.PlacedArg {
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
	// A struct goes into registers as a whole or not at all; what follows may still use those that
	// are left.
	case !a.free(ints) || a.floats+floats > a.floatRegs():
		return a.onStack(s.Bytes, s.Align)
	// One word in a floating-point register is enough to make the value unreadable.
	case floats > 0:
		a.ints, a.floats = a.ints+ints, a.floats+floats
		return probe.PlacedArg{In: probe.InFloats}
	}
	return a.words(s.Bytes, ints)
}

// compositeARM places a struct: up to four floating-point values of one size in
// registers for them, else up to 16 bytes in general ones, more by address.
func (a *placer) compositeARM(s dwarf.Shape) probe.PlacedArg {
	n := len(s.Leaves)
	// This is what AAPCS64 calls a homogeneous floating-point aggregate.
	alike := n > 0 && n <= 4
	for _, l := range s.Leaves {
		alike = alike && l.Float && l.Bytes == s.Leaves[0].Bytes
	}
	switch {
	case alike && a.floats+n <= a.floatRegs():
		a.floats += n
		return probe.PlacedArg{In: probe.InFloats}
	case alike:
		// Once one of them had no room, none of those that follow has, by the same rule.
		a.floats = a.floatRegs()
		return a.onStack(s.Bytes, s.Align)
	case s.Bytes > 16:
		return a.address()
	}
	words := (s.Bytes + 7) / 8
	if !a.free(words) {
		a.ints = len(a.abi.Regs(a.arch)) // what follows goes to the stack too
		return a.onStack(s.Bytes, s.Align)
	}
	// Only what is aligned to 16 bytes begins with an even register.
	if s.Align < 16 {
		return a.take(words, func(i int) dwarf.Leaf { return dwarf.Leaf{Offset: 8 * i, Bytes: 8} })
	}
	return a.words(s.Bytes, words)
}

// placeGo gives each scalar of a value a register, or puts all of it on the stack. The rule is that
// of Go's ABIInternal: no value is divided, and an array of more than one element never travels in
// registers.
func (a *placer) placeGo(s dwarf.Shape) probe.PlacedArg {
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
		return probe.PlacedArg{}
	case s.Leaves == nil || s.Several || !a.free(len(ints)) || a.floats+floats > a.floatRegs():
		return a.onStack(s.Bytes, s.Align)
	case floats > 0:
		a.ints, a.floats = a.ints+len(ints), a.floats+floats
		return probe.PlacedArg{In: probe.InFloats}
	}
	return a.take(len(ints), func(i int) dwarf.Leaf { return ints[i] })
}

// scalars are the one or two numbers that Rust takes a value apart into; false if it has more, or
// an array. Variants of an enum share their bytes, so that a number may be found several times.
func scalars(s dwarf.Shape) (list []dwarf.Leaf, ok bool) {
	for _, l := range s.Leaves {
		known := slices.IndexFunc(list, func(k dwarf.Leaf) bool { return k.Offset == l.Offset })
		if known < 0 {
			list = append(list, l)
		} else if list[known].Bytes != l.Bytes { // variants that differ
			return nil, false
		}
	}
	return list, !s.Several && (len(list) == 1 || len(list) == 2)
}

// placeRust places a struct as Rust does among its own functions: as its one or
// two numbers, else as bytes of one register or by its address. Rust promises
// none of this to anybody; it has been so since 2020.
func (a *placer) placeRust(s dwarf.Shape) probe.PlacedArg {
	list, ok := scalars(s)
	switch {
	case ok && slices.ContainsFunc(list, func(l dwarf.Leaf) bool { return l.Float }):
		for _, l := range list {
			if l.Float {
				a.floats++
			} else {
				a.ints++
			}
		}
		return probe.PlacedArg{In: probe.InFloats}
	case ok && a.free(len(list)):
		return a.take(len(list), func(i int) dwarf.Leaf { return list[i] })
	case ok && len(list) == 2 && a.free(1):
		a.ints++
		a.stack += 8
		return probe.PlacedArg{In: probe.InSplit}
	case ok || s.Bytes <= 8:
		return a.words(s.Bytes, (s.Bytes+7)/8)
	}
	return a.address()
}
