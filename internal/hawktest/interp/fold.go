package interp

import (
	"fmt"
	"math"
	"math/big"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// checkFolding works out a folded expression once more, with numbers of any
// size. What is not made of literals and operators is believed. Literals have no width while
// they are folded, so that nothing wraps around but what is shifted to the left; a result that no type
// holds has been refused by the checker.
func (m *machine) checkFolding(e syntax.Expr, k builtin.Const) {
	want, ok := folded(e)
	if !ok {
		if again, ok := m.again(e); ok && again != m.constant(e, k) {
			panic(&Mistyped{e.Span(), fmt.Sprintf("was folded to %v where %v is right", m.constant(e, k), again)})
		}
		return
	}
	got := any(k.Str)
	switch k.Kind {
	case builtin.BoolConst:
		got = k.Int != 0
	case builtin.IntConst:
		n := new(big.Int).SetUint64(k.Int)
		if k.Neg {
			n.SetInt64(int64(k.Int))
		}
		got = n.String()
	}
	// Text is compared, since a Const has 64 bits and a flag for the sign, and a big.Int has
	// neither.
	if n, ok := want.(*big.Int); ok {
		want = n.String()
	}
	if got != want {
		panic(&Mistyped{e.Span(), fmt.Sprintf("was folded to %v where %v is right", got, want)})
	}
}

// again works out a folded expression of integers with types as if it were not
// folded. Such an expression has widths and signs, so that the rules of a run hold for it.
func (m *machine) again(e syntax.Expr) (val, bool) {
	number := func(e syntax.Expr) bool {
		_, ok := asInt(m.info.Types[e])
		return ok
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return m.again(e.X)
	case *syntax.Unary:
		if number(e.X) && !m.untyped(e.X) {
			return m.unary(e), true
		}
	case *syntax.Binary:
		if number(e.X) && number(e.Y) && e.Op != syntax.LAnd && e.Op != syntax.LOr &&
			!(m.untyped(e.X) && m.untyped(e.Y)) {
			return m.operator(e), true
		}
	case *syntax.Cast:
		if number(e.X) {
			return convert(m.eval(e.X), m.typeOf(e.X), m.typeOf(e)), true
		}
	case *syntax.Cond:
		if number(e) && e.Then != nil && number(e.Then) && number(e.Else) && !(m.untyped(e.Then) && m.untyped(e.Else)) {
			return m.cond(e), true
		}
	}
	return nil, false
}

// untyped reports whether an expression is made of literals and operators
// alone, for which other rules hold.
func (m *machine) untyped(e syntax.Expr) bool {
	if m.info.Types[e] == types.Bool {
		return true
	}
	switch e := e.(type) {
	case *syntax.IntLit, *syntax.SizeOf, *syntax.OffsetOf, *syntax.PosParam:
		return true
	case *syntax.Paren:
		return m.untyped(e.X)
	case *syntax.Unary:
		return m.untyped(e.X)
	case *syntax.Binary:
		return m.untyped(e.X) && m.untyped(e.Y)
	case *syntax.Cond:
		if e.Then == nil {
			return m.untyped(e.Cond) && m.untyped(e.Else)
		}
		return m.untyped(e.Then) && m.untyped(e.Else)
	case *syntax.If:
		return e.Else != nil && m.untyped(e.Then) && m.untyped(e.Else)
	case *syntax.Block:
		return len(e.Stmts) == 0 && e.Result != nil && m.untyped(e.Result)
	}
	return false
}

// folded is a *big.Int, a bool or a string. The second result is false where the expression has
// a part that is not known here, such as a sizeof.
func folded(e syntax.Expr) (any, bool) {
	switch e := e.(type) {
	case *syntax.IntLit:
		return new(big.Int).SetUint64(e.Value), true
	case *syntax.BoolLit:
		return e.Value, true
	case *syntax.StringLit:
		return e.Value, true
	case *syntax.Paren:
		return folded(e.X)
	case *syntax.Unary:
		x, ok := folded(e.X)
		n, isInt := x.(*big.Int)
		switch {
		case !ok:
		case e.Op == syntax.Not:
			if _, text := x.(string); !text {
				return !holds(x), true
			}
		case e.Op == syntax.Sub && isInt:
			return new(big.Int).Neg(n), true
		case e.Op == syntax.Tilde && isInt:
			// The complement is that of 64 bits: of numbers of any size it would always be
			// negative.
			n = new(big.Int).Not(n)
			if n.Sign() < 0 {
				n.Add(n, new(big.Int).Lsh(big.NewInt(1), 64))
			}
			return n, true
		}
	case *syntax.Binary:
		x, xok := folded(e.X)
		y, yok := folded(e.Y)
		if xok && yok {
			return foldedBinary(e.Op, x, y)
		}
	case *syntax.Cond:
		c, cok := folded(e.Cond)
		x, xok := c, cok
		if e.Then != nil {
			x, xok = folded(e.Then)
		}
		y, yok := folded(e.Else)
		if cok && xok && yok {
			if holds(c) {
				return x, true
			}
			return y, true
		}
	}
	return nil, false
}

// holds is the truth of a constant of any kind.
func holds(x any) bool {
	switch x := x.(type) {
	case bool:
		return x
	case string:
		return x != ""
	}
	return x.(*big.Int).Sign() != 0
}

// foldedBinary evaluates both sides of && and || even if one decides: constants have no effects.
func foldedBinary(op syntax.Token, x, y any) (any, bool) {
	switch op {
	case syntax.LAnd:
		return holds(x) && holds(y), true
	case syntax.LOr:
		return holds(x) || holds(y), true
	}
	a, aok := x.(*big.Int)
	b, bok := y.(*big.Int)
	if !aok || !bok {
		return nil, false
	}
	cmp := a.Cmp(b)
	out := new(big.Int)
	switch op {
	case syntax.Eq:
		return cmp == 0, true
	case syntax.Ne:
		return cmp != 0, true
	case syntax.Lt:
		return cmp < 0, true
	case syntax.Gt:
		return cmp > 0, true
	case syntax.Le:
		return cmp <= 0, true
	case syntax.Ge:
		return cmp >= 0, true
	case syntax.Add:
		return out.Add(a, b), true
	case syntax.Sub:
		return out.Sub(a, b), true
	case syntax.Mul:
		return out.Mul(a, b), true
	case syntax.Div:
		return out.Quo(a, b), true
	case syntax.Mod:
		return out.Rem(a, b), true
	case syntax.Shl:
		// Bits that are shifted beyond 64 are lost.
		b := new(big.Int).And(out.Lsh(a, uint(b.Uint64())), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		if a.Sign() < 0 {
			return out.SetInt64(int64(b)), true
		}
		return out.SetUint64(b), true
	case syntax.Shr:
		return out.Rsh(a, uint(b.Uint64())), true
	}
	return nil, false
}
