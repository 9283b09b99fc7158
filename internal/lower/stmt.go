package lower

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// block lowers a block for its effects.
func (f *fn) block(blk *syntax.Block) {
	if f.m.o.Pieces {
		f.inPieces(blk.Stmts)
	} else {
		f.stmts(blk.Stmts)
	}
	if blk.Result != nil && !f.b.Ended() {
		f.at(blk.Result, func() { f.effect(blk.Result) })
	}
}

// stmts lowers statements in a row.
func (f *fn) stmts(list []syntax.Stmt) {
	for len(list) > 0 {
		if f.b.Ended() {
			return // what follows a jump is never run
		}
		s := list[0]
		list = list[1+f.takes(list):]
		f.at(s, func() { f.stmt(s) })
	}
}

// takes is how many statements behind the first only clear maps that the first shows. If
// they clear all of them it does so itself: user space reads and removes in one pass.
func (f *fn) takes(list []syntax.Stmt) int {
	c := f.callOf(list[0])
	if c == nil || c.Func == nil || !c.Func.Takes {
		return 0
	}
	shown := map[string]bool{}
	for _, m := range c.Maps {
		if m.Name != "" {
			shown[m.Name] = true
		}
	}
	n := 0
	for ; n+1 < len(list) && len(shown) > 0; n++ {
		next := f.callOf(list[n+1])
		if next == nil || next.Func == nil || !next.Func.Clears || !shown[next.MapName] {
			break
		}
		delete(shown, next.MapName)
	}
	if c.Taken = len(shown) == 0; !c.Taken {
		return 0
	}
	return n
}

// callOf is the call that a statement is, if it is one.
func (f *fn) callOf(s syntax.Stmt) *builtin.Call {
	e, ok := s.(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	return f.info.Calls[f.info.Evaluated(syntax.Unparen(e.X))]
}

// blockValue lowers a block that yields a value by way of result.
func (f *fn) blockValue(blk *syntax.Block, result func(syntax.Expr) *ir.Value) *ir.Value {
	f.quietly(func() {
		f.stmts(blk.Stmts)
	})
	if f.b.Ended() {
		f.b.Begin(f.b.NewBlock()) // unreachable
	}
	return result(blk.Result)
}

// effect evaluates an expression and drops its value.
func (f *fn) effect(e syntax.Expr) {
	e = f.info.Evaluated(e)
	if _, folded := f.info.Consts[e]; folded {
		return
	}
	switch e := e.(type) {
	case *syntax.Paren:
		f.effect(e.X)
		return
	case *syntax.Block:
		f.scoped(func() { f.block(e) })
		return
	case *syntax.If:
		f.ifStmt(e)
		return
	case *syntax.IncDec:
		f.incDec(e, false)
		return
	case *syntax.Inlined:
		f.inlinedCall(e)
		return
	case *syntax.Cond:
		f.condEffect(e)
		return
	}
	if c, ok := f.info.Calls[e]; ok {
		f.unused = nil
		if !f.discards {
			f.unused = e
		}
		f.call(c, nil)
		return
	}
	if agg, ok := f.info.Types[e].(*types.Agg); ok {
		if kind, _ := builtin.LookupAgg(agg.Kind); kind.Read == nil {
			f.keyEffects(e)
			return
		}
	}
	switch t := f.info.Types[e]; {
	case t == nil || t == types.None || t == types.Void:
	case inMemory(t):
		f.Mem(e)
	default:
		f.integer(e)
	}
}

// keyEffects evaluates the key of a map access whose value nothing can read.
func (f *fn) keyEffects(e syntax.Expr) {
	if m, ok := e.(*syntax.MapIndex); ok {
		for _, k := range m.Keys {
			f.effect(k)
		}
	}
}

// condEffect is c ? x : y as a statement.
func (f *fn) condEffect(e *syntax.Cond) {
	b := f.b
	yes, no, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.branch(e.Cond, yes, no)
	f.arm(yes, done, func() {
		if e.Then != nil {
			f.effect(e.Then)
		}
	})
	f.arm(no, done, func() { f.effect(e.Else) })
	b.Begin(done)
}

// arm fills one arm of a branch and goes on at done.
func (f *fn) arm(blk, done *ir.Block, fill func()) {
	f.b.Begin(blk)
	f.scoped(fill)
	if !f.b.Ended() {
		f.b.Jump(done)
	}
}

// ifStmt is an if as a statement, with its chain of else.
func (f *fn) ifStmt(e *syntax.If) {
	b := f.b
	yes, no, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.branch(e.Cond, yes, no)
	f.arm(yes, done, func() { f.block(e.Then) })
	f.arm(no, done, func() {
		switch els := e.Else.(type) {
		case *syntax.Block:
			f.block(els)
		case *syntax.If:
			f.at(els, func() { f.effect(els) })
		}
	})
	b.Begin(done)
}

// stmt lowers one statement.
func (f *fn) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		f.effect(s.X)
	case *syntax.DiscardStmt:
		f.discards = true
		f.effect(s.X)
		f.discards = false
	case *syntax.LetStmt:
		f.let(s)
	case *syntax.LetTupleStmt:
		for _, one := range f.info.Lets[s] {
			f.at(one, func() { f.let(one) })
		}
	case *syntax.AssignStmt:
		f.assign(s)
	case *syntax.JumpStmt:
		f.jump(s)
	case *syntax.ForStmt:
		if s.Over != nil {
			f.forMap(s)
		} else {
			f.forRange(s)
		}
	case *syntax.WhileStmt:
		f.while(s)
	case *syntax.UnrollStmt:
		f.unroll(s)
	default:
		panic(fmt.Sprintf("no lowering of the statement %T", s))
	}
}

