// Package operator says what the operators of the language do to two integers:
// what type the result has and which operation of the IR computes it. The
// checker types and folds by it and lowering selects by it, so that an
// expression of constants and the same one of variables are one thing.
package operator

import (
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A Rule is what an operator does to two integers of known types. Both operands
// are taken at 64 bits, extended by the signs of their own types.
type Rule struct {
	Op syntax.Token
	// Operands is the type that both count as.
	Operands *types.Int
	// Result is bool for a comparison, else an integer of 64 bits.
	Result types.Type
	left   bool // the left operand is signed
}

// Compares reports whether an operator is a comparison.
func Compares(op syntax.Token) bool {
	switch op {
	case syntax.Eq, syntax.Ne, syntax.Lt, syntax.Gt, syntax.Le, syntax.Ge:
		return true
	}
	return false
}

// Of returns the rule for an operator that is not a logical one. A flexible operand takes
// the sign of the other one; a boolean is a flexible uint8.
func Of(op syntax.Token, x, y types.Flex) Rule {
	j, _ := types.Join(x, y)
	joined := j.Type.(*types.Int)
	r := Rule{Op: op, Operands: joined, Result: types.Bool, left: signed(x)}
	if !Compares(op) {
		r.Operands = types.IntOf(8, op == syntax.Sub || signed(x) || signed(y) || x.Flex && y.Flex)
		r.Result = r.Operands
	}
	return r
}

// signed reports whether an operand brings a sign along.
func signed(f types.Flex) bool {
	i, _ := types.IsInteger(f.Type)
	return i.Signed && !f.Flex
}

// Fold computes the operator. A division by zero, which yields 1, is left to
// the caller, who has to report it.
func (r Rule) Fold(x, y uint64) uint64 {
	op, swapped := Instruction(r.Op, r.Operands.Signed, r.left)
	if swapped {
		x, y = y, x
	}
	out, _ := ir.Compute(op, 0, false, x, y)
	return out
}

// Negate and Complement fold the unary operators on a value of a type.
func Negate(x uint64, t *types.Int) uint64     { return Wrap(compute(ir.Neg, x, 0), t) }
func Complement(x uint64, t *types.Int) uint64 { return Wrap(compute(ir.Xor, x, ^uint64(0)), t) }

// Wrap yields what is left of the result of a unary operator on a value of a type: an unsigned one
// wraps around at its own width, though the type of the result is uint64.
func Wrap(x uint64, t *types.Int) uint64 {
	if t.Signed {
		return x
	}
	return Convert(x, t)
}

func compute(op ir.Op, x, y uint64) uint64 {
	out, _ := ir.Compute(op, 0, false, x, y)
	return out
}

// Convert is a number as a value of an integer type, at 64 bits.
func Convert(x uint64, to *types.Int) uint64 { return ir.Extend(x, uint8(to.Bytes), to.Signed) }

// An instruction is the operation for an operator on operands of each sign.
type instruction struct {
	unsigned, signed ir.Op
	swapped          bool // it takes the right operand first
}

var instructions = map[syntax.Token]instruction{
	syntax.Add: {ir.Add, ir.Add, false},
	syntax.Sub: {ir.Sub, ir.Sub, false},
	syntax.Mul: {ir.Mul, ir.Mul, false},
	syntax.Div: {ir.UDiv, ir.SDiv, false},
	syntax.Mod: {ir.UMod, ir.SMod, false},
	syntax.And: {ir.And, ir.And, false},
	syntax.Or:  {ir.Or, ir.Or, false},
	syntax.Xor: {ir.Xor, ir.Xor, false},
	syntax.Shl: {ir.Shl, ir.Shl, false},
	syntax.Shr: {ir.LShr, ir.AShr, false}, // by the sign of what is shifted
	syntax.Eq:  {ir.Eq, ir.Eq, false},
	syntax.Ne:  {ir.Ne, ir.Ne, false},
	syntax.Lt:  {ir.ULt, ir.SLt, false},
	syntax.Le:  {ir.ULe, ir.SLe, false},
	syntax.Gt:  {ir.ULt, ir.SLt, true},
	syntax.Ge:  {ir.ULe, ir.SLe, true},
}

// Instruction is the operation that computes an operator. signed is whether the
// operands count as signed, left whether the left one is by itself: a shift to
// the right goes by that. Shift counts are taken modulo 64.
func Instruction(op syntax.Token, signed, left bool) (code ir.Op, swapped bool) {
	i := instructions[op]
	if op == syntax.Shr {
		signed = left
	}
	if signed {
		return i.signed, i.swapped
	}
	return i.unsigned, i.swapped
}
