package ir

import "slices"

// NumValues is an exclusive upper bound of the value IDs of f, for side tables.
func (f *Func) NumValues() int { return f.nextValue }

// NumBlocks is an exclusive upper bound of the block IDs of f.
func (f *Func) NumBlocks() int { return f.nextBlock }

// NumObjects is an exclusive upper bound of the object IDs of f.
func (f *Func) NumObjects() int { return f.nextObject }

// ReversePostorder returns the reachable blocks, entry first; a block comes
// before its successors except along back edges.
func (f *Func) ReversePostorder() []*Block {
	type frame struct {
		b    *Block
		next int
	}
	seen := make([]bool, f.nextBlock)
	// The walk keeps a stack of its own: a script that is long has blocks in a chain as long,
	// which recursion would follow.
	order := make([]*Block, 0, len(f.Blocks))
	stack := []frame{{b: f.Entry()}}
	seen[f.Entry().ID] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(top.b.Succs) {
			s := top.b.Succs[top.next]
			top.next++
			if !seen[s.ID] {
				seen[s.ID] = true
				stack = append(stack, frame{b: s})
			}
			continue
		}
		order = append(order, top.b)
		stack = stack[:len(stack)-1]
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// RemoveUnreachable drops the blocks that no path from the entry reaches, and
// the phi arguments that came from them. It reports whether any were there.
func (f *Func) RemoveUnreachable() bool {
	live := make([]bool, f.nextBlock)
	n := 0
	for _, b := range f.ReversePostorder() {
		live[b.ID] = true
		n++
	}
	// Passes ask again and again, and mostly nothing is to be done.
	if n == len(f.Blocks) {
		return false
	}
	kept := f.Blocks[:0]
	for _, b := range f.Blocks {
		if !live[b.ID] {
			continue
		}
		kept = append(kept, b)
		// Backwards, since edges that are removed move those behind them.
		for i := len(b.Preds) - 1; i >= 0; i-- {
			if !live[b.Preds[i].ID] {
				b.RemovePred(i)
			}
		}
	}
	clear(f.Blocks[len(kept):])
	f.Blocks = kept
	// A predicate that is never true leaves no body.
	if f.Body != nil && !live[f.Body.ID] {
		f.Body = nil
	}
	return true
}

// RemovePred removes the incoming edge with index i and its phi arguments.
// The predecessor's Succs are the caller's business.
func (b *Block) RemovePred(i int) {
	b.Preds = slices.Delete(b.Preds, i, i+1)
	for _, v := range b.Phis() {
		// A copy is made: passes may still hold the old list.
		v.Args = append(v.Args[:i:i], v.Args[i+1:]...)
	}
}

// Phis returns the leading values of b that are Phis.
func (b *Block) Phis() []*Value {
	n := 0
	for n < len(b.Values) && b.Values[n].Op == Phi {
		n++
	}
	return b.Values[:n]
}

// PredIndex is the index in Succs[i].Preds of the edge that is Succs[i] of b.
// An If may name the same block twice: the edges are in the same order on
// both sides.
func (b *Block) PredIndex(i int) int {
	s, nth := b.Succs[i], 0
	for _, t := range b.Succs[:i] {
		if t == s {
			nth++
		}
	}
	for k, p := range s.Preds {
		if p == b {
			if nth == 0 {
				return k
			}
			nth--
		}
	}
	return -1
}

// RemoveSucc removes the edge Succs[i] on both sides; a two-way block becomes
// a Jump.
func (b *Block) RemoveSucc(i int) {
	b.Succs[i].RemovePred(b.PredIndex(i))
	b.Succs = append(b.Succs[:i:i], b.Succs[i+1:]...)
	b.Kind, b.Ctl = Jump, nil
}

// SplitBefore moves the values of b from index i on, and its way out, into a
// new block, and makes b jump there. Phis stay in b.
func (b *Block) SplitBefore(i int) *Block {
	rest := b.Func.NewBlock(b.At)
	rest.Values = append([]*Value(nil), b.Values[i:]...)
	b.Values = b.Values[:i:i]
	for _, v := range rest.Values {
		v.Block = rest
	}
	rest.Kind, rest.Ctl, rest.Succs, rest.Cold = b.Kind, b.Ctl, b.Succs, b.Cold
	// An edge that was named twice is found twice, and both become those of rest.
	for _, s := range rest.Succs {
		for k, p := range s.Preds {
			if p == b {
				s.Preds[k] = rest
			}
		}
	}
	b.Kind, b.Ctl, b.Succs = Jump, nil, []*Block{rest}
	rest.Preds = []*Block{b}
	return rest
}

// ReplaceUses replaces every use of a value by what to says about it; to
// returns its argument for values that stay. Chains are the caller's business.
func (f *Func) ReplaceUses(to func(*Value) *Value) {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				v.Args[i] = to(a)
			}
		}
		if b.Ctl != nil {
			b.Ctl = to(b.Ctl)
		}
	}
}