// variable is where the variable of an occurrence lives.
func (f *fn) variable(v *syntax.Var) *variable {
	return f.variableOf(f.info.Vars[v])
}

// variableOf is where a variable lives for this function: it is made at its first use, or imported
// from a function around a callback.
func (f *fn) variableOf(decl *check.Var) *variable {
	x := f.vars[decl]
	if x == nil {
		switch x = f.outerVariable(decl); {
		case x == nil:
			x = f.newVariable(decl)
		case !x.shared:
			x = f.importVar(decl)
		}
		f.vars[decl] = x
	}
	return x
}

// newVariable makes room for a variable: an object of this function, in the caller's frame if it is
// large and this is a callback, or in the state if the script is in pieces.
func (f *fn) newVariable(decl *check.Var) *variable {
	x := &variable{size: max(types.RoundUp(decl.Type.Size(), 8), 8)}
	if f.m.o.Pieces {
		x.shared, x.at = true, f.share(x.size)
	} else if f.cb != nil && x.size > largeTemp {
		x.base = f.Temp("$"+decl.Name, x.size, 8)
	} else {
		x.obj = f.b.NewObject("$"+decl.Name, x.size, 8)
	}
	return x
}

// loadVar reads a scalar variable.
func (f *fn) loadVar(e *syntax.Var) *ir.Value {
	v := f.variable(e)
	p := v.addr(f)
	if v.ptr {
		return f.b.LoadPtr(p, 0)
	}
	return f.b.U64(p, 0)
}

// let declares a variable; without an initialiser it is zero.
func (f *fn) let(s *syntax.LetStmt) {
	decl := f.info.Vars[s.Var]
	if decl == nil || decl.Type == nil {
		return // never assigned and never read
	}
	if s.Init != nil {
		f.storeVar(s.Var, decl, s.Init)
		return
	}
	v := f.variable(s.Var)
	f.b.Zero(v.addr(f), 0, v.size)
}

