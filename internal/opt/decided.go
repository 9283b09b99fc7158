package opt

import "github.com/hawktrace/hawk/internal/ir"

// decided removes branches whose outcome an earlier branch has settled: the
// second null check of a pointer, the second half of two ifs on one value.
//
// Only tests for equality are removed. The verifier takes bounds from the
// others, and old ones forget them when the value is spilled in between.
// All verdicts are found before an edge is removed, as the dominators are those of the graph
// before.
func decided(f *ir.Func) {
	dom := f.Dominators()
	type verdict struct {
		b     *ir.Block
		taken bool
	}
	var verdicts []verdict
	for _, b := range dom.Order {
		if b.Kind != ir.If {
			continue
		}
		c, ok := equality(b.Ctl)
		if !ok {
			continue
		}
		for x := b; x != nil; x = dom.Idom[x.ID] {
			if truth, known := entered(x, c); known {
				verdicts = append(verdicts, verdict{b, truth})
				break
			}
		}
	}
	for _, v := range verdicts {
		i := 1
		if !v.taken {
			i = 0
		}
		v.b.RemoveSucc(i)
	}
	if len(verdicts) > 0 {
		f.RemoveUnreachable()
	}
}

// A test is x == y, or its opposite.
// A condition that is no comparison is a test of its value against 0, and negated.
type test struct {
	x, y    *ir.Value // y nil stands for 0
	negated bool
}

// equality reads a condition as a test.
func equality(c *ir.Value) (test, bool) {
	switch {
	case c.Op == ir.Eq || c.Op == ir.Ne:
		t := test{x: c.Args[0], y: c.Args[1], negated: c.Op == ir.Ne}
		if isConst(t.y, 0) {
			t.y = nil
		}
		return t, true
	case c.Op.Compares() || c.Op == ir.Const:
		return test{}, false
	}
	return test{x: c, negated: true}, true
}

// entered tells the value of condition c inside block x from the branch that
// is the only way into it.
// With two predecessors the condition may have been either.
func entered(x *ir.Block, c test) (truth, known bool) {
	if len(x.Preds) != 1 {
		return false, false
	}
	return outcomeOf(x.Preds[0], x, c)
}

// outcomeOf tells the value of condition c on the edge from p to x.
func outcomeOf(p, x *ir.Block, c test) (truth, known bool) {
	if p.Kind != ir.If || p.Succs[0] == p.Succs[1] {
		return false, false
	}
	d, ok := equality(p.Ctl)
	if !ok || d.x != c.x || !sameOperand(d.y, c.y) {
		return false, false
	}
	return (p.Succs[0] == x) == (d.negated == c.negated), true
}

// sameOperand reports whether two operands are one value or the same constant; nil is 0.
func sameOperand(a, b *ir.Value) bool {
	return a == b || a != nil && b != nil && a.Op == ir.Const && b.Op == ir.Const && a.Imm == b.Imm
}

// onEdge tells the value of b's condition when b is entered from p, if p or a
// block on the only way to p has tested it.
// It looks 16 blocks back at most: threading asks for each edge, and long chains of blocks
// would make that quadratic.
func onEdge(p, b *ir.Block) (truth, known bool) {
	c, ok := equality(b.Ctl)
	if !ok || b.Ctl.Block == b && !c.outside(b) {
		return false, false
	}
	if truth, known = outcomeOf(p, b, c); known {
		return truth, known
	}
	for range 16 {
		if truth, known = entered(p, c); known {
			return truth, known
		}
		if len(p.Preds) != 1 {
			break
		}
		p = p.Preds[0]
	}
	return false, false
}

// outside reports whether the operands of the test are made before b.
func (t test) outside(b *ir.Block) bool {
	return t.x.Block != b && (t.y == nil || t.y.Block != b)
}
