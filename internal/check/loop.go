package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// maxUnroll is the most repetitions of an unroll statement.
const maxUnroll = 100

// maxUnrolled is the most repetitions of unroll statements in one another: as many as the kernel grants a loop. Nothing
// counts them while they run, and nothing ends them.
const maxUnrolled = 1 << 23

// body checks a loop body; enter declares what the loop adds to its scope. The first return of the
// outermost loop is remembered: it decides whether all of them have a value.
// A for body may become a function of its own, which reaches the variables around it through
// memory: push marks its border.
func (w *walker) body(b *syntax.Block, isFor bool, enter func()) {
	if w.loops == 0 {
		w.returns = nil
	}
	w.loops++
	w.push(isFor)
	enter()
	w.statements(b.Stmts)
	if b.Result != nil {
		w.exprStmt(&syntax.ExprStmt{Pos: syntax.Pos{At: b.Result.Span()}, X: b.Result})
	}
	w.pop()
	w.loops--
}

// forStmt checks a loop over a map or a range.
func (w *walker) forStmt(s *syntax.ForStmt) {
	if s.Over != nil {
		elem := w.mapElement(s)
		w.body(s.Body, true, func() { w.loopVar(s, elem) })
		return
	}
	from, to := w.rangeEnd(s.From), w.rangeEnd(s.To)
	w.body(s.Body, true, func() { w.loopVar(s, from, to) })
}

// mapElement is the (key, value) that a loop over a map binds its variable to.
// The value of a key that is deleted during the walk is what the walk had read.
func (w *walker) mapElement(s *syntax.ForStmt) val {
	m := w.mapNamed(s.Over)
	m.walked = true
	switch {
	case m.sort == scalar:
		w.errorf(s.Over, "not-iterable", "%s has no key (scalar map): there is nothing to iterate over", m.name).
			Note(m.sortAt, "it was first used here")
		return val{}
	case !w.sortIs(m, keyed, s.Over):
		return val{}
	case w.final && !m.defined():
		w.undefinedMap(m, s.Over)
		return val{}
	}
	value := val{}
	if m.agg == nil {
		value = w.readSlot(&m.value)
	} else if i, ok := w.castable(m.aggType()); ok {
		value.Flex = types.Flex{Type: i}
	} else {
		w.errorf(s.Over, "not-iterable", "Loop expression does not support type: %s", m.aggType())
		return val{}
	}
	key := w.readSlot(&m.key)
	if key.Type == nil || value.Type == nil {
		return val{}
	}
	parts := []val{key, value}
	w.sizeOK(s.Over, parts)
	return tupleOf(parts)
}

// loopVar declares the variable of a for statement, which takes values of the
// types given.
// A shadowing name is an error although it would work: the language has no shadowing at all.
func (w *walker) loopVar(s *syntax.ForStmt, values ...val) {
	v := w.lookupQuietly(s.Var.Name)
	if v != nil {
		w.errorf(s.Var, "shadowed-loop-variable", "Loop declaration shadows existing variable: $%s", s.Var.Shown()).
			Note(v.out.Decl, "This is the initial declaration.")
		w.bind(s.Var, v)
		v.assigned = true
		return
	}
	v = w.fresh(s.Var)
	v.out.Loop, v.assigned = true, true
	switch {
	case !w.final:
		for _, x := range values {
			v.join(x.Flex, types.Unset)
		}
	case v.cur.Type != nil:
		if s.Over == nil {
			w.lossy(s.From, values[0].Flex, v.cur.Type)
			w.lossy(s.To, values[1].Flex, v.cur.Type)
		}
		w.record(s.Var, val{Flex: v.cur})
	}
}

// lookupQuietly finds a variable without marking it as captured.
func (w *walker) lookupQuietly(name string) *varState {
	for s := w.scope; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// rangeEnd is an end of a range, an integer; an aggregation or enumerator is read as its number.
func (w *walker) rangeEnd(e syntax.Expr) val {
	v := w.expr(e)
	if v.Type == nil {
		return val{}
	}
	i, ok := w.intLike(v.Type)
	if !ok || v.Type == types.Bool {
		w.errorf(e, "bad-range", "The ends of a range must be integers, not '%s'", v.Type)
		return val{}
	}
	if _, isAgg := v.Type.(*types.Agg); isAgg {
		v.Flex = types.Flex{Type: i}
	}
	if _, isEnum := v.Type.(*types.Enum); isEnum {
		v.Flex = types.Flex{Type: i}
	}
	return v
}

// unroll checks unroll (n) { … }: the count must be known here, as the body is written n times.
func (w *walker) unroll(s *syntax.UnrollStmt) {
	outside := w.unrolled
	defer func() { w.unrolled = outside }()
	v := w.expr(s.Count)
	if v.Type != nil {
		n := numberOf(v.k)
		times := max(outside, 1) * int(min(n.mag, maxUnroll))
		switch {
		case v.k.Kind != builtin.IntConst:
			w.errorf(s.Count, "unroll-count", "invalid unroll value: it must be a literal integer")
		case n.neg:
			w.errorf(s.Count, "unroll-count", "unroll minimum value is 0")
		case n.mag > maxUnroll:
			w.errorf(s.Count, "unroll-count", "unroll maximum value is %d", maxUnroll)
		case times > maxUnrolled:
			w.errorf(s.Count, "unroll-count",
				"unroll blocks in one another repeat this %d times; at most %d are possible", times, maxUnrolled)
		case w.final:
			w.info.Unrolls[s] = int(n.mag)
			if n.mag == 0 {
				w.warnf(s.Count, "unroll-count", "unroll(0) does nothing")
			}
		}
		if w.unrolled = times; times > maxUnrolled {
			w.unrolled = 0 // it was told, and is not told again of those inside
		}
	}
	w.body(s.Body, false, func() {})
}
