package output

import (
	"slices"
	"sort"

	"github.com/hawktrace/hawk/internal/value"
)

// A Cycle is a way along edges that comes back to where it began; the last edge leads to
// the first node.
type Cycle struct {
	Nodes []value.Value
	Edges []value.Value // what the map has for the edge that leaves a node
}

// Bounds of the search for cycles.
// A graph of locks that hits one of them has other problems; the run must not hang for it.
const (
	maxCycleNodes = 10
	maxEdges      = 100_000
	maxCycleSteps = 1_000_000
)

// A graph has numbers for nodes, in the order of their values. in has for each node those that lead
// to it.
type graph struct {
	nodes []value.Value
	out   [][]edge // of each node, ascending by where they lead
	in    [][]int

	steps int // edges that have been followed
}

// An edge leads to a node.
type edge struct {
	to    int
	apart []string // what it shares with no edge of a cycle
	value value.Value
}

// FindCycles returns the elementary cycles of a graph, the shortest first, at most so many of them.
// The entries are edges: the first two parts of their keys are nodes. It reports whether it gave up
// before it had seen all of the graph. For each length, and each node as the smallest of its cycle,
// all ways of that length are tried that can still come back (distances): a cycle is so found once,
// and short ones, which are the likelier deadlocks, before the long.
func FindCycles(entries Entries, most int) (found []Cycle, stopped bool) {
	g := newGraph(entries)
	g.peel()
	stopped = entries.Len() > maxEdges
	seen := map[string]bool{}
	for length := 1; length <= maxCycleNodes; length++ {
		for first := range g.nodes {
			if len(g.out[first]) == 0 {
				continue
			}
			s := search{graph: g, first: first, length: length, left: g.distances(first, length)}
			s.found = func(path []int, edges []*edge) bool {
				c := Cycle{}
				var key []byte
				for i, n := range path {
					c.Nodes, c.Edges = append(c.Nodes, g.nodes[n]), append(c.Edges, edges[i].value)
					key = append(key, byte(n), byte(n>>8), byte(n>>16))
				}
				if !seen[string(key)] {
					seen[string(key)] = true
					found = append(found, c)
				}
				return len(found) < most
			}
			if !s.from(first) {
				return found, stopped || len(found) < most
			}
		}
	}
	return found, stopped
}

// newGraph numbers nodes in the order of their values, so that the same map yields the same output.
func newGraph(entries Entries) *graph {
	g := &graph{}
	var list []Entry
	for i := range min(entries.Len(), maxEdges) {
		if e := entries.At(i); len(keyParts(e.Key)) >= 2 {
			list = append(list, e)
			g.nodes = append(g.nodes, keyParts(e.Key)[:2]...)
		}
	}
	// In package slices each of these would be code of its own.
	sort.Slice(g.nodes, func(i, k int) bool { return value.Compare(g.nodes[i], g.nodes[k]) < 0 })
	sort.Slice(list, func(i, k int) bool { return value.Compare(list[i].Key, list[k].Key) < 0 })
	n := 0
	for i, v := range g.nodes {
		if i == 0 || value.Compare(v, g.nodes[n-1]) != 0 {
			g.nodes[n] = v
			n++
		}
	}
	g.nodes = g.nodes[:n]
	number := func(v value.Value) int {
		return sort.Search(n, func(i int) bool { return value.Compare(g.nodes[i], v) >= 0 })
	}
	g.out, g.in = make([][]edge, n), make([][]int, n)
	for _, e := range list {
		parts := keyParts(e.Key)
		from, to := number(parts[0]), number(parts[1])
		out := edge{to: to, value: e.Value}
		for _, part := range parts[2:] {
			// 0 is said of an edge that shares nothing with others.
			if text := string(value.AppendText(nil, part)); text != "0" && text != "0x0" {
				out.apart = append(out.apart, text)
			}
		}
		g.out[from] = append(g.out[from], out)
		g.in[to] = append(g.in[to], from)
	}
	return g
}

// peel takes off what no cycle goes through: nodes that no edge leads to, or none away from.
// Most edges of a real graph of locks go away here, and the search is for the rest.
func (g *graph) peel() {
	inward, outward := make([]int, len(g.nodes)), make([]int, len(g.nodes))
	gone := make([]bool, len(g.nodes))
	var loose []int
	for n := range g.nodes {
		if inward[n], outward[n] = len(g.in[n]), len(g.out[n]); inward[n] == 0 || outward[n] == 0 {
			loose = append(loose, n)
		}
	}
	for len(loose) > 0 {
		n := loose[len(loose)-1]
		loose = loose[:len(loose)-1]
		if gone[n] {
			continue
		}
		gone[n] = true
		for _, e := range g.out[n] {
			if inward[e.to]--; inward[e.to] == 0 {
				loose = append(loose, e.to)
			}
		}
		for _, from := range g.in[n] {
			if outward[from]--; outward[from] == 0 {
				loose = append(loose, from)
			}
		}
	}
	for n := range g.nodes {
		if gone[n] {
			g.out[n], g.in[n] = nil, nil
		}
	}
}

// distances are how many edges lead from nodes to the given one, by nodes behind it only. What
// is farther away than the limit is not among them.
func (g *graph) distances(to, limit int) map[int]int {
	far := map[int]int{to: 0}
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if far[n] == limit-1 || g.steps > maxCycleSteps {
			break
		}
		for _, from := range g.in[n] {
			g.steps++
			if _, known := far[from]; !known && from > to {
				far[from] = far[n] + 1
				queue = append(queue, from)
			}
		}
	}
	return far
}

// A search goes all ways of one length that begin at a node and come back to it, by nodes behind it.
// Nodes before the first are left out: cycles through them were found when they were the first.
type search struct {
	*graph
	first, length int
	left          map[int]int // how many edges it is back at least
	path          []int
	edges         []*edge
	found         func(path []int, edges []*edge) bool
}

// from goes on at a node. It reports whether there is more to be found.
// It recurses maxCycleNodes deep at most.
func (s *search) from(n int) bool {
	s.path = append(s.path, n)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	for i := range s.out[n] {
		e := &s.out[n][i]
		if s.steps++; s.steps > maxCycleSteps {
			return false
		}
		back, near := s.left[e.to]
		closes := e.to == s.first && len(s.path) == s.length
		onward := near && e.to != s.first && len(s.path)+back <= s.length && !slices.Contains(s.path, e.to)
		if !closes && !onward || s.shared(e) {
			continue
		}
		s.edges = append(s.edges, e)
		more := false
		if closes {
			more = s.found(s.path, s.edges)
		} else {
			more = s.from(e.to)
		}
		s.edges = s.edges[:len(s.edges)-1]
		if closes || !more {
			return more // another edge that closes would find the same nodes
		}
	}
	return true
}

// shared reports whether an edge cannot be in a cycle with those on the way.
// Two locks taken under a third one can never be in a deadlock.
func (s *search) shared(e *edge) bool {
	for _, other := range s.edges {
		if e.shares(other) {
			return true
		}
	}
	return false
}

// shares reports whether two edges have a part in common that sets them apart.
func (e *edge) shares(other *edge) bool {
	for _, a := range e.apart {
		if slices.Contains(other.apart, a) {
			return true
		}
	}
	return false
}
