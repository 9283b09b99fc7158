package ir

import "math/bits"

// Compute is what a pure operation on numbers yields; y is ignored by those
// with one argument, size and sign are those of Ext and Bswap. This is
// the one account of what the operations mean: the checker folds the script's
// operators by it, the optimiser what their arguments have become, and package
// eval runs it. It says what the machine does: division by 0 yields
// 0, modulo 0 the dividend, and shift counts are taken modulo 64. ok is
// false for operations that are not computed from numbers.
func Compute(op Op, size uint8, sign bool, x, y uint64) (r uint64, ok bool) {
	switch op {
	case Add:
		return x + y, true
	case Sub:
		return x - y, true
	case Mul:
		return x * y, true
	case UDiv, SDiv:
		switch {
		case y == 0:
			return 0, true
		case op == UDiv:
			return x / y, true
		}
		// The smallest number by -1 is itself, in Go as in the machine.
		return uint64(int64(x) / int64(y)), true
	case UMod, SMod:
		switch {
		case y == 0:
			return x, true
		case op == UMod:
			return x % y, true
		}
		return uint64(int64(x) % int64(y)), true
	case And:
		return x & y, true
	case Or:
		return x | y, true
	case Xor:
		return x ^ y, true
	case Shl:
		return x << (y & 63), true
	case LShr:
		return x >> (y & 63), true
	case AShr:
		return uint64(int64(x) >> (y & 63)), true
	case UMin:
		return min(x, y), true
	case Neg:
		return -x, true
	case Ext:
		return Extend(x, size, sign), true
	case Bswap:
		return bits.ReverseBytes64(x) >> (64 - 8*uint(size)), true
	case Eq:
		return truth(x == y), true
	case Ne:
		return truth(x != y), true
	case ULt:
		return truth(x < y), true
	case ULe:
		return truth(x <= y), true
	case SLt:
		return truth(int64(x) < int64(y)), true
	case SLe:
		return truth(int64(x) <= int64(y)), true
	}
	return 0, false
}

// Extend keeps the low size bytes of x and extends them to 64 bits.
func Extend(x uint64, size uint8, sign bool) uint64 {
	shift := 64 - 8*uint(size)
	if sign {
		return uint64(int64(x<<shift) >> shift)
	}
	return x << shift >> shift
}

// truth is what comparisons yield.
func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
