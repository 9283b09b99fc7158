package opt

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// smallObject is up to how many bytes an object stays on the stack in a program whose
// functions share a state: their frames add up, and the slot is at hand.
const smallObject = 8

// placeShared is place for programs whose functions share a state. It lies in
// a slot of scratch memory, behind it the objects of main, and behind those of
// each function the objects of the functions that it calls. The main function
// claims the slot and the others are given its number.
// Callees come after all of their callers, whose objects theirs must lie behind.
func placeShared(p *ir.Prog, o Options) (Result, error) {
	order := bottomUp(p)
	slices.Reverse(order)
	start := map[*ir.Func]int{}
	end := (busyWord + p.State + 7) &^ 7
	for _, f := range order {
		in := slotPlan{}
		far := func(obj *ir.Object) bool { return !obj.Stack && obj.Size > smallObject }
		n := colour(f, objectLifetimes(f), far, max(start[f], (busyWord+p.State+7)&^7), in)
		n = (n + 7) &^ 7
		end = max(end, n)
		for _, c := range f.Callees() {
			start[c] = max(start[c], n)
		}
		if f == p.Funcs[0] {
			claim(f, in, o)
		} else {
			adopt(f, in, o)
		}
		colour(f, objectLifetimes(f), func(*ir.Object) bool { return true }, 0, nil)
	}
	return Result{ScratchBytes: end}, nil
}

// adopt finds the slot that the main function has claimed, by its number.
// The lookup cannot fail, as the slot was found before, but the verifier wants the test.
func adopt(f *ir.Func, in slotPlan, o Options) {
	if len(in) == 0 && !f.Needs(ir.State, ir.Slot) {
		return
	}
	entry := f.Entry()
	slot := func(b *ir.Builder) *ir.Value {
		if f.Static {
			return b.Load(b.Param(f.NParams-1, ir.Ptr), f.SlotAt, 8, false)
		}
		return b.Param(0, ir.I64)
	}
	number(f, func() (*ir.Block, int, []*ir.Value) {
		made := &ir.Block{}
		slot(&ir.Builder{Fn: f, Cur: made})
		return entry, 0, made.Values
	})
	if len(in) == 0 && !f.Needs(ir.State) {
		return
	}
	b, rest := splitFor(f, entry)
	key := b.NewObject("scratch key", 4, 4)
	key.Stack = true
	b.Store(b.Addr(key, 0), 0, 4, slot(b))
	scratch := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(o.ScratchMap), b.Addr(key, 0))
	none := b.NewBlock()
	none.Cold = true
	b.If(b.Arith(ir.Ne, scratch, b.Const(0)), rest, none)
	b.Begin(none)
	b.Ret(b.Const(0))
	redirect(f, in, scratch)
	simplify(f)
	deadCode(f)
}
