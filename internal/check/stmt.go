package check

import (
	"slices"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// statements checks the statements of a block; behind one that leaves the block, the rest is warned
// of, once.
// Statements that cannot be reached are checked all the same, and take part in inference.
func (w *walker) statements(list []syntax.Stmt) {
	warned := false
	for i, s := range list {
		if i > 0 && !warned && w.final && w.jumps(list[i-1]) {
			w.warnf(s, "unreachable", "Unreachable statement.")
			warned = true
		}
		w.statement(s)
	}
}

// statement checks one statement.
func (w *walker) statement(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		w.exprStmt(s)
	case *syntax.LetStmt:
		w.let(s)
	case *syntax.LetTupleStmt:
		w.letTuple(s)
	case *syntax.AssignStmt:
		w.assignment(s)
	case *syntax.DiscardStmt:
		w.expr(s.X)
	case *syntax.JumpStmt:
		w.jump(s)
	case *syntax.ForStmt:
		w.forStmt(s)
	case *syntax.WhileStmt:
		w.warnf(s, "deprecated-while", "While loops are deprecated and may be removed in the future.").
			Hint("use a range: for ($i : 0..10) { … }")
		w.condition(s.Cond)
		w.body(s.Body, false, func() {})
	case *syntax.UnrollStmt:
		w.unroll(s)
	}
}

// exprStmt evaluates for the effect only.
func (w *walker) exprStmt(s *syntax.ExprStmt) {
	switch x := s.X.(type) {
	case *syntax.If:
		w.ifStmt(x)
		return
	case *syntax.Block:
		w.block(x)
		w.record(x, val{Flex: types.Flex{Type: types.None}})
		return
	}
	v := w.expr(s.X)
	if v.Type == nil || isNothing(v.Type) || w.mayIgnore(s.X) {
		return
	}
	w.warnf(s, "discarded-value", "Return value discarded.").Hint("write _ = … if that is meant")
}

// mayIgnore tells expressions that are written for their effect.
// delete() tells whether there was something to delete, which few want to know.
func (w *walker) mayIgnore(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.IncDec:
		return true
	case *syntax.Paren:
		return w.mayIgnore(e.X)
	case *syntax.Cond:
		return e.Then != nil && w.mayIgnore(e.Then) && w.mayIgnore(e.Else)
	case *syntax.Call:
		f, ok := builtin.Lookup(e.Func.Name)
		return ok && f.Ignorable
	}
	return false
}

// ifStmt is if as a statement, whose arms need no values.
func (w *walker) ifStmt(x *syntax.If) {
	switch w.arm(x, x.Cond) {
	case thenArm:
		w.onlyStmt(x, x.Then)
		return
	case elseArm:
		w.onlyStmt(x, x.Else)
		return
	case noArm:
		return
	}
	w.condition(x.Cond)
	w.block(x.Then)
	switch e := x.Else.(type) {
	case *syntax.Block:
		w.block(e)
	case *syntax.If:
		w.ifStmt(e)
	}
	w.record(x, val{Flex: types.Flex{Type: types.None}})
}

// onlyStmt checks the arm that is left of an if, for its effects.
func (w *walker) onlyStmt(x *syntax.If, left syntax.Expr) {
	switch e := left.(type) {
	case *syntax.Block:
		w.only(x, e)
	case *syntax.If:
		w.ifStmt(e)
		if w.final && w.unevaluated == 0 {
			w.info.Stands[x] = e
		}
	default:
		w.only(x, nil)
	}
	w.record(x, val{Flex: types.Flex{Type: types.None}})
}

// block checks a block in a scope of its own and yields its value.
func (w *walker) block(b *syntax.Block) val {
	w.push(false)
	defer w.pop()
	w.statements(b.Stmts)
	if b.Result == nil {
		return val{Flex: types.Flex{Type: types.None}}
	}
	return w.expr(b.Result)
}

