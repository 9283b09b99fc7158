package live

import (
	"slices"

	"github.com/hawktrace/hawk/internal/view"
)

// pastLooks is how many looks at a map a Run has of its past at most.
const pastLooks = 120

// Run is what has been said so far, for files that are made of it.
func (s *State) Run() *view.Run {
	s.Lock()
	defer s.Unlock()
	r := &view.Run{Begin: s.begin, Attached: s.probes, End: s.end, Loss: s.Loss(), Asleep: slices.Clone(s.asleep)}
	if r.Script == nil {
		return r
	}
	for _, m := range r.Script.Maps {
		if snap := s.Snapshot(m); snap != nil {
			r.Maps = append(r.Maps, *snap)
		}
		r.Past = append(r.Past, s.past(m)...)
	}
	// Gaps and prints are no events of the script.
	events, all := s.Events(maxEvents, func(ev *Event) bool { return ev.Lost == 0 && ev.Marked == nil })
	for i := range events {
		r.Events = append(r.Events, events[i].Event)
	}
	r.Dropped = all - uint64(len(events))
	return r
}

// past are looks at a map, made of its history.
func (s *State) past(m *view.Map) (out []view.Snapshot) {
	line := s.Line(m)
	if line == nil {
		return nil
	}
	// Columns between are skipped, not lost: each look adds up all before it. The last is always there, so that a
	// picture ends when the run did.
	every := line.Len()/pastLooks + 1
	var ends []int
	for j := (line.Len()-1)%every + 1; j <= line.Len(); j += every {
		ends = append(ends, j)
	}
	for n, rows := range line.Totals(ends) {
		_, end := line.Span(ends[n] - 1)
		out = append(out, view.Snapshot{Map: m, Seq: uint64(ends[n]), Start: end, End: end, Rows: view.RowsOf(rows),
			Totals: true, Complete: true})
	}
	return out
}
