package opt

import "github.com/hawktrace/hawk/internal/ir"

// gvn evaluates once what is evaluated twice with the same outcome: pure
// operations, reads of the context, and helpers whose answer does not change
// during a run. The second evaluation must be dominated by the first.
// Loads are left to forward, but for those of the context, which does not change.
func gvn(f *ir.Func) {
	hoistConstants(f)
	hoistParams(f)
	g := &numbering{f: f, table: map[valueKey]*ir.Value{}, same: map[*ir.Value]*ir.Value{}}
	g.walk(f.Dominators())
	if len(g.same) > 0 {
		f.ReplaceUses(g.find)
	}
}

// A valueKey is what a value is a function of: two values with one key are equal.
// Values with more than two arguments have no key; only phis and calls do, and gain little.
type valueKey struct {
	op   ir.Op
	kind ir.Kind
	size uint8
	sign bool
	imm  int64
	x, y *ir.Value
	at   *ir.Block // of a phi
}

// A numbering is the state of a walk: the table has the values of blocks that dominate the present
// one.
type numbering struct {
	f     *ir.Func
	table map[valueKey]*ir.Value
	same  map[*ir.Value]*ir.Value
}

// find is the value that stands for another.
func (g *numbering) find(v *ir.Value) *ir.Value {
	for {
		to, ok := g.same[v]
		if !ok {
			return v
		}
		v = to
	}
}

// key returns what v is a function of; ok is false if v must stay.
func (g *numbering) key(v *ir.Value) (k valueKey, ok bool) {
	switch {
	case v.Op == ir.Phi:
		k.at = v.Block
	case v.Op.Pure():
	case constantLoad(g.f, v):
	case v.Op == ir.Call && constantHelper(v.Imm) && len(v.Args) == 0:
	default:
		return k, false
	}
	if len(v.Args) > 2 {
		return k, false
	}
	k.op, k.kind, k.size, k.sign, k.imm = v.Op, v.Kind, v.Size, v.Sign, v.Imm
	if len(v.Args) > 0 {
		k.x = v.Args[0]
	}
	if len(v.Args) > 1 {
		k.y = v.Args[1]
		if v.Op.Commutative() && k.x.ID > k.y.ID {
			k.x, k.y = k.y, k.x
		}
	}
	return k, true
}

// walk goes down the dominator tree with a stack of its own: scripts can make trees deep.
func (g *numbering) walk(dom *ir.DomTree) {
	type visit struct {
		b    *ir.Block
		undo []valueKey // entries to forget after the subtree; nil: before it
		done bool
	}
	work := []visit{{b: g.f.Entry()}}
	for len(work) > 0 {
		top := work[len(work)-1]
		work = work[:len(work)-1]
		if top.done {
			for _, k := range top.undo {
				delete(g.table, k)
			}
			continue
		}
		added := g.block(top.b)
		work = append(work, visit{b: top.b, undo: added, done: true})
		for _, kid := range dom.Children[top.b.ID] {
			work = append(work, visit{b: kid})
		}
	}
}

// block replaces values of a block by those that are equal, and yields what it added to the table.
// Arguments have been replaced when a value is looked up, so that equal expressions of equal
// parts are found in one walk.
func (g *numbering) block(b *ir.Block) (added []valueKey) {
	kept := b.Values[:0]
	for _, v := range b.Values {
		for i, a := range v.Args {
			v.Args[i] = g.find(a)
		}
		if v.Op.Remade() {
			kept = append(kept, v) // unique already
			continue
		}
		if k, ok := g.key(v); ok {
			if w := g.table[k]; w != nil {
				g.same[v] = w
				continue
			}
			g.table[k] = v
			added = append(added, k)
		}
		kept = append(kept, v)
	}
	b.Values = kept
	return added
}
