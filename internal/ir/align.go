package ir

// Alignment is the largest power of two, at most 8, that the address p+off is
// known to be a multiple of. The kernel insists on it for the stack and for
// contexts, so whoever splits an access into several asks here.
func Alignment(p *Value, off int) int {
	switch p.Op {
	case Addr:
		return min(align(int(p.Imm)+off), max(p.Obj.Align, 1))
	case Sub:
		if n := p.Args[1]; n.Op == Const {
			return Alignment(p.Args[0], off-int(n.Imm))
		}
		return min(Alignment(p.Args[0], off), factor(p.Args[1]))
	case Add:
		if n := p.Args[1]; n.Op == Const {
			return Alignment(p.Args[0], off+int(n.Imm))
		}
		// A scaled index: the factor is part of the instruction that made it.
		return min(Alignment(p.Args[0], off), factor(p.Args[1]))
	}
	// Other pointers, as map values and records, are aligned to 8 by the kernel.
	return align(off)
}

// factor is the largest power of two, at most 8, known to divide v.
func factor(v *Value) int {
	switch v.Op {
	case Const:
		return align(int(v.Imm))
	case Mul:
		return max(factor(v.Args[0]), factor(v.Args[1]))
	case Shl:
		if n := v.Args[1]; n.Op == Const {
			return align(1 << min(n.Imm&63, 3))
		}
	}
	return 1
}

// align is the largest power of two, at most 8, that divides n.
func align(n int) int {
	a := 8
	for n%a != 0 {
		a /= 2
	}
	return a
}
