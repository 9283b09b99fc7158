package interp

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// eval evaluates an expression to a value of typeOf(e). A constant that the checker has folded
// is taken as it is, once checkFolding has agreed: the code generator sees no more of the
// expression either.
func (m *machine) eval(e syntax.Expr) val {
	if k, ok := m.info.Consts[e]; ok {
		m.checkFolding(e, k)
		return m.constant(e, k)
	}
	// The checker may have put another expression in the place of this one, as for a macro.
	if stands := m.info.Evaluated(e); stands != e {
		return convert(m.eval(stands), m.typeOf(stands), m.typeOf(e))
	}
	switch e := e.(type) {
	case *syntax.Comptime:
		return m.eval(e.X)
	case *syntax.Inlined:
		return m.inlined(e)
	case *syntax.Paren:
		return convert(m.eval(e.X), m.typeOf(e.X), m.typeOf(e))
	case *syntax.Var:
		v := m.info.Vars[e]
		x, ok := m.vars[v]
		if !ok {
			// A variable may belong to the whole probe and be assigned in a branch that did not
			// run: it is zero then.
			x = zero(v.Type)
		}
		return convert(x, v.Type, m.typeOf(e))
	case *syntax.Map, *syntax.MapIndex:
		t, keys := m.place(e)
		x := t.read(m.key(t, keys))
		// The integer of an aggregation has the width that typeOf says already.
		if _, ok := t.decl.Value.(*types.Agg); ok {
			return x
		}
		return convert(x, t.decl.Value, m.typeOf(e))
	case *syntax.Tuple:
		return m.elements(e.Elems, m.typeOf(e).(*types.Tuple).Elems)
	case *syntax.Record:
		parts := make([]syntax.Expr, len(e.Fields))
		for i, f := range e.Fields {
			parts[i] = f.Value
		}
		return m.elements(parts, m.typeOf(e).(*types.Record).Elems)
	case *syntax.TupleIndex:
		return m.element(e, e.X, int(e.Index.Value))
	case *syntax.Field:
		r, ok := m.typeOf(e.X).(*types.Record)
		if !ok {
			fail("fields of %s", m.typeOf(e.X))
		}
		i, _, _ := r.Lookup(e.Name.Name)
		return m.element(e, e.X, i)
	case *syntax.Index:
		return m.index(e)
	case *syntax.Unary:
		return m.unary(e)
	case *syntax.IncDec:
		return m.incDec(e)
	case *syntax.Binary:
		return m.operator(e)
	case *syntax.Cond:
		return m.cond(e)
	case *syntax.If:
		arm := syntax.Expr(e.Then)
		if !truth(m.eval(e.Cond)) {
			arm = e.Else
		}
		if arm == nil {
			return nil
		}
		return m.arm(e, arm)
	case *syntax.Block:
		x := m.block(e, true)
		if e.Result == nil || x == nil {
			return nil
		}
		return convert(x, m.typeOf(e.Result), m.typeOf(e))
	case *syntax.Cast:
		return convert(m.eval(e.X), m.typeOf(e.X), m.typeOf(e))
	case *syntax.Call, *syntax.Ident:
		if c := m.info.Calls[e]; c != nil {
			return m.call(e, c)
		}
	}
	fail("%s", e.Span().Text())
	return nil
}

// inlined is a call of a function of the script. All arguments are evaluated before the first
// parameter is set: one of them may be a call of the same function.
func (m *machine) inlined(e *syntax.Inlined) val {
	m.step()
	args := make([]val, len(e.Args))
	for i, p := range e.Params {
		args[i] = convert(m.eval(e.Args[i]), m.typeOf(e.Args[i]), m.info.Vars[p.Var].Type)
	}
	for i, p := range e.Params {
		m.vars[m.info.Vars[p.Var]] = args[i]
	}
	var out val
	// The body of a function may stand within another one's, so the outer one's return is put
	// back.
	outer := m.returns
	defer func() { m.returns = outer }()
	m.returns = func(s *syntax.JumpStmt) {
		if s.Value != nil {
			out = convert(m.eval(s.Value), m.typeOf(s.Value), m.typeOf(e))
		}
	}
	catch(jumpReturn, func() { m.block(e.Body, false) })
	return out
}

// constant ends a string at its first NUL, as the kernel's programs do. An integer that its type
// cannot hold is a mistake of the checker.
func (m *machine) constant(e syntax.Expr, k builtin.Const) val {
	switch k.Kind {
	case builtin.StrConst:
		return cString(k.Str)
	case builtin.BoolConst:
		return boolVal(k.Int != 0)
	}
	if i, ok := types.IsInteger(m.typeOf(e)); ok {
		if extend(k.Int, i) != k.Int {
			panic(&Mistyped{e.Span(), fmt.Sprintf("the value %d does not fit its type %s", k.Int, i)})
		}
	}
	return k.Int
}

// elements evaluates left to right, which scripts with effects in tuples can tell.
func (m *machine) elements(parts []syntax.Expr, to []types.Type) val {
	out := make([]val, len(parts))
	for i, p := range parts {
		out[i] = convert(m.eval(p), m.typeOf(p), to[i])
	}
	return out
}

