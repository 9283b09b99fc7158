package opt

import "github.com/hawktrace/hawk/internal/ir"

// forward replaces loads by what the same block stored or loaded at the same
// place before, as long as nothing in between can have changed it. Memory
// shared with other CPUs may change at any time; a program that reads it
// twice in a row has no right to see two values.
// Blocks are looked at one by one: across blocks promote has done the work already, for all
// objects whose address stays here.
func forward(f *ir.Func) {
	same := map[*ir.Value]*ir.Value{}
	find := func(v *ir.Value) *ir.Value {
		for {
			to, ok := same[v]
			if !ok {
				return v
			}
			v = to
		}
	}
	escapes := escaping(f)
	for _, b := range f.Blocks {
		var known []content
		kept := b.Values[:0]
		for _, v := range b.Values {
			for i, a := range v.Args {
				v.Args[i] = find(a)
			}
			if v.Op == ir.Load {
				if x := lookup(known, v); x != nil {
					if v.Size == 8 && x.Kind == v.Kind {
						same[v] = x
						continue
					}
					if v.Kind == ir.I64 && x.Kind == ir.I64 {
						v.Op, v.Args, v.Imm = ir.Ext, []*ir.Value{x}, 0
						kept = append(kept, v)
						continue
					}
				} else {
					known = append(recent(known), content{v.Args[0], v.Imm, v.Size, v})
				}
				kept = append(kept, v)
				continue
			}
			kept = append(kept, v)
			known = clobber(known, v, escapes)
			if v.Op == ir.Store {
				known = append(recent(known), content{v.Args[0], v.Imm, v.Size, v.Args[1]})
			}
		}
		b.Values = kept
	}
	if len(same) > 0 {
		f.ReplaceUses(find)
	}
}

// recent leaves room for what a block does next: of a long one, what was long ago is forgotten.
func recent(known []content) []content {
	if len(known) < maxNoted {
		return known
	}
	return append(known[:0], known[len(known)-maxNoted/2:]...)
}

// content says that the low size bytes of x are at base+off.
type content struct {
	base *ir.Value
	off  int64
	size uint8
	x    *ir.Value
}

// lookup finds what is known of the bytes that a load reads, all of them and no others.
// A part of a word that was stored is not found: the byte order would have to be known.
func lookup(known []content, v *ir.Value) *ir.Value {
	for _, c := range known {
		if c.base == v.Args[0] && c.off == v.Imm && c.size == v.Size {
			return c.x
		}
	}
	return nil
}

// clobber forgets what v may overwrite.
// A helper writes only where it was given an address. Maps and shared data count as written by
// every call.
func clobber(known []content, v *ir.Value, escapes []bool) []content {
	var off, n int64
	switch v.Op {
	case ir.Store, ir.AtomicAdd, ir.AtomicXchg, ir.AtomicCmpXchg, ir.AtomicFetchAdd:
		off, n = v.Imm, int64(v.Size)
	case ir.Zero, ir.Copy:
		off, n = v.Imm, int64(v.Len)
	case ir.Call, ir.CallKfunc, ir.CallPiece:
		if v.Op == ir.Call && constantHelper(v.Imm) && len(v.Args) == 0 {
			return known
		}
		kept := known[:0]
		for _, c := range known {
			if o := objectOf(c.base); o != nil && !escapes[o.ID] {
				kept = append(kept, c)
			}
		}
		return kept
	default:
		return known
	}
	kept := known[:0]
	for _, c := range known {
		if apart(extent{c.base, c.off, int64(c.size)}, extent{v.Args[0], off, n}) {
			kept = append(kept, c)
		}
	}
	return kept
}

// apart reports whether two extents certainly share no byte.
// "Not known" has to be false: two pointers from lookups may lead to one element.
func apart(a, b extent) bool {
	if off, ok := distance(a.base, b.base, b.off); ok {
		return off+b.n <= a.off || a.off+a.n <= off
	}
	x, y := objectOf(a.base), objectOf(b.base)
	switch {
	case x != nil && y != nil:
		return x != y
	case x != nil:
		return foreign(b.base)
	case y != nil:
		return foreign(a.base)
	}
	return false
}

// foreign reports whether p certainly does not point into the frame.
// A parameter is none: callbacks are given the frame of their caller.
func foreign(p *ir.Value) bool {
	for (p.Op == ir.Add || p.Op == ir.Sub) && p.Kind == ir.Ptr {
		p = p.Args[0]
	}
	switch p.Op {
	case ir.DataPtr, ir.Call, ir.State:
		return true
	}
	return false
}

// escaping returns, by object ID, whether a call may write an object: its
// address is used for more than direct access.
// Calls and stores of the address make an object escape, and so does a phi of addresses, behind
// which its name is lost.
func escaping(f *ir.Func) []bool {
	escapes := make([]bool, f.NumObjects())
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				o := objectOf(a)
				if o == nil {
					continue
				}
				direct := i == 0 && v.Op.Accesses() || i == 1 && v.Op == ir.Copy ||
					i == 0 && (v.Op == ir.Add || v.Op == ir.Sub) && v.Kind == ir.Ptr
				if !direct {
					escapes[o.ID] = true
				}
			}
		}
	}
	return escapes
}
