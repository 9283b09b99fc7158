package saved

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/view"
)

// Bounds of what the stacks of a file come to: few bytes can stand for many frames.
const (
	maxDepth = 4096      // frames of a stack
	maxText  = 256 << 20 // bytes of the names in all stacks
	maxAll   = 4 << 20   // frames of all stacks
	maxNames = 512 << 10 // functions
)

// These refuse stacks that would take far more memory than the file.
var (
	errLarge = errors.New("its stacks take more than 256 MiB")
	errDeep  = fmt.Errorf("it has a stack of more than %d frames", maxDepth)
	errMany  = fmt.Errorf("its stacks have more than %d frames, or %d functions", maxAll, maxNames)
)

// errSum refuses weights that would turn into others as they are added up.
var errSum = errors.New("its numbers come to more than 64 bits hold")

// stacks are what stacks weigh, as a tree: as texts they would take several times the file, since most of them begin
// alike. Nodes stand depth-first, those of one parent by name, so that how deep one is says where it belongs. The zero
// value has none.
type stacks struct {
	names   []string // of all profiles of the file
	found   *growing // until somebody asks for the order
	name    []int32  // of nodes, in names
	depth   []uint16 // of nodes, from 1
	ends    []int32  // nodes in which stacks end, which may weigh nothing
	weights []int64  // of those stacks
}

// Total is the sum of the weights, which may be more than 64 bits hold.
func (p *Profile) Total() float64 {
	var sum view.Sum
	p.Own(func(_ string, n int64) { sum.Add(n) })
	return sum.Float()
}

// Each calls f with the stacks, by their names: frames, the outermost first, which are valid for the call.
func (p *Profile) Each(f func(stack []string, weight int64)) {
	Both(p, &Profile{}, func(stack []string, n, _ int64) { f(stack, n) })
}

// Own calls f with the innermost function of each stack, and with what the stack weighs.
func (p *Profile) Own(f func(function string, weight int64)) {
	if of := p.stacks.found; of != nil {
		for n, is := range of.ends {
			if is > 0 {
				f(p.stacks.names[of.tree.Name(n)], of.weights[is-1])
			}
		}
		return
	}
	for i, n := range p.stacks.ends {
		f(p.stacks.names[p.stacks.name[n]], p.stacks.weights[i])
	}
}

// Both calls f with the stacks of two profiles, by their names, and what they weigh in each.
func Both(a, b *Profile, f func(stack []string, in, of int64)) {
	var path []string
	Nodes(a, b, func(n *Node) {
		if path = append(path[:n.Depth-1], n.Name); n.End {
			f(path, n.In, n.Of)
		}
	})
}

// A Node is one of the tree that the stacks of two profiles make.
type Node struct {
	Depth  int // from 1
	Name   string
	A, B   int32 // number of the name in each of them; -1: it has no such node
	End    bool  // of a stack
	In, Of int64 // what that weighs in each
}

// Nodes calls f with the nodes of two profiles, depth-first, those of one parent by name. One is valid for the call.
func Nodes(a, b *Profile, f func(*Node)) {
	a.stacks.sort()
	b.stacks.sort()
	left, right := cursor{of: &a.stacks}, cursor{of: &b.stacks}
	var n Node // one for all: f may keep none
	for left.more() || right.more() {
		// Where they are equally deep they have the same parent: what one has below it alone is deeper.
		c := right.deep() - left.deep()
		if c == 0 {
			c = strings.Compare(left.label(), right.label())
		}
		n = Node{A: -1, B: -1}
		if c <= 0 {
			n.Depth, n.Name = left.deep(), left.label()
			n.A, n.In, n.End = left.next()
		}
		if c >= 0 {
			n.Depth, n.Name = right.deep(), right.label()
			end := false
			n.B, n.Of, end = right.next()
			n.End = n.End || end
		}
		f(&n)
	}
}

// A cursor is at a node of a tree, and at the first of the stacks that end there or behind.
type cursor struct {
	of       *stacks
	node, at int
}

func (c *cursor) more() bool { return c.node < len(c.of.name) }

// deep is how deep the node is, 0 behind the last.
func (c *cursor) deep() int {
	if !c.more() {
		return 0
	}
	return int(c.of.depth[c.node])
}

func (c *cursor) label() string { return c.of.names[c.of.name[c.node]] }

// next is the number of the node's name, and what the stack weighs that ends there if one does.
// The node after it is the next.
func (c *cursor) next() (name int32, weight int64, end bool) {
	if c.at < len(c.of.ends) && int(c.of.ends[c.at]) == c.node {
		weight, end = c.of.weights[c.at], true
		c.at++
	}
	name = c.of.name[c.node]
	c.node++
	return name, weight, end
}

// A gatherer puts stacks into the profiles of a file as long as there are not too many: each frame takes tens of bytes
// where it is shown.
type gatherer struct {
	frames, text int
	numbers      map[string]int32 // of names, which all profiles share
	names        []string
	growing      map[*Profile]*growing
}

// growing are the stacks of a profile while more are found.
type growing struct {
	tree    view.Trie // without weights
	grow    *view.Grower
	ends    []int32 // by node: the number of the stack that ends there, from 1; 0: none
	weights []int64 // of stacks
}

