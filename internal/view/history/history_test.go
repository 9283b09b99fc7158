package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A model holds what a map counts, plainly.
type model struct {
	m    *view.Map
	rows map[string][]uint64 // count, total, four buckets
}

func newModel(k view.Kind) *model {
	return &model{m: &view.Map{Name: "@", Kind: k, Weight: view.ValueWeight}, rows: map[string][]uint64{}}
}

func (m *model) update(r *rand.Rand, key string) {
	if m.rows[key] == nil {
		m.rows[key] = make([]uint64, 6)
	}
	row := m.rows[key]
	n := r.Uint64N(100)
	row[0]++
	row[1] += n
	if m.m.Kind == view.Gauge {
		row[0] = n
	}
	row[2+n%4]++
}

func (m *model) value(row []uint64) value.Value {
	switch m.m.Kind {
	case view.Summary:
		return value.Avg{Count: int64(row[0]), Total: int64(row[1])}
	case view.Histogram:
		h := value.Hist{}
		for _, n := range row[2:] {
			h.Buckets = append(h.Buckets, value.Bucket{Count: n})
		}
		return h
	}
	return value.Uint(row[0])
}

func (m *model) snapshot() (rows []view.Row) {
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		rows = append(rows, view.Row{Key: value.Str(key), Value: m.value(m.rows[key])})
	}
	return rows
}

// since is what happened after an earlier state.
func (m *model) since(then map[string][]uint64) map[string]string {
	out := map[string]string{}
	for key, row := range m.rows {
		d := slices.Clone(row)
		if m.m.Kind != view.Gauge && then[key] != nil {
			for i := range d {
				d[i] -= then[key][i]
			}
		}
		if m.m.Kind == view.Gauge || d[0] != 0 {
			out[key] = fmt.Sprint(m.value(d))
		}
	}
	return out
}

func (m *model) state() map[string][]uint64 {
	out := map[string][]uint64{}
	for key, row := range m.rows {
		out[key] = slices.Clone(row)
	}
	return out
}

func texts(rows []view.Row) map[string]string {
	out := map[string]string{}
	for _, r := range rows {
		out[string(value.AppendText(nil, r.Key))] = fmt.Sprint(r.Value)
	}
	return out
}

var kinds = []view.Kind{view.Counter, view.Summary, view.Histogram, view.Gauge}

// Each range of columns is the difference between the states at its ends, however much
// was thinned out and dropped.
func TestRanges(t *testing.T) {
	for _, k := range kinds {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(k)))
			o := Options{Span: time.Duration(1+r.IntN(60)) * time.Second, Bytes: 3000 + r.IntN(20000)}
			h, m := New(o), newModel(k)
			h.Take(view.Begin{Boot: 0})
			states := map[time.Duration]map[string][]uint64{0: {}}
			models := map[time.Duration]*model{}
			for look := 1; look <= 80; look++ {
				for range r.IntN(20) {
					m.update(r, fmt.Sprint("key", r.IntN(15)))
				}
				at := time.Duration(look) * time.Second
				states[at] = m.state()
				models[at] = &model{m.m, states[at]}
				h.Take(view.Snapshot{Map: m.m, Rows: view.RowsOf(m.snapshot()), Totals: k != view.Gauge,
					Complete: true, End: at})
			}
			l := h.Line(m.m)
			if l.bytes > o.Bytes && l.Len() > 1 {
				t.Fatalf("%v: %d bytes of %d, in %d columns", k, l.bytes, o.Bytes, l.Len())
			}
			if seed > 10 && l.Dropped == 0 && l.Merged == 0 {
				t.Fatalf("%v: nothing was thinned out with %+v", k, o)
			}
			ends := []int{1 + r.IntN(l.Len()), l.Len(), l.Len()}
			for n, rows := range l.Totals(ends) {
				if got, want := texts(rows), texts(l.Rows(0, ends[n])); !maps.Equal(got, want) {
					t.Fatalf("%v, seed %d: up to %d of %v:\n%v\nwant\n%v", k, seed, n, ends, got, want)
				}
			}
			for range 50 {
				i := r.IntN(l.Len())
				j := i + 1 + r.IntN(l.Len()-i)
				start, _ := l.Span(i)
				_, end := l.Span(j - 1)
				got, want := texts(l.Rows(i, j)), models[end].since(states[start])
				if !maps.Equal(got, want) {
					t.Fatalf("%v, seed %d: %v to %v:\n%v\nwant\n%v", k, seed, start, end, got, want)
				}
				if a, b := l.Between(start, end); a != i || b != j {
					t.Fatalf("between %v and %v are %d to %d, not %d to %d", start, end, a, b, i, j)
				}
			}
		}
	}
}

