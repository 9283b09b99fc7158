package check

import (
	"cmp"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/operator"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// isLogical reports whether an operator is && or ||.
// Their right side may not be evaluated, which lower sees to.
func isLogical(op syntax.Token) bool { return op == syntax.LAnd || op == syntax.LOr }

// operate types x op y, both evaluated already; at is the whole expression or compound assignment.
// Literals alone are folded. Then integers are tried, pointers, and at last whole values that can
// only be compared.
// Compound assignments come here with the left side as xe.
func (w *walker) operate(at syntax.Node, op syntax.Token, xe syntax.Expr, x val, ye syntax.Expr, y val) val {
	if x.Type == nil || y.Type == nil {
		return val{}
	}
	if x.k.Kind != builtin.NoConst && y.k.Kind != builtin.NoConst {
		if v, ok := w.foldBinary(at, op, x, y); ok {
			return v
		}
	}
	xi, xok := w.intLike(x.Type)
	yi, yok := w.intLike(y.Type)
	switch {
	case xok && yok:
		return w.integers(at, op, xe, x, xi, ye, y, yi)
	case isPointer(x.Type) || isPointer(y.Type):
		return w.pointers(at, op, xe, x, ye, y, xok, yok)
	}
	equality := op == syntax.Eq || op == syntax.Ne
	truth := val{Flex: types.Flex{Type: types.Bool}}
	_, xs := x.Type.(*types.String)
	_, ys := y.Type.(*types.String)
	xs, ys = xs || ys && isText(x.Type), ys || xs && isText(y.Type)
	switch {
	case xs && ys:
		if equality {
			return truth
		}
	case xs || ys:
	default:
		j, ok := types.Join(x.Flex, y.Flex)
		if ok && equality && comparable(j.Type) {
			if x.parts != nil && y.parts != nil {
				return literal(boolConst(sameLiterals(x, y) == (op == syntax.Eq)))
			}
			return truth
		}
		if ok {
			return w.badOperator(at, op, xe, x, ye, y)
		}
	}
	if xs && ys {
		return w.badOperator(at, op, xe, x, ye, y)
	}
	return w.mismatch(at, op, xe, x, ye, y)
}

// mismatch reports operands that do not go together.
func (w *walker) mismatch(at syntax.Node, op syntax.Token, xe syntax.Expr, x val, ye syntax.Expr, y val) val {
	w.errorf(at, "operand-mismatch", "Type mismatch for '%s': comparing %s with %s", op, x.Type, y.Type).
		Note(xe.Span(), "left (%s)", x.Type).Note(ye.Span(), "right (%s)", y.Type).
		Advise(cmp.Or(textOrNumber(xe, ye, x.Type), textOrNumber(ye, xe, y.Type)))
	return val{}
}

// isText reports whether an array is compared with strings as the text that it begins with.
func isText(t types.Type) bool {
	a, ok := t.(*types.Array)
	return ok && a.IsText()
}

// comparable reports whether == works on two values of a type.
// Bytes are compared, up to the end: arrays of structs may have padding, which nobody clears.
func comparable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Array:
		_, ok := types.IsInteger(t.Elem)
		return ok && t.Len >= 0
	case *types.Agg:
		return false
	case *types.Struct:
		return t.Kind != types.ContextKind
	}
	return !isNothing(t)
}

// badOperator reports an operator that is not there for its operands, though they go together.
func (w *walker) badOperator(at syntax.Node, op syntax.Token, xe syntax.Expr, x val, ye syntax.Expr, y val) val {
	d := w.errorf(at, "bad-operator", "The %s operator can not be used on expressions of types %s, %s", op,
		x.Type, y.Type).
		Note(xe.Span(), "left (%s)", x.Type).Note(ye.Span(), "right (%s)", y.Type)
	if _, text := x.Type.(*types.String); text && op == syntax.Add {
		d.Hint("texts are put together where they are printed: printf(\"%%s%%s\", …)")
	}
	return val{}
}

// isPointer reports whether a type is a pointer.
func isPointer(t types.Type) bool {
	_, ok := t.(*types.Pointer)
	return ok
}

