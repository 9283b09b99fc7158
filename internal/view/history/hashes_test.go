package history

import (
	"math/rand/v2"
	"testing"
)

// TestHashes has the set know what a map knows, whatever comes and goes, and not lose those that stand behind one that
// is taken out.
func TestHashes(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s hashes
		model := map[uint32]bool{}
		for range 3000 {
			hash := 1 + r.Uint32N(200)
			if r.IntN(4) == 0 { // far apart by value, and next to each other by place
				hash |= r.Uint32N(4) << 30
			}
			if r.IntN(2) == 0 {
				s.add(hash)
				model[hash] = true
			} else if got := s.remove(hash); got != model[hash] {
				t.Fatalf("seed %d: %d was there: %v, want %v", seed, hash, got, model[hash])
			} else {
				delete(model, hash)
			}
			if s.len != len(model) {
				t.Fatalf("seed %d: %d hashes, want %d", seed, s.len, len(model))
			}
		}
		for hash := range model {
			if !s.remove(hash) {
				t.Fatalf("seed %d: %d is lost", seed, hash)
			}
		}
	}
}