// With more keys than are kept apart, and a ledger that folds keys, nothing of the sum is
// lost or counted twice.
func TestSums(t *testing.T) {
	for _, k := range kinds[:3] {
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 7))
			h := New(Options{Keys: 8, Span: 10 * time.Second})
			m := newModel(k)
			folded := make([]uint64, 6)
			n := 0
			for look := 1; look <= 60; look++ {
				for range r.IntN(30) {
					m.update(r, fmt.Sprint("key", look/3+r.IntN(12)))
				}
				if look%7 == 0 { // the ledger runs out of room
					for key, row := range m.rows {
						if r.IntN(3) == 0 {
							for i := range folded {
								folded[i] += row[i]
							}
							n++
							delete(m.rows, key)
						}
					}
				}
				rows := m.snapshot()
				if n > 0 {
					rows = append(rows, view.Row{Key: value.Null{}, Value: m.value(folded), Others: int32(n)})
				}
				h.Take(view.Snapshot{Map: m.m, Rows: view.RowsOf(rows), Totals: true, Complete: true,
					End: time.Duration(look) * time.Second})
				want := float64(folded[0])
				for _, row := range m.rows {
					want += float64(row[0])
				}
				l := h.Line(m.m)
				got := 0.0
				for i := range l.base.keys {
					got += l.measure(l.base.at(i), Count)
				}
				for _, x := range l.Amounts(All, Count, 0, l.Len()) {
					if x < 0 {
						t.Fatalf("%v, seed %d, look %d: %v in a column", k, seed, look, x)
					}
					got += x
				}
				if got != want {
					t.Fatalf("%v, seed %d, look %d: %v in all, want %v", k, seed, look, got, want)
				}
				if len(l.ids) > 8 {
					t.Fatalf("%d keys are kept apart", len(l.ids))
				}
			}
			if h.Line(m.m).Left() == 0 {
				t.Fatal("no key was left out")
			}
		}
	}
}

func TestWindows(t *testing.T) {
	m := &view.Map{Name: "@", Kind: view.Counter, Window: true}
	h := New(Options{})
	h.Take(view.Begin{Boot: time.Second})
	row := func(n uint64) []view.Row { return []view.Row{{Key: value.Str("a"), Value: value.Uint(n)}} }
	for _, item := range []view.Item{
		view.Snapshot{Map: m, Rows: view.RowsOf(row(5)), Totals: true, Complete: true, End: 2 * time.Second},
		view.Mark{Map: m, Rows: view.RowsOf(row(7)), Boot: 3 * time.Second},
		view.Cleared{Map: m, Boot: 4 * time.Second},
		view.Mark{Map: m, Rows: view.RowsOf(row(1)), Boot: 5 * time.Second}, // printed twice before it is cleared
		view.Mark{Map: m, Rows: view.RowsOf(row(2)), Boot: 6 * time.Second},
		view.Cleared{Map: m, Boot: 7 * time.Second},
		view.Cleared{Map: m, Boot: 8 * time.Second}, // nothing was printed
		view.Mark{Map: m, Rows: view.RowsOf(row(9)), Boot: 9 * time.Second, AtEnd: true},
	} {
		h.Take(item)
	}
	l := h.Line(m)
	if got := l.Amounts(All, Count, 0, l.Len()); !slices.Equal(got, []float64{7, 2}) {
		t.Errorf("windows hold %v, want 7 and 2", got)
	}
	if got := l.Rates(All, Count, 0, l.Len()); !slices.Equal(got, []float64{7. / 2, 2. / 3}) {
		t.Errorf("windows of two and three seconds have %v a second", got)
	}
	if start, end := l.Span(1); start != 3*time.Second || end != 6*time.Second {
		t.Errorf("the second window lasts from %v to %v", start, end)
	}
	if !h.Changed() || h.Changed() {
		t.Error("news are told once")
	}
}

