package opt

import (
	"math/bits"

	"github.com/hawktrace/hawk/internal/ir"
)

// fold computes v for constant arguments (y is ignored by unary operations),
// exactly as the machine does: division by 0 yields 0, modulo 0 the dividend,
// and shift counts are taken modulo 64.
func fold(v *ir.Value, x, y int64) (int64, bool) {
	truth := func(b bool) (int64, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	switch v.Op {
	case ir.Add:
		return x + y, true
	case ir.Sub:
		return x - y, true
	case ir.Mul:
		return x * y, true
	case ir.UDiv:
		if y == 0 {
			return 0, true
		}
		return int64(uint64(x) / uint64(y)), true
	case ir.UMod:
		if y == 0 {
			return x, true
		}
		return int64(uint64(x) % uint64(y)), true
	case ir.SDiv:
		if y == 0 {
			return 0, true
		}
		return x / y, true
	case ir.SMod:
		if y == 0 {
			return x, true
		}
		return x % y, true
	case ir.And:
		return x & y, true
	case ir.Or:
		return x | y, true
	case ir.Xor:
		return x ^ y, true
	case ir.Shl:
		return x << (y & 63), true
	case ir.LShr:
		return int64(uint64(x) >> (y & 63)), true
	case ir.AShr:
		return x >> (y & 63), true
	case ir.Neg:
		return -x, true
	case ir.Ext:
		return extend(x, v.Size, v.Sign), true
	case ir.Bswap:
		return int64(bits.ReverseBytes64(uint64(x)) >> (64 - 8*uint(v.Size))), true
	case ir.Eq:
		return truth(x == y)
	case ir.Ne:
		return truth(x != y)
	case ir.ULt:
		return truth(uint64(x) < uint64(y))
	case ir.ULe:
		return truth(uint64(x) <= uint64(y))
	case ir.SLt:
		return truth(x < y)
	case ir.SLe:
		return truth(x <= y)
	}
	return 0, false
}

// extend keeps the low size bytes of x.
func extend(x int64, size uint8, sign bool) int64 {
	shift := 64 - 8*uint(size)
	if sign {
		return x << shift >> shift
	}
	return int64(uint64(x) << shift >> shift)
}

// width is a number of low bits outside of which v is zero, as far as the
// kernel's verifier can tell as well.
func width(v *ir.Value) int {
	switch v.Op {
	case ir.Const:
		return bits.Len64(uint64(v.Imm))
	case ir.Load:
		if !v.Sign && v.Kind == ir.I64 {
			return 8 * int(v.Size)
		}
	case ir.Ext:
		if !v.Sign {
			return min(8*int(v.Size), width(v.Args[0]))
		}
	case ir.And:
		if v.Args[1].Op == ir.Const {
			return bits.Len64(uint64(v.Args[1].Imm))
		}
	case ir.LShr:
		if v.Args[1].Op == ir.Const {
			return 64 - int(v.Args[1].Imm&63)
		}
	case ir.Eq, ir.Ne, ir.ULt, ir.ULe, ir.SLt, ir.SLe:
		return 1
	}
	return 64
}
