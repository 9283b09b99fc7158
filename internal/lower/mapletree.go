package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A mapleTree is how the kernel keeps the mappings of a process by address, from
// Linux 6.1 on (lib/maple_tree.c). It is read without its lock, which programs
// could not take everywhere: it may change meanwhile, and what is read is then
// found out to be wrong or, when the change is told of, made anew.
//
// A node has up to 16 slots, and for each but the 16th a pivot, the last address
// that belongs to it, or 0 if it is the last one that is used. The address of a
// node has its kind in the bits that its alignment leaves.
type mapleTree struct {
	root     int // of struct mm_struct: the address of the root
	pivots   int // of a node
	leaves   int // of a node whose slots are mappings, or 0: the slots
	branches int // of one whose slots are nodes: the slots
}

const (
	mapleNode      = 256 // bytes
	maplePivots    = 15  // of a leaf; of a branch there are fewer, and slots behind
	mapleKindShift = 3
	mapleKinds     = 15
	mapleBranch    = 2    // this kind and those above
	maplePage      = 12   // bits that do not matter: mappings begin and end at pages
	mapleMost      = 4096 // rounds: slots and nodes
)

// known reports whether the layout is the one that walkTree reads.
func (t *mapleTree) known() bool {
	return t.pivots == 8 && t.leaves == t.pivots+8*maplePivots && t.branches > t.pivots && t.branches < t.leaves
}

// walkTree calls mapping with every mapping of an address space in order, in a
// callback: outer are the values that it needs from outside. The outcome is not
// 0 if that were all.
func (f *fn) walkTree(at syntax.Node, t *mapleTree, mm *ir.Value, outer []*ir.Value,
	mapping func(vma *ir.Value, outer []*ir.Value, next, stop *ir.Block)) *ir.Value {
	w := &treeWalk{f: f, t: t}
	root := f.b.U64(mm, t.root)
	outer = append([]*ir.Value{f.Temp("node", mapleNode, 8), root}, outer...)
	cb, fn := f.inCallback(at, 2, func(next, stop *ir.Block) {
		b, cb := f.b, f.cb
		inside := make([]*ir.Value, len(outer))
		for i, v := range outer {
			slot := cb.slot()
			cb.setup = append(cb.setup, func(frame *ir.Value) { f.b.Store(frame, slot, 8, v) })
			if v.Kind == ir.Ptr {
				inside[i] = f.fetch(slot)
			} else {
				inside[i] = b.U64(cb.frame, slot)
			}
		}
		for _, slot := range []*int{&w.enter, &w.first, &w.last, &w.slots, &w.inner, &w.whole} {
			*slot = cb.slot()
		}
		found := w.round(inside[0], inside[1], next, stop)
		mapping(found, inside[2:], next, stop)
	})
	cb.setup = append(cb.setup, func(frame *ir.Value) {
		b := f.b
		b.Store(frame, w.enter, 8, root)
		b.Store(frame, w.first, 8, b.Add(f.unknownZero(), 1))
		b.Store(frame, w.last, 8, b.Add(f.unknownZero(), -1))
		for _, slot := range []int{w.slots, w.inner, w.whole} {
			b.Store(frame, slot, 8, f.unknownZero())
		}
	})
	out := f.Temp("whole", 8, 8)
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		b.Call(int(asm.FnLoop), f.konst(mapleMost), b.FuncPtr(fn), frame, f.konst(0))
		b.Store(out, 0, 8, b.U64(frame, w.whole))
	})
	return f.b.U64(out, 0)
}

// A treeWalk is the loop over slots and nodes. What it carries from round to round is in these words of
// the callback's frame.
type treeWalk struct {
	f *fn
	t *mapleTree

	enter int // the node to be read, 0 if it has been
	first int // the first address that was not looked at
	last  int // the last one of the node
	slots int // where slots begin in the node
	inner int // 1 if it is a branch
	whole int // 1 once all was seen
}

// round looks at one slot and goes on with the mapping in it. Where it is a branch, or has none, the round
// is over.
func (w *treeWalk) round(node, root *ir.Value, next, stop *ir.Block) *ir.Value {
	f := w.f
	b, get, put := f.b, f.carried, f.carry
	f.When(get(w.enter), func() {
		address := get(w.enter)
		b.Call(int(asm.FnProbeReadKernel), node, f.konst(mapleNode), b.And(address, -mapleNode))
		kind := b.And(b.LShr(address, mapleKindShift), mapleKinds)
		branch := b.Arith(ir.ULe, f.konst(mapleBranch), kind)
		put(w.inner, branch)
		put(w.slots, b.Arith(ir.Sub, f.konst(int64(w.t.leaves)), b.Mul(branch, int64(w.t.leaves-w.t.branches))))
	})
	found, end := w.slot(node)

	down, leaf := b.NewBlock(), b.NewBlock()
	b.If(get(w.inner), down, leaf)
	b.Begin(down)
	f.goOn(found, stop)
	put(w.enter, found)
	put(w.last, end)
	b.Jump(next)

	b.Begin(leaf)
	put(w.enter, f.konst(0))
	put(w.first, b.Add(end, 1))
	f.When(b.Arith(ir.Eq, end, get(w.last)), func() {
		put(w.enter, root)
		put(w.last, f.konst(-1))
	})
	f.When(b.Eq(b.Add(end, 1), 0), func() {
		put(w.whole, f.konst(1))
		f.b.Jump(stop)
	})
	f.goOn(found, next)
	return found
}

// slot yields what the slot of the address holds, and the last address of it. There are no branches in it:
// the slot is the first one that does not end in front of the address. Behind the pivots of a branch come
// slots, which are too great.
func (w *treeWalk) slot(node *ir.Value) (found, end *ir.Value) {
	f := w.f
	b, get := f.b, f.carried
	page := b.LShr(get(w.first), maplePage)
	slot := f.konst(maplePivots)
	for i := int64(maplePivots - 1); i >= 0; i-- {
		pivot := b.U64(node, w.t.pivots+8*int(i))
		less := b.AShr(b.Arith(ir.Sub, b.LShr(b.Add(pivot, -1), maplePage), page), 63)
		slot = b.Arith(ir.Add, f.konst(i), b.Arith(ir.And, b.Arith(ir.Sub, slot, f.konst(i)), less))
	}
	word := func(from *ir.Value) *ir.Value {
		at := b.And(b.Arith(ir.Add, from, b.Shl(slot, 3)), mapleNode-8)
		return b.U64(b.Arith(ir.Add, node, at), 0)
	}
	pivot := word(f.konst(int64(w.t.pivots)))
	none := b.AShr(b.Add(pivot, -1), 63)
	end = b.Arith(ir.Or, b.Arith(ir.And, pivot, b.Xor(none, -1)), b.Arith(ir.And, get(w.last), none))
	return word(get(w.slots)), end
}
