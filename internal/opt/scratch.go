package opt

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/order"
)

// claim moves objects into scratch memory: before the body of f it takes one
// of the slots of this CPU, whose busy word tells it from those of programs
// that this run interrupts or preempts; every return after that gives it
// back. An event that finds no slot free is counted and skipped.
//
// Kernels without atomic exchange run programs with preemption off, so that a
// program that comes in between test and set is done before the set: plain
// accesses are enough there.
// Slots are tried in turn. An event that interrupts another on this CPU finds the first one
// busy and takes the next.
func claim(f *ir.Func, in slotPlan, o Options) {
	b, rest := splitFor(f, bodyOf(f, in))
	key := b.NewObject("scratch key", 4, 4)
	key.Stack = true
	b.Store(b.Addr(key, 0), 0, 4, b.Arith(ir.Mul, b.Call(int(asm.FnGetSmpProcessorId)), b.Const(int64(o.ScratchSlots))))
	miss := b.NewBlock()
	miss.Cold = true
	exchange := o.AtomicFetch == nil || o.AtomicFetch()
	var slots []*ir.Value
	for s := range o.ScratchSlots {
		if s > 0 {
			b.Store(b.Addr(key, 0), 0, 4, b.Add(b.Load(b.Addr(key, 0), 0, 4, false), 1))
		}
		p := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(o.ScratchMap), b.Addr(key, 0))
		try, next := b.NewBlock(), miss
		if s+1 < o.ScratchSlots {
			next = b.NewBlock()
			next.Cold = true
		}
		try.Cold = s > 0
		b.If(b.Arith(ir.Ne, p, b.Const(0)), try, miss)
		b.Begin(try)
		if exchange {
			x := b.Emit(ir.AtomicXchg, ir.I64, p, b.Const(1))
			x.Size = 8
			b.If(b.Arith(ir.Eq, x, b.Const(0)), rest, next)
		} else {
			free := b.NewBlock()
			b.If(b.Arith(ir.Eq, b.Load(p, 0, 8, false), b.Const(0)), free, next)
			b.Begin(free)
			b.Store(p, 0, 8, b.Const(1))
			b.Jump(rest)
		}
		slots = append(slots, p)
		b.Begin(next)
	}
	b.AtomicAdd(b.Data(o.MissedData), 0, 8, b.Const(1))
	b.Ret(b.Const(0))

	scratch := slots[0]
	if len(slots) > 1 {
		scratch = f.NewValue(ir.Phi, ir.Ptr, slots...)
		scratch.Block, scratch.At = rest, rest.At
		rest.Values = slices.Insert(rest.Values, 0, scratch)
	}
	number(f, func() (*ir.Block, int, []*ir.Value) {
		a := f.NewValue(ir.Addr, ir.Ptr)
		a.Obj = key
		n := f.NewValue(ir.Load, ir.I64, a)
		n.Size = 4
		return rest, len(rest.Phis()), []*ir.Value{a, n}
	})
	redirect(f, in, scratch)
	release(f, rest, scratch)
	simplify(f)
	deadCode(f)
}

// A slotPlan has the offsets of the objects of a function that lie in its scratch slot.
type slotPlan map[*ir.Object]int

// offset is how far from the start of the slot the address v is; ok is false
// if it is none in the slot.
// The state that functions share begins right behind the busy word.
func (in slotPlan) offset(v *ir.Value) (off int64, ok bool) {
	switch v.Op {
	case ir.Addr:
		at, ok := in[v.Obj]
		return int64(at) + v.Imm, ok
	case ir.State:
		return busyWord + v.Imm, true
	}
	return 0, false
}

// splitFor makes room in front of a block: what is built there has to lead to
// rest.
// The builder goes on in front; phis stay where their predecessors lead.
func splitFor(f *ir.Func, body *ir.Block) (b *ir.Builder, rest *ir.Block) {
	rest = body.SplitBefore(len(body.Phis()))
	rest.Cold = body.Cold
	if f.Body == body {
		f.Body = rest
	}
	// Parameters are read at the start of the function.
	if body == f.Entry() {
		for i := 0; i < len(rest.Values); {
			if v := rest.Values[i]; v.Op == ir.Param || v.Op == ir.Const {
				v.Block = body
				body.Values = append(body.Values, v)
				rest.Values = slices.Delete(rest.Values, i, i+1)
			} else {
				i++
			}
		}
	}
	rest.Preds = nil
	return &ir.Builder{Fn: f, Cur: body, At: rest.At}, rest
}

