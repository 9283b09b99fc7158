package view

import (
	"math"
	"slices"
	"sync"
	"time"

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
	Moments  []Moment   // when maps were printed and cleared, kept as Past is
	Gaps     []Gap      // where events are missing, kept as Past is
	Asleep   []Asleep   // when nobody looked, kept as Past is
	Dropped  uint64     // older events that there was no room to keep
	Loss     Loss
	End      *End // nil: it goes on
}

// A Moment is when something happened to a map.
type Moment struct {
	At   time.Duration
	What string
}

// A Gap is between the last event before some were lost, and when that was noticed.
type Gap struct {
	From, To time.Duration
	Records  uint64
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
	Events bool // are kept, the last million
	Past   bool // so are snapshots, with the rows that weigh most

	mu   sync.Mutex
	run  Run
	maps map[*Map]Snapshot
	good time.Duration // of the last event, or until when it is known what is missing
}

// moment keeps when something happened to a map.
func (r *Recorder) moment(at time.Duration, what string) {
	if r.Past && len(r.run.Moments) < maxEvents {
		r.run.Moments = append(r.run.Moments, Moment{at, what})
	}
}

// gap keeps where events are missing, if more are by now.
func (r *Recorder) gap(l Loss, at time.Duration) {
	if more := l.Records - min(r.run.Loss.Records, l.Records); more > 0 && r.Past {
		from := min(max(r.good, r.run.Boot), at)
		r.run.Gaps, r.good = append(r.run.Gaps, Gap{from, at, more}), at
	}
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
			r.remember(&it)
		}
	case Mark:
		if !it.AtEnd {
			r.moment(it.Boot, it.Map.Name+" printed")
		}
	case Cleared:
		r.moment(it.Boot, it.Map.Name+map[bool]string{false: " cleared", true: " zeroed"}[it.Zero])
	case Asleep:
		if r.Past && len(r.run.Asleep) < maxEvents {
			r.run.Asleep = append(r.run.Asleep, it)
		}
	case Event:
		r.good = max(r.good, it.Boot)
		switch {
		case !r.Events:
		case len(r.run.Events) >= maxEvents: // the oldest goes; Runs that have it keep it
			r.run.Events = append(r.run.Events[1:], it)
			r.run.Dropped++
		default:
			r.run.Events = append(r.run.Events, it)
		}
	case Loss:
		r.gap(it, it.Boot)
		r.run.Loss = it
	case End:
		r.gap(it.Loss, it.Boot)
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
func (r *Recorder) remember(s *Snapshot) {
	if s.Map.Profile() {
		grow(&r.run.Sums, s, RowsOf(sumsOf(s.Map, s.Rows)), maxSums, s.Map.Count)
	}
	grow(&r.run.Past, s, s.Rows, maxPastRows, s.Map.Weigh)
}

// grow adds a snapshot with the rows that weigh most, and leaves out every other one if there are too many.
func grow(past *[]Snapshot, s *Snapshot, rows Rows, most int, weigh func(value.Value) int64) {
	one := *s
	one.Now = Rows{}
	if one.Rows = rows; rows.Len() > most {
		first := rows.Arrange(ByWeightApart, weigh)
		kept := make([]Row, most)
		for i := range kept {
			kept[i] = rows.At(int(first[i]))
		}
		one.Rows, one.Left = RowsOf(kept), rows.Len()-most
		for _, n := range first[most:] {
			row := rows.At(int(n))
			one.Rest, one.Left = Plus(one.Rest, s.Map.Count(row.Value)), one.Left+int(max(row.Others-1, 0))
			if s.Map.Kind.Additive() {
				one.Others = sum(one.Others, row.Value)
			}
		}
	}
	all := append(*past, one)
	if *past = all; len(all) < maxPast {
		return
	}
	*past = nil
	for i := range all {
		if all[i].Seq%2 == 0 {
			*past = append(*past, all[i])
			(*past)[len(*past)-1].Seq /= 2
		}
	}
}

// sum is what a value of a map comes to with another one; all may be nil, and is changed if it can be.
func sum(all, one value.Value) value.Value {
	switch one := one.(type) {
	case value.Int:
		n, _ := all.(value.Int)
		return value.Int(Plus(int64(n), int64(one)))
	case value.Uint:
		n, _ := all.(value.Uint)
		return n + min(one, math.MaxUint64-n)
	case value.Avg, value.Stats:
		s, _ := value.Summary(one)
		n, _ := value.Summary(all)
		// An Int or a Uint, as the total of one is.
		n.Signed = s.Signed
		total, _, _ := value.Integer(sum(n.Sum(), s.Sum()))
		s.Count, s.Total = Plus(s.Count, n.Count), int64(total)
		if _, avg := one.(value.Avg); avg {
			return value.Avg(s)
		}
		return s
	case value.Hist:
		n, ok := all.(value.Hist)
		if !ok || len(n.Buckets) < len(one.Buckets) {
			one.Buckets = slices.Clone(one.Buckets)
			n, one = one, n
		}
		for i := range one.Buckets {
			n.Buckets[i].Count += one.Buckets[i].Count
		}
		n.Sum = nil
		return n
	}
	return all
}

// sumsOf adds up what stacks weigh, for each value of the rest of the key.
func sumsOf(m *Map, rows Rows) (out []Row) {
	at := map[string]int{}
	for i := range rows.Len() {
		row := rows.At(i)
		var labels value.Tuple
		if row.Others == 0 && row.Key != nil {
			for k, part := range Flatten(m.Key, row.Key) {
				if k < len(m.Keys) && m.Keys[k].Frames == NoFrames {
					labels = append(labels, part)
				}
			}
		}
		name := string(value.AppendKey(nil, labels))
		if row.Others > 0 {
			name = "(other)"
		}
		n, known := at[name]
		if !known {
			n = len(out)
			at[name] = n
			out = append(out, Row{Value: value.Int(0)})
			if name != "" {
				out[n].Key = value.Text(name)
			}
		}
		out[n].Value = value.Int(Plus(int64(out[n].Value.(value.Int)), m.Weigh(row.Value)))
	}
	return out
}

// Run is what has been said so far. It does not change any more.
func (r *Recorder) Run() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.run
	out.Events, out.Moments, out.Gaps = slices.Clip(out.Events), slices.Clip(out.Moments), slices.Clip(out.Gaps)
	out.Asleep = slices.Clip(out.Asleep)
	out.Maps, out.Past, out.Sums = nil, slices.Clip(out.Past), slices.Clip(out.Sums)
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
