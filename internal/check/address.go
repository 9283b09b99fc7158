package check

import (
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// takeAddress is &$x and &@m: a pointer to the value, which lies in kernel
// memory. Of a map with keys it is the kernel's handle, which leads to no
// value.
func (w *walker) takeAddress(e *syntax.Unary) val {
	var x val
	switch n := e.X.(type) {
	case *syntax.Var:
		v := w.lookup(n.Name)
		if v == nil {
			w.undeclared(n)
			return val{}
		}
		w.bind(n, v)
		v.assigned = true // whoever has the address may see the value
		// sizeof(&$x) asks for the type of $x, which must then not widen after a comptime condition
		// has seen it.
		if w.unevaluated > 0 {
			v.asked = true
		}
		x = w.readSlot(&v.slot)
	case *syntax.Map:
		m := w.mapNamed(n)
		x = w.mapValue(m, n)
	default:
		return val{} // the parser accepts nothing else
	}
	if x.Type == nil {
		return val{}
	}
	w.record(e.X, x)
	return val{Flex: types.Flex{Type: &types.Pointer{Elem: x.Type, Space: types.Kernel}}, space: types.Kernel}
}

// isHandle tells the address of a map that is not the address of a value.
// Functions of the kernel take such a handle; to a script it has nothing to be read.
func (w *walker) isHandle(e syntax.Expr) bool {
	u, ok := syntax.Unparen(e).(*syntax.Unary)
	if !ok || u.Op != syntax.And {
		return false
	}
	m, ok := u.X.(*syntax.Map)
	return ok && w.mapNamed(m).sort == keyed
}