// storeVar assigns to a variable, or initialises it.
func (f *fn) storeVar(v *syntax.Var, decl *check.Var, rhs syntax.Expr) {
	defer f.settle(decl)
	b := f.b
	if types.IsScalar(decl.Type) {
		x := f.scalarAs(rhs, decl.Type)
		begins := f.vars[decl] == nil && f.outerVariable(decl) == nil
		to := f.variable(v)
		if x.Kind == ir.Ptr {
			// Only a variable that begins with its one assignment can carry a
			// pointer that the verifier follows: its type is part of the
			// pointer's state, and one declared before may still be zero.
			if begins && decl.Assigns == 1 && !to.shared && f.typedPointer(rhs) &&
				types.Same(decl.Type, f.info.Types[rhs]) {
				to.ptr = true
			}
			if !to.ptr {
				x = f.number(x)
			}
		}
		if !to.ptr && f.hides() {
			x = f.unknown(x)
		}
		b.Store(to.addr(f), 0, 8, x)
		return
	}
	to := f.variable(v)
	f.quietly(func() {
		if f.mentions(rhs, decl) {
			// The old value is needed while the new one is made.
			tmp := f.Temp("value", to.size, 8)
			f.Into(rhs, decl.Type, tmp, 0)
			b.Copy(to.addr(f), 0, tmp, to.size)
			return
		}
		f.Into(rhs, decl.Type, to.addr(f), 0)
	})
}

// mentions reports whether e reads the variable.
func (f *fn) mentions(e syntax.Expr, decl *check.Var) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if v, ok := n.(*syntax.Var); ok && f.info.Vars[v] == decl {
			found = true
		}
		return !found
	})
	return found
}

// assign is an assignment in any of its forms.
func (f *fn) assign(s *syntax.AssignStmt) {
	if c, ok := f.info.Calls[syntax.Unparen(s.RHS)]; ok && c.Agg != nil && s.Op == syntax.Assign {
		f.updateAgg(s, s.LHS, c)
		return
	}
	if blk, ok := syntax.Unparen(s.RHS).(*syntax.Block); ok && s.Op == syntax.Assign && f.aggResult(blk) != nil {
		f.aggBlock(s, blk)
		return
	}
	if s.Op != syntax.Assign {
		f.compound(s)
		return
	}
	if v, ok := s.LHS.(*syntax.Var); ok {
		f.storeVar(v, f.info.Vars[v], s.RHS)
		return
	}
	f.storeMap(s, s.LHS, s.RHS)
}

// aggResult is the call of an aggregation that a block, or a block in it, ends
// in; nil if it does not.
func (f *fn) aggResult(blk *syntax.Block) *builtin.Call {
	switch x := syntax.Unparen(blk.Result).(type) {
	case *syntax.Block:
		return f.aggResult(x)
	case *syntax.Call:
		if c, ok := f.info.Calls[x]; ok && c.Agg != nil {
			return c
		}
	}
	return nil
}

// aggBlock runs a block and then the update that it ends in.
func (f *fn) aggBlock(s *syntax.AssignStmt, blk *syntax.Block) {
	f.blockValue(blk, func(x syntax.Expr) *ir.Value {
		if inner, ok := syntax.Unparen(x).(*syntax.Block); ok {
			f.aggBlock(s, inner)
		} else {
			f.updateAgg(s, s.LHS, f.aggResult(blk))
		}
		return nil
	})
}

// addable reports whether one addition in place does what @m[k] += x says:
// that the key, which is evaluated for the read and for the write, is the same
// both times, and that x has nothing to do with the map, so that it does not
// matter when that is read.
func (f *fn) addable(s *syntax.AssignStmt) bool {
	name := mapName(s.LHS)
	ok := !f.changes(s.LHS)
	syntax.Walk(s.RHS, func(n syntax.Node) bool {
		m, isMap := n.(*syntax.Map)
		ok = ok && !(isMap && m.Name == name)
		return ok
	})
	return ok
}

// mapName is the name of the map that an access is to, without the @.
func mapName(e syntax.Expr) string {
	if x, ok := e.(*syntax.MapIndex); ok {
		return x.Map.Name
	}
	return e.(*syntax.Map).Name
}