// element evaluates the whole tuple for one part, since parts may have effects.
func (m *machine) element(e, x syntax.Expr, i int) val {
	var t types.Type
	switch of := m.typeOf(x).(type) {
	case *types.Tuple:
		t = of.Elems[i]
	case *types.Record:
		t = of.Elems[i]
	default:
		fail("elements of %s", of)
	}
	return convert(m.eval(x).([]val)[i], t, m.typeOf(e))
}

// index is x[i]; outside of an array or string it is not defined. The generated scripts keep
// indices in range, so the interpreter need not say what hawk yields there.
func (m *machine) index(e *syntax.Index) val {
	if k, ok := m.info.Consts[e.I]; ok {
		switch m.typeOf(e.X).(type) {
		case *types.Tuple, *types.Record:
			return m.element(e, e.X, int(k.Int))
		}
	}
	x := m.eval(e.X)
	i := m.eval(e.I).(uint64)
	var elems []val
	switch t := m.typeOf(e.X).(type) {
	case *types.String:
		if i >= uint64(t.Cap) {
			fail("indices out of range")
		}
		// The bytes behind the end of a string are zero up to its capacity. A byte has a sign,
		// as C's char has.
		if s := x.(string); i < uint64(len(s)) {
			return extend(uint64(s[i]), types.Int8)
		}
		return uint64(0)
	case *types.Array:
		elems = x.([]val)
	default:
		fail("an index of %s", t)
	}
	if i >= uint64(len(elems)) {
		fail("indices out of range")
	}
	return elems[i]
}

// unary yields 64 bits whatever the operand has, and keeps its signedness: -x of a uint8 is a
// uint64, but not above 255.
func (m *machine) unary(e *syntax.Unary) val {
	x := m.eval(e.X)
	if e.Op == syntax.Not {
		return boolVal(!truth(x))
	}
	i, ok := types.IsInteger(m.typeOf(e.X))
	if !ok {
		fail("%s on %s", e.Op, m.typeOf(e.X))
	}
	m.expect(e, types.IntOf(8, i.Signed))
	keep := ^uint64(0)
	if !i.Signed {
		keep >>= 64 - 8*i.Bytes
	}
	switch e.Op {
	case syntax.Sub:
		return -x.(uint64) & keep
	case syntax.Tilde:
		return ^x.(uint64) & keep
	}
	fail("%s", e.Op)
	return nil
}

// expect compares the checker's type of an expression with what the
// specification says. Types are checked here since a wrong one may print the right number by
// luck.
func (m *machine) expect(e syntax.Expr, want types.Type) {
	if got := m.info.Types[e]; !types.Same(got, want) {
		panic(&Mistyped{e.Span(), fmt.Sprintf("has the type %s where %s is right", got, want)})
	}
}

// incDec evaluates the key of a map once, for reading and for writing. The sum is cut to the
// type of what is stored.
func (m *machine) incDec(e *syntax.IncDec) val {
	by := uint64(1)
	if e.Op == syntax.Dec {
		by = ^uint64(0)
	}
	var of types.Type
	var get func() val
	var set func(val)
	switch x := e.X.(type) {
	case *syntax.Var:
		v := m.info.Vars[x]
		of = v.Type
		get = func() val { return m.vars[v] }
		set = func(n val) { m.vars[v] = n }
		if m.vars[v] == nil {
			m.vars[v] = zero(of)
		}
	default:
		t, keys := m.place(e.X)
		key := m.key(t, keys)
		of = t.decl.Value
		get = func() val { return t.read(key) }
		set = func(n val) { t.make(key).v = n }
	}
	// A pointer steps by elements, as in C.
	if p, ok := of.(*types.Pointer); ok {
		by *= uint64(stride(p))
	}
	old := get()
	next := val(old.(uint64) + by)
	if i, ok := types.IsInteger(of); ok {
		next = extend(next.(uint64), i)
	}
	set(next)
	if e.Prefix {
		return convert(next, of, m.typeOf(e))
	}
	return convert(old, of, m.typeOf(e))
}

// stride is what adding one to a pointer adds. An incomplete type has no size, and steps by
// bytes like void does.
func stride(p *types.Pointer) int { return max(p.Elem.Size(), 1) }

// cond is also x ?: y, whose value is that of the condition. It is evaluated once.
func (m *machine) cond(e *syntax.Cond) val {
	cond := m.eval(e.Cond)
	switch {
	case !truth(cond):
		return m.arm(e, e.Else)
	case e.Then == nil:
		return convert(cond, m.typeOf(e.Cond), m.typeOf(e))
	}
	return m.arm(e, e.Then)
}

// arm is the chosen arm of a conditional, in its type.
func (m *machine) arm(e, arm syntax.Expr) val {
	x := m.eval(arm)
	if x == nil || m.typeOf(e) == types.None {
		return nil
	}
	return convert(x, m.typeOf(arm), m.typeOf(e))
}

