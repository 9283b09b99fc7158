package expand

import (
	"github.com/hawktrace/hawk/internal/syntax"
)

// unsupportedItems refuses what the parser knows and this version does not
// implement. It reports whether something was refused that other parts of the
// script refer to by name, so that going on would only give follow-up errors.
func (e *expander) unsupportedItems() (stop bool) {
	for _, item := range e.out.Tree.Items {
		switch item := item.(type) {
		case *syntax.Import:
			e.ds.Errorf("unsupported", item.Span(), "imports are not supported by this version of hawk")
			stop = true
		}
	}
	return stop
}

// unsupported refuses the same inside an expanded body.
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
