package opt

import (
	"slices"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/order"
)

// promote turns objects into values. An object qualifies if its address is
// used for nothing but loads, stores and clearing, and these see it as
// disjoint fields: each field becomes a value of its own, with phis where
// stores meet.
// An object that stays in memory costs a store and a load at each use, and takes from the 512
// bytes of the frame.
func promote(f *ir.Func) {
	f.RemoveUnreachable()
	fields := candidates(f)
	if len(fields.list) == 0 {
		return
	}
	p := &promoter{f: f, fields: fields, dom: f.Dominators(), same: map[*ir.Value]*ir.Value{}}
	p.placePhis()
	p.rename()
	f.ReplaceUses(p.find)
	kept := f.Objects[:0]
	for _, o := range f.Objects {
		if !fields.promoted[o] {
			kept = append(kept, o)
		}
	}
	f.Objects = kept
}

// A field is a part of an object that is read and written as a whole.
// size is 1, 2, 4 or 8: objects that are read in other pieces are no candidates.
type field struct {
	off  int64
	size uint8
	kind ir.Kind
}

// fieldSet is the fields of all objects to promote.
type fieldSet struct {
	list     []field
	of       map[*ir.Object][]int // object → indices in list, by offset
	promoted map[*ir.Object]bool
}

// at returns the index of the field that v, a Load or Store at an Addr, touches.
func (s *fieldSet) at(v *ir.Value) int {
	off := v.Args[0].Imm + v.Imm
	for _, i := range s.of[v.Args[0].Obj] {
		if s.list[i].off == off {
			return i
		}
	}
	return -1
}

// object returns the promoted object that v accesses directly, or nil.
func (s *fieldSet) object(v *ir.Value) *ir.Object {
	if !v.Op.Accesses() || v.Args[0].Op != ir.Addr || !s.promoted[v.Args[0].Obj] {
		return nil
	}
	return v.Args[0].Obj
}

// candidates finds the objects that can become values, and their fields.
// More than 64 fields are left in memory: each is a value that may be live across the whole
// function, where there are ten registers.
func candidates(f *ir.Func) *fieldSet {
	bad := make([]bool, f.NumObjects())
	parts := make([][]field, f.NumObjects())
	var zeroes []*ir.Value
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				if a.Op != ir.Addr {
					continue
				}
				o := a.Obj
				off := a.Imm + v.Imm
				switch {
				case i == 0 && (v.Op == ir.Load || v.Op == ir.Store):
					kind := v.Kind
					if v.Op == ir.Store {
						kind = v.Args[1].Kind
					}
					if off < 0 || off+int64(v.Size) > int64(o.Size) {
						bad[o.ID] = true
					} else {
						parts[o.ID] = addField(parts[o.ID], field{off, v.Size, kind})
					}
				case i == 0 && v.Op == ir.Zero:
					zeroes = append(zeroes, v)
				default:
					bad[o.ID] = true
				}
			}
		}
		if b.Ctl != nil && b.Ctl.Op == ir.Addr {
			bad[b.Ctl.Obj.ID] = true
		}
	}
	for _, z := range zeroes {
		// Clearing covers whole fields only.
		o, from := z.Args[0].Obj, z.Args[0].Imm+z.Imm
		to := from + int64(z.Len)
		for _, p := range parts[o.ID] {
			end := p.off + int64(p.size)
			if from < end && p.off < to && (p.off < from || end > to) {
				bad[o.ID] = true
			}
		}
	}
	s := &fieldSet{of: map[*ir.Object][]int{}, promoted: map[*ir.Object]bool{}}
	for _, o := range f.Objects {
		ps := parts[o.ID]
		order.By(ps, func(a, b field) int { return int(a.off - b.off) })
		for i := 1; i < len(ps); i++ {
			if ps[i-1].off+int64(ps[i-1].size) > ps[i].off {
				bad[o.ID] = true
			}
		}
		if bad[o.ID] || len(ps) > 64 {
			continue
		}
		s.promoted[o] = true
		for _, p := range ps {
			s.of[o] = append(s.of[o], len(s.list))
			s.list = append(s.list, p)
		}
	}
	return s
}

// addField adds a field; one that is ever a pointer is one.
// The list is short: a variable has one field, a tuple a few.
func addField(list []field, n field) []field {
	for i, p := range list {
		if p.off == n.off && p.size == n.size {
			if n.kind == ir.Ptr {
				list[i].kind = ir.Ptr
			}
			return list
		}
	}
	return append(list, n)
}

// A promoter is the state of a promotion; the algorithm is that of Cytron et al., Efficiently
// computing static single assignment form (1991).
type promoter struct {
	f      *ir.Func
	fields *fieldSet
	dom    *ir.DomTree
	phis   map[*ir.Value]int // phi → field
	same   map[*ir.Value]*ir.Value
	zero   *ir.Value // what an unwritten field holds
}

// find is the value that stands for a load.
func (p *promoter) find(v *ir.Value) *ir.Value {
	for {
		to, ok := p.same[v]
		if !ok {
			return v
		}
		v = to
	}
}

