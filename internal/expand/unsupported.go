package expand

import (
	"github.com/hawktrace/hawk/internal/syntax"
)

// unsupported refuses in an expanded body what the parser knows and has no place
// there, or which this version does not implement.
func (e *expander) unsupported(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Unary:
			if n.Op == syntax.And {
				e.ds.Errorf("unsupported", n.Span(), "the address of a variable or map is not supported by this version of hawk")
			}
		case *syntax.Import:
			e.ds.Errorf("import-statement", n.Span(), "import can not be used as a statement").
				Hint("write it at the top of the script, before the first probe")
		}
		return true
	})
}
