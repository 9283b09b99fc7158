package regalloc

import (
	"math"
	"math/bits"

	"github.com/hawktrace/hawk/internal/order"
)

// A graph is the interference graph: a node per virtual register, an edge
// between two that hold different values at the same time. Machine registers
// are no nodes: what a node must not share with them is a mask.
type graph struct {
	f     *Func
	nodes []node
	edges pairSet
	moves []move
	order []Reg // nodes in the order of removal from the graph
}

// A node is a virtual register in the graph.
type node struct {
	alias  Reg     // the node this one was merged into, itself if none; below Virtual: that machine register
	clash  uint16  // machine registers that are taken where this is live
	adj    []Reg   // neighbours; may name nodes that were merged since
	degree int     // distinct live neighbours
	cost   float64 // of spilling: weighted uses and definitions
	remat  *Instr  // the one definition, if it can be repeated anywhere
	fixed  bool    // made by spilling: must get a register
	seen   bool
	used   bool // occurs in the code
	colour Reg
	moves  []int32 // indices of moves that name it
}

// A move copies one register to another: a reason to give both the same colour.
type move struct {
	dst, src Reg
	weight   float64
}

// build makes the graph. Registers from fixed on were made by spilling; 0
// means none was.
func build(f *Func, fixed Reg) *graph {
	g := &graph{f: f, nodes: make([]node, f.NumRegs), edges: newPairSet(int(f.NumRegs) * 4)}
	for i := range g.nodes {
		n := &g.nodes[i]
		n.alias, n.colour = Reg(i), NoReg
		if fixed > 0 && Reg(i) >= fixed {
			n.fixed = true
		}
	}
	defs := make([]uint8, f.NumRegs)
	for _, b := range f.Blocks {
		for k := range b.Instrs {
			in := &b.Instrs[k]
			if d := in.def(); d >= Virtual {
				n := &g.nodes[d]
				defs[d] = min(defs[d]+1, 2)
				n.used = true
				n.cost += b.Weight
				n.remat = nil
				if defs[d] == 1 && (in.Form == Set || in.Form == Frame) {
					n.remat = in
				}
			}
			in.uses(func(r Reg) {
				if r >= Virtual {
					g.nodes[r].used = true
					g.nodes[r].cost += b.Weight
				}
			})
		}
	}
	// Edges are made at definitions only: two values that are live together were defined one
	// after the other.
	lv := live(f)
	lv.walk(f, func(b *Block, in *Instr, after *liveSet) {
		d := in.def()
		if in.Form == Mov {
			if d != in.Src && in.Src != FP {
				g.addMove(d, in.Src, b.Weight)
			}
		}
		if in.Form == Call {
			for _, r := range after.list {
				if r >= Virtual {
					// r0 to r5 do not survive a call.
					g.nodes[r].clash |= 1<<6 - 1
				}
			}
		}
		if d == NoReg {
			return
		}
		for _, r := range after.list {
			// Both sides of a move hold the same value: no reason to differ.
			if r != d && !(in.Form == Mov && r == in.Src) {
				g.addEdge(d, r)
			}
		}
	})
	for i, p := range f.Precious {
		if p {
			// The factor has these spilled last among those of one depth: a level of loops weighs eight.
			g.nodes[Virtual+Reg(i)].cost *= 16
		}
	}
	for i := range g.nodes {
		if n := &g.nodes[i]; n.remat != nil {
			// To repeat a definition is cheaper than a store and loads.
			n.cost /= 16
		}
	}
	return g
}

// addMove notes a move for coalescing. One between two machine registers is there to stay.
func (g *graph) addMove(d, s Reg, weight float64) {
	if d < Virtual && s < Virtual {
		return
	}
	i := int32(len(g.moves))
	g.moves = append(g.moves, move{d, s, weight})
	for _, r := range [2]Reg{d, s} {
		if r >= Virtual {
			g.nodes[r].moves = append(g.nodes[r].moves, i)
		}
	}
}

// addEdge notes that two registers hold different values at the same time.
func (g *graph) addEdge(a, b Reg) {
	if a < Virtual {
		a, b = b, a
	}
	switch {
	case a < Virtual || a == b:
	case b < Virtual:
		g.nodes[a].clash |= 1 << b
	case g.edges.add(a, b):
		g.nodes[a].adj = append(g.nodes[a].adj, b)
		g.nodes[b].adj = append(g.nodes[b].adj, a)
		g.nodes[a].degree++
		g.nodes[b].degree++
	}
}

// find is the node that a register was merged into, or the machine register.
func (g *graph) find(r Reg) Reg {
	for r >= Virtual && g.nodes[r].alias != r {
		r = g.nodes[r].alias
	}
	return r
}