// number replaces the number of the slot by the last of the values that lookUp
// yields, and puts these where it says, if anything asks for the number.
// Functions that work on the same slot are given its number, and look it up themselves.
func number(f *ir.Func, lookUp func() (b *ir.Block, i int, list []*ir.Value)) {
	if !f.Needs(ir.Slot) {
		return
	}
	asks := func(v *ir.Value) bool { return v.Op == ir.Slot }
	at, i, list := lookUp()
	for _, v := range list {
		v.Block, v.At = at, at.At
	}
	at.Values = slices.Insert(at.Values, i, list...)
	f.ReplaceUses(func(v *ir.Value) *ir.Value {
		if asks(v) {
			return list[len(list)-1]
		}
		return v
	})
	for _, b := range f.Blocks {
		b.Values = order.Without(b.Values, asks)
	}
}

// bodyOf is the block to claim in front of: the body, unless an object is
// used before it.
// Filters stand in front of the body: an event that they drop should not pay for a slot.
func bodyOf(f *ir.Func, in slotPlan) *ir.Block {
	if f.Body == nil || f.Body == f.Entry() {
		return f.Entry()
	}
	dom := f.Dominators()
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				if _, ok := in.offset(a); !ok && a.Op != ir.Slot {
					continue
				}
				at := b
				if v.Op == ir.Phi {
					at = b.Preds[i]
				}
				if !dom.Dominates(f.Body, at) || v.Op == ir.Phi && b == f.Body {
					return f.Entry()
				}
			}
		}
	}
	return f.Body
}

