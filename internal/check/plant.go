package check

import (
	"slices"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
)

// later stands among what a value waits for when that is no slot: a comptime
// condition without a value, a map of which it is not known whether it has
// keys.
var later = &slot{}

// open reports whether a slot has no type and may be given one to start from.
func (s *slot) open() bool { return s.cur.Type == nil && s.seed == nil && !s.fixed && !s.broken }

// plant gives slots without a type something to start from, once nothing else
// is to be found out: first those that are defined by themselves only, as in
// @n++, then declared variables and maps that nothing is stored to, and then whatever
// is left. What depends on the ones planted is not planted with them: the type of
// (@n, 1) comes from @n.
// It yields false when everything has a type, or an error that explains why not.
func (c *checker) plant() bool {
	for _, m := range c.maps {
		if m.read && !m.stored {
			m.value.fallback = types.Int8
		}
	}
	var open []*slot
	c.slots(func(s *slot) {
		if s.open() {
			open = append(open, s)
		}
	})
	planted := false
	seed := func(s *slot, t types.Type) {
		s.seed, planted = t, true
		s.next = s.planted()
	}
	for _, s := range selfDefined(open) {
		seed(s, types.Int8)
	}
	if planted {
		return true
	}
	for _, s := range open {
		if len(s.waits) == 0 && s.fallback != nil {
			seed(s, s.fallback)
		}
	}
	if planted {
		return true
	}
	for _, s := range open {
		if len(s.waits) > 0 {
			seed(s, types.Int8)
		}
	}
	return planted
}

// selfDefined finds the slots that wait for each other, or for themselves, and
// for nothing else: strongly connected components that no edge leaves, by
// Tarjan's algorithm.
// @n = @m + 1; @m = @n is one component of two. Planting one of them would leave the other to
// inference.
func selfDefined(open []*slot) []*slot {
	f := &componentFinder{number: map[*slot]int{}, low: map[*slot]int{}, of: map[*slot]int{}}
	for _, s := range open {
		if f.number[s] == 0 {
			f.visit(s)
		}
	}
	var out []*slot
	for i, members := range f.components {
		cyclic, closed := len(members) > 1, true
		for _, s := range members {
			for _, t := range s.waits {
				switch {
				case t.cur.Type != nil: // no more
				case t == s:
					cyclic = true
				case f.of[t] != i+1:
					closed = false
				}
			}
		}
		if cyclic && closed {
			out = append(out, order.Without(members, func(s *slot) bool { return !s.open() })...)
		}
	}
	return out
}

// f.number and f.low are index and lowlink of the algorithm (R. Tarjan, Depth-first search and
// linear graph algorithms, 1972).
type componentFinder struct {
	number, low map[*slot]int // in order of discovery, from 1
	of          map[*slot]int // component, from 1; 0: still on the stack
	stack       []*slot
	components  [][]*slot
}

// visit walks from a slot to those that it waits for; it recurses as deep as the longest chain of
// variables.
func (f *componentFinder) visit(s *slot) {
	f.number[s] = len(f.number) + 1
	f.low[s] = f.number[s]
	f.stack = append(f.stack, s)
	for _, t := range s.waits {
		if t.cur.Type != nil {
			continue
		}
		if f.number[t] == 0 {
			f.visit(t)
			f.low[s] = min(f.low[s], f.low[t])
		} else if f.of[t] == 0 {
			f.low[s] = min(f.low[s], f.number[t])
		}
	}
	if f.low[s] < f.number[s] {
		return
	}
	i := slices.Index(f.stack, s)
	members := slices.Clone(f.stack[i:])
	f.stack = f.stack[:i]
	f.components = append(f.components, members)
	for _, m := range members {
		f.of[m] = len(f.components)
	}
}