// newGatherer makes one for all profiles of a file.
func newGatherer() *gatherer {
	return &gatherer{numbers: map[string]int32{}, growing: map[*Profile]*growing{}}
}

// number is that of a name, as a line of text: what looks the same is one.
func (g *gatherer) number(name string) (int32, error) {
	n, known := g.numbers[name]
	if known {
		return n, nil
	}
	line := view.Line(name)
	if n, known = g.numbers[line]; !known {
		if n = int32(len(g.names)); n == maxNames {
			return 0, errMany
		}
		// The text that it is from goes.
		line = strings.Clone(line)
		g.numbers[line], g.names = n, append(g.names, line)
	}
	return n, nil
}

// node is where a stack ends, which is one of the profile from now on. It may weigh nothing.
func (g *gatherer) node(p *Profile, stack []string) (at int32, err error) {
	if len(stack) > maxDepth {
		return 0, errDeep
	}
	of := g.growing[p]
	if of == nil {
		of = &growing{}
		of.grow = of.tree.Grow()
		g.growing[p] = of
	}
	// A stack without frames becomes one without a name: none ends at the root.
	if len(stack) == 0 {
		stack = []string{""}
	}
	size := 0
	for _, name := range stack {
		n, err := g.number(name)
		if err != nil {
			return 0, err
		}
		at = of.grow.Next(at, n)
		size += len(name) + 1
	}
	if more := int(at) + 1 - len(of.ends); more > 0 {
		of.ends = append(of.ends, make([]int32, more)...)
	}
	// One that is known takes no more room.
	if of.ends[at] == 0 {
		of.weights = append(of.weights, 0)
		of.ends[at] = int32(len(of.weights))
		if g.frames += len(stack); g.frames > maxAll {
			return 0, errMany
		}
		if g.text += size; g.text > maxText {
			return 0, errLarge
		}
	}
	return at, nil
}

// add adds weight to a stack.
func (g *gatherer) add(p *Profile, stack []string, n int64) error {
	at, err := g.node(p, stack)
	if err != nil {
		return err
	}
	return g.weigh(p, at, n)
}

// weight is that of the stack that ends at a node.
func (g *gatherer) weight(p *Profile, node int32) *int64 {
	of := g.growing[p]
	return &of.weights[of.ends[node]-1]
}

// weigh adds weight to the stack that ends at a node.
func (g *gatherer) weigh(p *Profile, node int32, n int64) error {
	to := g.weight(p, node)
	// A sum that is on the wrong side of what it was has overflown.
	if sum := *to + n; (sum < *to) != (n < 0) {
		return errSum
	}
	*to += n
	return nil
}

// done has the profiles know their stacks.
func (g *gatherer) done() {
	for p, of := range g.growing {
		of.grow = nil // its table is as large as the tree
		p.stacks = stacks{names: g.names, found: of}
	}
}

// sort brings the nodes into order, if they are not.
func (s *stacks) sort() {
	of := s.found
	if of == nil {
		return
	}
	s.found = nil
	// Texts are compared once for each name, not for each node.
	sorted := make([]int32, len(s.names))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int { return cmp.Compare(s.names[a], s.names[b]) })
	rank := make([]int32, len(s.names))
	for i, n := range sorted {
		rank[n] = int32(i)
	}
	t := &of.tree
	// Nodes by name: laid out by parent in this order, those of one parent are sorted.
	nodes := grouped(t.Len()-1, len(rank), func(n int) int { return int(rank[t.Name(n+1)]) })
	children := grouped(t.Len()-1, t.Len(), func(n int) int { return t.Parent(int(nodes.list[n]) + 1) })
	for i, n := range children.list {
		children.list[i] = nodes.list[n] + 1
	}
	// The room of the former is that of the result.
	s.name, s.depth = nodes.list[:0], make([]uint16, 0, t.Len()-1)
	// A list is what is left of the children of a node on the way.
	left := [][]int32{children.of(0)}
	for len(left) > 0 {
		last := &left[len(left)-1]
		if len(*last) == 0 {
			left = left[:len(left)-1]
			continue
		}
		n := (*last)[0]
		*last = (*last)[1:]
		if int(n) < len(of.ends) && of.ends[n] > 0 {
			s.ends = append(s.ends, int32(len(s.name)))
			s.weights = append(s.weights, of.weights[of.ends[n]-1])
		}
		s.name, s.depth = append(s.name, int32(t.Name(int(n)))), append(s.depth, uint16(len(left)))
		left = append(left, children.of(int(n)))
	}
}

// groups are numbers by what they belong to.
type groups struct {
	list []int32
	from []int32 // where those of each begin, and where the last end
}

// grouped puts n numbers from 0 on into groups, in each of which they keep their order.
func grouped(n, of int, to func(n int) int) groups {
	g := groups{make([]int32, n), make([]int32, of+1)}
	for i := range n {
		g.from[to(i)+1]++
	}
	for i := range of {
		g.from[i+1] += g.from[i]
	}
	// While they are filled in, from is where the next one goes.
	for i := range n {
		at := &g.from[to(i)]
		g.list[*at] = int32(i)
		*at++
	}
	copy(g.from[1:], g.from)
	g.from[0] = 0
	return g
}

func (g *groups) of(n int) []int32 { return g.list[g.from[n]:g.from[n+1]] }