// hard reports whether n may be left without a colour by its neighbours.
func (n *node) hard() bool { return n.degree+bits.OnesCount16(n.clash) >= colours }

// coalesce merges the two sides of moves, the hottest first, as long as that
// keeps the graph colourable.
func (g *graph) coalesce() {
	todo := make([]int, len(g.moves))
	for i := range todo {
		todo[i] = i
	}
	order.Stably(todo, func(a, b int) int {
		switch {
		case g.moves[a].weight > g.moves[b].weight:
			return -1
		case g.moves[a].weight < g.moves[b].weight:
			return 1
		}
		return 0
	})
	// A merge lowers degrees elsewhere, so that a second look may succeed.
	for merged := true; merged; {
		merged = false
		rest := todo[:0]
		for _, i := range todo {
			a, b := g.find(g.moves[i].dst), g.find(g.moves[i].src)
			if a < Virtual {
				a, b = b, a
			}
			switch {
			case a == b || a < Virtual:
			case b < Virtual && g.nodes[a].clash&(1<<b) != 0, b >= Virtual && g.edges.has(a, b):
			case b < Virtual && g.joinsMachine(a, b):
				g.fix(a, b)
				merged = true
			case b >= Virtual && g.joins(a, b):
				g.merge(a, b)
				merged = true
			default:
				rest = append(rest, i)
			}
		}
		todo = rest
	}
}

// neighbours calls fn for each distinct neighbour of r that is still a node.
func (g *graph) neighbours(r Reg, fn func(Reg)) {
	adj := g.nodes[r].adj
	kept := adj[:0]
	for _, t := range adj {
		t = g.find(t)
		if t < Virtual || t == r || g.nodes[t].seen {
			continue
		}
		g.nodes[t].seen = true
		kept = append(kept, t)
	}
	g.nodes[r].adj = kept
	for _, t := range kept {
		g.nodes[t].seen = false
	}
	for _, t := range kept {
		fn(t)
	}
}

// joinsMachine is George's test: each neighbour of a is easy to colour, or
// keeps away from machine register r already.
func (g *graph) joinsMachine(a, r Reg) bool {
	ok := true
	g.neighbours(a, func(t Reg) {
		n := &g.nodes[t]
		if n.clash&(1<<r) == 0 && n.hard() {
			ok = false
		}
	})
	return ok
}

// joins is Briggs's test: the merged node has fewer hard neighbours than
// there are colours.
func (g *graph) joins(a, b Reg) bool {
	hard := bits.OnesCount16(g.nodes[a].clash | g.nodes[b].clash)
	g.neighbours(a, func(t Reg) {
		n := &g.nodes[t]
		d := n.degree + bits.OnesCount16(n.clash)
		if g.edges.has(t, b) {
			d-- // it will have one neighbour instead of two
		}
		if d >= colours {
			hard++
		}
	})
	g.neighbours(b, func(t Reg) {
		if !g.edges.has(t, a) && g.nodes[t].hard() {
			hard++
		}
	})
	return hard < colours
}

// fix gives node a the machine register r for good.
func (g *graph) fix(a, r Reg) {
	g.neighbours(a, func(t Reg) {
		g.nodes[t].clash |= 1 << r
		g.nodes[t].degree--
	})
	g.nodes[a].alias = r
}

// merge makes b another name of a.
func (g *graph) merge(a, b Reg) {
	x, y := &g.nodes[a], &g.nodes[b]
	g.neighbours(b, func(t Reg) {
		g.nodes[t].degree--
		g.addEdge(a, t)
	})
	y.alias = a
	x.clash |= y.clash
	x.moves = append(x.moves, y.moves...)
	x.cost += y.cost
	x.fixed = x.fixed || y.fixed
	// The merged register has two definitions, of which one may differ from the other.
	x.remat = nil
}

