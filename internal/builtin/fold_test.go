package builtin

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// kindsOfCells are aggregations of every kind, signed and not, with parameters.
func kindsOfCells() []*types.Agg {
	var out []*types.Agg
	for _, signed := range []bool{false, true} {
		for _, kind := range []string{"count", "sum", "min", "max", "avg", "stats"} {
			out = append(out, &types.Agg{Kind: kind, Signed: signed})
		}
		for _, sum := range []bool{false, true} {
			for bits := range int64(6) {
				out = append(out, &types.Agg{Kind: "hist", Signed: signed, Params: []int64{bits}, Sum: sum})
			}
			out = append(out, &types.Agg{Kind: "lhist", Signed: signed, Params: []int64{5, 300, 10}, Sum: sum})
		}
		for keep := keepLast; keep <= keepMax; keep++ {
			out = append(out, &types.Agg{Kind: "tseries", Signed: signed, Params: []int64{1000, 7, keep}})
		}
	}
	return out
}

// update does to a cell what a program does.
func update(t *types.Agg, cell []byte, x int64, now uint64) {
	le := binary.LittleEndian
	word := func(i int) int64 { return int64(le.Uint64(cell[8*i:])) }
	put := func(i int, v int64) { le.PutUint64(cell[8*i:], uint64(v)) }
	less := func(a, b int64) bool {
		if t.Signed {
			return a < b
		}
		return uint64(a) < uint64(b)
	}
	switch t.Kind {
	case "count":
		put(0, word(0)+1)
	case "sum":
		put(0, word(0)+x)
	case "min", "max":
		if word(1) == 0 || t.Kind == "min" && less(x, word(0)) || t.Kind == "max" && less(word(0), x) {
			put(0, x)
			put(1, 1)
		}
	case "avg", "stats":
		put(0, word(0)+x)
		put(1, word(1)+1)
	case "hist", "lhist":
		i := int(uint64(x) % uint64(len(cell)/8))
		put(i, word(i)+1)
	case "tseries":
		epoch := int64(now) / t.Params[0]
		i := 3 * int(epoch%t.Params[1])
		fresh := word(i+2) != epoch
		switch t.Params[2] {
		case keepSum, keepAvg:
			if fresh {
				put(i, 0)
				put(i+1, 0)
			}
			put(i, word(i)+x)
			put(i+1, word(i+1)+1)
		case keepMin, keepMax:
			if fresh || t.Params[2] == keepMin && less(x, word(i)) || t.Params[2] == keepMax && less(word(i), x) {
				put(i, x)
				put(i+1, int64(now))
			}
		default:
			put(i, x)
			put(i+1, int64(now))
		}
		put(i+2, epoch)
	}
}

// TestFoldLaws checks that cells of zeroes add nothing, and that neither order
// nor grouping matters.
func TestFoldLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []int64{0, 1, -1, math.MinInt64, math.MaxInt64, 7}
	for _, typ := range kindsOfCells() {
		a, _ := LookupAgg(typ.Kind)
		size := a.CellBytes(typ)
		cellOf := func() []byte {
			c := make([]byte, size)
			now := uint64(1_000_000 + r.IntN(9000))
			for range r.IntN(30) {
				x := int64(r.Uint64())
				switch r.IntN(3) {
				case 0:
					x = edges[r.IntN(len(edges))]
				case 1:
					x = int64(r.IntN(400)) - 100
				}
				update(typ, c, x, now)
				now += uint64(r.IntN(600))
			}
			return c
		}
		fold := func(x, y []byte) []byte {
			out := slices.Clone(x)
			a.Fold(typ, out, y)
			return out
		}
		name := fmt.Sprintf("%s %v signed %v", typ.Kind, typ.Params, typ.Signed)
		for range 200 {
			x, y, z := cellOf(), cellOf(), cellOf()
			before := slices.Clone(y)
			if xy, yx := fold(x, y), fold(y, x); !slices.Equal(xy, yx) {
				t.Fatalf("%s: order matters:\n%v\n%v", name, xy, yx)
			}
			if !slices.Equal(y, before) {
				t.Fatalf("%s: the source was written to", name)
			}
			if left, right := fold(fold(x, y), z), fold(x, fold(y, z)); !slices.Equal(left, right) {
				t.Fatalf("%s: grouping matters:\n%v\n%v", name, left, right)
			}
			zero := make([]byte, size)
			if !slices.Equal(fold(x, zero), x) || !slices.Equal(fold(zero, x), x) {
				t.Fatalf("%s: zeroes add something to %v", name, x)
			}
		}
	}
}

