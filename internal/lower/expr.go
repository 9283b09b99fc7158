package lower

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/operator"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Scalar lowers an expression that lives in a register. The value is held at
// 64 bits, extended by the sign of its type.
func (f *fn) Scalar(e syntax.Expr) *ir.Value {
	var v *ir.Value
	// Text that only a number is computed from is not printed.
	f.quietly(func() { f.at(e, func() { v = f.scalar(e) }) })
	return v
}

// scalar is Scalar at the present position. The kinds of expression that it does not know live in
// memory: check has seen to that.
func (f *fn) scalar(e syntax.Expr) *ir.Value {
	e = f.info.Evaluated(e)
	if k, ok := f.info.Consts[e]; ok && k.Kind != builtin.StrConst {
		return f.konst(int64(k.Int))
	}
	if k, ok := f.info.Consts[e]; ok { // a string literal as a condition
		return f.konst(flag(k.Str != "" && k.Str[0] != 0))
	}
	if c, ok := f.info.Calls[e]; ok {
		return f.call(c, nil)
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return f.scalar(e.X)
	case *syntax.Comptime:
		return f.scalar(e.X)
	case *syntax.Var:
		return f.loadVar(e)
	case *syntax.Map, *syntax.MapIndex:
		return f.loadMap(e)
	case *syntax.Binary:
		return f.binary(e)
	case *syntax.Unary:
		return f.unary(e)
	case *syntax.IncDec:
		return f.incDec(e, true)
	case *syntax.Cond:
		return f.cond(e)
	case *syntax.If:
		return f.ifScalar(e)
	case *syntax.Block:
		return f.blockValue(e, f.scalar)
	case *syntax.Inlined:
		return f.inlinedCall(e)
	case *syntax.Cast:
		return f.cast(e)
	case *syntax.Field, *syntax.Index, *syntax.TupleIndex:
		pl := f.place(e)
		if a, ok := pl.field.Type.(*types.Array); ok && a.Len < 0 { // wanted as an address
			return f.b.Add(f.number(pl.base), int64(pl.off))
		}
		return f.loadPlace(e, pl, f.info.Types[e])
	}
	panic(fmt.Sprintf("no lowering of the expression %T", e))
}