// Counters that are not kept by a ledger begin anew when the script clears the map, and
// those of 64 bits wrap around.
func TestResets(t *testing.T) {
	m := &view.Map{Name: "@", Kind: view.Counter}
	h := New(Options{})
	for i, n := range []uint64{5, 9, 3, 1<<64 - 2, 3} {
		h.Take(view.Snapshot{Map: m, Rows: view.RowsOf([]view.Row{{Value: value.Uint(n)}}), Complete: true,
			End: time.Duration(i)})
	}
	l := h.Line(m)
	want := []float64{5, 4, 3, 1<<64 - 2, 5}
	if got := l.Amounts(All, Count, 0, l.Len()); !slices.Equal(got, want) {
		t.Errorf("changes are %v, want %v", got, want)
	}
}

func TestGaugesGo(t *testing.T) {
	m := &view.Map{Name: "@", Kind: view.Gauge}
	h := New(Options{})
	rows := []view.Row{{Key: value.Str("a"), Value: value.Int(-3)}, {Key: value.Str("b"), Value: value.Int(4)}}
	for i, n := range []int{2, 1, 1, 2} {
		h.Take(view.Snapshot{Map: m, Rows: view.RowsOf(rows[:n]), Complete: true, End: time.Duration(i)})
	}
	l := h.Line(m)
	key, ok := l.Key(value.Str("b"))
	if got := l.Amounts(key, Count, 0, 4); !ok || !slices.Equal(got, []float64{4, 0, 0, 4}) {
		t.Errorf("b is %v", got)
	}
	if got := l.Amounts(All, Count, 1, 4); !slices.Equal(got, []float64{-3, -3, 1}) {
		t.Errorf("all are %v", got)
	}
	if got := texts(l.Rows(1, 3)); len(got) != 1 {
		t.Errorf("a key that is gone is shown: %v", got)
	}
}

// Keys that are different values are different keys.
func TestKeys(t *testing.T) {
	stack := func(pid int, addrs ...uint64) *value.Stack {
		return &value.Stack{User: pid != 0, PID: pid, Addrs: addrs}
	}
	keys := []value.Value{
		nil, value.Int(1), value.Int(-1), value.Uint(300), value.Pointer(1), value.Bool(true), value.Str("a, b"),
		value.Tuple{value.Str("a"), value.Str("b")}, value.Tuple{value.Str("a, b")}, value.Str(""), value.Text("a"),
		value.Tuple{value.Int(1), value.Tuple{value.Int(2), value.Int(3)}},
		value.Tuple{value.Tuple{value.Int(1), value.Int(2)}, value.Int(3)}, value.Enum{Name: "X", Value: 1},
		stack(0, 1, 2), stack(0, 1), stack(5, 1), stack(6, 1), value.Buffer("a"),
	}
	seen := map[string]int{}
	for i, k := range keys {
		id := string(appendKey(nil, k))
		if j, ok := seen[id]; ok {
			t.Errorf("%v and %v are one key", keys[j], k)
		}
		seen[id] = i
	}
}

func TestHeat(t *testing.T) {
	m := newModel(view.Histogram)
	h := New(Options{})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 3 {
		for range 10 {
			m.update(r, "a")
			m.update(r, "b")
		}
		h.Take(view.Snapshot{Map: m.m, Rows: view.RowsOf(m.snapshot()), Totals: true, Complete: true,
			End: time.Duration(i)})
	}
	l := h.Line(m.m)
	a, _ := l.Key(value.Str("a"))
	for key, want := range map[Key]uint64{All: 20, a: 10} {
		heat, buckets := l.Heat(key, 0, 3)
		for i, column := range heat {
			sum := uint64(0)
			for _, n := range column {
				sum += n
			}
			if sum != want || len(column) != len(buckets) || len(buckets) != 4 {
				t.Errorf("column %d has %v", i, column)
			}
		}
	}
}

