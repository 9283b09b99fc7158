package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// ifExpr is if as a value: both arms must have one, of types that join.
// A block without a result has the type None, and so has an if of two such blocks.
func (w *walker) ifExpr(e *syntax.If) val {
	switch w.arm(e, e.Cond) {
	case thenArm:
		return w.only(e, e.Then)
	case elseArm:
		return w.only(e, e.Else)
	case noArm:
		return val{}
	}
	cond := w.condition(e.Cond)
	then := w.expr(e.Then)
	if e.Else == nil {
		if isNothing(then.Type) {
			return then
		}
		if then.Type != nil {
			w.errorf(e, "no-else", "An if without else has no value")
		}
		return val{}
	}
	return w.joinArms(e, cond, then, w.expr(e.Else), e.Then, e.Else)
}

// cond is c ? x : y, or x ?: y, where the condition is the value itself if it is true.
func (w *walker) cond(e *syntax.Cond) val {
	switch w.arm(e, e.Cond) {
	case thenArm:
		if e.Then == nil {
			return w.only(e, e.Cond)
		}
		return w.only(e, e.Then)
	case elseArm:
		return w.only(e, e.Else)
	case noArm:
		return val{}
	}
	cond := w.condition(e.Cond)
	then, thenExpr := cond, e.Cond
	if e.Then != nil {
		then, thenExpr = w.expr(e.Then), e.Then
	}
	return w.joinArms(e, cond, then, w.expr(e.Else), thenExpr, e.Else)
}

// joinArms types a conditional. A literal condition with literal arms is
// decided here, whatever the arms' types.
func (w *walker) joinArms(e syntax.Expr, cond, x, y val, xe, ye syntax.Expr) val {
	if cond.k.Kind != builtin.NoConst && x.isLiteral() && y.isLiteral() {
		taken := y
		if truth(cond.k) {
			taken = x
		}
		// An integer with a type has the type of both arms, as at run time.
		if x.k.Kind == builtin.IntConst && y.k.Kind == builtin.IntConst && !(x.free && y.free) {
			taken.Flex, _ = types.Join(x.Flex, y.Flex)
			taken.free = false
			if i, ok := types.IsInteger(taken.Type); ok {
				taken.k = typed(taken.k.Int, i)
			}
		}
		return taken
	}
	if x.Type == nil || y.Type == nil {
		return val{}
	}
	if isNothing(x.Type) && isNothing(y.Type) {
		return val{Flex: types.Flex{Type: types.None}}
	}
	// A count as an arm is read as the number that it comes to.
	for _, v := range []*val{&x, &y} {
		if agg, ok := v.Type.(*types.Agg); ok {
			if i, ok := w.castable(agg); ok {
				v.Flex = types.Flex{Type: i}
			}
		}
	}
	j, ok := types.Join(x.Flex, y.Flex)
	if _, agg := j.Type.(*types.Agg); !ok || agg || isNothing(x.Type) != isNothing(y.Type) {
		w.errorf(e, "arms-mismatch", "Branches must return the same type or compatible types: have '%s' and '%s'",
			x.Type, y.Type).
			Note(xe.Span(), "this has type '%s'", x.Type).Note(ye.Span(), "this has type '%s'", y.Type)
		return val{}
	}
	// The address space is that of the arm that has one, none if they disagree.
	v := val{Flex: j, space: x.space}
	switch {
	case v.space == types.Unset:
		v.space = y.space
	case y.space != types.Unset && y.space != v.space:
		v.space = types.Unset
	}
	w.lossy(xe, x.Flex, j.Type)
	w.lossy(ye, y.Flex, j.Type)
	return v
}

// condition is an expression that decides. Integers and pointers decide by being zero or not, and
// constants of any type, as in the reference.
// A text is no condition unless it is a literal: nobody can tell whether its address or its
// length was meant.
func (w *walker) condition(e syntax.Expr) val {
	v := w.expr(e)
	if v.Type == nil || v.k.Kind != builtin.NoConst {
		return v
	}
	if _, ok := v.Type.(*types.Pointer); ok {
		return v
	}
	if _, ok := w.intLike(v.Type); ok {
		return v
	}
	w.errorf(e, "bad-condition", "Invalid condition: %s", baseName(v.Type))
	return val{}
}
