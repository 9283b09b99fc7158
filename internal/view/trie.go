package view

import (
	"cmp"
	"strings"

	"github.com/hawktrace/hawk/internal/order"
)

// A Trie is a profile as a tree: stacks that begin alike share nodes.
type Trie struct {
	Names []string // of frames, each once
	Kinds []FrameKind
	Nodes []Node // the root first; each behind its parent
	Types []SampleType
	// Primary is the one of Types that pictures show first.
	Primary int
}

// A Node is a frame with what is below it.
type Node struct {
	Parent      int // -1 of the root
	Name        int // in Trie.Names; -1 of the root
	Depth       int // 0 of the root
	Self, Total []int64
	Children    []int // the heaviest first
}

// NewTrie makes a tree of a profile; name is what makes two frames one.
func NewTrie(p *Profile, name func(*FrameAt) string) *Trie {
	t := &Trie{Types: p.Types, Primary: p.Primary}
	type label struct {
		name string
		kind FrameKind
	}
	type edge struct{ parent, name int }
	names, edges := map[label]int{}, map[edge]int{}
	node := func(parent, name, depth int) int {
		t.Nodes = append(t.Nodes, Node{Parent: parent, Name: name, Depth: depth,
			Self: make([]int64, len(p.Types)), Total: make([]int64, len(p.Types))})
		return len(t.Nodes) - 1
	}
	node(-1, -1, 0)
	for i := range p.Samples {
		s := &p.Samples[i]
		at := 0
		path := s.Path()
		for k := range path {
			l := label{name(&path[k]), path[k].Kind}
			n, ok := names[l]
			if !ok {
				n = len(t.Names)
				names[l], t.Names, t.Kinds = n, append(t.Names, l.name), append(t.Kinds, l.kind)
			}
			next, ok := edges[edge{at, n}]
			if !ok {
				next = node(at, n, k+1)
				edges[edge{at, n}] = next
			}
			at = next
		}
		self := t.Nodes[at].Self
		for k, v := range s.Values {
			self[k] = Plus(self[k], v)
		}
	}
	for i := len(t.Nodes) - 1; i >= 0; i-- {
		n := &t.Nodes[i]
		for k := range n.Self {
			n.Total[k] = Plus(n.Total[k], n.Self[k])
			if i > 0 {
				above := t.Nodes[n.Parent].Total
				above[k] = Plus(above[k], n.Total[k])
			}
		}
		if i > 0 {
			t.Nodes[n.Parent].Children = append(t.Nodes[n.Parent].Children, i)
		}
	}
	for i := range t.Nodes {
		order.By(t.Nodes[i].Children, func(a, b int) int {
			x, y := &t.Nodes[a], &t.Nodes[b]
			return cmp.Or(cmp.Compare(y.Total[t.Primary], x.Total[t.Primary]),
				cmp.Compare(t.Names[x.Name], t.Names[y.Name]), cmp.Compare(t.Kinds[x.Name], t.Kinds[y.Name]))
		})
	}
	return t
}

// Label is the text of a node.
func (t *Trie) Label(n *Node) string {
	if n.Name < 0 {
		return "all"
	}
	return t.Names[n.Name]
}

// Kind is where a node's frame is from.
func (t *Trie) Kind(n *Node) FrameKind {
	if n.Name < 0 {
		return LabelFrame
	}
	return t.Kinds[n.Name]
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
