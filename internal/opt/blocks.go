package opt

import "github.com/hawktrace/hawk/internal/ir"

// mergeBlocks joins a block to its only successor if that has no other
// predecessor, and makes edges skip blocks that do nothing.
// Entry and Body stay blocks of their own: scratch memory is claimed in front of the body.
func mergeBlocks(f *ir.Func) {
	f.RemoveUnreachable()
	for _, b := range f.Blocks {
		skipEmpty(f, b)
	}
	f.RemoveUnreachable()
	gone := make([]bool, f.NumBlocks())
	merged := false
	for _, b := range f.Blocks {
		if gone[b.ID] {
			continue
		}
		for b.Kind == ir.Jump {
			s := b.Succs[0]
			if len(s.Preds) != 1 || s == b || s == f.Entry() || s == f.Body {
				break
			}
			absorb(f, b, s)
			gone[s.ID], merged = true, true
		}
	}
	if !merged {
		return
	}
	kept := f.Blocks[:0]
	for _, b := range f.Blocks {
		if !gone[b.ID] {
			kept = append(kept, b)
		}
	}
	f.Blocks = kept
}

// absorb appends s, whose only predecessor is b, to b.
// With one predecessor a phi has one argument, which takes its place everywhere.
func absorb(f *ir.Func, b, s *ir.Block) {
	phis := s.Phis()
	if n := len(phis); n > 0 {
		same := make(map[*ir.Value]*ir.Value, n)
		for _, v := range phis {
			same[v] = v.Args[0]
		}
		f.ReplaceUses(func(v *ir.Value) *ir.Value {
			for {
				to, ok := same[v]
				if !ok {
					return v
				}
				v = to
			}
		})
		s.Values = s.Values[n:]
	}
	for _, v := range s.Values {
		v.Block = b
	}
	b.Values = append(b.Values, s.Values...)
	b.Kind, b.Ctl, b.Succs, b.At = s.Kind, s.Ctl, s.Succs, s.At
	for _, t := range s.Succs {
		for i, p := range t.Preds {
			if p == s {
				t.Preds[i] = b
			}
		}
	}
	// Code that is reached from a warm block is warm.
	b.Cold = b.Cold && s.Cold
}

// skipEmpty leads the edges into an empty block b to where it jumps, unless
// that would make two edges of one block meet at phis that tell them apart.
// A phi has one argument for each edge: two edges from one block that bring it different values
// cannot be told apart at its end.
func skipEmpty(f *ir.Func, b *ir.Block) {
	if len(b.Values) > 0 || b.Kind != ir.Jump || b == f.Entry() || b == f.Body || b.Succs[0] == b {
		return
	}
	to := b.Succs[0]
	k := b.PredIndex(0)
	for i := 0; i < len(b.Preds); {
		p := b.Preds[i]
		if len(to.Phis()) > 0 && hasPred(to, p) || p == b {
			i++
			continue
		}
		si := 0
		for p.Succs[si] != b {
			si++
		}
		// A block that branches here on both sides must keep its edges in the
		// order of Succs: take such pairs as they come.
		p.Succs[si] = to
		to.Preds = append(to.Preds, p)
		for _, v := range to.Phis() {
			v.Args = append(v.Args, v.Args[k])
		}
		b.RemovePred(i)
	}
	dropSame(to)
}

// hasPred reports whether p leads to b.
// Blocks have few predecessors; a list is searched faster than a table is kept.
func hasPred(b, p *ir.Block) bool {
	for _, q := range b.Preds {
		if q == p {
			return true
		}
	}
	return false
}

// dropSame turns branches that lead to b either way into jumps.
// RemoveSucc changes Preds, which is why the search begins anew.
func dropSame(b *ir.Block) {
	for i := 0; i < len(b.Preds); i++ {
		p := b.Preds[i]
		if p.Kind == ir.If && p.Succs[0] == b && p.Succs[1] == b && len(b.Phis()) == 0 {
			p.RemoveSucc(1)
			i = -1
		}
	}
}

// thread leads a block straight to where a branch will go whose outcome it
// knows: a branch on a phi of constants, as "a && b" leaves behind, or one on
// a condition that was tested on the way. The block of the branch is skipped.
// The verifier gains more than the run: it walks a join of two constants once for each, and
// would explore both branches behind it again.
func thread(f *ir.Func) {
	hoistConstants(f)
	uses := f.UseCounts()
	changed := false
	for _, b := range f.Blocks {
		for threadBlock(b, uses) {
			changed = true
		}
	}
	if changed {
		f.RemoveUnreachable()
		simplify(f)
	}
}

