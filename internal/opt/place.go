package opt

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/order"
)

// The numbers are in bytes. maxStack is the kernel's MAX_BPF_STACK, for all functions on the
// stack together.
const (
	maxStack = 512 // bytes of a call chain
	// Above crowded bytes of objects, big ones go to scratch memory even if
	// they would fit, so that room is left for spills.
	crowded = 384
	big     = 128
	// claimed is what a claim of scratch memory takes: its key, and the pointer to the slot if it is spilled.
	claimed = 16
	// busyWord is the part of a scratch slot in front of the objects.
	busyWord = 8
)

// ErrStack means that objects which must be on the stack do not fit.
// compile words it for the user, who can do something about it.
var ErrStack = errors.New("variables do not fit the stack")

// place gives every object its place: in the frame, where objects that never
// live together share bytes, or in a slot of scratch memory.
// The kernel counts the frame of each function in steps of 32 bytes, and the deepest chain of
// calls decides.
func place(p *ir.Prog, o Options) (Result, error) {
	if p.Needs(ir.State, ir.Slot) {
		return placeShared(p, o)
	}
	var res Result
	below := map[*ir.Func]int{} // deepest chain of callbacks under a function
	// Callbacks come before who refers to them; nesting is shallow.
	order := bottomUp(p)
	for _, f := range order {
		deepest := 0
		for _, c := range f.Callees() {
			deepest = max(deepest, below[c])
		}
		spills := reserve(f)
		n, err := placeFunc(f, maxStack-deepest-spills, f == p.Funcs[0], o)
		if err != nil {
			return res, err
		}
		res.ScratchBytes = max(res.ScratchBytes, n)
		frame := spills
		for _, obj := range f.Objects {
			frame = max(frame, obj.Offset+spills)
		}
		below[f] = deepest + max(frame+31, 32)&^31
	}
	return res, nil
}

// bottomUp lists functions so that callbacks come before those that pass
// them on.
// A function's budget is what the deepest chain under it leaves.
func bottomUp(p *ir.Prog) []*ir.Func {
	var order []*ir.Func
	seen := map[*ir.Func]bool{}
	var visit func(f *ir.Func)
	visit = func(f *ir.Func) {
		if seen[f] {
			return
		}
		seen[f] = true
		for _, c := range f.Callees() {
			visit(c)
		}
		order = append(order, f)
	}
	for _, f := range p.Funcs {
		visit(f)
	}
	return order
}

// placeFunc places the objects of a function within a budget of stack, the largest in scratch
// memory if need be; it yields how many bytes of a slot it takes. Callbacks have no scratch memory
// of their own.
// Objects leave the stack one at a time, the largest first, until the rest fits: each that
// stays spares a lookup's address.
func placeFunc(f *ir.Func, budget int, main bool, o Options) (scratch int, err error) {
	far := map[*ir.Object]bool{} // objects that go to scratch memory
	l := objectLifetimes(f)
	near := func(obj *ir.Object) bool { return !far[obj] }
	for _, obj := range f.Objects {
		if obj.Far && !main {
			return 0, fmt.Errorf("%s: %w: %s may not lie there, and callbacks have no scratch memory", f.Name,
				ErrStack, obj.Name)
		}
		if obj.Far {
			far[obj] = true
		}
	}
	if len(far) > 0 {
		budget -= claimed
	}
	for {
		size := colour(f, l, near, 0, nil)
		if size <= min(budget, crowded) || size <= budget && !main {
			break
		}
		next := largest(f, far)
		if next == nil || size <= budget && next.Size <= big {
			if size > budget {
				return 0, fmt.Errorf("%s: %w: %d bytes of %d", f.Name, ErrStack, size+maxStack-budget, maxStack)
			}
			break
		}
		if !main {
			return 0, fmt.Errorf("%s: %w: with a callback, %d bytes of %d", f.Name, ErrStack,
				size+maxStack-budget, maxStack)
		}
		if far[next] = true; len(far) == 1 {
			budget -= claimed
		}
	}
	if len(far) > 0 {
		if o.ScratchSlots < 1 {
			return 0, fmt.Errorf("%s: %w, and there is no scratch memory", f.Name, ErrStack)
		}
		at := slotPlan{}
		scratch = colour(f, l, func(obj *ir.Object) bool { return far[obj] }, busyWord, at)
		scratch = (scratch + 7) &^ 7
		claim(f, at, o)
		l = objectLifetimes(f)
	}
	colour(f, l, func(*ir.Object) bool { return true }, 0, nil)
	return scratch, nil
}

// largest is the biggest object that may still move to scratch memory.
// Objects marked Stack have to stay: their address goes where only the frame may lie.
func largest(f *ir.Func, far map[*ir.Object]bool) *ir.Object {
	var best *ir.Object
	for _, o := range f.Objects {
		if !o.Stack && !far[o] && (best == nil || o.Size > best.Size) {
			best = o
		}
	}
	return best
}