// redirect replaces the addresses of objects by addresses in the slot. These
// are made where they are used, for an addition is cheaper than a register.
// Arguments of phis are made at the end of the block that the edge comes from.
func redirect(f *ir.Func, in slotPlan, scratch *ir.Value) {
	address := func(b *ir.Block, a, user *ir.Value) (off, sum *ir.Value) {
		off = f.NewValue(ir.Const, ir.I64)
		off.Imm, _ = in.offset(a)
		sum = f.NewValue(ir.Add, ir.Ptr, scratch, off)
		off.Block, sum.Block = b, b
		off.At, sum.At = user.At, user.At
		return off, sum
	}
	moved := func(v *ir.Value) bool { _, ok := in.offset(v); return ok }
	for _, b := range f.Blocks {
		old := b.Values
		b.Values = make([]*ir.Value, 0, len(old))
		for _, v := range old {
			for i, a := range v.Args {
				if !moved(a) {
					continue
				}
				switch {
				case v.Op == ir.Phi:
					continue // below
				case i == 0 && v.Op.Accesses():
					at, _ := in.offset(a)
					v.Args[0] = scratch
					v.Imm += at
				default:
					off, sum := address(b, a, v)
					b.Values = append(b.Values, off, sum)
					v.Args[i] = sum
				}
			}
			b.Values = append(b.Values, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Phis() {
			for i, a := range v.Args {
				if moved(a) {
					p := b.Preds[i]
					off, sum := address(p, a, v)
					p.Values = append(p.Values, off, sum)
					v.Args[i] = sum
				}
			}
		}
	}
	for _, b := range f.Blocks {
		b.Values = order.Without(b.Values, moved)
	}
	f.Objects = order.Without(f.Objects, func(o *ir.Object) bool { _, ok := in[o]; return ok })
}

// release clears the busy word at every return after the claim. A return that
// is also reached without one asks a variable whether there is a slot.
func release(f *ir.Func, rest *ir.Block, scratch *ir.Value) {
	separateReturns(f, rest)
	dom := f.Dominators()
	var held *ir.Object
	reached := reachable(f, rest)
	b := &ir.Builder{Fn: f}
	for _, blk := range slices.Clone(f.Blocks) {
		if blk.Kind != ir.Ret || !reached[blk.ID] {
			continue
		}
		b.Cur, b.At = blk, blk.At
		if dom.Dominates(rest, blk) {
			b.Store(scratch, 0, 8, b.Const(0))
			continue
		}
		if held == nil {
			held = b.NewObject("scratch slot", 8, 8)
			hold(f, held, rest, scratch)
		}
		result := blk.Ctl
		p := b.LoadPtr(b.Addr(held, 0), 0)
		give, out := b.NewBlock(), b.NewBlock()
		give.Cold, out.Cold = blk.Cold, blk.Cold
		b.If(b.Arith(ir.Ne, p, b.Const(0)), give, out)
		b.Begin(give)
		b.Store(p, 0, 8, b.Const(0))
		b.Jump(out)
		b.Begin(out)
		b.Ret(result)
	}
	if held != nil {
		promote(f)
	}
}

// separateReturns gives the blocks after rest a return of their own where they
// share one with blocks that never come past rest.
// Without this every event that a filter drops would ask the variable of hold. Blocks of more
// than 8 values are not worth a copy.
func separateReturns(f *ir.Func, rest *ir.Block) {
	dom := f.Dominators()
	reached := reachable(f, rest)
	for _, blk := range slices.Clone(f.Blocks) {
		if blk.Kind != ir.Ret || !reached[blk.ID] || dom.Dominates(rest, blk) || len(blk.Values) > 8 {
			continue
		}
		clear := true // each predecessor is on one side
		for _, p := range blk.Preds {
			clear = clear && reached[p.ID] == dom.Dominates(rest, p)
		}
		if !clear {
			continue
		}
		own := f.NewBlock(blk.At)
		own.Kind, own.Cold = ir.Ret, blk.Cold
		copies := map[*ir.Value]*ir.Value{}
		for _, v := range blk.Values {
			c := f.NewValue(v.Op, v.Kind, slices.Clone(v.Args)...)
			c.Imm, c.Size, c.Len, c.Sign, c.Obj, c.Fn, c.Sym, c.At = v.Imm, v.Size, v.Len, v.Sign,
				v.Obj, v.Fn, v.Sym, v.At
			c.Block = own
			if v.Op == ir.Phi {
				c.Args = nil
			}
			for i, a := range c.Args {
				if copies[a] != nil {
					c.Args[i] = copies[a]
				}
			}
			copies[v] = c
			own.Values = append(own.Values, c)
		}
		if own.Ctl = blk.Ctl; copies[blk.Ctl] != nil {
			own.Ctl = copies[blk.Ctl]
		}
		for i := 0; i < len(blk.Preds); {
			p := blk.Preds[i]
			if !reached[p.ID] {
				i++
				continue
			}
			p.Succs[slices.Index(p.Succs, blk)] = own
			own.Preds = append(own.Preds, p)
			for _, v := range blk.Phis() {
				copies[v].Args = append(copies[v].Args, v.Args[i])
			}
			blk.RemovePred(i)
		}
	}
}

// hold keeps the slot in a variable that is null until the claim.
// promote makes a phi of the variable at once.
func hold(f *ir.Func, held *ir.Object, rest *ir.Block, scratch *ir.Value) {
	insert := func(blk *ir.Block, i int, x *ir.Value, more ...*ir.Value) {
		a := f.NewValue(ir.Addr, ir.Ptr)
		a.Obj = held
		st := f.NewValue(ir.Store, ir.Nothing, a, x)
		st.Size = 8
		list := append(more, a, st)
		for _, v := range list {
			v.Block, v.At = blk, blk.At
		}
		blk.Values = slices.Insert(blk.Values, i, list...)
	}
	null := f.NewValue(ir.Const, ir.I64)
	insert(f.Entry(), 0, null, null)
	insert(rest, len(rest.Phis()), scratch)
}

// reachable says, by the numbers of blocks, which can be reached from one.
// The block itself counts.
func reachable(f *ir.Func, from *ir.Block) []bool {
	seen := make([]bool, f.NumBlocks())
	work := []*ir.Block{from}
	seen[from.ID] = true
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range b.Succs {
			if !seen[s.ID] {
				seen[s.ID] = true
				work = append(work, s)
			}
		}
	}
	return seen
}
