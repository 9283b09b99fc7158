package opt

import (
	"slices"

	"github.com/hawktrace/hawk/internal/ir"
)

// overwritten drops stores whose bytes the same block writes again before
// anything can read them, and shortens clearing that is followed by stores to
// either end: keys and records are cleared first and filled in then. The data
// map is left alone, for user space may look at its words at any time.
// It walks each block backwards, and forgets what a call or a load in between may see.
func overwritten(f *ir.Func) {
	escapes := escaping(f)
	for _, b := range f.Blocks {
		var later []extent // what is written further down and not read before
		dead := make([]bool, len(b.Values))
		for i := len(b.Values) - 1; i >= 0; i-- {
			v := b.Values[i]
			if v.Op.Accesses() && v.Args[0].Op == ir.DataPtr {
				if v.Op == ir.Copy {
					later = unread(later, v.Args[1], 0, int64(v.Len))
				}
				continue
			}
			switch v.Op {
			case ir.Store:
				if covered(later, v.Args[0], v.Imm, int64(v.Size)) {
					dead[i] = true
				} else {
					later = note(later, extent{v.Args[0], v.Imm, int64(v.Size)})
				}
			case ir.Zero:
				off, n := uncovered(later, v.Args[0], v.Imm, int64(v.Len))
				if n == 0 {
					dead[i] = true
					continue
				}
				later = note(later, extent{v.Args[0], v.Imm, int64(v.Len)})
				v.Imm, v.Len = off, int(n)
			case ir.Copy:
				if covered(later, v.Args[0], v.Imm, int64(v.Len)) {
					dead[i] = true
					continue
				}
				later = note(later, extent{v.Args[0], v.Imm, int64(v.Len)})
				later = unread(later, v.Args[1], 0, int64(v.Len))
			case ir.Load:
				later = unread(later, v.Args[0], v.Imm, int64(v.Size))
			case ir.AtomicAdd, ir.AtomicXchg, ir.AtomicCmpXchg, ir.AtomicFetchAdd:
				later = unread(later, v.Args[0], v.Imm, int64(v.Size))
			case ir.Call, ir.CallKfunc, ir.CallPiece:
				if v.Op == ir.Call && constantHelper(v.Imm) && len(v.Args) == 0 {
					continue
				}
				later = slices.DeleteFunc(later, func(e extent) bool {
					o := objectOf(e.base)
					return o == nil || escapes[o.ID]
				})
			}
		}
		kept := b.Values[:0]
		for i, v := range b.Values {
			if !dead[i] {
				kept = append(kept, v)
			}
		}
		b.Values = kept
	}
}

// maxNoted bounds what passes remember of a block: each access asks all of it.
const maxNoted = 1024

// note remembers an extent. Fields that follow each other, as those of records do, make one.
func note(later []extent, e extent) []extent {
	if last := len(later) - 1; last >= 0 {
		l := &later[last]
		if at, ok := distance(l.base, e.base, e.off); ok && at <= l.off+l.n && at+e.n >= l.off {
			end := max(l.off+l.n, at+e.n)
			l.off = min(l.off, at)
			l.n = end - l.off
			return later
		}
	}
	if len(later) >= maxNoted {
		later = append(later[:0], later[len(later)-maxNoted/2:]...)
	}
	return append(later, e)
}

// An extent is n bytes at base+off.
type extent struct {
	base   *ir.Value
	off, n int64
}

// distance expresses p+at as an offset from base, where both are known.
// Two sums with an unknown part have no distance, even if they are of one object.
func distance(base, p *ir.Value, at int64) (int64, bool) {
	switch {
	case base == p:
		return at, true
	case base.Op == ir.Addr && p.Op == ir.Addr && base.Obj == p.Obj,
		base.Op == ir.DataPtr && p.Op == ir.DataPtr, base.Op == ir.State && p.Op == ir.State:
		return at + p.Imm - base.Imm, true
	}
	return 0, false
}

// covered reports whether n bytes at p+off are all written again.
func covered(later []extent, p *ir.Value, off, n int64) bool {
	_, left := uncovered(later, p, off, n)
	return left == 0
}

// uncovered is what is left of n bytes at p+off without the bytes at either
// end that will be written again, in whole four-byte words as far as they
// belong to it: four stores of a byte for one of a word would be no gain.
// A hole in the middle stays as it is: one clearing of it all is cheaper than two.
func uncovered(later []extent, p *ir.Value, off, n int64) (from, left int64) {
	start, end := off, off+n
	for more := true; more && start < end; {
		more = false
		for _, e := range later {
			if at, ok := distance(e.base, p, start); ok && at >= e.off && at < e.off+e.n {
				start, more = min(end, start+e.off+e.n-at), true
			}
		}
	}
	for more := true; more && start < end; {
		more = false
		for _, e := range later {
			if at, ok := distance(e.base, p, end-1); ok && at >= e.off && at < e.off+e.n {
				end, more = max(start, end-1-(at-e.off)), true
			}
			if end == start {
				break
			}
		}
	}
	if start == end {
		return off, 0
	}
	start, end = max(start&^3, off), min((end+3)&^3, off+n)
	return start, end - start
}

// unread forgets what a read of n bytes at p+off may see.
func unread(later []extent, p *ir.Value, off, n int64) []extent {
	var parts []extent
	later = slices.DeleteFunc(later, func(e extent) bool {
		if apart(e, extent{p, off, n}) {
			return false
		}
		// The read sees nothing of what lies before and behind it.
		if at, ok := distance(e.base, p, off); ok {
			if at > e.off {
				parts = append(parts, extent{e.base, e.off, at - e.off})
			}
			if end := e.off + e.n; at+n < end {
				parts = append(parts, extent{e.base, at + n, end - at - n})
			}
		}
		return true
	})
	return append(later, parts...)
}
