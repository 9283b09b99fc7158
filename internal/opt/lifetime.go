package opt

import "github.com/hawktrace/hawk/internal/ir"

// lifetimes says which objects hold something at the same time and therefore
// must not share bytes.
// Programs have hundreds of objects at most, for which a matrix of bits is small and quick.
type lifetimes struct {
	n     int
	clash []uint64 // bit matrix, n by n, by index in Func.Objects
}

// words is the length of a row of the matrix, in words.
func (l *lifetimes) words() int { return (l.n + 63) / 64 }

// row is the line of the matrix for an object; writes to it change the matrix.
func (l *lifetimes) row(i int) []uint64 {
	w := l.words()
	return l.clash[i*w : (i+1)*w]
}

// meet notes that two objects are live at the same time.
// The matrix is symmetric, so that either row can be asked.
func (l *lifetimes) meet(i, j int) {
	if i != j {
		l.row(i)[j/64] |= 1 << (j % 64)
		l.row(j)[i/64] |= 1 << (i % 64)
	}
}

// clashes reports whether two objects need bytes of their own.
func (l *lifetimes) clashes(i, j int) bool { return l.row(i)[j/64]&(1<<(j%64)) != 0 }

// objectLifetimes says which objects clash. An object is live between accesses: where one may have
// happened before and one may follow that reads it. An access is whatever uses a pointer made from
// its address. A pointer that is stored away keeps its object live everywhere.
// placeFunc calls it again after claim, which adds objects and takes some away.
func objectLifetimes(f *ir.Func) *lifetimes {
	index := make([]int, f.NumObjects())
	for i, o := range f.Objects {
		index[o.ID] = i
	}
	n := len(f.Objects)
	l := &lifetimes{n: n}
	w := l.words()
	l.clash = make([]uint64, n*w)
	if n == 0 {
		return l
	}
	sources, escaped := pointsTo(f, index, w)

	type event struct {
		touch []uint64 // objects that the value accesses
		kill  int      // index of the object that it overwrites completely, -1
	}
	events := make([][]event, f.NumBlocks())
	before := make([][]uint64, f.NumBlocks()) // accessed on some path to the start
	after := make([][]uint64, f.NumBlocks())  // accessed on some path from the end
	first := make([][]uint64, f.NumBlocks())  // accessed in the block at all
	for _, b := range f.Blocks {
		before[b.ID], after[b.ID], first[b.ID] = make([]uint64, w), make([]uint64, w), make([]uint64, w)
		for _, v := range b.Values {
			ev := event{kill: -1}
			if v.Op != ir.Phi {
				for i, a := range v.Args {
					src := sources[a.ID]
					if src == nil || (v.Op == ir.Add || v.Op == ir.Sub) && i == 0 {
						continue
					}
					if ev.touch == nil {
						ev.touch = make([]uint64, w)
					}
					or(ev.touch, src)
				}
			}
			if ev.touch == nil {
				continue
			}
			or(first[b.ID], ev.touch)
			ev.kill = overwrites(v, index)
			events[b.ID] = append(events[b.ID], ev)
		}
	}
	// Two flows to a fixed point: forwards what may have been accessed, backwards what may still be
	// read.
	for changed := true; changed; {
		changed = false
		for _, b := range f.Blocks {
			for _, p := range b.Preds {
				if or(before[b.ID], before[p.ID]) {
					changed = true
				}
				if or(before[b.ID], first[p.ID]) {
					changed = true
				}
			}
		}
	}
	// live is used by one block after the other; flow leaves in it what is live at the start of
	// the block.
	live := make([]uint64, w)
	flow := func(b *ir.Block, visit func(ev event)) {
		copy(live, after[b.ID])
		evs := events[b.ID]
		for i := len(evs) - 1; i >= 0; i-- {
			if visit != nil {
				visit(evs[i])
			}
			or(live, evs[i].touch)
			if k := evs[i].kill; k >= 0 {
				live[k/64] &^= 1 << (k % 64)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(f.Blocks) - 1; i >= 0; i-- {
			b := f.Blocks[i]
			flow(b, nil)
			for _, p := range b.Preds {
				if or(after[p.ID], live) {
					changed = true
				}
			}
		}
	}
	for i := range n {
		if escaped[i/64]&(1<<(i%64)) != 0 {
			for j := range n {
				l.meet(i, j)
			}
		}
	}
	for _, b := range f.Blocks {
		// A walk forward finds what was accessed up to each event, one backward
		// what is accessed later.
		evs := events[b.ID]
		seen := make([][]uint64, len(evs))
		sofar := append([]uint64(nil), before[b.ID]...)
		for i, ev := range evs {
			or(sofar, ev.touch)
			seen[i] = append([]uint64(nil), sofar...)
		}
		i := len(evs)
		flow(b, func(ev event) {
			i--
			each(ev.touch, func(o int) {
				each(ev.touch, func(p int) { l.meet(o, p) })
				for w, x := range live {
					for x &= seen[i][w]; x != 0; x &= x - 1 {
						l.meet(o, w*64+trailing(x))
					}
				}
			})
		})
	}
	return l
}

// overwrites is the index of the object that v defines entirely without
// reading it, or -1.
// A store of a part is no definition: what stands in the rest is still wanted.
func overwrites(v *ir.Value, index []int) int {
	n := 0
	switch v.Op {
	case ir.Store:
		n = int(v.Size)
	case ir.Zero, ir.Copy:
		n = v.Len
	default:
		return -1
	}
	p := v.Args[0]
	if p.Op != ir.Addr || p.Imm+v.Imm != 0 || n < p.Obj.Size {
		return -1
	}
	for _, a := range v.Args[1:] {
		if objectOf(a) == p.Obj {
			return -1
		}
	}
	return index[p.Obj.ID]
}

// pointsTo returns, by value ID, the objects that a pointer may point into,
// and the objects whose address is stored in memory.
// It goes on until nothing changes, since a phi of a loop may be seen before what it gets its
// addresses from.
func pointsTo(f *ir.Func, index []int, w int) (sources [][]uint64, escaped []uint64) {
	sources = make([][]uint64, f.NumValues())
	escaped = make([]uint64, w)
	for changed := true; changed; {
		changed = false
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				switch v.Op {
				case ir.Addr:
					if sources[v.ID] == nil {
						s := make([]uint64, w)
						i := index[v.Obj.ID]
						s[i/64] |= 1 << (i % 64)
						sources[v.ID], changed = s, true
					}
				case ir.Phi, ir.Add, ir.Sub:
					for _, a := range v.Args {
						if sources[a.ID] == nil {
							continue
						}
						if sources[v.ID] == nil {
							sources[v.ID] = make([]uint64, w)
						}
						if or(sources[v.ID], sources[a.ID]) {
							changed = true
						}
					}
				case ir.Store, ir.AtomicXchg, ir.AtomicCmpXchg:
					for _, a := range v.Args[1:] {
						if s := sources[a.ID]; s != nil && or(escaped, s) {
							changed = true
						}
					}
				}
			}
		}
	}
	return sources, escaped
}