// colour gives the chosen objects offsets from start on, the biggest first,
// and returns the end of the last. The offsets go to at, or, if that is nil,
// into the objects as distances below the frame pointer.
// It is called with and without effect: for the size that a choice would take, and then to keep
// the places.
func colour(f *ir.Func, l *lifetimes, chosen func(*ir.Object) bool, start int, at slotPlan) int {
	var bySize []int
	for i, o := range f.Objects {
		if chosen(o) {
			bySize = append(bySize, i)
		}
	}
	order.Stably(bySize, func(a, b int) int { return f.Objects[b].Size - f.Objects[a].Size })
	type span struct{ from, to int }
	places := make(map[int]span, len(bySize)) // index → bytes, growing down from the frame pointer
	end := start
	for n, i := range bySize {
		o := f.Objects[i]
		// Eight-byte alignment lets the code clear and copy by words.
		align := o.Align
		if o.Size >= 8 {
			align = 8
		}
		var taken []span
		for _, j := range bySize[:n] {
			if l.clashes(i, j) {
				taken = append(taken, places[j])
			}
		}
		order.By(taken, func(a, b span) int { return a.from - b.from })
		// On the stack the address of byte 0 is the far end, so it is the end
		// that has to be aligned there; sizes are rounded to make both so.
		size := (o.Size + align - 1) &^ (align - 1)
		from := (start + align - 1) &^ (align - 1)
		for _, t := range taken {
			if from+size <= t.from {
				break
			}
			from = max(from, (t.to+align-1)&^(align-1))
		}
		places[i] = span{from, from + size}
		end = max(end, from+size)
		if at != nil {
			at[o] = from
		} else {
			o.Offset = from + size
		}
	}
	return end
}

// reserve estimates the frame bytes that spills will take: eight for each
// value too many, where calls leave four registers and the rest ten.
// Registers are assigned only afterwards. An estimate that is too low makes codegen fail with
// its own ErrStack.
func reserve(f *ir.Func) int {
	across, anywhere, budget := pressure(f)
	spills := max(across-4, anywhere-9, 0)
	n := 8 * spills
	if spills > 0 {
		n += 16
	}
	if budget {
		n += 16 // the kernel keeps the loop budget in the frame
	}
	return n
}

// pressure is the greatest number of values alive at once across a call and
// anywhere, without those that are remade; mayGoto tells of loop budgets.
func pressure(f *ir.Func) (across, anywhere int, mayGoto bool) {
	l := newValueLiveness(f)
	l.solve(f)
	for _, b := range f.Blocks {
		mayGoto = mayGoto || b.Kind == ir.MayGoto
		l.walk(b, func(v *ir.Value) {
			n := l.count()
			anywhere = max(anywhere, n)
			if v.Op.Calls() {
				across = max(across, n)
			}
		})
	}
	return across, anywhere, mayGoto
}

// A valueLiveness is an ordinary analysis of liveness, backwards to a fixed point, on rows of bits.
// Values that are remade have no bit.
type valueLiveness struct {
	index []int      // by value: its bit plus one
	out   [][]uint64 // by block: what is alive at its end
	live  []uint64   // what is alive where walk is
}

func newValueLiveness(f *ir.Func) *valueLiveness {
	l := &valueLiveness{index: make([]int, f.NumValues()), out: make([][]uint64, f.NumBlocks())}
	n := 0
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if !v.Op.Remade() && v.Kind != ir.Nothing {
				n++
				l.index[v.ID] = n
			}
		}
	}
	words := (n + 63) / 64
	for _, b := range f.Blocks {
		l.out[b.ID] = make([]uint64, words)
	}
	l.live = make([]uint64, words)
	return l
}

// add puts a value into a row, and reports whether it was not there.
func (l *valueLiveness) add(row []uint64, v *ir.Value) bool {
	i := l.index[v.ID] - 1
	if i < 0 || row[i/64]>>(i%64)&1 != 0 {
		return false
	}
	row[i/64] |= 1 << (i % 64)
	return true
}

// count is how many values are alive where walk is.
func (l *valueLiveness) count() (n int) {
	for _, x := range l.live {
		n += bits.OnesCount64(x)
	}
	return n
}

// walk goes through a block from its end to its beginning. It visits each value when what is alive
// behind it, the value itself left out, is in live.
func (l *valueLiveness) walk(b *ir.Block, visit func(v *ir.Value)) {
	copy(l.live, l.out[b.ID])
	if b.Ctl != nil {
		l.add(l.live, b.Ctl)
		for _, a := range b.Ctl.Args { // the branch may evaluate the comparison itself
			if b.Ctl.Op.Compares() {
				l.add(l.live, a)
			}
		}
	}
	for _, v := range slices.Backward(b.Values) {
		if k := l.index[v.ID] - 1; k >= 0 {
			l.live[k/64] &^= 1 << (k % 64)
		}
		visit(v)
		if v.Op != ir.Phi {
			for _, a := range v.Args {
				l.add(l.live, a)
			}
		}
	}
}

// solve finds what is alive at the end of each block.
func (l *valueLiveness) solve(f *ir.Func) {
	for changed := true; changed; {
		changed = false
		for _, b := range slices.Backward(f.Blocks) {
			l.walk(b, func(*ir.Value) {})
			for k, p := range b.Preds {
				for _, phi := range b.Phis() {
					changed = l.add(l.out[p.ID], phi.Args[k]) || changed
				}
				changed = or(l.out[p.ID], l.live) || changed
			}
		}
	}
}

// or adds the bits of b to a and reports whether a changed.
func or(a, b []uint64) bool {
	changed := false
	for i, x := range b {
		if x&^a[i] != 0 {
			a[i] |= x
			changed = true
		}
	}
	return changed
}

// trailing is the number of the lowest bit that is set.
// x is not 0.
func trailing(x uint64) int { return bits.TrailingZeros64(x) }

// each calls fn for the bits that are set.
func each(s []uint64, fn func(int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			fn(w*64 + trailing(x))
		}
	}
}
