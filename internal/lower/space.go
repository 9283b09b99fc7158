package lower

import (
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/syntax"
)

// An origin is where an address comes from: one of these.
type origin struct {
	variable *check.Var
	global   string // a map
	expr     syntax.Expr
}

// unsetSpace warns of an address of which nobody knows whether it is one of the
// kernel or of a process; once for each variable or map that it comes from, and
// not again for what is reached through it.
func (m *module) unsetSpace(info *check.Info, e syntax.Expr) {
	at := e.Span()
	var from origin
	for from == (origin{}) {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.X
		case *syntax.Field:
			e = x.X
		case *syntax.Index:
			e = x.X
		case *syntax.Unary:
			e = x.X
		case *syntax.Cast:
			e = x.X
		case *syntax.Binary:
			e = x.X
		case *syntax.Var:
			from.variable = info.Vars[x]
		case *syntax.MapIndex:
			from.global = x.Map.Name
		case *syntax.Map:
			from.global = x.Name
		default:
			from.expr = e
		}
	}
	for _, warned := range m.unset {
		if warned == from {
			return
		}
	}
	m.unset = append(m.unset, from)
	m.diags.Warnf("unset-space", at,
		"Whether this is an address of the kernel or of a process is not known here; it is read as one of the kernel").
		Hint("say which it is by kptr(…) or uptr(…)")
}
