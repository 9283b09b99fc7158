package builtin

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// words is a cell.
func words(list ...int64) []byte {
	var out []byte
	for _, w := range list {
		out = binary.LittleEndian.AppendUint64(out, uint64(w))
	}
	return out
}

// folded is a cell of zeroes that others were folded into.
func folded(a *Agg, t *types.Agg, cells [][]byte) []byte {
	out := make([]byte, a.CellBytes(t))
	for _, c := range cells {
		a.Fold(t, out, c)
	}
	return out
}

func TestFoldAndShow(t *testing.T) {
	const low = math.MinInt64
	cells := func(list ...[]byte) [][]byte { return list }
	for _, c := range []struct {
		what   string
		agg    string
		signed bool
		cells  [][]byte
		want   value.Value
	}{
		{"count", "count", false, cells(words(3), words(0), words(4)), value.Uint(7)},
		{"count of signed", "count", true, cells(words(3)), value.Uint(3)},

		{"sum", "sum", true, cells(words(5), words(-9)), value.Int(-4)},
		{"unsigned sum", "sum", false, cells(words(-1), words(-1)), value.Uint(math.MaxUint64 - 1)},
		{"sum of a short cell", "sum", true, cells(words(5), []byte{1, 2, 3}), value.Int(5)},

		{"min", "min", true, cells(words(4, 1), words(-2, 1), words(3, 1)), value.Int(-2)},
		{"min: cells that are not set do not count", "min", true, cells(words(0, 0), words(8, 1), words(0, 0)),
			value.Int(8)},
		{"unsigned min", "min", false, cells(words(-1, 1), words(2, 1)), value.Uint(2)},
		{"min at the end of the range", "min", true, cells(words(7, 1), words(low, 1)), value.Int(low)},
		{"min of cells that were zeroed", "min", true, cells(words(0, 0)), value.Int(0)},

		{"max", "max", true, cells(words(-4, 1), words(-2, 1), words(-3, 1)), value.Int(-2)},
		{"max: cells that are not set do not count", "max", true, cells(words(0, 0), words(-8, 1)), value.Int(-8)},
		{"unsigned max", "max", false, cells(words(-1, 1), words(2, 1)), value.Uint(math.MaxUint64)},
		{"equal", "max", true, cells(words(6, 1), words(6, 1)), value.Int(6)},

		{"avg", "avg", true, cells(words(-10, 3), words(3, 4)), value.Avg{Total: -7, Count: 7, Signed: true}},
		{"unsigned avg", "avg", false, cells(words(10, 3)), value.Avg{Total: 10, Count: 3}},
		{"stats", "stats", true, cells(words(1, 1), words(2, 1)), value.Stats{Total: 3, Count: 2, Signed: true}},
		{"stats of a short cell", "stats", false, cells(words(9)), value.Stats{Total: 9}},
	} {
		a, ok := LookupAgg(c.agg)
		if !ok {
			t.Fatalf("there is no %s", c.agg)
		}
		typ := &types.Agg{Kind: c.agg, Signed: c.signed}
		got := a.Show(typ, folded(a, typ, c.cells))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// at is a cell of n words that are zero but for some.
func at(n int, counts map[int]int64) []byte {
	list := make([]int64, n)
	for i, c := range counts {
		list[i] = c
	}
	return words(list...)
}

func TestFoldHistograms(t *testing.T) {
	for _, c := range []struct {
		what   string
		agg    string
		params []int64
		words  int
		cells  []map[int]int64 // bucket number → count, for each CPU
		want   map[string]uint64
	}{
		{"hist", "hist", []int64{0}, 66,
			[]map[int]int64{{0: 1, 1: 2, 2: 3}, {2: 4, 3: 5, 65: 6}},
			map[string]uint64{"(..., 0)": 1, "[0]": 2, "[1]": 7, "[2, 4)": 5, "[8E, 16E)": 6}},
		{"hist with two buckets per power", "hist", []int64{1}, 129,
			[]map[int]int64{{3: 1, 4: 2}, {4: 3, 5: 4}},
			map[string]uint64{"[2]": 1, "[3]": 5, "[4, 6)": 4}},
		{"lhist", "lhist", []int64{0, 100, 10}, 12,
			[]map[int]int64{{0: 1, 1: 2}, {1: 1, 10: 3, 11: 4}},
			map[string]uint64{"(..., 0)": 1, "[0, 10)": 3, "[90, 100)": 3, "[100, ...)": 4}},
		{"lhist whose step does not divide the range", "lhist", []int64{5, 30, 10}, 4,
			[]map[int]int64{{1: 1, 2: 2, 3: 3}},
			map[string]uint64{"[5, 15)": 1, "[15, 25)": 2, "[25, ...)": 3}},
	} {
		a, _ := LookupAgg(c.agg)
		typ := &types.Agg{Kind: c.agg, Params: c.params}
		if got := a.CellBytes(typ); got != 8*c.words {
			t.Errorf("%s: a cell has %d bytes, want %d", c.what, got, 8*c.words)
		}
		var cells [][]byte
		for _, m := range c.cells {
			cells = append(cells, at(c.words, m))
		}
		h, ok := a.Show(typ, folded(a, typ, cells)).(value.Hist)
		if !ok {
			t.Errorf("%s: no histogram", c.what)
			continue
		}
		if h.Linear != (c.agg == "lhist") || len(h.Buckets) != c.words {
			t.Errorf("%s: %d buckets, linear is %v", c.what, len(h.Buckets), h.Linear)
		}
		got := map[string]uint64{}
		for _, b := range h.Buckets {
			if b.Count != 0 {
				got[b.Label] = b.Count
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// A histogram's sum stands behind the buckets.
func TestFoldSums(t *testing.T) {
	for _, c := range []struct {
		agg    string
		params []int64
		words  int
		signed bool
		want   value.Value
	}{
		{"hist", []int64{0}, 67, true, value.Int(-4)},
		{"hist", []int64{2}, 254, false, value.Uint(math.MaxUint64 - 3)},
		{"lhist", []int64{0, 100, 10}, 13, true, value.Int(-4)},
	} {
		a, _ := LookupAgg(c.agg)
		typ := &types.Agg{Kind: c.agg, Params: c.params, Signed: c.signed, Sum: true}
		if got := a.CellBytes(typ); got != 8*c.words {
			t.Errorf("%s: a cell has %d bytes, want %d", c.agg, got, 8*c.words)
			continue
		}
		last := c.words - 1
		cells := [][]byte{at(c.words, map[int]int64{1: 2, last: 6}), at(c.words, map[int]int64{2: 1, last: -10})}
		h := a.Show(typ, folded(a, typ, cells)).(value.Hist)
		if h.Sum != c.want || len(h.Buckets) != last || h.Buckets[1].Count != 2 || h.Buckets[2].Count != 1 {
			t.Errorf("%s: %d buckets come to %v, want %v: %v", c.agg, len(h.Buckets), h.Sum, c.want, h.Buckets)
		}
	}
}

func TestArgNumber(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{
		{"arg0", 0}, {"arg9", 9}, {"arg10", 10}, {"arg65535", 65535},
		{"arg", -1}, {"args", -1}, {"arg00", -1}, {"arg01", -1}, {"arg-1", -1}, {"arg+1", -1}, {"arg1x", -1},
		{"arg65536", -1}, {"arg99999999999999999999", -1}, {"sarg0", -1}, {"Arg0", -1}, {"", -1},
	} {
		if got := ArgNumber(c.name); got != c.want {
			t.Errorf("ArgNumber(%q) = %d, want %d", c.name, got, c.want)
		}
		if f, ok := Lookup(c.name); (ok && f == argFunc) != (c.want >= 0) {
			t.Errorf("Lookup(%q) = %v, %v", c.name, f, ok)
		}
	}
}

func TestLostClock(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"nsecs - 1", ""},
		{"nsecs() - nsecs(boot)", ""},
		{"nsecs(monotonic) + 1", "nsecs(monotonic)"},
		{"1 + (nsecs(sw_tai))", "nsecs(sw_tai)"},
		{"elapsed", "elapsed"},
		{"strftime(nsecs)", ""},
		{"$t", ""},
		{"5", ""},
	} {
		if got := lostClock(expression(t, c.expr)); got != c.want {
			t.Errorf("lostClock(%s) = %q, want %q", c.expr, got, c.want)
		}
	}
}

// expression parses an expression.
func expression(t *testing.T, text string) syntax.Expr {
	t.Helper()
	script, ds := syntax.Parse(source.NewFile("test", "begin { _ = "+text+"; }"))
	if ds.HasErrors() {
		t.Fatalf("%s does not parse", text)
	}
	return script.Items[0].(*syntax.Probe).Body.Stmts[0].(*syntax.DiscardStmt).X
}
