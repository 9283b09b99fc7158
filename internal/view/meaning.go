// Package view says what a run's data means and carries it as values: the role,
// kind, names and units of every map, the places that emit, and the items of
// the feed. Whoever shows or exports data reads these and nothing of the
// compiler. The package has no clock, opens no file and starts no goroutine.
package view

import (
	"slices"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// A Script is what a script's data means.
type Script struct {
	Name     string
	Text     string
	Title    string // by annotation, "" if none
	Interval string // of refreshes, by annotation, "" if none
	Maps     []*Map // sorted by name
	Sites    []*Site
	// Notes are contradictions that were settled, one line each.
	Notes []string
}

// AsWritten are the maps in the order in which the script writes them.
func (s *Script) AsWritten() []*Map {
	out := make([]*Map, 0, len(s.Maps))
	for _, of := range s.Maps {
		at := len(out)
		for at > 0 && of.At.File != nil && out[at-1].At.File == of.At.File && of.At.Start < out[at-1].At.Start {
			at--
		}
		out = slices.Insert(out, at, of)
	}
	return out
}

// InOrder are maps in the order in which the script writes them, unless somebody has chosen another one.
func (s *Script) InOrder(maps []*Map) []*Map {
	at := -1
	for _, m := range maps {
		was := at
		if at = slices.Index(s.Maps, m); at < was {
			return maps
		}
	}
	return order.Without(s.AsWritten(), func(m *Map) bool { return !slices.Contains(maps, m) })
}

// Map finds a map by its name with @, nil if there is none.
func (s *Script) Map(name string) *Map {
	for _, m := range s.Maps {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Role says who a map is for.
type Role uint8

// The roles.
const (
	Result Role = iota // the script's user
	State              // the script itself: not exported
)

func (r Role) String() string { return [...]string{"result", "state"}[r] }

// Kind is how the values of a map are shown and how they change.
type Kind uint8

// The kinds of value.
const (
	Counter   Kind = iota // only grows, but for clear and zero
	Gauge                 // goes up and down
	Summary               // a count and a total
	Histogram             // counts of buckets
	Series                // has a time axis of its own
	Text                  // no number
	Record                // several columns
)

func (k Kind) String() string {
	return [...]string{"counter", "gauge", "summary", "histogram", "series", "text", "record"}[k]
}

// Additive reports whether values of two intervals add up to that of both.
func (k Kind) Additive() bool { return k == Counter || k == Summary || k == Histogram }

// Weight is what a row weighs in a flame graph.
type Weight uint8

// The weights.
const (
	NoWeight    Weight = iota
	ValueWeight        // the value itself, which is not negative
	TotalWeight        // the total of a summary
	CountWeight        // how many values a histogram has
)

func (w Weight) String() string { return [...]string{"none", "value", "total", "count"}[w] }

// WeightOf is what rows of a map weigh, by the kind of its values and whether it has keys.
func WeightOf(k Kind, keyed bool) Weight {
	switch {
	case !keyed:
	case k == Counter || k == Gauge:
		return ValueWeight
	case k == Summary:
		return TotalWeight
	case k == Histogram:
		return CountWeight
	}
	return NoWeight
}

// Frames says whose stack an element of a key is.
type Frames uint8

// The owners of stacks.
const (
	NoFrames Frames = iota
	KernelFrames
	UserFrames
)

func (f Frames) String() string { return [...]string{"none", "kernel", "user"}[f] }

// A Map is what a map of the script means.
type Map struct {
	Name  string // with @
	Type  types.Type
	Key   types.Type // nil of a scalar
	Role  Role
	Kind  Kind
	Unit  Unit
	Point bool // values are points in time, not lengths of it

	Keys    []Element // the key, tuples in it flattened; none of a scalar
	Columns []Element // of a Record
	Weight  Weight    // NoWeight: cannot be drawn as a flame graph
	// Period is the time between two samples, if that is what the map counts; else 0.
	Period time.Duration

	Window   bool  // a body prints the map and then clears or zeroes it
	Top, Div int64 // of the first print of the map; 0 and 1 if there is none

	Label     string // what exporters call it, by annotation; "": Name
	Help      string // by annotation
	MaxSeries int    // by annotation; 0: the default

	At source.Span // the first write
}

// ProbeStats is the name of the map of what programs cost. No script can have a map of this name.
const ProbeStats = "@probe-stats"

// NewProbeStats makes the map, which the kernel's own statistics fill if it is one of the script's: of each probe how
// often its program ran, and for how long.
func NewProbeStats() *Map {
	text := &types.String{Cap: 256}
	return &Map{Name: ProbeStats, Type: types.Int64, Key: text, Kind: Summary, Unit: Nanoseconds, Div: 1,
		Keys: []Element{{Name: "probe", Type: text, Kind: Text}}, Help: "what the programs of each probe cost"}
}

// Keyed reports whether a map has keys.
func (m *Map) Keyed() bool { return len(m.Keys) > 0 }

// Profile reports whether the rows of a map belong to stacks.
func (m *Map) Profile() bool {
	for _, k := range m.Keys {
		if k.Frames != NoFrames {
			return m.Weight != NoWeight
		}
	}
	return false
}

// An Element is one position of a key, one column of a record or one argument
// of an event.
type Element struct {
	Name   string
	Type   types.Type
	Frames Frames // of a stack
	Kind   Kind   // of a column: Gauge or Text
	Unit   Unit
}

// A Site is a place of the script that emits events.
type Site struct {
	Builtin string
	At      source.Span // the call
	Format  string      // "" if it has none
	Args    []Element   // what makes a field: no literal text
	Index   []int       // for each, the argument behind the format, or the member of what print shows
	Probes  []string    // as the script writes them
	Header  bool        // text only, before the first event of a begin body
}

// Severity is ERROR or WARNING for reports that a script makes, else "". Views say it in words.
func (s *Site) Severity() string {
	switch {
	case s == nil:
	case s.Builtin == "errorf":
		return "ERROR"
	case s.Builtin == "warnf":
		return "WARNING"
	}
	return ""
}

// SiteAt finds the site of a call, nil if there is none.
func (s *Script) SiteAt(builtin string, at source.Span) *Site {
	for _, site := range s.Sites {
		if site.Builtin == builtin && site.At.File == at.File && site.At.Start == at.Start && site.At.End == at.End {
			return site
		}
	}
	return nil
}
