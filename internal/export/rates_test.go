package export

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

func tableOf(t *testing.T, r *view.Run, m *view.Map, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := CSV.Write(&b, r, []*view.Map{m}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Tables that are written again and again say how fast numbers grew since the table before.
func TestRates(t *testing.T) {
	counts := &view.Map{Name: "@n", Key: &types.String{Cap: 16}, Type: types.Uint64, Kind: view.Counter,
		Keys: []view.Element{{Name: "comm"}}}
	depth := &view.Map{Name: "@depth_us", Type: types.Int64, Kind: view.Gauge, Unit: view.Microseconds}
	at := func(m *view.Map, end time.Duration, rows ...view.Row) view.Snapshot {
		return view.Snapshot{Map: m, End: end, Rows: view.RowsOf(rows)}
	}
	row := func(key string, n uint64) view.Row { return view.Row{Key: value.Text(key), Value: value.Uint(n)} }
	before := []view.Snapshot{
		at(counts, 10*time.Second, row("bash", 10), row("git", 7), row("reset", 100)),
		at(depth, 10*time.Second, view.Row{Value: value.Int(5)}),
	}
	now := []view.Snapshot{
		at(counts, 12*time.Second, row("bash", 13), row("git", 7), row("new", 4), row("reset", 1)),
		at(depth, 12*time.Second, view.Row{Value: value.Int(-5)}),
	}
	for _, tt := range []struct {
		name   string
		m      *view.Map
		before []view.Snapshot
		rates  bool
		want   string
	}{
		{"not asked for", depth, before, false, "value_us\n-5\n"},
		{"the first", counts, nil, true, "comm,value,per_second\nbash,13,\ngit,7,\nnew,4,\nreset,1,\n"},
		{"a counter", counts, before, true,
			"comm,value,per_second\nbash,13,1.500\ngit,7,0.000\nnew,4,2.000\nreset,1,0.000\n"},
		{"a gauge", depth, before, true, "value_us,per_second\n-5,-5.000\n"},
	} {
		r := &view.Run{Maps: now, Before: tt.before}
		if got := tableOf(t, r, tt.m, Options{Rates: tt.rates}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOne has a picture of one sample speak of it as one.
func TestOne(t *testing.T) {
	m := &view.Map{Name: "@", Key: &types.String{Cap: 16}, Type: types.Uint64, Kind: view.Counter,
		Weight: view.ValueWeight, Keys: []view.Element{{Name: "comm"}}}
	for n, want := range map[uint64][]string{
		1: {">1 sample  ·", "1 in 1 stack;"}, 2: {">2 samples  ·", "2 in 1 stack;"},
	} {
		rows := view.RowsOf([]view.Row{{Key: value.Str("a"), Value: value.Uint(n)}})
		r := &view.Run{Begin: view.Begin{Script: &view.Script{Name: "x", Maps: []*view.Map{m}}},
			Maps: []view.Snapshot{{Map: m, Rows: rows}}}
		picture := string(written(t, Find("svg"), r, m))
		for _, text := range want {
			if !strings.Contains(picture, text) {
				t.Errorf("%d: no %q in %s", n, text, picture)
			}
		}
	}
}

// No two columns of a table have one name.
func TestColumnsApart(t *testing.T) {
	pair := &types.Tuple{Elems: []types.Type{types.Int64, types.Int64}}
	m := &view.Map{Name: "@", Key: &types.String{Cap: 16}, Type: pair, Kind: view.Record,
		Keys:    []view.Element{{Name: "comm"}},
		Columns: []view.Element{{Name: "ret"}, {Name: "comm"}}}
	row := view.Row{Key: value.Text("a"), Value: value.Tuple{value.Int(1), value.Int(2)}}
	r := &view.Run{Maps: []view.Snapshot{{Map: m, Rows: view.RowsOf([]view.Row{row})}}}
	if got, want := tableOf(t, r, m, Options{}), "comm,ret,comm_2\na,1,2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTable has a page's bars of a histogram be as wide as its buckets are among each other, and no two columns of one
// name.
func TestTable(t *testing.T) {
	r := run(names{"main", "read"})
	lat := r.Snapshot(r.Script.Map("@lat"))
	lat.Rows = view.RowsOf([]view.Row{{Key: value.Str("main"), Value: value.Hist{Buckets: []value.Bucket{
		{Max: 0, Count: 4}, {Min: 1, Max: 1, Count: 2}}}}})
	r.Script.Map("@last").Columns[0].Name = "comm"
	page := string(written(t, Find("html"), r, nil))
	for _, want := range []string{`<td class="n">4</td><td><svg class="w" viewBox="0 0 100 10" ` +
		`preserveAspectRatio="none" aria-hidden="true"><rect width="100.0" height="10"/>`,
		`<rect width="50.0" height="10"/>`, `<th>comm</th><th>comm_2</th><th class="n">n</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
}
