package opt

import "github.com/hawktrace/hawk/internal/ir"

// deadCode drops values that nothing needs, and objects without uses.
// It marks from what has an effect, so that phis of a loop which need only each other go as
// well.
func deadCode(f *ir.Func) {
	f.RemoveUnreachable()
	needed := make([]bool, f.NumValues())
	var work []*ir.Value
	need := func(v *ir.Value) {
		if !needed[v.ID] {
			needed[v.ID] = true
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if !droppable(v) {
				need(v)
			}
		}
		if b.Ctl != nil {
			need(b.Ctl)
		}
	}
	objects := make([]bool, f.NumObjects())
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if v.Obj != nil {
			objects[v.Obj.ID] = true
		}
		for _, a := range v.Args {
			need(a)
		}
	}
	for _, b := range f.Blocks {
		kept := b.Values[:0]
		for _, v := range b.Values {
			if needed[v.ID] {
				kept = append(kept, v)
			}
		}
		clear(b.Values[len(kept):])
		b.Values = kept
	}
	kept := f.Objects[:0]
	for _, o := range f.Objects {
		if objects[o.ID] {
			kept = append(kept, o)
		}
	}
	f.Objects = kept
}

// deadStores drops what is written to objects that are never read.
// An address that a helper is given counts as read. The second deadCode takes away what these
// stores alone needed.
func deadStores(f *ir.Func) {
	read := make([]bool, f.NumObjects())
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				o := objectOf(a)
				if o == nil {
					continue
				}
				writes := i == 0 && (v.Op == ir.Store || v.Op == ir.Zero || v.Op == ir.Copy || v.Op == ir.AtomicAdd)
				derives := i == 0 && (v.Op == ir.Add || v.Op == ir.Sub) && v.Kind == ir.Ptr
				if !writes && !derives {
					read[o.ID] = true
				}
			}
		}
		if b.Ctl != nil {
			if o := objectOf(b.Ctl); o != nil {
				read[o.ID] = true
			}
		}
	}
	for _, b := range f.Blocks {
		kept := b.Values[:0]
		for _, v := range b.Values {
			switch v.Op {
			case ir.Store, ir.Zero, ir.Copy, ir.AtomicAdd:
				if o := objectOf(v.Args[0]); o != nil && !read[o.ID] {
					continue
				}
			}
			kept = append(kept, v)
		}
		b.Values = kept
	}
}

// objectOf is the object that pointer v was made from, nil if it is not plain
// from the arithmetic.
func objectOf(v *ir.Value) *ir.Object {
	for (v.Op == ir.Add || v.Op == ir.Sub) && v.Kind == ir.Ptr {
		v = v.Args[0]
	}
	if v.Op == ir.Addr {
		return v.Obj
	}
	return nil
}