// integers types an operator on two integers, booleans among them. The rule is that of package
// operator, which lower follows as well: in which type the operation works, and of which type its
// result is.
func (w *walker) integers(at syntax.Node, op syntax.Token, xe syntax.Expr, x val, xi *types.Int,
	ye syntax.Expr, y val, yi *types.Int) val {
	truth := val{Flex: types.Flex{Type: types.Bool}}
	if x.Type == types.Bool && y.Type == types.Bool || isLogical(op) {
		return truth
	}
	xf, yf := intFlex(x, xi), intFlex(y, yi)
	rule := operator.Of(op, xf, yf)
	// The sign of a flexible operand is settled by the other one.
	if j, _ := types.Join(xf, yf); !j.Type.(*types.Int).Signed {
		w.unsign(xe, xf)
		w.unsign(ye, yf)
	}
	v := val{Flex: types.Flex{Type: rule.Result}}
	divides := op == syntax.Div || op == syntax.Mod
	shifts := op == syntax.Shl || op == syntax.Shr
	switch {
	case divides && y.k.Kind != builtin.NoConst && y.k.Int == 0:
		w.errorf(at, "division-by-zero", "division by zero")
		return val{}
	case shifts && y.k.Kind == builtin.IntConst && (y.k.Neg || y.k.Int >= 64):
		w.warnf(ye, "shift-count", "Shift counts are taken modulo 64: this shifts by %d", y.k.Int%64)
	}
	if !operator.Compares(op) {
		v.space = w.joinSpaces(at, x, y)
	}
	if !shifts && (operator.Compares(op) || !difference(op, xe, ye)) {
		w.lossyOperand(xe, x, xf, rule.Operands)
		w.lossyOperand(ye, y, yf, rule.Operands)
	}
	if x.k.Kind != builtin.NoConst && y.k.Kind != builtin.NoConst {
		bits := rule.Fold(x.k.Int, y.k.Int)
		if t, ok := rule.Result.(*types.Int); ok {
			v.k = typed(bits, t)
		} else {
			v.k = boolConst(bits != 0)
		}
	}
	return v
}

// difference tells a subtraction and arithmetic on one: a rate computed from
// counters is signed by rule and deserves no warning.
// The reference warns here, of nearly every script that measures a time.
func difference(op syntax.Token, x, y syntax.Expr) bool {
	return op == syntax.Sub || isDifference(x) || isDifference(y)
}

// intFlex is an operand as an integer; a boolean adapts like a literal.
func intFlex(v val, i *types.Int) types.Flex {
	return types.Flex{Type: i, Flex: v.Flex.Flex || v.Type == types.Bool}
}

// lossyOperand warns like lossy, but not of what the script cannot know to be
// signed: the lengths and counts that integers of the kernel are, nor of a
// constant that the type holds.
func (w *walker) lossyOperand(e syntax.Expr, v val, f types.Flex, to *types.Int) {
	if !f.Flex && (v.k.Kind != builtin.IntConst || !holds(to, numberOf(v.k))) {
		w.lossy(e, f, to)
	}
}

// unsign records that a flexible operand, whose value is never negative, is
// unsigned here.
// Lower decides by the types of both operands: an int8 beside a uint64 would make it a signed
// comparison.
func (w *walker) unsign(e syntax.Expr, f types.Flex) {
	if !w.final || w.unevaluated > 0 || !f.Flex {
		return
	}
	for {
		if i, ok := w.info.Types[e].(*types.Int); ok && i.Signed {
			w.info.Types[e] = types.IntOf(i.Bytes, false)
		}
		p, ok := e.(*syntax.Paren)
		if !ok {
			return
		}
		e = p.X
	}
}

// joinSpaces is the address space of what is made of two values.
// A sum of a kernel and a user address leads nowhere, but a difference of two may be meant.
func (w *walker) joinSpaces(at syntax.Node, x, y val) types.Space {
	switch {
	case x.space == y.space || y.space == types.Unset:
		return x.space
	case x.space == types.Unset:
		return y.space
	}
	w.warnf(at, "address-spaces", "Addresses in different address spaces: '%s' and '%s'", x.space, y.space)
	return types.Unset
}

// pointers types an operator with at least one pointer.
func (w *walker) pointers(at syntax.Node, op syntax.Token, xe syntax.Expr, x val, ye syntax.Expr, y val,
	xint, yint bool) val {
	xp, yp := isPointer(x.Type), isPointer(y.Type)
	switch {
	case !(xp || xint) || !(yp || yint):
	case isLogical(op):
		return val{Flex: types.Flex{Type: types.Bool}}
	case operator.Compares(op):
		if xp && yp {
			w.joinSpaces(at, x, y)
		}
		if xp && yp && !types.Same(x.Type, y.Type) && !isUntyped(x.Type) && !isUntyped(y.Type) {
			w.warnf(at, "distinct-pointers", "comparison of distinct pointer types: %s, %s", x.Type, y.Type)
		}
		// An address is unsigned: a literal beside it is, too.
		if yint {
			w.unsign(ye, types.Flex{Type: y.Type, Flex: y.Flex.Flex})
		}
		if xint {
			w.unsign(xe, types.Flex{Type: x.Type, Flex: x.Flex.Flex})
		}
		return val{Flex: types.Flex{Type: types.Bool}}
	// As in C, the number counts elements; lower multiplies by their size.
	case xp && yint && (op == syntax.Add || op == syntax.Sub):
		return val{Flex: types.Flex{Type: x.Type}, space: x.space}
	case yp && xint && op == syntax.Add:
		return val{Flex: types.Flex{Type: y.Type}, space: y.space}
	}
	if !(xp || xint) || !(yp || yint) {
		return w.mismatch(at, op, xe, x, ye, y)
	}
	return w.badOperator(at, op, xe, x, ye, y)
}

