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
	var enter, first, last, slots, inner, whole int // words of the frame
	root := f.b.Load(mm, t.root, 8, false)
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
				inside[i] = b.Load(cb.frame, slot, 8, false)
			}
		}
		for _, slot := range []*int{&enter, &first, &last, &slots, &inner, &whole} {
			*slot = cb.slot()
		}
		get, put, when := f.carried, f.carry, f.goOn
		node := inside[0]
		f.When(get(enter), false, func() {
			address := get(enter)
			b.Call(int(asm.FnProbeReadKernel), node, f.konst(mapleNode), b.Arith(ir.And, address, f.konst(-mapleNode)))
			kind := b.Arith(ir.And, b.Arith(ir.LShr, address, f.konst(mapleKindShift)), f.konst(mapleKinds))
			branch := b.Arith(ir.ULe, f.konst(mapleBranch), kind)
			put(inner, branch)
			put(slots, b.Arith(ir.Sub, f.konst(int64(t.leaves)),
				b.Arith(ir.Mul, branch, f.konst(int64(t.leaves-t.branches)))))
		})
		// The slot of the address, without branches: the first one that does not end
		// in front of it. Behind the pivots of a branch come slots, which are too great.
		page := b.Arith(ir.LShr, get(first), f.konst(maplePage))
		slot := f.konst(maplePivots)
		for i := int64(maplePivots - 1); i >= 0; i-- {
			pivot := b.Load(node, t.pivots+8*int(i), 8, false)
			less := b.Arith(ir.AShr, b.Arith(ir.Sub,
				b.Arith(ir.LShr, b.Add(pivot, -1), f.konst(maplePage)), page), f.konst(63))
			slot = b.Arith(ir.Add, f.konst(i), b.Arith(ir.And, b.Arith(ir.Sub, slot, f.konst(i)), less))
		}
		word := func(from *ir.Value) *ir.Value {
			at := b.Arith(ir.And, b.Arith(ir.Add, from, b.Arith(ir.Shl, slot, f.konst(3))), f.konst(mapleNode-8))
			return b.Load(b.Arith(ir.Add, node, at), 0, 8, false)
		}
		pivot := word(f.konst(int64(t.pivots)))
		none := b.Arith(ir.AShr, b.Add(pivot, -1), f.konst(63))
		end := b.Arith(ir.Or, b.Arith(ir.And, pivot, b.Arith(ir.Xor, none, f.konst(-1))),
			b.Arith(ir.And, get(last), none))
		found := word(get(slots))

		down, leaf := b.NewBlock(), b.NewBlock()
		b.If(get(inner), down, leaf)
		b.Begin(down)
		when(found, stop)
		put(enter, found)
		put(last, end)
		b.Jump(next)

		b.Begin(leaf)
		put(enter, f.konst(0))
		put(first, b.Add(end, 1))
		f.When(b.Arith(ir.Eq, end, get(last)), false, func() {
			put(enter, inside[1])
			put(last, f.konst(-1))
		})
		f.When(b.Arith(ir.Eq, b.Add(end, 1), f.konst(0)), false, func() {
			put(whole, f.konst(1))
			f.b.Jump(stop)
		})
		b = f.b
		when(found, next)
		mapping(found, inside[2:], next, stop)
	})
	cb.setup = append(cb.setup, func(frame *ir.Value) {
		b := f.b
		b.Store(frame, enter, 8, root)
		b.Store(frame, first, 8, b.Add(f.unknownZero(), 1))
		b.Store(frame, last, 8, b.Add(f.unknownZero(), -1))
		for _, slot := range []int{slots, inner, whole} {
			b.Store(frame, slot, 8, f.unknownZero())
		}
	})
	out := f.Temp("whole", 8, 8)
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		b.Call(int(asm.FnLoop), f.konst(mapleMost), b.FuncPtr(fn), frame, f.konst(0))
		b.Store(out, 0, 8, b.Load(frame, whole, 8, false))
	})
	return f.b.Load(out, 0, 8, false)
}
