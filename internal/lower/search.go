package lower

import (
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Search is a loop that ends at the first i from 0 to n-1 for which test is
// not zero, and yields it, or -1. n is at most most, which the verifier does
// not know. The loop may become a function of its own,
// so that test must not use values from outside but those that it is given:
// vals, as they are there.
func (f *fn) Search(at syntax.Node, n *ir.Value, most int, vals []*ir.Value,
	test func(i *ir.Value, vals []*ir.Value) *ir.Value) *ir.Value {
	known := n.Op == ir.Const && n.Imm <= plainLoop
	i, end, found := f.private("i", f.konst(0)), f.private("end", n), f.private("found", f.konst(-1))
	outside := make([]*check.Var, len(vals))
	for k, v := range vals {
		outside[k] = f.private("search", v)
	}
	counter := f.variableOf(i).obj
	f.loop(at, known, int64(most)+1, counter,
		func() *ir.Value { return f.b.Arith(ir.ULt, f.hiddenValue(i), f.hiddenValue(end)) },
		func() {
			b := f.b
			inside := make([]*ir.Value, len(vals))
			for k, decl := range outside {
				if x := f.variableOf(decl); x.ptr {
					inside[k] = b.LoadPtr(x.addr(f), 0)
				} else {
					inside[k] = b.U64(x.addr(f), 0)
				}
			}
			f.Rarely(test(f.hiddenValue(i), inside), func() {
				// The verifier need not know which round it was.
				unknown := f.b.U64(f.b.Data(object.DataZero), 0)
				f.b.Store(f.variableOf(found).addr(f), 0, 8, f.b.Arith(ir.Add, f.hiddenValue(i), unknown))
				f.b.Jump(f.loops[len(f.loops)-1].out)
			})
		},
		func() {
			f.b.Store(f.variableOf(i).addr(f), 0, 8, f.b.Add(f.hiddenValue(i), 1))
		})
	return f.hiddenValue(found)
}