// hoistConstants moves constants and addresses that depend on nothing to the
// entry, one of each. They cost nothing there: code generation makes them
// where they are used.
// threadBlock wants blocks that hold their condition and nothing else.
func hoistConstants(f *ir.Func) {
	hoist(f, func(v *ir.Value) bool { return v.Op.Remade() })
}

// hoistParams moves parameters to the entry, one value of each: they are in
// registers there anyway.
// gvn compares pointers to values, and would take two reads of one parameter for two.
func hoistParams(f *ir.Func) {
	hoist(f, func(v *ir.Value) bool { return v.Op == ir.Param })
}

// hoist moves the values without arguments that pick chooses to the entry, one
// of those that are equal.
// The entry dominates all blocks, so that moving there is always right.
func hoist(f *ir.Func, pick func(*ir.Value) bool) {
	type key struct {
		op  ir.Op
		imm int64
		obj *ir.Object
		fn  *ir.Func
	}
	first := map[key]*ir.Value{}
	same := map[*ir.Value]*ir.Value{}
	var hoisted []*ir.Value
	for _, b := range f.Blocks {
		kept := b.Values[:0]
		for _, v := range b.Values {
			if !pick(v) {
				kept = append(kept, v)
				continue
			}
			k := key{v.Op, v.Imm, v.Obj, v.Fn}
			if w := first[k]; w != nil {
				same[v] = w
				continue
			}
			first[k] = v
			v.Block = f.Entry()
			hoisted = append(hoisted, v)
		}
		b.Values = kept
	}
	f.Entry().Values = append(hoisted, f.Entry().Values...)
	if len(same) > 0 {
		f.ReplaceUses(func(v *ir.Value) *ir.Value {
			if w := same[v]; w != nil {
				return w
			}
			return v
		})
	}
}

// threadBlock leads one predecessor of a block past it; it reports whether there was one.
// The values of the block are not made on the new way: it may be taken only where nobody behind
// asks for them. The caller repeats it until it yields false.
func threadBlock(b *ir.Block, uses []int) bool {
	if b.Kind != ir.If || b == b.Func.Body || len(b.Preds) < 2 ||
		b.Succs[0] == b || b.Succs[1] == b || b.Succs[0] == b.Succs[1] {
		return false
	}
	// The block holds the phi and what decides the branch, and nothing of it
	// is used elsewhere.
	inside := make(map[*ir.Value]bool, len(b.Values))
	for _, v := range b.Values {
		if v.Op != ir.Phi && !v.Op.Pure() {
			return false
		}
		inside[v] = true
	}
	local := make(map[*ir.Value]int)
	for _, v := range b.Values {
		for _, a := range v.Args {
			if inside[a] {
				if v.Op == ir.Phi {
					return false // a loop
				}
				local[a]++
			}
		}
	}
	if inside[b.Ctl] {
		local[b.Ctl]++
	}
	for _, v := range b.Values {
		if local[v] != uses[v.ID] {
			return false
		}
	}
	for i, p := range b.Preds {
		n, ok := outcome(b, i)
		if truth, known := onEdge(p, b); !ok && known {
			if n, ok = 0, true; truth {
				n = 1
			}
		}
		if !ok {
			continue
		}
		to := b.Succs[0]
		if n == 0 {
			to = b.Succs[1]
		}
		// Two edges from one block cannot bring a phi two values.
		if to == b || len(to.Phis()) > 0 && hasPred(to, p) {
			continue
		}
		k := 0
		for to.Preds[k] != b {
			k++
		}
		si := 0
		for p.Succs[si] != b {
			si++
		}
		if p.PredIndex(si) != i {
			continue // the other edge of the same block comes first
		}
		p.Succs[si] = to
		to.Preds = append(to.Preds, p)
		for _, v := range to.Phis() {
			v.Args = append(v.Args, v.Args[k])
		}
		b.RemovePred(i)
		return true
	}
	return false
}

// outcome is the value of b's condition when b is entered by edge i, if that
// is known.
// It evaluates the block with the constants that the edge brings to its phis.
func outcome(b *ir.Block, i int) (int64, bool) {
	known := make(map[*ir.Value]int64)
	value := func(v *ir.Value) (int64, bool) {
		if v.Op == ir.Const {
			return v.Imm, true
		}
		n, ok := known[v]
		return n, ok
	}
	for _, v := range b.Values {
		if v.Op == ir.Phi {
			if n, ok := value(v.Args[i]); ok && v.Args[i].Op == ir.Const {
				known[v] = n
			}
			continue
		}
		var args [2]int64
		ok := len(v.Args) > 0 && len(v.Args) <= 2
		for k := range v.Args {
			if !ok {
				break
			}
			args[k], ok = value(v.Args[k])
		}
		if !ok {
			continue
		}
		if n, ok := fold(v, args[0], args[1]); ok {
			known[v] = n
		}
	}
	return value(b.Ctl)
}
