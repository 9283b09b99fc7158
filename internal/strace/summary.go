package strace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// A tally is what calls of one name came to.
type tally struct {
	name          string
	calls, errors uint64
	time          int64 // nanoseconds from beginning to return, of all
}

// A summary is the table of -c, out of two maps of the script.
type summary struct {
	calls map[int]*tally // by number; nil: there is none
}

// Orders are the columns that the table can be ordered by.
var orders = map[string]func(a, b *tally) int{
	"time":    func(a, b *tally) int { return cmp.Compare(b.time, a.time) },
	"calls":   func(a, b *tally) int { return cmp.Compare(b.calls, a.calls) },
	"errors":  func(a, b *tally) int { return cmp.Compare(b.errors, a.errors) },
	"name":    func(a, b *tally) int { return cmp.Compare(a.name, b.name) },
	"avg":     func(a, b *tally) int { return cmp.Compare(b.average(), a.average()) },
	"nothing": func(a, b *tally) int { return 0 },
}

func (t *tally) average() int64 { return t.time / max(int64(t.calls), 1) }

// take takes a map of the script; it reports whether the map is one of the summary's.
func (s *Sink) take(m output.Map) bool {
	switch m.Name {
	case "@calls":
		s.totals.calls = map[int]*tally{}
		for i := range m.Entries.Len() {
			e := m.Entries.At(i)
			nr, known := e.Key.(value.Int)
			st, stats := e.Value.(value.Stats)
			if known && stats {
				s.totals.calls[int(nr)] = &tally{name: s.name(int(nr)), calls: uint64(st.Count), time: st.Total}
			}
		}
	case "@errors":
		for i := range m.Entries.Len() {
			e := m.Entries.At(i)
			nr, known := e.Key.(value.Int)
			if t := s.totals.calls[int(nr)]; known && t != nil {
				switch n := e.Value.(type) {
				case value.Int:
					t.errors = uint64(n)
				case value.Uint:
					t.errors = uint64(n)
				}
			}
		}
	default:
		return false
	}
	return true
}

// writeSummary writes the table.
func (s *Sink) writeSummary() {
	if s.totals.calls == nil {
		return
	}
	var all []*tally
	sum := tally{name: "total"}
	for _, nr := range sortedKeys(s.totals.calls) {
		t := s.totals.calls[nr]
		all = append(all, t)
		sum.calls, sum.errors, sum.time = sum.calls+t.calls, sum.errors+t.errors, sum.time+t.time
	}
	slices.SortStableFunc(all, orders[cmp.Or(s.o.Sort, "time")])
	line := "------ ----------- ----------- --------- --------- ----------------\n"
	s.b = append(s.b[:0], "% time wall seconds usecs/call     calls    errors syscall\n"+line...)
	for _, t := range all {
		s.tally(t, sum.time)
	}
	s.str(line)
	s.tally(&sum, sum.time)
	s.w.Write(s.b)
	s.totals.calls = nil
}

func sortedKeys(m map[int]*tally) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *Sink) tally(t *tally, all int64) {
	share, errors := 0.0, ""
	if all > 0 {
		share = 100 * float64(t.time) / float64(all)
	}
	if t.errors > 0 {
		errors = fmt.Sprint(t.errors)
	}
	s.str(fmt.Sprintf("%6.2f %11.6f %11d %9d %9s %s\n", share, float64(t.time)/1e9, t.average()/1e3, t.calls, errors,
		t.name))
}
