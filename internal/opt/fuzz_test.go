package opt_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// TestSameResult runs made-up programs before and after each pass: they must
// compute the same, and leave the same memory behind.
func TestSameResult(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 100
	}
	for seed := range uint64(n) {
		if !sameResult(t, seed) {
			return
		}
	}
}

func FuzzSameResult(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { sameResult(t, seed) })
}

func sameResult(t *testing.T, seed uint64) bool {
	r := rand.New(rand.NewPCG(seed, 1))
	p := irgen.Program(r, irgen.Options{Statements: 5 + r.IntN(50), Big: seed%3 == 0, Callbacks: seed%4 == 0})
	if err := ir.Verify(p); err != nil {
		t.Fatalf("seed %d: generator: %v\n%s", seed, err, p)
	}
	text := p.String()
	type run struct {
		result uint64
		w      *irgen.World
	}
	const worlds = 3
	var want [worlds]run
	outcome := func(p *ir.Prog, i int) run {
		w := irgen.NewWorld(uint64(i))
		w.CPU = 0
		for range 2 {
			w.Scratch = append(w.Scratch, bytes.Repeat([]byte{0xee}, 8<<10))
			clear(w.Scratch[len(w.Scratch)-1][:8])
		}
		if seed%2 == 1 {
			w.Scratch[0][0] = 1 // busy: the second slot has to do
		}
		n, err := w.Run(p)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, p, text)
		}
		return run{n, w}
	}
	for i := range want {
		want[i] = outcome(p, i)
	}
	previous := text
	_, err := opt.Run(p, opt.Options{
		ScratchMap: irgen.Scratch, ScratchSlots: 2, MissedData: irgen.Missed, Verify: true,
		Dump: func(pass string, p *ir.Prog) {
			if err := ir.Verify(p); err != nil {
				t.Fatalf("seed %d: after %s: %v\n%s\nbefore it:\n%s", seed, pass, err, p, previous)
			}
			for i := range want {
				got := outcome(p, i)
				if got.result != want[i].result || !same(got.w, want[i].w) {
					t.Fatalf("seed %d, world %d: %s changes the result from %d to %d\nbefore:\n%s\nafter:\n%s",
						seed, i, pass, want[i].result, got.result, previous, p)
				}
				if got.w.Scratch[0][0] != byte(seed%2) || got.w.Scratch[1][0] != 0 {
					t.Fatalf("seed %d: scratch slot not released\n%s", seed, p)
				}
			}
			previous = p.String()
		},
	})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	return true
}

func same(a, b *irgen.World) bool {
	for i := range a.Values {
		if !bytes.Equal(a.Values[i], b.Values[i]) {
			return false
		}
	}
	return bytes.Equal(a.Data, b.Data)
}