// TestFoldIsOneCell checks that updates spread over many cells show what one
// cell shows that had them all, in order of time.
func TestFoldIsOneCell(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range kindsOfCells() {
		a, _ := LookupAgg(typ.Kind)
		for range 100 {
			one := make([]byte, a.CellBytes(typ))
			cells := [][]byte{slices.Clone(one), slices.Clone(one), slices.Clone(one)}
			now := uint64(1_000_000)
			for range 1 + r.IntN(50) {
				x := int64(r.IntN(2000)) - 500
				now += uint64(1 + r.IntN(700))
				update(typ, one, x, now)
				update(typ, cells[r.IntN(3)], x, now)
			}
			want, got := a.Show(typ, one), a.Show(typ, folded(a, typ, cells))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s %v (-one +many):\n%s", typ.Kind, typ.Params, diff)
			}
		}
	}
}

func TestFoldSeries(t *testing.T) {
	a, _ := LookupAgg("tseries")
	// Each CPU has {value, meta, epoch} for epochs modulo 2.
	cells := [][]byte{words(-4, 2, 10, 7, 3, 9), words(6, 3, 10, 1, 1, 7), words(0, 0, 0, 0, 0, 0)}
	for keep, want := range map[int64][]value.Point{
		keepLast: {{Epoch: 9, Value: 7}, {Epoch: 10, Value: 6}},
		keepSum:  {{Epoch: 9, Value: 7}, {Epoch: 10, Value: 2}},
		keepAvg:  {{Epoch: 9, Value: 2}, {Epoch: 10, Value: 0}},
		keepMin:  {{Epoch: 9, Value: 7}, {Epoch: 10, Value: -4}},
		keepMax:  {{Epoch: 9, Value: 7}, {Epoch: 10, Value: 6}},
	} {
		typ := &types.Agg{Kind: "tseries", Signed: true, Params: []int64{1, 2, keep}}
		if s := showSeries(typ, folded(a, typ, cells)); !reflect.DeepEqual(s.Points, want) {
			t.Errorf("kept by %d: %v, want %v", keep, s.Points, want)
		}
	}
	unsigned := &types.Agg{Kind: "tseries", Params: []int64{1, 2, keepMax}}
	if got := showSeries(unsigned, folded(a, unsigned, cells)).Points[1].Value; got != -4 {
		t.Errorf("the largest unsigned value is %d, want the bits of -4", got)
	}
	// An interval that is too old is not shown even if nothing replaced it.
	typ := &types.Agg{Params: []int64{1, 2, keepLast}}
	if s := showSeries(typ, words(1, 1, 10, 2, 1, 5)); len(s.Points) != 1 {
		t.Errorf("%v holds an old interval", s.Points)
	}
}

// TestShowParts checks that parts of a cell may come in any order and number,
// those that no CPU has seen among them.
func TestShowParts(t *testing.T) {
	a, _ := LookupAgg("tseries")
	typ := &types.Agg{Kind: "tseries", Params: []int64{10, 3, keepSum}, Signed: true}
	part := words(7, 2, 103)
	a.Fold(typ, part, words(3, 1, 103))
	raw := slices.Concat(part, words(0, 0, 0), words(9, 1, 99), words(5, 1, 100), words(4, 9, 101))
	want := value.Series{Interval: 10, Count: 3, Signed: true, Points: []value.Point{{Epoch: 101, Value: 4},
		{Epoch: 103, Value: 10}}}
	if diff := cmp.Diff(want, showSeries(typ, raw)); diff != "" {
		t.Error(diff)
	}
	if s := showSeries(typ, nil); len(s.Points) != 0 {
		t.Errorf("nothing shows %v", s.Points)
	}
}