// isUntyped reports whether a type is void *.
func isUntyped(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	return ok && p.Elem == types.Void
}

// foldBinary computes an operator on literals; ok is false if the pair is not
// one that folds here. Integers with types fold where they are typed.
func (w *walker) foldBinary(at syntax.Node, op syntax.Token, xv, yv val) (v val, ok bool) {
	x, y := xv.k, yv.k
	if isLogical(op) {
		r := truth(x) && truth(y)
		if op == syntax.LOr {
			r = truth(x) || truth(y)
		}
		return literal(boolConst(r)), true
	}
	xs, ys := x.Kind == builtin.StrConst, y.Kind == builtin.StrConst
	switch {
	case xs && ys:
		if operator.Compares(op) {
			return literal(boolConst(compare(op, strings.Compare(cText(x.Str), cText(y.Str))))), true
		}
		if op == syntax.Add {
			return literal(strConst(x.Str + y.Str)), true
		}
		return val{}, false
	case xs:
		if op != syntax.Add || y.Kind != builtin.IntConst || y.Neg {
			return val{}, false
		}
		if y.Int >= uint64(len(x.Str)) {
			w.warnf(at, "empty-string", "literal string will always be empty")
			return literal(strConst("")), true
		}
		return literal(strConst(x.Str[y.Int:])), true
	case ys:
		return val{}, false
	case x.Kind == builtin.BoolConst && y.Kind == builtin.BoolConst && !operator.Compares(op):
		return foldBools(op, x.Int != 0, y.Int != 0)
	}
	if !(xv.free || x.Kind == builtin.BoolConst) || !(yv.free || y.Kind == builtin.BoolConst) {
		return val{}, false
	}
	a, b := numberOf(x), numberOf(y)
	if operator.Compares(op) && apart(a, b) {
		w.errorf(at, "no-common-type", "%s", noCommonType).Hint("cast one of them to say which type is meant")
		return val{}, true
	}
	if operator.Compares(op) {
		return literal(boolConst(compare(op, a.cmp(b)))), true
	}
	r, code, problem := foldInt(op, a, b)
	if problem != "" {
		w.errorf(at, source.Code(code), "%s", problem)
		return val{}, true
	}
	return literal(r.konst()), true
}

// foldBools is arithmetic on two booleans, which stays boolean.
// It is a curiosity of the reference that scripts may lean on.
func foldBools(op syntax.Token, x, y bool) (val, bool) {
	switch op {
	case syntax.Add, syntax.Or:
		return literal(boolConst(x || y)), true
	case syntax.Mul, syntax.And:
		return literal(boolConst(x && y)), true
	case syntax.Sub, syntax.Xor:
		return literal(boolConst(x != y)), true
	}
	return val{}, false
}

// unary is a prefix operator.
func (w *walker) unary(e *syntax.Unary) val {
	if e.Op == syntax.Mul && argsItself(e.X) {
		return w.expr(e.X)
	}
	if e.Op == syntax.And {
		return w.takeAddress(e)
	}
	x := w.expr(e.X)
	if x.Type == nil {
		return val{}
	}
	if x.k.Kind != builtin.NoConst && e.Op != syntax.Mul {
		if v, ok := w.foldUnary(e, x); ok {
			return v
		}
	}
	i, isInt := w.intLike(x.Type)
	switch e.Op {
	case syntax.Not:
		if isInt || isPointer(x.Type) {
			return val{Flex: types.Flex{Type: types.Bool}}
		}
	case syntax.Sub, syntax.Tilde:
		if isInt && x.Type != types.Bool {
			v := val{Flex: types.Flex{Type: types.IntOf(8, i.Signed)}, space: x.space}
			if x.k.Kind != builtin.NoConst {
				bits := operator.Negate(x.k.Int, i)
				if e.Op == syntax.Tilde {
					bits = operator.Complement(x.k.Int, i)
				}
				v.k = typed(bits, types.IntOf(8, i.Signed))
			}
			return v
		}
	case syntax.Mul:
		return w.dereference(e, x, isInt)
	}
	w.errorf(e, "bad-operator", "The %s operator can not be used on expressions of type '%s'", e.Op, x.Type)
	return val{}
}

