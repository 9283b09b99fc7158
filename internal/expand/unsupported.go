package expand

import (
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// unsupportedItems refuses what the parser knows and this version does not
// implement. It reports whether something was refused that other parts of the
// script refer to by name, so that going on would only give follow-up errors.
func (e *expander) unsupportedItems() (stop bool) {
	refuse := func(at source.Span, what string) {
		e.ds.Errorf("unsupported", at, "%s not supported by this version of hawk", what)
	}
	for _, item := range e.out.Tree.Items {
		switch item := item.(type) {
		case *syntax.Macro:
			refuse(item.Name.Span(), "macros are")
		case *syntax.Subprog:
			refuse(item.Name.Span(), "functions defined with fn are")
		case *syntax.Import:
			refuse(item.Span(), "imports are")
		case *syntax.CDef:
			refuse(item.Span(), "C definitions and preprocessor lines are")
		default:
			continue
		}
		stop = true
	}
	syntax.Walk(e.out.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Macro, *syntax.Subprog, *syntax.CDef:
			return false
		case *syntax.Probe:
			return true
		case *syntax.Comptime:
			refuse(n.Span(), "comptime is")
			stop = true
		case *syntax.TypeInfo:
			refuse(n.Span(), "typeinfo is")
			stop = true
		case *syntax.TypeArg:
			refuse(n.Span(), "types as arguments are")
			stop = true
		case *syntax.Unary:
			if n.Op == syntax.And {
				refuse(n.Span(), "the address of a variable or map is")
				stop = true
			}
		case *syntax.Import:
			e.importStatement(n)
		}
		return true
	})
	return stop
}

// importStatement reports an import inside a body. Root imports were refused
// already and are told apart by being items.
func (e *expander) importStatement(n *syntax.Import) {
	for _, item := range e.out.Tree.Items {
		if item == syntax.Item(n) {
			return
		}
	}
	e.ds.Errorf("import-statement", n.Span(), "import can not be used as a statement").
		Hint("write it at the top of the script, before the first probe")
}
