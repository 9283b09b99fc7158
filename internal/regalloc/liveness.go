package regalloc

import "math/bits"

// A bitset over dense small numbers.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (s bitset) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s bitset) add(i int)      { s[i/64] |= 1 << (i % 64) }

// each calls fn with the members in ascending order.
func (s bitset) each(fn func(int)) {
	for w, x := range s {
		for x != 0 {
			fn(w*64 + bits.TrailingZeros64(x))
			x &= x - 1
		}
	}
}

// liveness is which registers hold a value that will be read. Most virtual
// registers live and die within one block, so the sets that flow between
// blocks hold only the others.
type liveness struct {
	global []int32 // by register: index in the sets, -1 for block-local ones
	regs   []Reg   // the inverse of global
	out    []bitset
}

// live solves the equations of liveness backwards over the blocks, until nothing changes.
func live(f *Func) *liveness {
	lv := &liveness{global: make([]int32, f.NumRegs), out: make([]bitset, len(f.Blocks))}
	for i := range lv.global {
		lv.global[i] = -1
	}
	// A register read in a block before it is written there crosses a block edge.
	defined := make([]int32, f.NumRegs) // block number plus one of the last definition seen
	for i, b := range f.Blocks {
		for k := range b.Instrs {
			in := &b.Instrs[k]
			in.uses(func(r Reg) {
				if defined[r] != int32(i+1) && r != FP && lv.global[r] < 0 {
					lv.global[r] = int32(len(lv.regs))
					lv.regs = append(lv.regs, r)
				}
			})
			if d := in.def(); d != NoReg {
				defined[d] = int32(i + 1)
			}
		}
	}
	n := len(lv.regs)
	use, def := make([]bitset, len(f.Blocks)), make([]bitset, len(f.Blocks))
	in := make([]bitset, len(f.Blocks))
	for i, b := range f.Blocks {
		use[i], def[i], in[i], lv.out[i] = newBitset(n), newBitset(n), newBitset(n), newBitset(n)
		for k := range b.Instrs {
			ins := &b.Instrs[k]
			ins.uses(func(r Reg) {
				if g := lv.global[r]; g >= 0 && !def[i].has(int(g)) {
					use[i].add(int(g))
				}
			})
			if d := ins.def(); d != NoReg && lv.global[d] >= 0 {
				def[i].add(int(lv.global[d]))
			}
		}
	}
	for changed := true; changed; {
		changed = false
		// Backwards most of it is settled in one pass, each loop takes one more.
		for i := len(f.Blocks) - 1; i >= 0; i-- {
			out := lv.out[i]
			for _, s := range f.Blocks[i].Succs {
				for w, x := range in[s.ID] {
					out[w] |= x
				}
			}
			for w := range out {
				x := use[i][w] | out[w]&^def[i][w]
				if x != in[i][w] {
					in[i][w], changed = x, true
				}
			}
		}
	}
	return lv
}

// A liveSet is a set of registers that can be listed and changed quickly.
type liveSet struct {
	list []Reg
	pos  []int32 // by register: index in list plus one
}

// add puts a register in; the frame pointer is always live and never counted.
func (s *liveSet) add(r Reg) {
	if r != FP && s.pos[r] == 0 {
		s.list = append(s.list, r)
		s.pos[r] = int32(len(s.list))
	}
}

// del takes a register out; the last of the list takes its place.
func (s *liveSet) del(r Reg) {
	if p := s.pos[r]; p != 0 {
		last := s.list[len(s.list)-1]
		s.list[p-1], s.pos[last] = last, p
		s.list, s.pos[r] = s.list[:len(s.list)-1], 0
	}
}

// clear empties the set in the time that its members take.
func (s *liveSet) clear() {
	for _, r := range s.list {
		s.pos[r] = 0
	}
	s.list = s.list[:0]
}

// walk visits the instructions of every block last to first, with the
// registers that are live after each.
func (lv *liveness) walk(f *Func, visit func(b *Block, in *Instr, after *liveSet)) {
	set := &liveSet{pos: make([]int32, f.NumRegs)}
	for _, b := range f.Blocks {
		set.clear()
		lv.out[b.ID].each(func(i int) { set.add(lv.regs[i]) })
		for k := len(b.Instrs) - 1; k >= 0; k-- {
			in := &b.Instrs[k]
			visit(b, in, set)
			if d := in.def(); d != NoReg {
				set.del(d)
			}
			in.uses(set.add)
		}
	}
}
