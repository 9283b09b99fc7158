package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
)

// address is &$x and &@m as a number: the verifier would let a pointer into the frame go nowhere.
// An object whose address is stored away stays in memory and keeps its bytes to itself. An address
// that is stored away as a number may be used later in the run, but never in another one: the frame
// is gone then.
func (f *fn) address(e *syntax.Unary) *ir.Value {
	switch x := e.X.(type) {
	case *syntax.Var:
		return f.number(f.variable(x).addr(f))
	case *syntax.Map:
		return f.mapAddress(x)
	}
	return f.konst(0) // the parser accepts nothing else
}

// mapAddress is where the value of a scalar map lies, 0 if it has none, and
// the kernel's map itself for one with keys. Of a scalar aggregation it is the
// cell of the CPU at hand.
func (f *fn) mapAddress(e *syntax.Map) *ir.Value {
	b := f.b
	s, _ := f.mapOf(e)
	switch {
	case s.Map < 0 && s.Agg != nil:
		// A cell begins with the word that says whether it was ever written; the value is behind
		// it.
		return f.number(b.Add(f.cpuCell(s, b.Call(int(asm.FnGetSmpProcessorId))), 8))
	case s.Map < 0:
		return f.number(b.Add(f.data(s), 8))
	case s.Key != nil:
		table := f.table(s)
		return f.number(table())
	}
	p, _, _ := f.element(s, nil)
	return f.number(p)
}

// arrayAddress is where an array lies, as a number.
func (f *fn) arrayAddress(e syntax.Expr) *ir.Value {
	if v, ok := syntax.Unparen(e).(*syntax.Var); ok {
		return f.number(f.variable(v).addr(f))
	}
	pl := f.place(e)
	return f.b.Add(f.number(pl.base), int64(pl.off))
}
