package ir

import "github.com/hawktrace/hawk/internal/order"

// Absorb moves all of g into f and returns the block that it began in. Its
// parameters become what param yields for them. Where g returned is the
// caller's business, and g is of no use any more.
func (f *Func) Absorb(g *Func, param func(n int) *Value) *Block {
	// Parameters go first, while the values still have the numbers that they had in g.
	g.ReplaceUses(func(v *Value) *Value {
		if v.Op == Param {
			return param(int(v.Imm))
		}
		return v
	})
	for _, o := range g.Objects {
		// Numbers are given anew: both functions have counted from 0.
		o.ID = f.nextObject
		f.nextObject++
	}
	for _, b := range g.Blocks {
		b.ID, b.Func = f.nextBlock, f
		f.nextBlock++
		b.Values = order.Without(b.Values, func(v *Value) bool { return v.Op == Param })
		for _, v := range b.Values {
			v.ID = f.nextValue
			f.nextValue++
		}
	}
	f.Objects = append(f.Objects, g.Objects...)
	f.Blocks = append(f.Blocks, g.Blocks...)
	return g.Entry()
}
