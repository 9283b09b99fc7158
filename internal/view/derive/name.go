package derive

import (
	"strconv"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A name is what an expression is called: "" if nothing says. A tuple that is
// written out has the names of its elements instead.
type name struct {
	text string
	of   []name
}

// namesOfAll are what expressions are called, each by itself.
func namesOfAll(info *check.Info, list []syntax.Expr) []name {
	out := make([]name, len(list))
	for i, e := range list {
		out[i] = nameOf(info, e)
	}
	return out
}

// membersOf are the names of a tuple's elements, or that of the value itself.
func membersOf(info *check.Info, e syntax.Expr) []name {
	n := nameOf(info, e)
	if n.of != nil {
		return n.of
	}
	return []name{n}
}

// nameOf is what an expression is called.
func nameOf(info *check.Info, e syntax.Expr) name {
	// A field of args or typeinfo stands for something else, but is called as it is written.
	if f, ok := e.(*syntax.Field); ok {
		return name{text: f.Name.Name}
	}
	e = info.Evaluated(e)
	if c := info.Calls[e]; c != nil && c.Func != nil {
		return nameOfCall(info, c)
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return nameOf(info, e.X)
	case *syntax.Comptime:
		return nameOf(info, e.X)
	case *syntax.Cast:
		return nameOf(info, e.X)
	case *syntax.Index:
		// An element is called as its array is.
		return nameOf(info, e.X)
	case *syntax.Block:
		if e.Result != nil {
			return nameOf(info, e.Result)
		}
	case *syntax.Field:
		return name{text: e.Name.Name}
	case *syntax.Var:
		return name{text: e.Shown()}
	case *syntax.PosParam:
		if e.Index > 0 {
			return name{text: "param" + strconv.Itoa(e.Index)}
		}
	case *syntax.Map:
		return name{text: e.Name}
	case *syntax.MapIndex:
		return name{text: e.Map.Name}
	case *syntax.Binary:
		// A mask takes a part of a number, which keeps its name.
		if e.Op == syntax.And {
			if _, mask := info.Consts[e.X]; mask {
				return nameOf(info, e.Y)
			}
			return nameOf(info, e.X)
		}
	case *syntax.Tuple:
		return name{of: namesOfAll(info, e.Elems)}
	case *syntax.Record:
		out := make([]name, len(e.Fields))
		for i, f := range e.Fields {
			out[i] = name{text: f.Name.Name}
			if n := nameOf(info, f.Value); n.of != nil {
				out[i] = n
			}
		}
		return name{of: out}
	}
	return name{}
}

// nameOfCall is the name of a value that a builtin yields, by its entry in the table.
func nameOfCall(info *check.Info, c *builtin.Call) name {
	switch of := c.Func.LabelOf; {
	case c.Func.Label != "":
		return name{text: c.Func.Label}
	case of == builtin.LastArg && len(c.Args) > 0:
		return nameOf(info, c.Args[len(c.Args)-1])
	// Arguments are numbered from 1, so that 0 means none.
	case of > 0 && of <= len(c.Args):
		return nameOf(info, c.Args[of-1])
	case builtin.ArgNumber(c.Name) >= 0:
		return name{text: c.Name}
	case c.Func.Bare:
		return name{text: c.Func.Name}
	}
	return name{}
}

// walk calls f for what is evaluated in a probe, in source order. Arms that a
// comptime condition left out are not among it.
func walk(info *check.Info, predicate syntax.Expr, body *syntax.Block, f func(syntax.Node)) {
	var visit func(n syntax.Node) bool
	visit = func(n syntax.Node) bool {
		if e, ok := n.(syntax.Expr); ok {
			// A macro or function is walked as what it was replaced by.
			if x := info.Evaluated(e); x != e {
				syntax.Walk(x, visit)
				return false
			}
		}
		switch n := n.(type) {
		// Types are named in these, and nothing is evaluated.
		case *syntax.SizeOf, *syntax.OffsetOf, *syntax.TypeInfo, *syntax.TypeExpr:
			return false
		case *syntax.LetTupleStmt:
			for _, let := range info.Lets[n] {
				syntax.Walk(let, visit)
			}
			return false
		}
		f(n)
		return true
	}
	if predicate != nil {
		syntax.Walk(predicate, visit)
	}
	syntax.Walk(body, visit)
}
