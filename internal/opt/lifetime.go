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
	each(escaped, func(i int) {
		for j := range n {
			l.meet(i, j)
		}
	})
	fl := accessesOf(f, index, sources, w)
	fl.forwards()
	fl.backwards()
	for _, b := range f.Blocks {
		fl.meet(l, b)
	}
	return l
}

// An access is what a value does to objects.
type access struct {
	touch []uint64 // objects that the value accesses
	kill  int      // index of the object that it overwrites completely, -1
}

// A flow knows what is accessed in each block, by its ID, and around it. Sets of objects are bits
// by index.
type flow struct {
	blocks   []*ir.Block
	accesses [][]access
	touched  [][]uint64 // accessed in the block at all
	before   [][]uint64 // accessed on some path to the start
	after    [][]uint64 // may still be read on some path from the end
	live     []uint64   // of back, for one block after the other
}

// accessesOf finds what each block accesses, for sets of so many words.
func accessesOf(f *ir.Func, index []int, sources [][]uint64, w int) *flow {
	n := f.NumBlocks()
	fl := &flow{blocks: f.Blocks, accesses: make([][]access, n), touched: make([][]uint64, n),
		before: make([][]uint64, n), after: make([][]uint64, n), live: make([]uint64, w)}
	for _, b := range f.Blocks {
		fl.before[b.ID], fl.after[b.ID], fl.touched[b.ID] = make([]uint64, w), make([]uint64, w), make([]uint64, w)
		for _, v := range b.Values {
			touch := touchedBy(v, sources, w)
			if touch == nil {
				continue
			}
			or(fl.touched[b.ID], touch)
			fl.accesses[b.ID] = append(fl.accesses[b.ID], access{touch, overwrites(v, index)})
		}
	}
	return fl
}

// touchedBy are the objects that a value accesses, nil for none. A phi and the sum of a pointer and a
// number only make a pointer of another.
func touchedBy(v *ir.Value, sources [][]uint64, w int) (touch []uint64) {
	if v.Op == ir.Phi {
		return nil
	}
	for i, a := range v.Args {
		src := sources[a.ID]
		if src == nil || (v.Op == ir.Add || v.Op == ir.Sub) && i == 0 {
			continue
		}
		if touch == nil {
			touch = make([]uint64, w)
		}
		or(touch, src)
	}
	return touch
}

// forwards finds what may have been accessed before each block: it goes on until nothing changes.
func (fl *flow) forwards() {
	for changed := true; changed; {
		changed = false
		for _, b := range fl.blocks {
			for _, p := range b.Preds {
				if or(fl.before[b.ID], fl.before[p.ID]) {
					changed = true
				}
				if or(fl.before[b.ID], fl.touched[p.ID]) {
					changed = true
				}
			}
		}
	}
}

// backwards finds what may still be read after each block: it goes on until nothing changes.
func (fl *flow) backwards() {
	for changed := true; changed; {
		changed = false
		for i := len(fl.blocks) - 1; i >= 0; i-- {
			b := fl.blocks[i]
			fl.back(b, nil)
			for _, p := range b.Preds {
				if or(fl.after[p.ID], fl.live) {
					changed = true
				}
			}
		}
	}
}

// back goes through a block from its end and leaves in live what is so at its start. Visit sees each
// access with what is live behind it.
func (fl *flow) back(b *ir.Block, visit func(i int, a access)) {
	copy(fl.live, fl.after[b.ID])
	accesses := fl.accesses[b.ID]
	for i := len(accesses) - 1; i >= 0; i-- {
		a := accesses[i]
		if visit != nil {
			visit(i, a)
		}
		or(fl.live, a.touch)
		if a.kill >= 0 {
			fl.live[a.kill/64] &^= 1 << (a.kill % 64)
		}
	}
}

// meet notes the clashes in a block: each object with those accessed together with it, and with those
// that were accessed up to there and are live behind.
func (fl *flow) meet(l *lifetimes, b *ir.Block) {
	seen := make([][]uint64, len(fl.accesses[b.ID]))
	sofar := append([]uint64(nil), fl.before[b.ID]...)
	for i, a := range fl.accesses[b.ID] {
		or(sofar, a.touch)
		seen[i] = append([]uint64(nil), sofar...)
	}
	fl.back(b, func(i int, a access) {
		each(a.touch, func(o int) {
			each(a.touch, func(p int) { l.meet(o, p) })
			for w, x := range fl.live {
				for x &= seen[i][w]; x != 0; x &= x - 1 {
					l.meet(o, w*64+trailing(x))
				}
			}
		})
	})
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