// placePhis adds a phi for each field at the iterated dominance frontier of its stores, where the
// field is live: without that a chain of n branches would get a phi for each variable of every arm
// at each of its ends, n*n of them, only for deadCode to find.
func (p *promoter) placePhis() {
	p.phis = map[*ir.Value]int{}
	frontier := make([][]*ir.Block, p.f.NumBlocks())
	for _, b := range p.dom.Order {
		if len(b.Preds) < 2 {
			continue
		}
		for _, q := range b.Preds {
			for x := q; x != nil && x != p.dom.Idom[b.ID]; x = p.dom.Idom[x.ID] {
				if !slices.Contains(frontier[x.ID], b) {
					frontier[x.ID] = append(frontier[x.ID], b)
				}
			}
		}
	}
	stores, reads := p.storesAndReads()
	has := make([]int, p.f.NumBlocks()) // field number plus one of the last phi placed
	live := liveness{make([]int, p.f.NumBlocks()), make([]int, p.f.NumBlocks())}
	for i, work := range stores {
		live.find(i+1, work, reads[i])
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, d := range frontier[b.ID] {
				if has[d.ID] == i+1 || live.in[d.ID] != i+1 {
					continue
				}
				has[d.ID] = i + 1
				phi := p.f.NewValue(ir.Phi, p.fields.list[i].kind, make([]*ir.Value, len(d.Preds))...)
				phi.Block, phi.At = d, d.At
				d.Values = slices.Insert(d.Values, 0, phi)
				p.phis[phi] = i
				work = append(work, d)
			}
		}
	}
}

// storesAndReads lists, by field, the blocks that write it and those that read what it held at
// their start.
func (p *promoter) storesAndReads() (stores, reads [][]*ir.Block) {
	stores = make([][]*ir.Block, len(p.fields.list))
	reads = make([][]*ir.Block, len(p.fields.list))
	add := func(list [][]*ir.Block, i int, b *ir.Block) {
		if n := len(list[i]); n == 0 || list[i][n-1] != b {
			list[i] = append(list[i], b)
		}
	}
	for _, b := range p.dom.Order {
		for _, v := range b.Values {
			if v.Op == ir.Load && p.fields.object(v) != nil {
				i := p.fields.at(v)
				if n := len(stores[i]); n == 0 || stores[i][n-1] != b {
					add(reads, i, b)
				}
			}
			for _, i := range p.writes(v) {
				add(stores, i, b)
			}
		}
	}
	return stores, reads
}

// A liveness says, by block, at whose start a field is live. All fields take turns with the same
// two tables: an entry counts if it is the number of the field.
type liveness struct {
	in     []int // live at the start
	writes []int // written in the block
}

// find goes up from the blocks that read a field to those that write it. The number is not 0.
func (l *liveness) find(field int, stores, reads []*ir.Block) {
	for _, b := range stores {
		l.writes[b.ID] = field
	}
	work := slices.Clone(reads)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if l.in[b.ID] == field {
			continue
		}
		l.in[b.ID] = field
		for _, q := range b.Preds {
			if l.writes[q.ID] != field {
				work = append(work, q)
			}
		}
	}
}

// writes lists the promoted fields that v writes.
func (p *promoter) writes(v *ir.Value) []int {
	o := p.fields.object(v)
	if o == nil {
		return nil
	}
	switch v.Op {
	case ir.Store:
		return []int{p.fields.at(v)}
	case ir.Zero:
		var list []int
		from := v.Args[0].Imm + v.Imm
		for _, i := range p.fields.of[o] {
			if off := p.fields.list[i].off; off >= from && off < from+int64(v.Len) {
				list = append(list, i)
			}
		}
		return list
	}
	return nil
}

// rename walks down the dominator tree with the current value of each field.
// The zero is a value of its own, in the entry, since a field that nothing was stored to is
// read as 0.
func (p *promoter) rename() {
	p.zero = p.f.NewValue(ir.Const, ir.I64)
	entry := p.f.Entry()
	p.zero.Block, p.zero.At = entry, entry.At
	start := make([]*ir.Value, len(p.fields.list))
	for i := range start {
		start[i] = p.zero
	}
	type visit struct {
		b   *ir.Block
		now []*ir.Value
	}
	work := []visit{{entry, start}}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		p.block(v.b, v.now)
		kids := p.dom.Children[v.b.ID]
		for i, k := range kids {
			now := v.now
			if i+1 < len(kids) {
				now = slices.Clone(now)
			}
			work = append(work, visit{k, now})
		}
	}
	entry.Values = slices.Insert(entry.Values, 0, p.zero)
}

// block replaces loads and drops stores, with now as the values of the fields; it leaves in now
// what they are at the end.
// Phis of successors are filled in from here, one argument for each edge.
func (p *promoter) block(b *ir.Block, now []*ir.Value) {
	kept := make([]*ir.Value, 0, len(b.Values))
	for _, v := range b.Values {
		if i, ok := p.phis[v]; ok {
			now[i] = v
			kept = append(kept, v)
			continue
		}
		if v.Op == ir.Addr && p.fields.promoted[v.Obj] {
			continue
		}
		if p.fields.object(v) == nil {
			kept = append(kept, v)
			continue
		}
		switch v.Op {
		case ir.Store:
			now[p.fields.at(v)] = v.Args[1]
		case ir.Zero:
			for _, i := range p.writes(v) {
				now[i] = p.zero
			}
		case ir.Load:
			x := now[p.fields.at(v)]
			if v.Size == 8 {
				p.same[v] = x
				continue
			}
			// A narrow field keeps the low bytes of what was stored.
			v.Op, v.Args, v.Imm = ir.Ext, []*ir.Value{x}, 0
			kept = append(kept, v)
		}
	}
	b.Values = kept
	for i, s := range b.Succs {
		k := b.PredIndex(i)
		for _, phi := range s.Phis() {
			if n, ok := p.phis[phi]; ok {
				phi.Args[k] = now[n]
			}
		}
	}
}
