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
// alike. The zero value has none.
type stacks struct {
	tree    view.Trie // without weights; its names are those of all profiles of the file
	weights []int64   // of nodes, up to the last that ends a stack
	ends    []bool    // whether one ends there: it may weigh nothing
	sorted  []int32   // children of all nodes, those of one together, by name
	from    []int32   // where those of a node begin, and where the last end
}

// weigh adds weight to the stack that ends at a node.
func (s *stacks) weigh(node int32, n int64) error {
	was := s.weights[node]
	// A sum that is on the wrong side of what it was has overflown.
	if sum := was + n; (sum < was) != (n < 0) {
		return errSum
	}
	s.weights[node] = was + n
	return nil
}

// end has a stack end at a node, and says whether none did before.
func (s *stacks) end(node int32) bool {
	if more := int(node) + 1 - len(s.ends); more > 0 {
		s.weights = append(s.weights, make([]int64, more)...)
		s.ends = append(s.ends, make([]bool, more)...)
	}
	first := !s.ends[node]
	s.ends[node] = true
	return first
}

// at is what a stack weighs, and whether there is one that ends at the node; -1 is none.
func (s *stacks) at(node int32) (int64, bool) {
	if node < 0 || int(node) >= len(s.ends) {
		return 0, false
	}
	return s.weights[node], s.ends[node]
}

// below are the children of a node by name, none of -1.
func (s *stacks) below(node int32) []int32 {
	if node < 0 || s.tree.Len() == 0 {
		return nil
	}
	if s.from == nil {
		s.link()
	}
	return s.sorted[s.from[node]:s.from[node+1]]
}

// link finds the children of all nodes.
func (s *stacks) link() {
	t := &s.tree
	s.from, s.sorted = make([]int32, t.Len()+1), make([]int32, t.Len()-1)
	for n := 1; n < t.Len(); n++ {
		s.from[t.Parent(n)+1]++
	}
	for n := range t.Len() {
		s.from[n+1] += s.from[n]
	}
	// While they are filled in, from is where the next one goes.
	for n := 1; n < t.Len(); n++ {
		at := &s.from[t.Parent(n)]
		s.sorted[*at] = int32(n)
		*at++
	}
	copy(s.from[1:], s.from)
	s.from[0] = 0
	for n := range t.Len() {
		slices.SortFunc(s.sorted[s.from[n]:s.from[n+1]], func(a, b int32) int {
			return cmp.Compare(t.Label(int(a)), t.Label(int(b)))
		})
	}
}

// Each calls f with the stacks, by their names: frames, the outermost first, which are valid for the call.
func (p *Profile) Each(f func(stack []string, weight int64)) {
	Both(p, &Profile{}, func(stack []string, n, _ int64) { f(stack, n) })
}

// Own calls f with the innermost function of each stack, and with what the stack weighs.
func (p *Profile) Own(f func(function string, weight int64)) {
	for n, is := range p.stacks.ends {
		if is {
			f(p.stacks.tree.Label(n), p.stacks.weights[n])
		}
	}
}

// Both calls f with the stacks of two profiles, by their names, and what they weigh in each.
func Both(a, b *Profile, f func(stack []string, in, of int64)) {
	w := walk{a: &a.stacks, b: &b.stacks, f: f}
	w.down(0, 0)
}

// A walk goes through two trees at a time.
type walk struct {
	a, b *stacks
	path []string
	f    func([]string, int64, int64)
}

// down is for a node of each that have the same stack; -1 is none.
func (w *walk) down(a, b int32) {
	n, one := w.a.at(a)
	m, other := w.b.at(b)
	if one || other {
		w.f(w.path, n, m)
	}
	left, right := w.a.below(a), w.b.below(b)
	for len(left) > 0 || len(right) > 0 {
		to, also, c := int32(-1), int32(-1), len(right)-len(left)
		if len(left) > 0 && len(right) > 0 {
			c = strings.Compare(w.a.tree.Label(int(left[0])), w.b.tree.Label(int(right[0])))
		}
		name := ""
		if len(left) > 0 && c <= 0 {
			to, left, name = left[0], left[1:], w.a.tree.Label(int(left[0]))
		}
		if len(right) > 0 && c >= 0 {
			also, right, name = right[0], right[1:], w.b.tree.Label(int(right[0]))
		}
		w.path = append(w.path, name)
		w.down(to, also)
		w.path = w.path[:len(w.path)-1]
	}
}

// A gatherer puts stacks into the profiles of a file as long as there are not too many: each frame takes tens of bytes
// where it is shown.
type gatherer struct {
	frames, text int
	numbers      map[string]int32 // of names, which all profiles share
	names        []string
	grow         map[*Profile]*view.Grower
}

// newGatherer makes one for all profiles of a file.
func newGatherer() *gatherer {
	return &gatherer{numbers: map[string]int32{}, grow: map[*Profile]*view.Grower{}}
}

// node is where a stack ends, which is one of the profile from now on. It may weigh nothing.
func (g *gatherer) node(p *Profile, stack []string) (at int32, err error) {
	if len(stack) > maxDepth {
		return 0, errDeep
	}
	grow := g.grow[p]
	if grow == nil {
		grow = p.stacks.tree.Grow()
		g.grow[p] = grow
	}
	// A stack without frames becomes one without a name: none ends at the root.
	if len(stack) == 0 {
		stack = []string{""}
	}
	size := 0
	for _, name := range stack {
		n, known := g.numbers[name]
		if !known {
			if n = int32(len(g.names)); n == maxNames {
				return 0, errMany
			}
			// The text that it is from goes.
			name = strings.Clone(name)
			g.numbers[name], g.names = n, append(g.names, name)
		}
		at = grow.Next(at, n)
		size += len(name) + 1
	}
	// One that is known takes no more room.
	if p.stacks.end(at) {
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
	return p.stacks.weigh(at, n)
}

// done has the profiles know the names.
func (g *gatherer) done() {
	for p := range g.grow {
		p.stacks.tree.Names = g.names
	}
}