// TestAsleep has a time in which the machine slept be a column in which nothing happened, and one in
// which hawk was stopped a column with all that happened meanwhile.
func TestAsleep(t *testing.T) {
	m := &view.Map{Name: "@n", Kind: view.Counter}
	h := New(Options{Span: time.Hour})
	h.Take(view.Begin{})
	look := func(at time.Duration, n int) {
		h.Take(view.Snapshot{Map: m, Start: at, End: at, Rows: view.RowsOf([]view.Row{{Value: value.Uint(n)}}),
			Totals: true, Complete: true})
	}
	look(1, 5)
	h.Take(view.Asleep{From: 1, Boot: 60})
	look(61, 7)
	look(62, 8)
	h.Take(view.Asleep{From: 62, Boot: 90, Stopped: true})
	look(90, 20)
	look(91, 21)
	l := h.Line(m)
	var got string
	for i := range l.Len() {
		start, end := l.Span(i)
		got += fmt.Sprint(int64(start), "-", int64(end), " ", l.Amounts(All, Count, i, i+1)[0], " ", l.Gap(i), "\n")
	}
	want := "0-1 5 false\n1-60 0 true\n60-61 2 false\n61-62 1 false\n62-90 12 true\n90-91 1 false\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLeftOut has rows that a look leaves out count among the others: in each range the rows add up to what happened,
// and none is below zero, whichever keys weigh most.
func TestLeftOut(t *testing.T) {
	for _, kind := range []view.Kind{view.Counter, view.Summary, view.Histogram} {
		m := &view.Map{Name: "@n", Kind: kind, Key: &types.String{}, Keys: []view.Element{{Name: "key"}}}
		rec, h := view.Recorder{Past: true}, New(Options{Span: time.Hour})
		rec.Take(view.Begin{Script: &view.Script{Maps: []*view.Map{m}}})
		random := rand.New(rand.NewPCG(1, 2))
		counts := make([]uint64, 50)
		total, grew := []uint64{0}, uint64(0)
		for at := range 40 {
			var rows []view.Row
			for i := range counts {
				if random.IntN(3) == 0 {
					n := random.Uint64N(9) * uint64(1+(i+at)%7)
					counts[i], grew = counts[i]+n, grew+n
				}
				n := counts[i]
				if n == 0 {
					continue
				}
				row := view.Row{Key: value.Str(fmt.Sprint(i)), Value: value.Uint(n)}
				switch kind {
				case view.Summary:
					row.Value = value.Avg{Count: int64(n), Total: int64(3 * n)}
				case view.Histogram:
					row.Value = value.Hist{Buckets: []value.Bucket{{Count: n / 2}, {Min: 1, Max: 1, Count: n - n/2}}}
				}
				rows = append(rows, row)
			}
			total = append(total, grew)
			rec.Take(view.Snapshot{Map: m, Seq: uint64(at + 1), End: time.Duration(at + 1), Rows: view.RowsOf(rows),
				Totals: true, Complete: true})
		}
		for _, s := range rec.Run().Past {
			if s.Left > 0 {
				others := view.Row{Key: value.Null{}, Value: s.Others, Others: int32(s.Left)}
				s.Rows = view.RowsOf(append(s.Rows.List(), others))
			}
			h.Take(s)
		}
		l := h.Line(m)
		for i := range l.Len() {
			for j := i + 1; j <= l.Len(); j++ {
				sum := uint64(0)
				for _, row := range l.Rows(i, j) {
					n := m.Count(row.Value)
					if n < 0 {
						t.Fatalf("%s: %v has %d", kind, row, n)
					}
					sum += uint64(n)
				}
				if want := total[j] - total[i]; sum != want {
					t.Fatalf("%s: from %d to %d there are %d of %d", kind, i, j, sum, want)
				}
			}
		}
	}
}
