package export

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A traceEvent is an event as tools that show times draw it: a moment, or a length of
// time that ends there.
type traceEvent struct {
	*view.Event
	name   string
	length time.Duration // -1: none
}

// traceEvents are the events of a run, by the time at which they begin.
func traceEvents(r *view.Run) []traceEvent {
	out := make([]traceEvent, 0, len(r.Events))
	for i := range r.Events {
		ev := &r.Events[i]
		out = append(out, traceEvent{ev, siteName(ev.Site), lengthOf(ev)})
	}
	order.Stably(out, func(a, b traceEvent) int { return cmp.Compare(a.begin(), b.begin()) })
	return out
}

// gaps are where events are missing, those that there was no room to keep among them.
func gaps(r *view.Run) []view.Gap {
	if r.Dropped == 0 || len(r.Events) == 0 {
		return r.Gaps
	}
	return append([]view.Gap{{From: r.Boot, To: r.Events[0].Boot, Records: r.Dropped}}, r.Gaps...)
}

// begin is when an event began: it was sent at its end.
func (e *traceEvent) begin() time.Duration { return e.Boot - max(e.length, 0) }

// siteName is the format up to its first conversion, or else the probe.
func siteName(s *view.Site) string {
	if s == nil {
		return "hawk"
	}
	text, _, _ := strings.Cut(s.Format, "%")
	if text = strings.TrimSpace(text); text == "" && len(s.Probes) > 0 {
		text = s.Probes[0]
	}
	if text == "" {
		text = s.Builtin
	}
	return view.Line(text)
}

// lengthOf is the first argument that is a length of time; -1 if there is none.
func lengthOf(ev *view.Event) time.Duration {
	scale := map[view.Unit]time.Duration{view.Nanoseconds: 1, view.Microseconds: time.Microsecond,
		view.Milliseconds: time.Millisecond, view.Seconds: time.Second}
	for i, a := range ev.Args {
		// A unit of time tells a length from other numbers; points in time have no unit.
		by := scale[ev.Site.Args[i].Unit]
		if by == 0 {
			continue
		}
		n := int64(0)
		switch v := a.(type) {
		case value.Int:
			n = int64(v)
		case value.Uint:
			// Bounds keep sums of times from overflowing: 2⁶² nanoseconds are 146 years.
			n = int64(min(v, 1<<62))
		default:
			continue
		}
		if n >= 0 && n <= int64(1<<62)/int64(by) {
			return time.Duration(n) * by
		}
	}
	return -1
}

// A counterPoint is what a counter shows from some time on.
type counterPoint struct {
	at    time.Duration
	value float64
}

// A counterTrack is a number over time.
type counterTrack struct {
	name   string
	points []counterPoint
}

// maxTracks is how many keys of a map have a counter of their own.
const maxTracks = 20

// counterTracks are the maps of a run over time: counters by how fast they grow, per second, and so
// what all stacks weigh, gauges by what they are, histograms by the bound below which half and 99 of
// 100 of what came since lie.
func counterTracks(r *view.Run, maps []*view.Map) []counterTrack {
	var order []string
	tracks := map[string]*counterTrack{}
	put := func(name string, p counterPoint) {
		t := tracks[name]
		if t == nil {
			t = &counterTrack{name: name}
			tracks[name], order = t, append(order, name)
		}
		t.points = append(t.points, p)
	}
	for _, m := range maps {
		tracksOf(r, m, put)
	}
	out := make([]counterTrack, len(order))
	for i, name := range order {
		out[i] = *tracks[name]
	}
	return out
}

// tracksOf are the tracks of one map. What a key that a look has left out grew by is not known; it
// counts among the others.
func tracksOf(r *view.Run, m *view.Map, put func(string, counterPoint)) {
	past, own := pastOf(r, m)
	last := map[string]value.Value{}
	before, allBefore, left, least := r.Boot, int64(0), 0, int64(0)
	other := false
	for _, snap := range past {
		elapsed := (snap.End - before).Seconds()
		all, rest := snap.Rest, snap.Rest
		// It will be what the map grew by, less what rows with tracks of their own did.
		grew := -allBefore
		// Once there were others their track goes on, so that it does not break off.
		other = other || snap.Left > 0
		now := map[string]value.Value{}
		for i := range snap.Rows.Len() {
			row := snap.Rows.At(i)
			name, n := trackName(m, &row), m.Count(row.Value)
			if all = view.Plus(all, n); !own[name] {
				rest = view.Plus(rest, n)
				other = true
				continue
			}
			now[name] = row.Value
			old, known := last[name]
			if _, summed := row.Value.(value.Hist); !known && left > 0 && m.Kind != view.Summary && !summed {
				old, known = value.Int(min(least, n)), true // it had no more than those that were kept
			}
			if known || left == 0 {
				grew = view.Plus(grew, m.Count(old)-n)
				pointsOf(m, name, snap.End, elapsed, old, row.Value, put)
			}
		}
		// Rows that a look leaves out have no more than the least that it kept.
		least = math.MaxInt64
		for i := range snap.Rows.Len() {
			row := snap.Rows.At(i)
			least = min(least, m.Count(row.Value))
		}
		grew = view.Plus(grew, all)
		switch suffix, rated := rateName(m); {
		case !other || suffix == "":
		case !rated:
			put(m.Name+"[(other)]", counterPoint{snap.End, float64(rest)})
		case elapsed > 0:
			put(m.Name+"[(other)]"+suffix, counterPoint{snap.End, float64(max(grew, 0)) / elapsed})
		}
		last, before, allBefore, left = now, snap.End, all, snap.Left
	}
}

