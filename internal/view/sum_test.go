package view

import (
	"math"
	"testing"

	"github.com/hawktrace/hawk/internal/value"
)

// TestSum adds up numbers whose sum needs more than 64 bits, and ones below zero.
func TestSum(t *testing.T) {
	m := &Map{Name: "@", Kind: Counter, Weight: ValueWeight}
	for _, tt := range []struct {
		values []value.Value
		want   float64
	}{
		{nil, 0},
		{[]value.Value{value.Uint(math.MaxUint64), value.Uint(math.MaxUint64)}, 1 << 65},
		{[]value.Value{value.Int(math.MaxInt64), value.Int(math.MaxInt64), value.Int(2)}, 1 << 64},
		{[]value.Value{value.Int(math.MinInt64), value.Int(math.MinInt64)}, -1 << 64},
		{[]value.Value{value.Int(-5), value.Int(2)}, -3},
		{[]value.Value{value.Int(5), value.Int(-7), value.Int(2)}, 0},
		{[]value.Value{value.Str("x")}, 0},
	} {
		var s Sum
		for _, v := range tt.values {
			s.AddWeight(m, v)
		}
		if got := s.Float(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
}

// TestPlus has sums end where 64 bits do.
func TestPlus(t *testing.T) {
	for _, tt := range [][3]int64{
		{1, 2, 3}, {-1, 1, 0}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MaxInt64, -1}, {0, math.MinInt64, math.MinInt64},
	} {
		if got := Plus(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d + %d = %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
	for x, want := range map[float64]int64{1e300: math.MaxInt64, -1e300: math.MinInt64, 2.5: 3, -2.5: -3,
		math.Inf(1): math.MaxInt64} {
		if got := Whole(x); got != want {
			t.Errorf("%v is %d, want %d", x, got, want)
		}
	}
}

// TestWeightsStay draws stacks that weigh more together than 64 bits hold: none of them turns into nothing or less.
func TestWeightsStay(t *testing.T) {
	m := &Map{Name: "@", Kind: Counter, Weight: ValueWeight}
	p := NewProfile(&Snapshot{Map: m, Rows: RowsOf([]Row{
		{Value: value.Uint(math.MaxUint64)}, {Value: value.Int(math.MaxInt64)}, {Value: value.Int(7)},
	})})
	if got := p.Total(); got != math.MaxInt64 {
		t.Errorf("the total is %d", got)
	}
	trie := NewTrie(p, func(f *FrameAt) string { return f.Name })
	for n := range trie.Len() {
		if trie.Self(n, 0) < 0 || trie.Total(n) != math.MaxInt64 {
			t.Errorf("node %d weighs %d, with all below %d", n, trie.Self(n, 0), trie.Total(n))
		}
	}
	// Samples that stand for so much time have no number for it.
	timed := &Map{Name: "@", Kind: Counter, Weight: ValueWeight, Period: 1_000_000}
	p = NewProfile(&Snapshot{Map: timed, Rows: RowsOf([]Row{{Value: value.Uint(1 << 50)}})})
	p.Each(func(s *Sample) {
		if got := s.Values; got[0] != 1<<50 || got[1] != math.MaxInt64 {
			t.Errorf("samples and time are %d", got)
		}
	})
	// Rows that are not kept of a look are one.
	for _, v := range []value.Value{value.Uint(1 << 63), value.Int(1 << 62),
		value.Stats{Count: 1 << 62, Total: -1 << 63}, value.Avg{Count: 1 << 62, Total: 1 << 62, Signed: true}} {
		all := sum(sum(sum(nil, v), v), v)
		n, _, _ := value.Integer(all)
		switch all := all.(type) {
		case value.Stats:
			n = uint64(all.Total)
		case value.Avg:
			n = uint64(all.Total)
		}
		if n < math.MaxInt64 {
			t.Errorf("three times %v are %v", v, all)
		}
	}
}