// compound is lhs op= rhs.
func (f *fn) compound(s *syntax.AssignStmt) {
	b := f.b
	op := s.Op.Binary()
	t := f.info.Types[s.LHS]
	if inMemory(t) {
		f.m.diags.Errorf("unsupported", s.Span(), "%s can not be applied to %s", s.Op, t)
		return
	}
	_, toVar := s.LHS.(*syntax.Var)
	// @n += x is atomic then, as @n++ is: counts of several CPUs are not lost.
	if i, ok := t.(*types.Int); ok && i.Bytes == 8 && !toVar && (op == syntax.Add || op == syntax.Sub) && f.addable(s) {
		n := f.number(f.integer(s.RHS))
		if op == syntax.Sub {
			n = b.Emit(ir.Neg, ir.I64, n)
		}
		f.addMap(s, s.LHS, n, false)
		return
	}
	x := f.Scalar(s.LHS)
	var v *ir.Value
	result := t
	if p, ok := t.(*types.Pointer); ok {
		v = f.pointerMath(op, x, p, f.integer(s.RHS))
	} else {
		y := f.number(f.integer(s.RHS))
		signed := f.intType(s.LHS).Signed || f.intType(s.RHS).Signed
		v = f.arith(s, op, f.number(x), y, signed, f.intType(s.LHS).Signed)
		result = types.IntOf(8, signed)
	}
	v = f.convert(v, result, t)
	if lv, ok := s.LHS.(*syntax.Var); ok {
		b.Store(f.variable(lv).addr(f), 0, 8, f.hide(v))
		return
	}
	sm, keys := f.mapOf(s.LHS)
	f.storeScalar(s, sm, keys, v)
}

// incDec is ++ and --; want says whether the value is used.
func (f *fn) incDec(e *syntax.IncDec, want bool) *ir.Value {
	b := f.b
	t := f.info.Types[syntax.Unparen(e.X)]
	step := int64(1)
	if p, ok := t.(*types.Pointer); ok {
		step = int64(max(p.Elem.Size(), 1))
		f.fix(p.Elem, false)
	}
	if e.Op == syntax.Dec {
		step = -step
	}
	if v, ok := syntax.Unparen(e.X).(*syntax.Var); ok {
		old := f.number(f.loadVar(v))
		now := f.convert(b.Add(old, step), types.IntOf(8, true), t)
		b.Store(f.variable(v).addr(f), 0, 8, f.hide(now))
		if e.Prefix {
			return now
		}
		return old
	}
	if t.Size() == 8 {
		old := f.addMap(e, syntax.Unparen(e.X), f.konst(step), want)
		if want && e.Prefix {
			return b.Add(old, step)
		}
		return old
	}
	// A declared narrow value wraps at its own width.
	s, keys := f.mapOf(e.X)
	old := f.loadMap(syntax.Unparen(e.X))
	now := f.convert(b.Add(old, step), types.IntOf(8, true), t)
	f.storeScalar(e, s, keys, now)
	if e.Prefix {
		return now
	}
	return old
}

// jump is break, continue or return; the block that it leads to may be one of a function around.
func (f *fn) jump(s *syntax.JumpStmt) {
	switch s.Kind {
	case syntax.Break:
		f.b.Jump(f.reach(f.loops[len(f.loops)-1].out))
	case syntax.Continue:
		f.b.Jump(f.reach(f.loops[len(f.loops)-1].next))
	case syntax.Return:
		if f.inline != nil {
			f.returnFrom(s)
			return
		}
		switch {
		case s.Value == nil:
		case f.p.Kind.Ours.Verdict():
			f.b.Store(f.b.Data(object.DataResult), 0, 8, f.number(f.Scalar(s.Value)))
		default:
			f.effect(s.Value)
		}
		f.b.Jump(f.exit)
	}
}
