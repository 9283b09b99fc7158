// Package check gives every expression of an expanded script its type and
// reports what the language forbids.
//
// Types are inferred over the whole program: a later store widens a map for an
// earlier read. The program is walked again and again, each walk computing the
// types of expressions from what the walk before found out about variables and
// maps, until a walk finds nothing new. Only then a last walk reports errors
// and fills the tables, so that no message speaks of a preliminary type.
package check

import (
	"slices"
	"sort"

	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// Walks until joins stop being recomputed and only widen, and until the checker gives up, where
// one more is granted for each slot: a script needs as many as its longest chain of variables and
// maps defined by later ones is long.
const (
	widenAfter = 20
	giveUp     = 200
)

// A checker is the state of a check: the script is walked again until types do not change any more,
// and once more for good.
type checker struct {
	// Diagnostics of the last walk; those of others are dropped (see errorf).
	script *expand.Script
	ds     source.Diagnostics
	// By name, with the @: maps belong to the whole script.
	maps  map[string]*mapState
	walks []*walker // functions, then copies of probes
	// The last walk: types are settled, errors count and tables are filled.
	final bool

	unstableUses map[string]bool   // features that a warning was given for
	near         map[string]string // builtins that unknown names resemble
	dropped      source.Diagnostic // messages of walks before the last

	undecided bool // a comptime condition has no value yet
	deciding  bool // conditions that have a value are decided in this walk
	decided   bool // one was
	tooMany   bool // the limit of programs was told
}

// Check type-checks a script. The program is of use only if there are no errors. The tables may be
// incomplete where an error was reported, and a later stage must not see them.
// Messages stand in the order of functions and probes, and for maps behind them.
func Check(s *expand.Script) (*Program, *source.Diagnostics) {
	c := &checker{script: s, maps: map[string]*mapState{}, near: map[string]string{}}
	c.declareMaps()
	for _, f := range s.Fns {
		c.walks = append(c.walks, c.function(f))
	}
	for _, p := range s.Probes {
		c.copies(p)
	}
	c.settle()
	c.final = true
	for _, m := range c.maps {
		m.startFinal()
	}
	prog := &Program{Config: s.Config, Declared: c.declared()}
	for _, w := range c.walks {
		w.walk()
		if !w.alone {
			prog.Probes = append(prog.Probes, w.probe)
		}
	}
	prog.Maps = c.finishMaps()
	// A type that is missing although nothing was reported would reach lower, which takes types for
	// granted.
	if !c.ds.HasErrors() && !s.Incomplete && !s.Lacking {
		c.findUnknown(prog)
	}
	return prog, &c.ds
}

// declared is each option once, of all places that name it.
func (c *checker) declared() (out []*object.Option) {
	for _, o := range c.script.Declared {
		same := func(old *object.Option) bool { return old.Name == o.Name }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Merge(o, &c.ds)
		} else {
			out = append(out, o)
		}
	}
	return out
}

// infer walks until nothing changes. Maps and variables that then still have no type are defined by
// themselves only, as in @n++, and start as int8.
//
// In early rounds the type of a slot is computed anew, so that one which a first guess made too
// wide becomes narrow again. After widenAfter rounds types only grow, so that the rounds end.
// Widening alone would not do: a first guess of int64 for @n would stay, where int8 is right.
func (c *checker) infer() {
	slots := 0
	for round := 1; round < giveUp+slots; round++ {
		for _, w := range c.walks {
			w.walk()
		}
		changed := false
		slots = 0
		c.slots(func(s *slot) {
			changed = s.advance(round > widenAfter) || changed
			slots++
		})
		if changed {
			continue
		}
		if !c.plant() {
			return
		}
	}
	c.ds.Errorf("inference", source.Span{}, "the types of this script do not settle")
}

// slots calls f for the slot of each map, key and variable.
// The order does not matter to any caller.
func (c *checker) slots(f func(*slot)) {
	for _, m := range c.maps {
		f(&m.key)
		f(&m.value)
	}
	for _, w := range c.walks {
		for _, v := range w.vars {
			f(&v.slot)
		}
	}
}

// findUnknown makes sure that no error went by without a message. It catches a mistake of the
// checker itself as well: a type that is not known, without a message.
// Values of a loop variable count, which nothing assigns.
func (c *checker) findUnknown(prog *Program) {
	for _, p := range prog.Probes {
		for v, decl := range p.Info.Vars {
			if decl.Type == nil && (decl.Assigns > 0 || decl.Loop) {
				c.ds.Errorf("unknown-type", v.Span(), "Cannot determine the type of $%s", decl.Name)
			}
		}
	}
	for _, m := range prog.Maps {
		if m.Value == nil {
			c.ds.Errorf("unknown-type", m.First, "Cannot determine the type of the values of %s", m.Name)
		}
	}
}

