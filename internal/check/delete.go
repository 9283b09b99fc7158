package check

import (
	"strings"

	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// severalDeletes reports whether a call removes an element with each of its
// arguments, as scripts of one old version wrote it: delete(@a[1], @b[2]). A
// map with keys in front of one other argument is delete(@m, key).
// The new form takes two arguments as well, a map and a key.
func (w *walker) severalDeletes(args []syntax.Expr) bool {
	if len(args) < 2 {
		return false
	}
	for _, a := range args {
		switch a.(type) {
		case *syntax.Map, *syntax.MapIndex:
		default:
			return false
		}
	}
	m, bareMap := args[0].(*syntax.Map)
	return len(args) > 2 || !bareMap || w.mapNamed(m).sort == scalar
}

// deleteEach is a call that stands for one with each of its arguments.
func (w *walker) deleteEach(e *syntax.Call) val {
	w.warnf(e, "old-delete", "%s() of several elements at once is deprecated", e.Func.Name).
		Hint("write a call for each: %s", eachDelete(e))
	block := &syntax.Block{Pos: e.Pos}
	for _, a := range e.Args {
		one := &syntax.Call{Pos: e.Pos, Func: e.Func, Args: []syntax.Expr{a}}
		block.Stmts = append(block.Stmts, &syntax.ExprStmt{Pos: e.Pos, X: one})
	}
	v := w.standIn(e, block)
	v.Type = types.None
	return v
}

// eachDelete spells the calls in the form of today.
func eachDelete(e *syntax.Call) string {
	var calls []string
	for _, a := range e.Args {
		text := a.Span().Text()
		if m, ok := a.(*syntax.MapIndex); ok {
			key := m.Keys[0].Span().To(m.Keys[len(m.Keys)-1].Span()).Text()
			if len(m.Keys) > 1 {
				key = "(" + key + ")"
			}
			text = m.Map.Span().Text() + ", " + key
		}
		calls = append(calls, e.Func.Name+"("+text+");")
	}
	return strings.Join(calls, " ")
}
