package opt

import (
	"math/bits"

	"github.com/hawktrace/hawk/internal/ir"
)

// fold computes v for constant arguments; y is ignored by unary operations.
// The evaluator of tests computes by the same function, and the kernel's arithmetic is compared
// with it.
func fold(v *ir.Value, x, y int64) (int64, bool) {
	r, ok := ir.Compute(v.Op, v.Size, v.Sign, uint64(x), uint64(y))
	return int64(r), ok
}

// extend keeps the low size bytes of x.
func extend(x int64, size uint8, sign bool) int64 { return int64(ir.Extend(uint64(x), size, sign)) }

// width is a number of low bits outside of which v is zero, as far as the
// kernel's verifier can tell as well.
// A branch that is removed by it was dead to the verifier as well, which then had no bounds to
// learn there.
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
