package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// A Stored group is what is left of a Group when its program has been compiled
// to run on another machine, where the points are found anew.
type Stored struct {
	Kind      string
	Written   []Written
	Points    []StoredPoint
	Mechanism MechanismID
	Uses      Uses
	Numbered  bool
}

// Written is an attach point of the script.
type Written struct {
	At    source.Span
	Parts []Part
}

// A StoredPoint is a point as it was when the program was compiled.
type StoredPoint struct {
	Written int // index in Stored.Written
	Name    string
	// These are what the library tells of it, see Point and Marks.
	Target, Func string
	Locations    int
	Semaphore    bool
}

// Store says how to find a group again.
func (g *Group) Store() *Stored {
	s := &Stored{Kind: g.Points[0].Kind.Name, Mechanism: g.Mechanism, Uses: g.Uses, Numbered: g.Numbered}
	for i, p := range g.Points {
		if last := len(s.Written) - 1; i == 0 || p.At != s.Written[last].At ||
			!slices.Equal(p.Parts, s.Written[last].Parts) {
			s.Written = append(s.Written, Written{p.At, p.Parts})
		}
		places, semaphore := p.Marks()
		s.Points = append(s.Points, StoredPoint{len(s.Written) - 1, p.Name(), p.Target, p.Func, places, semaphore})
	}
	return s
}

// Wild reports whether a point is one of those that a pattern stands for.
func (s *Stored) Wild(name string) bool {
	i := slices.IndexFunc(s.Points, func(p StoredPoint) bool { return p.Name == name })
	return i >= 0 && hasWildPart(s.Written[s.Points[i].Written].Parts)
}

// A Finder finds stored groups on this machine.
type Finder struct {
	Options *Options

	matched map[string][]*Point // by kind and parts
}

// Find makes a group of the points that this machine has, and lists those that
// it lacks; the group is nil if it has none. Where the program does not care
// how many points there are, those that a pattern covers here only are added.
func (f *Finder) Find(s *Stored) (g *Group, missing []string, err error) {
	kind, ok := Lookup(s.Kind)
	if !ok || kind.Name != s.Kind {
		return nil, nil, fmt.Errorf("there are no %s probes", s.Kind)
	}
	mech, ok := mechanisms[s.Mechanism]
	if !ok {
		return nil, nil, fmt.Errorf("there is no way of attaching called %q", s.Mechanism)
	}
	var points []*Point
	var numbers []uint64
	taken := map[*Point]bool{}
	for i, p := range s.Points {
		if p.Written < 0 || p.Written >= len(s.Written) {
			return nil, nil, fmt.Errorf("%s is not in the script", p.Name)
		}
		here, err := f.match(kind, &s.Written[p.Written])
		if err != nil {
			return nil, nil, err
		}
		at := slices.IndexFunc(here, func(q *Point) bool { return q.Name() == p.Name })
		if at < 0 && len(here) == 1 && !hasWildPart(s.Written[p.Written].Parts) {
			at = 0 // a library that lies elsewhere
		}
		if at < 0 {
			missing = append(missing, p.Name)
			continue
		}
		points, numbers, taken[here[at]] = append(points, here[at]), append(numbers, uint64(i)), true
	}
	bound := append([]*Point(nil), points...)
	if u := s.Uses; !s.Numbered && !u.Probe && !u.Func && !u.Args && !u.Retval {
		for i := range s.Written {
			here, err := f.match(kind, &s.Written[i])
			if err != nil {
				return nil, nil, err
			}
			for _, p := range here {
				if !taken[p] && hasWildPart(s.Written[i].Parts) {
					taken[p] = true
					points = append(points, p)
				}
			}
		}
	}
	for _, try := range [][]*Point{points, bound} {
		if len(try) == 0 {
			continue
		}
		groups, err := kind.Plan(try, s.Uses, f.Options)
		if err != nil {
			return nil, nil, err
		}
		if len(groups) == 1 && groups[0].Mechanism == s.Mechanism {
			g = groups[0]
			break
		}
	}
	switch {
	case g == nil && len(points) > 0:
		return nil, nil, fmt.Errorf("%s can not be attached here in the way it was compiled for (%s)",
			points[0].Name(), mech.Name)
	case g == nil:
		return nil, missing, nil
	}
	g.Uses, g.Numbered = s.Uses, s.Numbered
	if s.Numbered && len(numbers) != len(s.Points) {
		if g.Mech().Packed {
			return nil, nil, fmt.Errorf("%s is not there, and its program can not do without", missing[0])
		}
		g.cookies = numbers
	}
	return g, missing, nil
}

// match finds the points of an attach point.
func (f *Finder) match(kind *Kind, w *Written) ([]*Point, error) {
	key := kind.Name
	for _, part := range w.Parts {
		key += fmt.Sprintf(":%q %t", part.Text, part.Literal)
	}
	if points, ok := f.matched[key]; ok {
		return points, nil
	}
	p := &Point{Kind: kind, At: w.At, Parts: w.Parts}
	if err := kind.Parse(p, w.Parts, f.Options); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(append([]string{kind.Name}, texts(w.Parts)...), ":"), err)
	}
	points, err := kind.Match(p, f.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name(), err)
	}
	points = f.Options.Keep(points)
	if f.matched == nil {
		f.matched = map[string][]*Point{}
	}
	f.matched[key] = points
	return points, nil
}

func texts(parts []Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}

func hasWildPart(parts []Part) bool { return slices.ContainsFunc(parts, Part.HasWild) }