// colour assigns colours and returns the nodes that got none.
func (g *graph) colour() []Reg {
	var easy, rest []Reg
	removed := make([]bool, len(g.nodes))
	queued := make([]bool, len(g.nodes))
	for i := int(Virtual); i < len(g.nodes); i++ {
		n := &g.nodes[i]
		if !n.used || n.alias != Reg(i) {
			continue
		}
		if n.hard() {
			rest = append(rest, Reg(i))
		} else {
			easy, queued[i] = append(easy, Reg(i)), true
		}
	}
	remove := func(r Reg) {
		removed[r] = true
		g.order = append(g.order, r)
		g.neighbours(r, func(t Reg) {
			if removed[t] {
				return
			}
			g.nodes[t].degree--
			if !queued[t] && !g.nodes[t].hard() {
				easy, queued[t] = append(easy, t), true
			}
		})
	}
	for {
		for len(easy) > 0 {
			r := easy[len(easy)-1]
			easy = easy[:len(easy)-1]
			remove(r)
		}
		// Nothing is easy: take out what is cheapest to spill for the room it
		// makes. It may still find a colour in the end.
		best, bestCost := NoReg, math.Inf(1)
		kept := rest[:0]
		for _, r := range rest {
			if removed[r] || queued[r] {
				continue
			}
			kept = append(kept, r)
			n := &g.nodes[r]
			cost := n.cost / float64(n.degree+1)
			if n.fixed {
				// A register that spilling has made lives for one instruction: to spill it again would have
				// no end.
				cost = math.MaxFloat64
			}
			if best == NoReg || cost < bestCost {
				best, bestCost = r, cost
			}
		}
		rest = kept
		if best == NoReg {
			break
		}
		queued[best] = true
		remove(best)
	}
	var spilled []Reg
	// The last one removed comes first: its neighbours that are left were few.
	for i := len(g.order) - 1; i >= 0; i-- {
		r := g.order[i]
		taken := g.nodes[r].clash
		for _, t := range g.nodes[r].adj {
			if t = g.find(t); t >= Virtual && g.nodes[t].colour != NoReg {
				taken |= 1 << g.nodes[t].colour
			}
		}
		c := g.pick(r, taken)
		g.nodes[r].colour = c
		if c == NoReg {
			spilled = append(spilled, r)
		}
	}
	return spilled
}

// preference lists the registers that calls clobber first: those that survive
// are for what needs them.
var preference = [colours]Reg{1, 2, 3, 4, 5, 0, 6, 7, 8, 9}

// pick chooses a colour for r that is not taken: the one of the other side of
// a move if possible, so that the move goes away.
func (g *graph) pick(r Reg, taken uint16) Reg {
	best, weight := NoReg, 0.0
	avoid := uint16(0)
	for _, i := range g.nodes[r].moves {
		m := &g.moves[i]
		other := g.find(m.dst)
		if other == r {
			other = g.find(m.src)
		}
		if other == r {
			continue
		}
		c := other
		if other >= Virtual {
			if c = g.nodes[other].colour; c == NoReg {
				// A colour that the other side cannot have would leave the move in the code.
				avoid |= g.nodes[other].clash
				continue
			}
		}
		if taken&(1<<c) == 0 && m.weight > weight {
			best, weight = c, m.weight
		}
	}
	if best != NoReg {
		return best
	}
	// Second best is a colour that the other side may take later.
	for _, mask := range [2]uint16{taken | avoid, taken} {
		for _, c := range preference {
			if mask&(1<<c) == 0 {
				return c
			}
		}
	}
	return NoReg
}

// rewrite puts machine registers into the code.
func (g *graph) rewrite() {
	reg := func(r Reg) Reg {
		if r < Virtual {
			return r
		}
		if r = g.find(r); r < Virtual {
			return r
		}
		return g.nodes[r].colour
	}
	for _, b := range g.f.Blocks {
		kept := b.Instrs[:0]
		for _, in := range b.Instrs {
			in.Dst, in.Src = reg(in.Dst), reg(in.Src)
			if in.Form != Mov || in.Dst != in.Src {
				kept = append(kept, in)
			}
		}
		b.Instrs = kept
	}
}

// A pairSet is a set of unordered pairs of registers: a hash table with
// linear probing, since the matrix of a large program would not fit a cache.
type pairSet struct {
	slots []uint64 // the pair plus one; 0 is free
	n     int
}

// newPairSet makes a set with room for twice as many pairs as are expected.
func newPairSet(hint int) pairSet {
	size := 64
	for size < hint*2 {
		size *= 2
	}
	return pairSet{slots: make([]uint64, size)}
}

// slot is where a pair is, or would be put.
func (s *pairSet) slot(key uint64) int {
	i := int((key*0x9e3779b97f4a7c15)>>32) & (len(s.slots) - 1)
	for s.slots[i] != 0 && s.slots[i] != key {
		i = (i + 1) & (len(s.slots) - 1)
	}
	return i
}

// pair is a key for two registers in any order; never 0, which is a free slot.
func pair(a, b Reg) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(a)<<32 | uint64(b) + 1
}

// has reports whether a pair is in the set.
func (s *pairSet) has(a, b Reg) bool { return s.slots[s.slot(pair(a, b))] != 0 }

// add reports whether the pair is new.
func (s *pairSet) add(a, b Reg) bool {
	key := pair(a, b)
	i := s.slot(key)
	if s.slots[i] != 0 {
		return false
	}
	s.slots[i] = key
	// At most half is taken: probing is short.
	if s.n++; s.n*2 > len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, len(old)*2)
		for _, k := range old {
			if k != 0 {
				s.slots[s.slot(k)] = k
			}
		}
	}
	return true
}
