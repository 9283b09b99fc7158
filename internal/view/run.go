package view

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// A Run is what a run has said up to some moment: what files are made of.
type Run struct {
	Begin
	Attached Attached
	Maps     []Snapshot // the last of each map, in the order of Script.Maps
	Before   []Snapshot // those that the file before this one showed
	Past     []Snapshot // earlier ones, thinned out, if they were wanted
	Sums     []Snapshot // as Past: what all stacks of a map weigh, by the rest of the key as text
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
	maxSums     = 200 // rows of sums over stacks
)

// remember keeps a snapshot. When there are too many, every other one goes.
func (r *Recorder) remember(s Snapshot) {
	if s.Map.Profile() {
		sums := s
		sums.Rows = heaviest(sumsOf(&s), maxSums, func(row Row) int64 { return int64(row.Value.(value.Int)) })
		r.run.Sums = thinned(append(r.run.Sums, sums))
	}
	s.Rows = heaviest(s.Rows, maxPastRows, func(row Row) int64 { return s.Map.Weigh(row.Value) })
	r.run.Past = thinned(append(r.run.Past, s))
}

// heaviest are the rows that weigh most, if there are more.
func heaviest(rows []Row, most int, weight func(Row) int64) []Row {
	if len(rows) <= most {
		return rows
	}
	rows = slices.Clone(rows)
	order.Stably(rows, func(a, b Row) int { return cmp.Compare(weight(b), weight(a)) })
	return slices.Clone(rows[:most])
}

// thinned are snapshots without every other one, if there are too many.
func thinned(past []Snapshot) (kept []Snapshot) {
	if len(past) < maxPast {
		return past
	}
	for _, s := range past {
		if s.Seq%2 == 0 {
			s.Seq /= 2
			kept = append(kept, s)
		}
	}
	return kept
}

// sumsOf adds up what stacks weigh, for each value of the rest of the key.
func sumsOf(s *Snapshot) (rows []Row) {
	at := map[string]int{}
	for _, row := range s.Rows {
		name, sum := "", Row{Others: row.Others}
		if row.Others > 0 {
			name = "(other)"
		}
		if parts := labelsOf(s.Map, row); len(parts) > 0 {
			name = string(value.AppendKey(nil, value.Tuple(parts)))
			sum.Key = value.Text(name)
		}
		i, known := at[name]
		if !known {
			i = len(rows)
			at[name] = i
			sum.Value = value.Int(0)
			rows = append(rows, sum)
		}
		rows[i].Value = rows[i].Value.(value.Int) + value.Int(s.Map.Weigh(row.Value))
	}
	return rows
}

// labelsOf are the parts of a key that are no stacks.
func labelsOf(m *Map, row Row) (parts []value.Value) {
	if row.Others > 0 || row.Key == nil {
		return nil
	}
	for i, part := range Flatten(m.Key, row.Key) {
		if i < len(m.Keys) && m.Keys[i].Frames == NoFrames {
			parts = append(parts, part)
		}
	}
	return parts
}

// Run is what has been said so far. It does not change any more.
func (r *Recorder) Run() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.run
	out.Events = slices.Clip(out.Events)
	out.Maps, out.Past, out.Sums = nil, slices.Clone(out.Past), slices.Clone(out.Sums)
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