// A slot is what is known of the type of a variable, a map's values or keys.
// Each walk joins what is stored into next; reads see cur, the result of the
// walk before.
// Maps and variables have slots; expressions have none, and are typed anew in each walk.
type slot struct {
	// A type with Flex set is that of a literal, which adapts to the others.
	cur, next types.Flex
	space     types.Space
	nextSpace types.Space
	hasSpace  bool    // nextSpace is decided, perhaps as Unset by disagreement
	fixed     bool    // cur was declared and stays
	waits     []*slot // what is stored here depends on these, which had no type in the walk before
	nextWaits []*slot
	broken    bool       // what is stored here has an error, so that the type may stay unknown
	seed      types.Type // what an otherwise unknown type starts from
	fallback  types.Type // of a declared variable or a map that nothing is assigned to
	asked     bool       // the type was asked for by something that is not evaluated
	locked    types.Flex // what a comptime condition was told
}

// join adds a stored type; ok is false if it does not fit what came before.
// A join that fails changes nothing; the last walk finds the store that does not fit, and
// reports it.
func (s *slot) join(t types.Flex, space types.Space) (ok bool) {
	if t.Type == nil {
		return true
	}
	// Two address spaces leave none: what reads the pointer must then be told which is meant.
	if space != types.Unset {
		switch {
		case !s.hasSpace:
			s.nextSpace, s.hasSpace = space, true
		case s.nextSpace != space:
			s.nextSpace = types.Unset
		}
	}
	// let $x: T takes what converts to T, and T does not change.
	if s.fixed {
		return storable(t, s.cur.Type)
	}
	j, ok := types.Join(s.next, asIntegerFor(s.next.Type, t))
	if ok {
		s.next = j
	}
	return ok
}

// asIntegerFor makes a boolean an integer where it is stored to one.
// A comparison was an integer before there were booleans, and old scripts keep them in
// integers.
func asIntegerFor(to types.Type, t types.Flex) types.Flex {
	if t.Type == types.Bool && to != nil {
		if _, ok := types.IsInteger(to); ok {
			return types.Flex{Type: types.Int8, Flex: true}
		}
	}
	return t
}

// unknown notes that a value without type was stored: one that waits for the
// types of slots, or one with an error.
func (s *slot) unknown(waits []*slot) {
	if len(waits) > 0 {
		s.nextWaits = append(s.nextWaits, waits...)
	} else {
		s.broken = true
	}
}

// itself is what a value waits for that is made of the old one.
func (s *slot) itself() []*slot {
	if s.broken {
		return nil
	}
	return []*slot{s}
}

// read is the type that a read sees.
// In the first walk nothing is known from before: what this walk has stored already has to do.
func (s *slot) read() types.Flex {
	if s.cur.Type != nil {
		return s.cur
	}
	return s.next
}

// advance ends a walk and reports whether it found something new.
// Anything that is not joined again in the next walk is forgotten, so that a type which came
// from a guess goes with the guess.
func (s *slot) advance(widen bool) bool {
	if s.fixed {
		s.next = s.cur
	}
	next := s.next
	if widen {
		if j, ok := types.Join(s.cur, next); ok {
			next = j
		}
	}
	changed := !sameFlex(s.cur, next) || s.space != s.nextSpace
	s.cur, s.space = next, s.nextSpace
	s.waits, s.nextWaits = s.nextWaits, nil
	s.next, s.nextSpace, s.hasSpace = types.Flex{}, types.Unset, false
	if s.seed != nil {
		s.next = s.planted()
	}
	return changed
}

// planted is the type that a slot starts from; a planted int8 gives way to any integer.
func (s *slot) planted() types.Flex {
	return types.Flex{Type: s.seed, Flex: s.seed == types.Type(types.Int8)}
}

// sameFlex reports whether two types and the way in which they may adapt are the same, element by
// element.
// A literal that loses its flexibility counts as a change, since signs of others hang on it.
func sameFlex(a, b types.Flex) bool {
	if a.Type == nil || b.Type == nil {
		return a.Type == nil && b.Type == nil
	}
	if a.Flex != b.Flex || len(a.Elems) != len(b.Elems) || !types.Same(a.Type, b.Type) {
		return false
	}
	for i := range a.Elems {
		if !sameFlex(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	return true
}

// storable reports whether a value converts to a declared type on assignment.
// Integers convert to any integer, with a warning of lossy where values can change.
func storable(t types.Flex, to types.Type) bool {
	if types.Fits(t, to) {
		return true
	}
	if _, ok := types.IsInteger(to); ok {
		_, ok := types.IsInteger(t.Type)
		return ok || t.Type == types.Bool
	}
	j, ok := types.Join(types.Flex{Type: to}, t)
	if !ok {
		return false
	}
	if s, ok := to.(*types.String); ok {
		return j.Type.(*types.String).Cap <= s.Cap
	}
	// Values of the same layout may be stored: integers in them may differ in name only.
	switch to.(type) {
	case *types.Tuple, *types.Record, *types.Pointer:
		return j.Type.Size() == to.Size()
	}
	return types.Same(j.Type, to)
}

// finishMaps makes the maps of the program.
// Maps are in the order of their names, in which they are printed at the end.
func (c *checker) finishMaps() []*Map {
	names := make([]string, 0, len(c.maps))
	for n := range c.maps {
		names = append(names, n)
	}
	sort.Strings(names)
	var out []*Map
	for _, n := range names {
		if m := c.finishMap(c.maps[n]); m != nil {
			out = append(out, m)
		}
	}
	return out
}
