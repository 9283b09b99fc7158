package lower

import "github.com/hawktrace/hawk/internal/ir"

// A lookup is an element pointer found earlier in this run, possibly null. It
// stays good while no operation of the run may remove or add elements of the
// map, which gen counts.
type lookup struct {
	p   *ir.Value
	gen int
	at  int // what lookups.now was
}

// lookups are the elements that are at hand at the present place. What is noted
// in a scope is taken back when it ends, entry by entry: a copy of the
// table for each scope would make long scripts quadratic.
type lookups struct {
	by    map[string]lookup
	noted []former
	now   int // counts forget
	since int // older ones are not known
}

// A former entry is what a note has replaced.
type former struct {
	name string
	lookup
	had bool
}

// newLookups knows of no element.
func newLookups() lookups { return lookups{by: map[string]lookup{}} }

// get is the lookup of that name, if it is of the map's present generation.
func (l *lookups) get(name string, gen int) (*ir.Value, bool) {
	found, ok := l.by[name]
	return found.p, ok && found.gen == gen && found.at >= l.since
}

// note enters what a look-up has yielded, and remembers what it replaces, for the end of the scope.
func (l *lookups) note(name string, p *ir.Value, gen int) {
	old, had := l.by[name]
	l.noted = append(l.noted, former{name, old, had})
	l.by[name] = lookup{p, gen, l.now}
}

// forget forgets all that this place knows.
func (l *lookups) forget() {
	l.now++
	l.since = l.now
}

// scoped runs fill for code that not every run reaches: what it looked up is
// forgotten afterwards, what it changed stays changed.
func (f *fn) scoped(fill func()) {
	mark, since := len(f.lookups.noted), f.lookups.since
	fill()
	l := &f.lookups
	for len(l.noted) > mark {
		last := l.noted[len(l.noted)-1]
		l.noted = l.noted[:len(l.noted)-1]
		if last.had {
			l.by[last.name] = last.lookup
		} else {
			delete(l.by, last.name)
		}
	}
	l.since = since
}
