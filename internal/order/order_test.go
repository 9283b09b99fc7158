package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLikeSlices sorts as package slices does, equals included.
func TestLikeSlices(t *testing.T) {
	type pair struct{ key, at int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{rng.IntN(1 + n/2), i}
		}
		stable, whole := slices.Clone(s), slices.Clone(s)
		Stably(stable, byKey)
		slices.SortStableFunc(s, byKey)
		if !slices.Equal(stable, s) {
			t.Fatalf("%v, want %v", stable, s)
		}
		By(whole, func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.at, b.at)) })
		if !slices.Equal(whole, s) {
			t.Fatalf("%v, want %v", whole, s)
		}
	}
}
