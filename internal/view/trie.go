package view

import (
	"cmp"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
)

// A Trie is a profile as a tree: stacks that begin alike share nodes. Nodes are numbers, the root 0, each behind its
// parent. What is known of them is in lists beside each other: of stacks that have little in common there are millions.
type Trie struct {
	Names []string // of frames, each once
	Kinds []FrameKind
	Types []SampleType
	// Primary is the one of Types that pictures show first.
	Primary int

	parent, name []int32   // the latter in Names; -1 of the root
	self         [][]int64 // by Types

	// These are made when they are first asked for.
	total    []int64 // the primary weight
	children []int32 // of all nodes, those of one together
	from     []int32 // where those of a node begin, and where the last end
}

// NewTrie makes a tree of a profile; name is what makes two frames one.
func NewTrie(p *Profile, name func(*FrameAt) string) *Trie {
	t := &Trie{Types: p.Types, Primary: p.Primary}
	grow := t.Grow()
	names := labels{hash: NewHasher()}
	var path []FrameAt
	p.Each(func(s *Sample) {
		at := int32(0)
		path = s.AppendPath(path[:0])
		for k := range path {
			at = grow.Next(at, int32(names.number(name(&path[k]), path[k].Kind)))
		}
		for k, v := range s.Values {
			t.self[k][at] = Plus(t.self[k][at], v)
		}
	})
	t.Names, t.Kinds = names.names, names.kinds
	return t
}

// Labels are the names of frames, each once, with the kinds of frame that they are of.
type labels struct {
	hash    Hasher
	numbers Index
	names   []string
	kinds   []FrameKind
}

// number is that of a name.
func (l *labels) number(name string, kind FrameKind) int {
	n, known := l.numbers.Number(l.hash.Of(name, int(kind)), func(n int) bool {
		return l.kinds[n] == kind && l.names[n] == name
	})
	if !known {
		l.names, l.kinds = append(l.names, name), append(l.kinds, kind)
	}
	return n
}

// A Grower adds nodes to a tree. It finds them by parent and name: a table of their numbers with some room, 0 where it
// is free.
type Grower struct {
	of    *Trie
	table []int32
}

// Grow begins a tree: it has a root, and weights of Types. Names are the caller's, who knows their numbers.
func (t *Trie) Grow() *Grower {
	t.parent, t.name, t.self = []int32{-1}, []int32{-1}, make([][]int64, len(t.Types))
	for k := range t.self {
		t.self[k] = []int64{0}
	}
	return &Grower{of: t, table: make([]int32, 64)}
}

// Next is the child of a node that has a name, which is made if there is none.
func (e *Grower) Next(parent, name int32) int32 {
	t := e.of
	at := e.find(parent, name)
	if n := e.table[at]; n > 0 {
		return n
	}
	n := int32(len(t.parent))
	t.parent, t.name = append(t.parent, parent), append(t.name, name)
	for k := range t.self {
		t.self[k] = append(t.self[k], 0)
	}
	e.table[at] = n
	if 4*len(t.parent) > 3*len(e.table) {
		e.table = make([]int32, 2*len(e.table))
		for n := int32(1); int(n) < len(t.parent); n++ {
			e.table[e.find(t.parent[n], t.name[n])] = n
		}
	}
	return n
}

// find is where a node is in the table, or would be.
func (e *Grower) find(parent, name int32) int {
	// The halves of a product have little to do with each other: the upper one is spread evenly.
	h := (uint64(uint32(parent))<<32 | uint64(uint32(name))) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	for at := int(h>>32) & (len(e.table) - 1); ; at = (at + 1) & (len(e.table) - 1) {
		n := e.table[at]
		if n == 0 || e.of.parent[n] == parent && e.of.name[n] == name {
			return at
		}
	}
}

// Len is how many nodes there are, with the root.
func (t *Trie) Len() int { return len(t.parent) }

// Parent is the node above, -1 of the root.
func (t *Trie) Parent(n int) int { return int(t.parent[n]) }

// Name is the number of a node's name, -1 of the root.
func (t *Trie) Name(n int) int { return int(t.name[n]) }

// Depth is how far a node is from the root.
func (t *Trie) Depth(n int) (depth int) {
	for ; n > 0; n = int(t.parent[n]) {
		depth++
	}
	return depth
}

// Self is what a node weighs without those below it, by the number of a type.
func (t *Trie) Self(n, of int) int64 { return t.self[of][n] }

// Total is the primary weight of a node with all below it.
func (t *Trie) Total(n int) int64 {
	if t.total == nil {
		t.total = make([]int64, t.Len())
		for i := t.Len() - 1; i >= 0; i-- {
			if t.total[i] = Plus(t.total[i], t.self[t.Primary][i]); i > 0 {
				above := &t.total[t.parent[i]]
				*above = Plus(*above, t.total[i])
			}
		}
	}
	return t.total[n]
}

// Children are the nodes below one, the heaviest first.
func (t *Trie) Children(n int) []int32 {
	if t.from == nil {
		t.link()
	}
	return t.children[t.from[n]:t.from[n+1]]
}

// link finds the children of all nodes.
func (t *Trie) link() {
	t.Total(0)
	t.from = make([]int32, t.Len()+1)
	for _, up := range t.parent[1:] {
		t.from[up+1]++
	}
	for i := range t.Len() {
		t.from[i+1] += t.from[i]
	}
	// While they are filled in, from is where the next one goes.
	t.children = make([]int32, t.Len()-1)
	for i, up := range t.parent[1:] {
		t.children[t.from[up]] = int32(i + 1)
		t.from[up]++
	}
	copy(t.from[1:], t.from)
	t.from[0] = 0
	for i := range t.Len() {
		if below := t.children[t.from[i]:t.from[i+1]]; len(below) > 1 {
			order.By(below, func(a, b int32) int {
				x, y := t.name[a], t.name[b]
				return cmp.Or(cmp.Compare(t.total[b], t.total[a]), cmp.Compare(t.Names[x], t.Names[y]),
					cmp.Compare(t.Kinds[x], t.Kinds[y]))
			})
		}
	}
}

// Label is the text of a node.
func (t *Trie) Label(n int) string {
	if n == 0 {
		return "all"
	}
	return t.Names[t.name[n]]
}

// Kind is where a node's frame is from.
func (t *Trie) Kind(n int) FrameKind {
	if n == 0 {
		return LabelFrame
	}
	return t.Kinds[t.name[n]]
}

// Unqualified is a function's name without the path of its package or file, for boxes that are too narrow for all of
// it: names of Go are alike in their first half. Slashes of types, and of what is no name, are no part of a path.
func Unqualified(name string) string {
	end := strings.IndexAny(name, "([{<> ")
	if end < 0 {
		end = len(name)
	}
	// An operator of C++ ends in the slash.
	return name[strings.LastIndexByte(name[:max(end-1, 0)], '/')+1:]
}