// flag is a truth as a number.
func flag(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

// call lowers a use of a builtin. The position stays that of the call.
func (f *fn) call(c *builtin.Call, dst *ir.Value) *ir.Value {
	if len(c.Args) < 2 {
		return c.Func.Lower(f, c, dst)
	}
	var v *ir.Value
	f.before(func() { v = c.Func.Lower(f, c, dst) }, c.Args[1:]...)
	return v
}

// condition is e as a number that is zero or not.
func (f *fn) condition(e syntax.Expr) *ir.Value {
	e = f.info.Evaluated(e)
	if s, ok := f.info.Types[e].(*types.String); ok && s != nil {
		if _, literal := f.info.Consts[e]; !literal {
			return f.b.U8(f.Mem(e), 0)
		}
	}
	return f.integer(e)
}

// integer is the value of e for arithmetic: an aggregation is read across all
// CPUs.
func (f *fn) integer(e syntax.Expr) *ir.Value {
	if _, ok := f.info.Types[e].(*types.Agg); ok {
		return f.readAgg(e)
	}
	return f.Scalar(e)
}

// branch ends the current block with a test of e. Logical operators become
// control flow, so that no truth value needs a register.
func (f *fn) branch(e syntax.Expr, yes, no *ir.Block) {
	b := f.b
	e = f.info.Evaluated(e)
	old := b.At
	b.At = e.Span()
	defer func() { b.At = old }()
	if _, folded := f.info.Consts[e]; !folded {
		switch e := e.(type) {
		case *syntax.Paren:
			f.branch(e.X, yes, no)
			return
		case *syntax.Unary:
			if e.Op == syntax.Not {
				f.branch(e.X, no, yes)
				return
			}
		case *syntax.Binary:
			if e.Op == syntax.LAnd || e.Op == syntax.LOr {
				rest := b.NewBlock()
				if e.Op == syntax.LAnd {
					f.branch(e.X, rest, no)
				} else {
					f.branch(e.X, yes, rest)
				}
				b.Begin(rest)
				f.scoped(func() { f.branch(e.Y, yes, no) })
				return
			}
		}
	}
	cond := f.condition(e)
	if !cond.Op.Compares() {
		cond = f.hide(cond)
	}
	b.If(cond, yes, no)
}

// truth is the value of a logical expression.
func (f *fn) truth(e syntax.Expr) *ir.Value {
	b := f.b
	// Logical operators do not evaluate their right side if the left one decides.
	out := b.NewObject("truth", 8, 8)
	yes, no, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.branch(e, yes, no)
	b.Begin(yes)
	b.Store(b.Addr(out, 0), 0, 8, f.konst(1))
	b.Jump(done)
	b.Begin(no)
	b.Store(b.Addr(out, 0), 0, 8, f.konst(0))
	b.Jump(done)
	b.Begin(done)
	return b.U64(b.Addr(out, 0), 0)
}

// intType is the integer type that e counts as in arithmetic.
func (f *fn) intType(e syntax.Expr) *types.Int {
	t := f.info.Types[e]
	if i, ok := types.IsInteger(t); ok {
		return i
	}
	switch t := t.(type) {
	case *types.Agg:
		kind, _ := builtin.LookupAgg(t.Kind)
		return types.IntOf(8, t.Signed && !kind.Unsigned)
	case *types.Pointer:
		return types.Uint64
	}
	return types.Uint8 // bool
}

// binary is x op y: of numbers, pointers, booleans, or of two values in memory that are compared.
func (f *fn) binary(e *syntax.Binary) *ir.Value {
	b := f.b
	tx, ty := f.info.Types[e.X], f.info.Types[e.Y]
	switch e.Op {
	case syntax.LAnd, syntax.LOr:
		return f.truth(e)
	case syntax.Eq, syntax.Ne, syntax.Lt, syntax.Gt, syntax.Le, syntax.Ge:
		if inMemory(tx) && inMemory(ty) {
			differ := f.compareMemory(e.X, e.Y)
			if e.Op == syntax.Eq {
				return b.Eq(differ, 0)
			}
			return b.Ne(differ, 0)
		}
		return f.compare(e)
	}
	if p, ok := tx.(*types.Pointer); ok {
		return f.pointerMath(e.Op, f.Scalar(e.X), p, f.integer(e.Y))
	}
	if p, ok := ty.(*types.Pointer); ok {
		x := f.integer(e.X)
		return f.pointerMath(e.Op, f.Scalar(e.Y), p, x)
	}
	x := f.number(f.integer(e.X))
	y := f.number(f.integer(e.Y))
	if tx == types.Bool && ty == types.Bool {
		return f.boolMath(e, x, y)
	}
	return f.arith(e, e.Op, x, y, f.signed(e), f.intType(e.X).Signed)
}

// signed reports whether e's result is signed.
func (f *fn) signed(e syntax.Expr) bool {
	i, ok := types.IsInteger(f.info.Types[e])
	return ok && i.Signed
}

// inMemory reports whether values of t live in memory.
func inMemory(t types.Type) bool {
	_, agg := t.(*types.Agg)
	return t != nil && !agg && !types.IsScalar(t) && t != types.Void && t != types.None
}

// boolMath is arithmetic on two booleans, which stays boolean: whatever is not
// zero is true.
func (f *fn) boolMath(e *syntax.Binary, x, y *ir.Value) *ir.Value {
	b := f.b
	switch e.Op {
	case syntax.Add:
		return b.Arith(ir.Or, x, y)
	case syntax.Mul:
		return b.Arith(ir.And, x, y)
	case syntax.Sub:
		return b.Arith(ir.Xor, x, y)
	}
	return b.Ne(f.arith(e, e.Op, x, y, false, false), 0)
}

// arith emits an integer operation. signed is the sign of the result, which division follows; a
// right shift follows the sign of its left operand. A divisor that is not known is tested first:
// division by zero yields 1 and is counted, where the instruction alone would yield 0
// (Documentation/bpf/standardization/instruction-set.rst).
func (f *fn) arith(at syntax.Node, op syntax.Token, x, y *ir.Value, signed, leftSigned bool) *ir.Value {
	b := f.b
	code, _ := operator.Instruction(op, signed, leftSigned)
	switch op {
	case syntax.Shl, syntax.Shr:
		return b.Arith(code, x, b.And(y, 63)) // for the verifier, too
	case syntax.Div, syntax.Mod:
	default:
		return b.Arith(code, x, y)
	}
	if y.Op == ir.Const && y.Imm != 0 {
		return b.Arith(code, x, y)
	}
	return f.Choose(f.hide(y),
		func() *ir.Value { return b.Arith(code, x, y) },
		func() *ir.Value {
			f.Failed(at, object.DivideByZero, "", nil)
			return f.konst(1)
		})
}

// pointerMath is p op n, scaled by what p points to.
func (f *fn) pointerMath(op syntax.Token, p *ir.Value, t *types.Pointer, n *ir.Value) *ir.Value {
	b := f.b
	f.fix(t.Elem, false)
	if size := t.Elem.Size(); size > 1 {
		n = b.Mul(n, int64(size))
	}
	p = f.number(p)
	if op == syntax.Sub {
		return b.Arith(ir.Sub, p, n)
	}
	return b.Arith(ir.Add, p, n)
}

// number makes a plain number of a pointer that the verifier follows, which it
// allows no arithmetic on: the bytes are copied through memory by a helper.
func (f *fn) number(v *ir.Value) *ir.Value {
	if v.Kind != ir.Ptr {
		return v
	}
	b := f.b
	slot, out := f.Temp("pointer", 8, 8), f.Temp("number", 8, 8)
	b.Store(slot, 0, 8, v)
	helper, _ := readHelper(types.Kernel, false)
	b.Call(int(helper), out, f.konst(8), slot)
	return b.U64(out, 0)
}

// compare is a comparison of numbers or pointers.
func (f *fn) compare(e *syntax.Binary) *ir.Value {
	b := f.b
	x, y := f.hide(f.integer(e.X)), f.hide(f.integer(e.Y))
	// The joined type is signed if either side is: the checker has made a
	// literal unsigned that takes the sign of the other side.
	signed := f.intType(e.X).Signed || f.intType(e.Y).Signed
	code, swapped := operator.Instruction(e.Op, signed, false)
	// Pointers that the verifier follows may be compared for equality only.
	if e.Op != syntax.Eq && e.Op != syntax.Ne {
		x, y = f.number(x), f.number(y)
	}
	if swapped {
		x, y = y, x
	}
	return b.Arith(code, x, y)
}

// wrapped is what operator.Wrap leaves of the result of a unary operator.
func (f *fn) wrapped(e *syntax.Unary, v *ir.Value) *ir.Value {
	i, ok := types.IsInteger(f.info.Types[e.X])
	if !ok || i.Signed || i.Bytes == 8 {
		return v
	}
	return f.b.And(v, 1<<(8*i.Bytes)-1)
}

// unary is a prefix operator on a number or a pointer.
func (f *fn) unary(e *syntax.Unary) *ir.Value {
	b := f.b
	switch e.Op {
	case syntax.Sub:
		return f.wrapped(e, b.Emit(ir.Neg, ir.I64, f.number(f.integer(e.X))))
	case syntax.Tilde:
		return f.wrapped(e, b.Xor(f.number(f.integer(e.X)), -1))
	case syntax.Not:
		return b.Eq(f.condition(e.X), 0)
	case syntax.Mul:
		if types.IsScalar(f.info.Types[e]) {
			return f.loadPlace(e, f.place(e), f.info.Types[e])
		}
	case syntax.And:
		return f.address(e)
	}
	panic(fmt.Sprintf("no lowering of the operator %v of %v", e.Op, f.info.Types[e]))
}

// cond is c ? x : y. Both arms are converted to the type of the whole.
func (f *fn) cond(e *syntax.Cond) *ir.Value {
	t := f.info.Types[e]
	if e.Then == nil { // c ?: b evaluates c once
		c := f.integer(e.Cond)
		return f.Choose(c,
			func() *ir.Value { return f.number(f.convert(c, f.info.Types[e.Cond], t)) },
			func() *ir.Value { return f.number(f.scalarAs(e.Else, t)) })
	}
	return f.choose(e.Cond, func() *ir.Value { return f.scalarAs(e.Then, t) },
		func() *ir.Value { return f.scalarAs(e.Else, t) })
}

// ifScalar is an if whose value is a number.
func (f *fn) ifScalar(e *syntax.If) *ir.Value {
	t := f.info.Types[e]
	return f.choose(e.Cond,
		func() *ir.Value { return f.scalarAs(e.Then, t) },
		func() *ir.Value { return f.scalarAs(e.Else, t) })
}

// choose is Choose with a condition of the script.
func (f *fn) choose(cond syntax.Expr, then, els func() *ir.Value) *ir.Value {
	b := f.b
	out := b.NewObject("choice", 8, 8)
	yes, no, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.branch(cond, yes, no)
	for _, arm := range []struct {
		blk   *ir.Block
		value func() *ir.Value
	}{{yes, then}, {no, els}} {
		b.Begin(arm.blk)
		f.scoped(func() {
			v := arm.value()
			if !b.Ended() {
				b.Store(b.Addr(out, 0), 0, 8, f.number(v))
				b.Jump(done)
			}
		})
	}
	b.Begin(done)
	return b.U64(b.Addr(out, 0), 0)
}

// scalarAs is e converted to a type.
func (f *fn) scalarAs(e syntax.Expr, t types.Type) *ir.Value {
	if agg, ok := f.info.Types[e].(*types.Agg); ok {
		return f.convert(f.readAgg(e), types.IntOf(8, agg.Signed), t)
	}
	return f.convert(f.Scalar(e), f.info.Types[e], t)
}

// convert changes a value in a register from one type to another.
func (f *fn) convert(v *ir.Value, from, to types.Type) *ir.Value {
	b := f.b
	if to == types.Bool && from != types.Bool {
		return b.Ne(v, 0)
	}
	ti, ok := types.IsInteger(to)
	if !ok {
		return v // pointers: 64 bits as they are, already extended by sign
	}
	fi, ok := types.IsInteger(from)
	if from == types.Bool {
		fi, ok = types.Uint8, true
	}
	// A register holds its value extended to 64 bits, so that nothing has to be done where all
	// values are kept.
	if ok && (fi.Bytes < ti.Bytes && (!fi.Signed || ti.Signed) || fi.Bytes == ti.Bytes && fi.Signed == ti.Signed) {
		return v
	}
	if ti.Bytes == 8 {
		return v
	}
	return b.Ext(f.number(v), ti.Bytes, ti.Signed)
}

// cast is (type)x where the result is a number.
func (f *fn) cast(e *syntax.Cast) *ir.Value {
	to, from := f.info.Types[e], f.info.Types[e.X]
	if inMemory(from) { // bytes of an array or string as an integer
		if _, ok := from.(*types.String); ok && to == types.Bool {
			return f.b.Ne(f.b.U8(f.Mem(e.X), 0), 0)
		}
		if _, ok := to.(*types.Pointer); ok {
			return f.arrayAddress(e.X)
		}
		i, _ := types.IsInteger(to)
		return f.b.Load(f.Mem(e.X), 0, i.Bytes, i.Signed)
	}
	return f.scalarAs(e.X, to)
}