// operator evaluates the left side first. && and || leave the right one alone where the left
// decides.
func (m *machine) operator(e *syntax.Binary) val {
	if e.Op == syntax.LAnd || e.Op == syntax.LOr {
		if truth(m.eval(e.X)) == (e.Op == syntax.LOr) {
			return boolVal(e.Op == syntax.LOr)
		}
		return boolVal(truth(m.eval(e.Y)))
	}
	x := m.eval(e.X)
	y := m.eval(e.Y)
	out, t := m.binary(e, e.Op, x, m.typeOf(e.X), y, m.typeOf(e.Y))
	m.expect(e, t)
	return out
}

// binary is an operator on two values; at is where it
// stands. The type is worked out here too, by the rules of the language and not by the checker's
// tables: operator compares the two.
func (m *machine) binary(at syntax.Node, op syntax.Token, x val, xt types.Type, y val,
	yt types.Type) (val, types.Type) {
	xp, xptr := xt.(*types.Pointer)
	yp, yptr := yt.(*types.Pointer)
	_, xint := asInt(xt)
	_, yint := asInt(yt)
	switch {
	case xt == types.Bool && yt == types.Bool:
		return bools(op, x.(uint64), y.(uint64)), types.Bool
	case xint && yint:
		return m.ints(op, x.(uint64), xt, y.(uint64), yt)
	case op == syntax.Eq || op == syntax.Ne:
		return boolVal(same(x, y, xt, yt) == (op == syntax.Eq)), types.Bool
	case (xptr || xint) && (yptr || yint):
		if v, ok := compare(op, x.(uint64), y.(uint64), false); ok {
			return v, types.Bool
		}
		switch {
		case xptr && yint && op == syntax.Add:
			return x.(uint64) + y.(uint64)*uint64(stride(xp)), xt
		case xptr && yint && op == syntax.Sub:
			return x.(uint64) - y.(uint64)*uint64(stride(xp)), xt
		case yptr && xint && op == syntax.Add:
			return y.(uint64) + x.(uint64)*uint64(stride(yp)), yt
		}
	}
	fail("%s in %s", op, at.Span().Text())
	return nil, nil
}

// asInt takes a boolean for a byte, which it is wherever a number is wanted.
func asInt(t types.Type) (*types.Int, bool) {
	if t == types.Bool {
		return types.Uint8, true
	}
	return types.IsInteger(t)
}

// bools: arithmetic of two booleans stays boolean, in one bit. Addition is then the same as or,
// and subtraction as xor.
func bools(op syntax.Token, x, y uint64) val {
	if v, ok := compare(op, x, y, false); ok {
		return v
	}
	switch op {
	case syntax.Add, syntax.Or:
		return x | y
	case syntax.Mul, syntax.And:
		return x & y
	case syntax.Sub, syntax.Xor:
		return x ^ y
	}
	fail("%s on booleans", op)
	return nil
}

// compare returns false for operators that are no comparisons.
func compare(op syntax.Token, x, y uint64, signed bool) (val, bool) {
	switch op {
	case syntax.Eq:
		return boolVal(x == y), true
	case syntax.Ne:
		return boolVal(x != y), true
	case syntax.Lt:
		return boolVal(less(x, y, signed)), true
	case syntax.Gt:
		return boolVal(less(y, x, signed)), true
	case syntax.Le:
		return boolVal(!less(y, x, signed)), true
	case syntax.Ge:
		return boolVal(!less(x, y, signed)), true
	}
	return nil, false
}

// ints works in 64 bits: the operands are extended by their own signs, the
// operation is signed if either of them is. A difference is signed even of unsigned operands, so
// that a time that runs backwards is seen as negative.
func (m *machine) ints(op syntax.Token, x uint64, xt types.Type, y uint64, yt types.Type) (val, types.Type) {
	xi, _ := asInt(xt)
	yi, _ := asInt(yt)
	signed := xi.Signed || yi.Signed
	if v, ok := compare(op, x, y, signed); ok {
		return v, types.Bool
	}
	t := types.IntOf(8, signed || op == syntax.Sub)
	switch op {
	case syntax.Add:
		return x + y, t
	case syntax.Sub:
		return x - y, t
	case syntax.Mul:
		return x * y, t
	case syntax.And:
		return x & y, t
	case syntax.Or:
		return x | y, t
	case syntax.Xor:
		return x ^ y, t
	case syntax.Shl:
		// The language takes counts modulo 64, as the kernel's instruction does.
		return x << (y & 63), t
	case syntax.Shr:
		if xi.Signed {
			return uint64(int64(x) >> (y & 63)), t
		}
		return x >> (y & 63), t
	case syntax.Div, syntax.Mod:
		return divide(op == syntax.Mod, x, y, signed), t
	}
	fail("%s on integers", op)
	return nil, nil
}

// divide truncates toward zero and yields 1 if y is 0. The kernel's instruction alone would
// yield 0, or the dividend for the rest; hawk tests the divisor first and counts the warning.
func divide(rest bool, x, y uint64, signed bool) uint64 {
	switch {
	case y == 0:
		return 1
	case signed && rest:
		return uint64(int64(x) % int64(y))
	case signed:
		return uint64(int64(x) / int64(y))
	case rest:
		return x % y
	}
	return x / y
}
