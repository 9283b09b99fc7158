package view

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/order"
)

// A Run is what a run has said up to some moment: what files are made of.
type Run struct {
	Begin
	Attached Attached
	Maps     []Snapshot // the last of each map, in the order of Script.Maps
	Before   []Snapshot // those that the file before this one showed
	Past     []Snapshot // earlier ones, thinned out, if they were wanted
	Events   []Event    // if they were wanted
	Dropped  uint64     // events that there was no room to keep
	Loss     Loss
	End      *End // nil: it goes on
}

// Length is how long the run lasted, 0 if it goes on.
func (r *Run) Length() time.Duration {
	if r.End == nil {
		return 0
	}
	return r.End.Boot - r.Boot
}

// Snapshot is the last of a map, nil if there is none.
func (r *Run) Snapshot(m *Map) *Snapshot {
	for i := range r.Maps {
		if r.Maps[i].Map == m {
			return &r.Maps[i]
		}
	}
	return nil
}

// maxEvents is how many events a Recorder keeps.
const maxEvents = 1 << 20

// A Recorder is a feed that keeps what has been said. Its methods may be called from any
// goroutine.
type Recorder struct {
	Events bool // are kept, up to a million
	Past   bool // so are snapshots, with the rows that weigh most

	mu   sync.Mutex
	run  Run
	maps map[*Map]Snapshot
}

// Take takes an item.
func (r *Recorder) Take(item Item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch it := item.(type) {
	case Begin:
		r.run.Begin = it
	case Attached:
		r.run.Attached = it
	case Snapshot:
		if r.maps == nil {
			r.maps = map[*Map]Snapshot{}
		}
		if r.maps[it.Map] = it; r.Past {
			r.remember(it)
		}
	case Event:
		switch {
		case !r.Events:
		case len(r.run.Events) >= maxEvents:
			r.run.Dropped++
		default:
			r.run.Events = append(r.run.Events, it)
		}
	case Loss:
		r.run.Loss = it
	case End:
		r.run.Loss, r.run.End = it.Loss, &it
	}
	return nil
}

// Bounds of what is kept of the past: snapshots of all maps, and rows of each.
const (
	maxPast     = 4096
	maxPastRows = 20
)

// remember keeps a snapshot. When there are too many, every other one goes.
func (r *Recorder) remember(s Snapshot) {
	if len(s.Rows) > maxPastRows {
		s.Rows = slices.Clone(s.Rows)
		order.Stably(s.Rows, func(a, b Row) int {
			return cmp.Compare(s.Map.Weigh(b.Value), s.Map.Weigh(a.Value))
		})
		s.Rows = slices.Clone(s.Rows[:maxPastRows])
	}
	r.run.Past = append(r.run.Past, s)
	if len(r.run.Past) < maxPast {
		return
	}
	var kept []Snapshot
	for _, s := range r.run.Past {
		if s.Seq%2 == 0 {
			s.Seq /= 2
			kept = append(kept, s)
		}
	}
	r.run.Past = kept
}

// Run is what has been said so far. It does not change any more.
func (r *Recorder) Run() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.run
	out.Events = slices.Clip(out.Events)
	out.Maps, out.Past = nil, slices.Clone(out.Past)
	if out.Script == nil {
		return &out
	}
	for _, m := range out.Script.Maps {
		if snap, ok := r.maps[m]; ok {
			out.Maps = append(out.Maps, snap)
		}
	}
	return &out
}
