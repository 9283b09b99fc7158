package expand

import (
	"github.com/hawktrace/hawk/internal/syntax"
)

// misplaced refuses in an expanded body what the parser knows and has no place
// there.
func (e *expander) misplaced(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.Import); ok {
			e.ds.Errorf("import-statement", n.Span(), "import can not be used as a statement").
				Hint("write it at the top of the script, before the first probe")
		}
		return true
	})
}