// UseCounts returns, by value ID, how often each value is an argument or the
// control of a block.
func (f *Func) UseCounts() []int {
	n := make([]int, f.nextValue)
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				n[a.ID]++
			}
		}
		if b.Ctl != nil {
			n[b.Ctl.ID]++
		}
	}
	return n
}

// A DomTree answers questions of dominance for the blocks that were reachable
// when it was made. It is stale once an edge changes.
type DomTree struct {
	Order    []*Block   // reverse postorder
	Idom     []*Block   // by block ID; nil for the entry and for unreachable blocks
	Children [][]*Block // by block ID, in reverse postorder

	in, out []int // by block ID: visit times of a walk down the tree; 0: unreachable
}

// Dominators computes the tree by the iterative algorithm of Cooper, Harvey
// and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
func (f *Func) Dominators() *DomTree {
	order := f.ReversePostorder()
	num := make([]int, f.nextBlock) // position in order plus one; 0: unreachable
	for i, b := range order {
		num[b.ID] = i + 1
	}
	idom := make([]*Block, f.nextBlock)
	idom[order[0].ID] = order[0]
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			var best *Block
			for _, p := range b.Preds {
				if num[p.ID] == 0 || idom[p.ID] == nil {
					continue
				}
				if best == nil {
					best = p
					continue
				}
				for x := p; x != best; {
					if num[x.ID] > num[best.ID] {
						x = idom[x.ID]
					} else {
						best = idom[best.ID]
					}
				}
			}
			if idom[b.ID] != best {
				idom[b.ID], changed = best, true
			}
		}
	}
	idom[order[0].ID] = nil
	t := &DomTree{
		Order: order, Idom: idom, Children: make([][]*Block, f.nextBlock),
		in: make([]int, f.nextBlock), out: make([]int, f.nextBlock),
	}
	for _, b := range order[1:] {
		p := idom[b.ID]
		t.Children[p.ID] = append(t.Children[p.ID], b)
	}
	t.number(order[0])
	return t
}

func (t *DomTree) number(root *Block) {
	type frame struct {
		b    *Block
		next int
	}
	clock := 1
	stack := []frame{{b: root}}
	t.in[root.ID] = clock
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		kids := t.Children[top.b.ID]
		clock++
		if top.next < len(kids) {
			kid := kids[top.next]
			top.next++
			t.in[kid.ID] = clock
			stack = append(stack, frame{b: kid})
			continue
		}
		t.out[top.b.ID] = clock
		stack = stack[:len(stack)-1]
	}
}

// Dominates reports whether every path from the entry to b passes a; a block
// dominates itself. It is false when either is unreachable.
func (t *DomTree) Dominates(a, b *Block) bool {
	if a.ID >= len(t.in) || b.ID >= len(t.in) || t.in[a.ID] == 0 || t.in[b.ID] == 0 {
		return false
	}
	return t.in[a.ID] <= t.in[b.ID] && t.out[b.ID] <= t.out[a.ID]
}

// LoopDepths returns, by block ID, how many loops surround each block.
func (t *DomTree) LoopDepths() []int {
	depth := make([]int, len(t.in))
	inside := make([]*Block, len(t.in)) // by block ID: the last header whose loop took the block
	for _, header := range t.Order {
		var work []*Block
		take := func(b *Block) {
			if inside[b.ID] != header && t.Dominates(header, b) {
				inside[b.ID] = header
				depth[b.ID]++
				work = append(work, b)
			}
		}
		for _, p := range header.Preds {
			take(p) // only if the header dominates it: a back edge
		}
		if len(work) > 0 {
			take(header)
		}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if b != header {
				for _, p := range b.Preds {
					take(p)
				}
			}
		}
	}
	return depth
}