// let is let $x = …, let $x: T = … or let $x: T. The value is evaluated first: in let $x = $x the
// right one is another, or none.
// A type without a size, as string, is filled in by what is assigned.
func (w *walker) let(s *syntax.LetStmt) {
	var init val
	var waits []*slot
	if s.Init != nil {
		waits = w.waiting(func() { init = w.expr(s.Init) })
	}
	v, ok := w.declare(s.Var)
	if !ok {
		return
	}
	// A variable that nothing is ever stored to has to have some type.
	v.fallback = types.Int64
	if s.Type != nil {
		t := w.annotation(s.Type)
		v.broken = v.broken || w.final && t == nil
		v.untyped = t == nil && s.Type.Of == nil && s.Type.OfType == nil
		open := false // what is assigned makes the size
		switch x := t.(type) {
		case *types.String:
			if open = x.Cap == 0; open {
				t = &types.String{Cap: 1}
			}
		case *types.Buffer:
			open = x.Cap == 0
		case *types.Array:
			open = x.Len < 0
		case *types.Deferred:
			open = x.Open
		}
		if open {
			v.join(types.Flex{Type: t}, types.Unset)
		} else if t != nil {
			v.fixed, v.cur = true, types.Flex{Type: t}
		}
	}
	if s.Init != nil {
		w.assign(v, init, waits, s, s.Init)
	}
}

// annotation resolves the type of a declaration.
func (w *walker) annotation(e *syntax.TypeExpr) types.Type {
	t := w.typeExpr(e)
	switch t.(type) {
	case nil:
		return nil
	case *types.Agg:
		w.errorf(e, "bad-annotation", "Invalid variable declaration type: %s", t)
		return nil
	}
	if t == types.Void || t == types.None {
		w.errorf(e, "bad-annotation", "Invalid variable declaration type: %s", t)
		return nil
	}
	return t
}

// assignment is = or a compound operator on a map or a variable. The right side is evaluated in
// front of the key, as at run time.
// A tuple's element and a struct's member cannot be assigned to: the parser has refused them.
func (w *walker) assignment(s *syntax.AssignStmt) {
	switch lhs := s.LHS.(type) {
	case *syntax.Map:
		m := w.mapNamed(lhs)
		if w.aggregation(s, m, nil) {
			return
		}
		x, waits := w.right(s, func() val { return w.mapValue(m, lhs) })
		w.sortIs(m, scalar, lhs)
		w.store(m, x, waits, s, s.RHS)
		w.recordMap(lhs, m)
	case *syntax.MapIndex:
		m := w.mapNamed(lhs.Map)
		if w.aggregation(s, m, lhs.Keys) {
			return
		}
		x, waits := w.right(s, func() val { return w.mapValue(m, lhs.Map) })
		if w.sortIs(m, keyed, lhs) {
			w.keys(m, lhs.Keys, lhs)
		}
		w.store(m, x, waits, s, s.RHS)
		w.recordMap(lhs, m)
	case *syntax.Var:
		w.assignVar(s, lhs)
	}
}

// recordMap notes the type of a map that is assigned to.
func (w *walker) recordMap(at syntax.Expr, m *mapState) {
	t := m.value.cur.Type
	if m.agg != nil {
		t = m.aggType()
	}
	if t != nil {
		w.record(at, val{Flex: types.Flex{Type: t}})
	}
}

// aggregation handles an assignment whose right side is an aggregation.
func (w *walker) aggregation(s *syntax.AssignStmt, m *mapState, keys []syntax.Expr) bool {
	a, call := aggCall(s.RHS)
	if call == nil {
		return false
	}
	if s.Op != syntax.Assign {
		w.errorf(s, "agg-compound", "%s() must be assigned with =", a.Name)
		m.stored, m.value.broken = true, true
		return true
	}
	// Parentheses, and blocks with their statements, may stand around the call.
	w.aroundAgg(s.RHS, func() { w.aggregate(m, a, call, s) })
	if keys == nil {
		w.sortIs(m, scalar, s.LHS)
	} else if w.sortIs(m, keyed, s.LHS) {
		w.keys(m, keys, s.LHS)
	}
	w.recordMap(s.LHS, m)
	return true
}

// aroundAgg checks what stands around the call of an aggregation, parentheses and blocks, and calls
// then in their scope.
func (w *walker) aroundAgg(e syntax.Expr, then func()) {
	switch e := e.(type) {
	case *syntax.Paren:
		w.aroundAgg(e.X, then)
	case *syntax.Block:
		w.push(false)
		w.statements(e.Stmts)
		w.aroundAgg(e.Result, then)
		w.pop()
	default:
		then()
		return
	}
	w.record(e, val{Flex: types.Flex{Type: types.None}})
}

