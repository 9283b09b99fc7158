package check

import (
	"math/bits"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/operator"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Integer literals alone are folded over the union of both 64-bit ranges: sign
// and magnitude of a number from -2^63 to 2^64-1. What leaves that range
// is an error, never a wrap-around, and so is an operation whose result would
// depend on which of the two types its operands are given. An operation with an
// operand that has a type, as of a cast, is computed in types as a program does.
// Go's integers would wrap around where the language wants an error.
type number struct {
	neg bool
	mag uint64
}

// numberOf is the number that a constant is: Int holds its two's complement, Neg its sign.
func numberOf(k builtin.Const) number {
	if k.Neg {
		return number{true, -k.Int}
	}
	return number{false, k.Int}
}

// konst is a number as a constant; there is no negative zero.
func (n number) konst() builtin.Const {
	if n.neg && n.mag != 0 {
		return builtin.Const{Kind: builtin.IntConst, Int: -n.mag, Neg: true}
	}
	return builtin.Const{Kind: builtin.IntConst, Int: n.mag}
}

// inRange reports whether a number is at least -2^63; one above 2^64-1 cannot be written down.
func (n number) inRange() bool { return !n.neg || n.mag <= 1<<63 }

// bits is the two's complement.
func (n number) bits() uint64 {
	if n.neg {
		return -n.mag
	}
	return n.mag
}

func (n number) zero() bool { return n.mag == 0 }

// cmp orders two numbers: -1, 0 or 1.
func (n number) cmp(m number) int {
	switch {
	case n.zero() && m.zero():
		return 0
	case n.neg != m.neg:
		if n.neg {
			return -1
		}
		return 1
	case n.mag == m.mag:
		return 0
	case n.mag < m.mag != n.neg:
		return -1
	}
	return 1
}

// add is the sum; ok is false if it is out of range.
func (n number) add(m number) (number, bool) {
	if n.neg == m.neg {
		sum, carry := bits.Add64(n.mag, m.mag, 0)
		r := number{n.neg, sum}
		return r, carry == 0 && r.inRange()
	}
	if n.mag >= m.mag {
		return number{n.neg, n.mag - m.mag}, true
	}
	r := number{m.neg, m.mag - n.mag}
	return r, r.inRange()
}

func (n number) negate() number { return number{!n.neg, n.mag} }

// foldInt computes op on two integers. problem says in words what is wrong;
// code names it.
// Comparisons are not here: they never overflow, see compare.
func foldInt(op syntax.Token, x, y number) (r number, code, problem string) {
	ok := true
	if apart(x, y) && (op == syntax.Div || op == syntax.Mod) {
		return r, "no-common-type", noCommonType
	}
	switch op {
	case syntax.Add:
		r, ok = x.add(y)
	case syntax.Sub:
		r, ok = x.add(y.negate())
	case syntax.Mul:
		hi, lo := bits.Mul64(x.mag, y.mag)
		r = number{x.neg != y.neg, lo}
		ok = hi == 0 && r.inRange()
	case syntax.Div, syntax.Mod:
		if y.zero() {
			return r, "division-by-zero", "division by zero"
		}
		r = number{x.neg != y.neg, x.mag / y.mag}
		if op == syntax.Mod {
			r = number{x.neg, x.mag % y.mag}
		}
		ok = r.inRange()
	// Bits of negative numbers are those of their two's complement; the sign of the result is that
	// of an infinite one.
	case syntax.And:
		r = fromBits(x.bits()&y.bits(), x.neg && y.neg)
	case syntax.Or:
		r = fromBits(x.bits()|y.bits(), x.neg || y.neg)
	case syntax.Xor:
		b := x.bits() ^ y.bits()
		r = fromBits(b, x.neg != y.neg && int64(b) < 0)
	case syntax.Shl, syntax.Shr:
		if y.neg || y.mag >= 64 {
			return r, "bad-shift", "shift count must be between 0 and 63"
		}
		if op == syntax.Shl {
			// Bits are shifted out, as those of masks are meant to be: ~0 << 12.
			b := x.bits() << y.mag
			r = fromBits(b, x.neg && int64(b) < 0)
		} else if x.neg {
			r = fromBits(uint64(int64(x.bits())>>y.mag), true)
		} else {
			r = number{false, x.mag >> y.mag}
		}
	}
	if !ok {
		return r, "integer-overflow", "integer overflow"
	}
	return r, "", ""
}

// noCommonType is the error of an operation on such a pair: the answer would depend on which type
// is taken.
const noCommonType = "no integer type holds both operands, one of which is negative and one above 9223372036854775807"

// apart reports whether two numbers are of no common type.
func apart(x, y number) bool {
	return x.neg && y.mag > 1<<63-1 && !y.neg || y.neg && x.mag > 1<<63-1 && !x.neg
}

// typed is a number as a constant of an integer type.
// The constant has the bits that the program would have in a register.
func typed(bits uint64, t *types.Int) builtin.Const {
	bits = operator.Convert(bits, t)
	return builtin.Const{Kind: builtin.IntConst, Int: bits, Neg: t.Signed && int64(bits) < 0}
}

// fromBits reads a bit pattern as a negative number if neg says so.
func fromBits(b uint64, neg bool) number {
	if neg {
		return number{true, -b}
	}
	return number{false, b}
}

// compare applies a comparison to an ordering.
func compare(op syntax.Token, c int) bool {
	switch op {
	case syntax.Lt:
		return c < 0
	case syntax.Gt:
		return c > 0
	case syntax.Le:
		return c <= 0
	case syntax.Ge:
		return c >= 0
	case syntax.Eq:
		return c == 0
	}
	return c != 0
}

// boolConst is a boolean as a constant.
func boolConst(b bool) builtin.Const {
	k := builtin.Const{Kind: builtin.BoolConst}
	if b {
		k.Int = 1
	}
	return k
}

// strConst is a text as a constant.
func strConst(s string) builtin.Const { return builtin.Const{Kind: builtin.StrConst, Str: s} }

// truth is what a literal is worth as a condition.
func truth(k builtin.Const) bool {
	if k.Kind == builtin.StrConst {
		return cText(k.Str) != ""
	}
	return k.Int != 0
}

// cText is what a program takes for the text of a string: all in front of the
// first NUL.
func cText(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// sameLiterals compares two literals whose types join: their bytes, as a
// program does.
// Records are compared by name, whatever order they were written in.
func sameLiterals(x, y val) bool {
	if x.parts == nil {
		return strings.TrimRight(x.k.Str, "\x00") == strings.TrimRight(y.k.Str, "\x00") && x.k.Int == y.k.Int
	}
	xr, isRecord := x.Type.(*types.Record)
	for i, p := range x.parts {
		if isRecord {
			j, _, _ := y.Type.(*types.Record).Lookup(xr.Names[i])
			if !sameLiterals(p, y.parts[j]) {
				return false
			}
		} else if !sameLiterals(p, y.parts[i]) {
			return false
		}
	}
	return true
}

// literal is the value of a constant with the smallest type that holds it.
func literal(k builtin.Const) val {
	v := val{k: k}
	switch k.Kind {
	case builtin.BoolConst:
		v.Type = types.Bool
	case builtin.StrConst:
		v.Type = &types.String{Cap: len(k.Str) + 1}
	case builtin.IntConst:
		v.free = true
		v.Type, v.Flex.Flex = literalType(numberOf(k))
	}
	return v
}

// flex says that the type gives way: a literal that is not negative becomes unsigned beside an
// unsigned operand.
// Types grow from there by joins: a map of small numbers has narrow values, as in the
// reference.
func literalType(n number) (t types.Type, flex bool) {
	limit := n.mag
	if n.neg {
		limit-- // -128 fits where 127 does
	}
	switch {
	case limit <= 1<<7-1:
		t = types.Int8
	case limit <= 1<<15-1:
		t = types.Int16
	case limit <= 1<<31-1:
		t = types.Int32
	case limit <= 1<<63-1:
		t = types.Int64
	default:
		return types.Uint64, false
	}
	return t, !n.neg
}

// holds reports whether a literal is a value of an integer type.
func holds(t *types.Int, n number) bool {
	width := uint(t.Bytes * 8)
	if !t.Signed {
		return !n.neg && (width == 64 || n.mag < 1<<width)
	}
	if n.neg {
		return n.mag <= 1<<(width-1)
	}
	return n.mag < 1<<(width-1)
}