// foldUnary is foldBinary for a prefix operator.
func (w *walker) foldUnary(e *syntax.Unary, x val) (val, bool) {
	k := x.k
	switch {
	case e.Op == syntax.Not && k.Kind != builtin.StrConst:
		return literal(boolConst(!truth(k))), true
	case !x.free:
		return val{}, false
	}
	n := numberOf(k)
	if e.Op == syntax.Tilde {
		return literal(number{false, ^n.bits()}.konst()), true
	}
	r := n.negate()
	if !r.inRange() {
		w.errorf(e, "integer-overflow", "integer overflow")
		return val{}, true
	}
	return literal(r.konst()), true
}

// dereference reads what a pointer points to, or 8 bytes at a number.
func (w *walker) dereference(e *syntax.Unary, x val, isInt bool) val {
	if isInt && x.Type != types.Bool {
		return val{Flex: types.Flex{Type: types.Uint64}, space: x.space}
	}
	p, ok := x.Type.(*types.Pointer)
	if !ok {
		w.errorf(e, "bad-dereference", "Can not dereference type '%s' (not a pointer)", x.Type)
		return val{}
	}
	if p.Elem == types.Void || p.Elem.Size() == 0 {
		w.errorf(e, "bad-dereference", "Can not dereference a pointer to '%s'", p.Elem).
			Hint("cast it to a pointer to a type with a size")
		return val{}
	}
	if agg, ok := p.Elem.(*types.Agg); ok || w.isHandle(e.X) {
		d := w.errorf(e, "bad-dereference", "Can not dereference a pointer to '%s'", p.Elem)
		if ok {
			d.Hint("read the map itself: it comes to a number unless it is '%s'", agg)
		}
		return val{}
	}
	if !w.readable(e.X, p) {
		return val{}
	}
	v := val{Flex: types.Flex{Type: p.Elem}, space: x.space}
	if p.Space != types.Unset {
		v.space = p.Space
	}
	if inner, ok := p.Elem.(*types.Pointer); ok && inner.Space != types.Unset {
		v.space = inner.Space
	}
	return v
}

// incDec is ++ or -- on a variable or a map.
// In front and behind differ in the value alone, which has one type.
func (w *walker) incDec(e *syntax.IncDec) val {
	switch x := e.X.(type) {
	case *syntax.Var:
		v := w.lookup(x.Name)
		if v == nil {
			w.stepping = true
			w.undeclared(x)
			w.stepping = false
			return val{}
		}
		w.bind(x, v)
		old := w.readVar(v, x)
		w.record(x, old)
		if old.Type == nil {
			w.assign(v, val{}, v.itself(), e, nil)
			return val{}
		}
		next, ok := w.stepped(e, old, v.fixed)
		if !ok {
			return val{}
		}
		w.assign(v, next, nil, e, nil)
		return w.readSlot(&v.slot)
	case *syntax.Map:
		m := w.mapNamed(x)
		w.sortIs(m, scalar, x)
		return w.incMap(e, m, x)
	case *syntax.MapIndex:
		m := w.mapNamed(x.Map)
		if w.sortIs(m, keyed, x) {
			w.keys(m, x.Keys, x)
		}
		return w.incMap(e, m, x)
	}
	return val{} // the parser accepts nothing else
}

// incMap is ++ or -- on a map; an aggregation refuses it as a plain store.
func (w *walker) incMap(e *syntax.IncDec, m *mapState, at syntax.Expr) val {
	w.recordMap(at, m)
	if m.agg != nil {
		w.store(m, val{Flex: types.Flex{Type: types.Int64}}, nil, e, nil)
		return val{}
	}
	old := w.readSlot(&m.value)
	if old.Type == nil {
		w.store(m, val{}, m.value.itself(), e, nil)
		return val{}
	}
	next, ok := w.stepped(e, old, false)
	if !ok {
		m.stored = true
		return val{}
	}
	w.store(m, next, nil, e, nil)
	return w.readSlot(&m.value)
}

// stepped is the type that ++ or -- stores: 64 bits of the old sign, which is
// signed for --; a declared variable keeps its type, a pointer too.
func (w *walker) stepped(e *syntax.IncDec, old val, fixed bool) (val, bool) {
	if isPointer(old.Type) {
		return old, true
	}
	i, ok := types.IsInteger(old.Type)
	if !ok {
		w.errorf(e, "bad-operator", "The %s operator can not be used on expressions of type '%s'", e.Op, old.Type)
		return val{}, false
	}
	if fixed {
		return old, true
	}
	return val{Flex: types.Flex{Type: types.IntOf(8, i.Signed || e.Op == syntax.Dec)}, space: old.space}, true
}