// right is the value that an assignment to a map stores; old reads the map for
// a compound operator.
func (w *walker) right(s *syntax.AssignStmt, old func() val) (x val, waits []*slot) {
	waits = w.waiting(func() {
		x = w.expr(s.RHS)
		if s.Op != syntax.Assign {
			x = w.operate(s, s.Op.Binary(), s.LHS, old(), s.RHS, x)
		}
	})
	return x, waits
}

// waiting runs f and yields what it read whose type is not known yet: if there
// is such a thing an unknown result is no sign of an error.
// plant goes by it, once inference stands still.
func (w *walker) waiting(f func()) []*slot {
	before := len(w.waits)
	f()
	return slices.Clone(w.waits[before:])
}

// assignVar is an assignment to a variable, which the first one declares.
func (w *walker) assignVar(s *syntax.AssignStmt, lhs *syntax.Var) {
	if a, call := aggCall(s.RHS); call != nil {
		w.looseAgg(call, a)
		v := w.lookup(lhs.Name)
		if v == nil {
			v = w.fresh(lhs)
		}
		v.assigned, v.broken = true, true
		return
	}
	var x val
	waits := w.waiting(func() { x = w.expr(s.RHS) })
	v := w.lookup(lhs.Name)
	switch {
	case v != nil:
		w.bind(lhs, v)
	case s.Op == syntax.Assign:
		v = w.fresh(lhs)
	default:
		w.stepping = true
		w.undeclared(lhs)
		w.stepping = false
		return
	}
	if s.Op != syntax.Assign {
		waits = append(waits, w.waiting(func() {
			was := w.readVar(v, lhs)
			w.record(lhs, was)
			x = w.operate(s, s.Op.Binary(), lhs, was, s.RHS, x)
		})...)
	}
	w.assign(v, x, waits, s, s.RHS)
	if v.cur.Type != nil {
		w.record(lhs, val{Flex: v.cur, space: v.space})
	}
}

// readVar is the value of a variable.
func (w *walker) readVar(v *varState, at *syntax.Var) val {
	if !v.assigned && !v.used && w.unevaluated == 0 {
		w.warnf(at, "used-before-assignment", "Variable used before it was assigned: $%s", v.out.Name)
		v.used = true
	}
	return w.readSlot(&v.slot)
}

// readSlot is the value in a variable or map.
// The slot is remembered: what is made of it has no type as long as this has none.
func (w *walker) readSlot(s *slot) val {
	f := s.read()
	if f.Type == nil && !s.broken {
		w.waits = append(w.waits, s)
	}
	return val{Flex: f, space: s.space}
}

// jump is break, continue or return. In a probe a return may have a number, which is the result of
// the program.
// Loops that are functions to the kernel hand the fact of a return outwards, with its value or
// without: not both.
func (w *walker) jump(s *syntax.JumpStmt) {
	if s.Kind != syntax.Return {
		if w.loops == 0 {
			w.errorf(s, "jump-outside-loop", "'%s' statement is not allowed in a probe", s.Kind).
				Hint("it belongs in a loop")
		}
		return
	}
	if w.in != nil {
		w.returnFrom(s)
	} else if s.Value != nil {
		v := w.expr(s.Value)
		if v.Type != nil {
			if _, ok := w.intLike(v.Type); !ok || v.Type == types.Bool {
				w.errorf(s.Value, "bad-return", "A probe returns an integer, not '%s'", v.Type)
			}
		}
	}
	if w.loops == 0 {
		return
	}
	if w.returns == nil {
		w.returns = s
	} else if (w.returns.Value == nil) != (s.Value == nil) {
		w.errorf(s, "mixed-return", "All return statements of a loop must have a value, or none of them").
			Note(w.returns.Span(), "another return statement of the loop is here")
	}
}

// jumps reports whether nothing after s in the same block can run.
func (w *walker) jumps(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.JumpStmt:
		return true
	case *syntax.ExprStmt:
		return w.exprJumps(s.X)
	}
	return false
}

// exprJumps reports whether an expression never yields, as exit() or an if both of whose arms
// return.
func (w *walker) exprJumps(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Call:
		f, ok := builtin.Lookup(e.Func.Name)
		return ok && f.Ends
	case *syntax.Block:
		return len(e.Stmts) > 0 && w.jumps(e.Stmts[len(e.Stmts)-1])
	case *syntax.If:
		return e.Else != nil && w.exprJumps(e.Then) && w.exprJumps(e.Else)
	}
	return false
}