// rateName is what follows the name of a track of how much a map counts, and whether it says how fast that
// grows; "" if the map counts nothing, as the least of two numbers and such do not add up.
func rateName(m *view.Map) (suffix string, rated bool) {
	switch {
	case m.Kind == view.Summary && !m.Profile(), m.Kind == view.Histogram && !m.Profile():
		return " count/s", true
	case m.Kind == view.Counter, m.Profile() && m.Kind != view.Gauge:
		return "/s", true
	}
	if agg, ok := m.Type.(*types.Agg); ok && agg.Kind != "sum" {
		return "", false
	}
	return " ", false
}

// pastOf are the looks at a map, and which of its rows have tracks of their own: those that weigh
// most at the end. Of a map with stacks they are what all stacks weigh.
func pastOf(r *view.Run, m *view.Map) (past []*view.Snapshot, own map[string]bool) {
	from, weigh := r.Past, m.Weigh
	if m.Profile() {
		from, weigh = r.Sums, m.Count
	}
	for i := range from {
		if from[i].Map == m {
			past = append(past, &from[i])
		}
	}
	// The end decides once for all looks, so that tracks do not come and go.
	own = map[string]bool{}
	if len(past) > 0 {
		rows := past[len(past)-1].Rows
		first := rows.Arrange(view.ByWeightApart, weigh)
		for _, n := range first[:min(len(first), maxTracks)] {
			if row := rows.At(int(n)); row.Others == 0 {
				own[trackName(m, &row)] = true
			}
		}
	}
	return past, own
}

// trackName tells rows of a map apart.
func trackName(m *view.Map, row *view.Row) string {
	switch {
	case row.Others > 0:
		return m.Name + "[(other)]"
	case row.Key == nil:
		return m.Name
	}
	return m.Name + "[" + view.Line(string(value.AppendKey(nil, row.Key))) + "]"
}

// pointsOf shows what became of a value since it was seen last.
func pointsOf(m *view.Map, name string, at time.Duration, elapsed float64, old, now value.Value,
	put func(string, counterPoint)) {
	rate := func(suffix string, was, is int64) {
		// Looks at the same time have no rate between them.
		if elapsed > 0 {
			put(name+suffix, counterPoint{at, float64(max(is-was, 0)) / elapsed})
		}
	}
	switch v := now.(type) {
	case value.Int, value.Uint:
		if m.Kind == view.Counter || m.Profile() && m.Kind != view.Gauge {
			rate("/s", m.Count(old), m.Count(now))
		} else {
			put(name, counterPoint{at, m.Number(now)})
		}
	case value.Avg, value.Stats:
		rate(" count/s", m.Count(old), m.Count(now))
	case value.Hist:
		was, _ := old.(value.Hist)
		rate(" count/s", m.Count(old), m.Count(now))
		for _, p := range []struct {
			name  string
			share float64
		}{{" p50", .5}, {" p99", .99}} {
			if bound, ok := bound(was, v, p.share, m.Unit); ok {
				put(name+p.name, counterPoint{at, bound})
			}
		}
	}
}

// bound is the upper bound of the bucket with the value of a rank among what came between
// two looks at a histogram; ok is false if nothing came, or it has no bound.
func bound(old, now value.Hist, share float64, u view.Unit) (n float64, ok bool) {
	counts := make([]uint64, len(now.Buckets))
	total := uint64(0)
	for i, b := range now.Buckets {
		// A bucket that shrank was cleared: all that it holds came since.
		if counts[i] = b.Count; i < len(old.Buckets) && old.Buckets[i].Count <= b.Count {
			counts[i] -= old.Buckets[i].Count
		}
		total += counts[i]
	}
	seen := uint64(0)
	for i, c := range counts {
		if seen += c; c > 0 && float64(seen) >= share*float64(total) {
			return u.Upper(&now.Buckets[i]), !now.Buckets[i].NoMax
		}
	}
	return 0, false
}
