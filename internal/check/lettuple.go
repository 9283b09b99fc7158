package check

import (
	"strconv"

	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// letTuple is let ($a, $b) = x: short for a variable without name that is x,
// and a declaration for each element.
// The statements are made once and kept, since variables are known by the node that declares
// them.
func (w *walker) letTuple(s *syntax.LetTupleStmt) {
	lets := w.lets[s]
	if lets == nil {
		lets = w.declarations(s)
	}
	if w.final && w.unevaluated == 0 {
		w.info.Lets[s] = lets
	}
	w.let(lets[0])
	// A mistake in x is reported once, as one of x.
	t := w.vars[lets[0].Var].read().Type
	if tuple, ok := t.(*types.Tuple); t != nil && !ok {
		w.errorf(s.Init, "not-a-tuple", "Only a tuple can be taken apart, not '%s'", t)
	} else if ok && len(tuple.Elems) < len(s.Vars) {
		w.errorf(s.Vars[len(tuple.Elems)], "tuple-index", "'%s' has too few elements for %d variables",
			tuple, len(s.Vars))
	} else {
		for _, one := range lets[1:] {
			w.let(one)
		}
		return
	}
	for _, v := range s.Vars {
		if x, ok := w.declare(v); ok {
			x.assigned, x.broken = true, true
		}
	}
}

// declarations makes what a let of a tuple is short for. The name in front is
// one that no script can write.
func (w *walker) declarations(s *syntax.LetTupleStmt) []*syntax.LetStmt {
	name := "(tuple)'" + strconv.Itoa(len(w.lets))
	at := syntax.Pos{At: s.Init.Span()}
	lets := []*syntax.LetStmt{{Pos: s.Pos, Var: &syntax.Var{Pos: at, Name: name}, Init: s.Init}}
	for i, v := range s.Vars {
		at := syntax.Pos{At: v.Span()}
		n := strconv.Itoa(i)
		lets = append(lets, &syntax.LetStmt{Pos: at, Var: v, Init: &syntax.TupleIndex{
			Pos: at, X: &syntax.Var{Pos: at, Name: name}, Index: &syntax.IntLit{Pos: at, Text: n, Value: uint64(i)},
		}})
	}
	if w.lets == nil {
		w.lets = map[*syntax.LetTupleStmt][]*syntax.LetStmt{}
	}
	w.lets[s] = lets
	return lets
}
