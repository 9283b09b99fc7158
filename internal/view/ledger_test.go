package view

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"testing"
)

func number(n uint64) []byte { return binary.NativeEndian.AppendUint64(nil, n) }

func totals(l *Ledger) (sums map[string]uint64, low map[string]bool) {
	sums, low = map[string]uint64{}, map[string]bool{}
	l.Totals(func(key, cell, _ []byte, least bool) {
		sums[string(key)], low[string(key)] = binary.NativeEndian.Uint64(cell), least
	})
	return sums, low
}

// TestLedgerAgainstModel: whatever scripts clear, totals are right; where programs delete between reads
// they are lower bounds. They never fall.
func TestLedgerAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := NewLedger(AddWords, 0, 0)
		held, all := map[string]uint64{}, map[string]uint64{} // the map, and what was ever added
		lost := map[string]bool{}
		before := map[string]uint64{}
		read := func() {
			l.Begin()
			for k, v := range held {
				l.Seen([]byte(k), number(v))
			}
			l.End()
			sums, low := totals(l)
			for k, want := range all {
				switch got := sums[k]; {
				case got > want, got != want && !lost[k]:
					t.Fatalf("seed %d: %s is %d, not %d", seed, k, got, want)
				case low[k] && !lost[k]:
					t.Fatalf("seed %d: %s is marked and nothing was lost", seed, k)
				case got < before[k]:
					t.Fatalf("seed %d: %s fell from %d to %d", seed, k, before[k], got)
				}
			}
			before = sums
		}
		for range 100 {
			k := fmt.Sprint("k", r.IntN(4))
			switch r.IntN(6) {
			case 0, 1, 2:
				n := 1 + r.Uint64N(10)
				held[k] += n
				all[k] += n
			case 3: // clear
				for k, v := range maps.Clone(held) {
					l.Took([]byte(k), number(v))
					delete(held, k)
				}
			case 4: // a program deletes
				if _, ok := held[k]; ok {
					delete(held, k)
					lost[k] = true
				}
			case 5:
				read()
			}
		}
		read()
	}
}

func TestLedgerLimit(t *testing.T) {
	l := NewLedger(AddWords, 0, 1000)
	var all uint64
	for i := range uint64(500) {
		l.Took(number(i), number(i))
		all += i
	}
	l.Begin()
	l.End()
	sums, _ := totals(l)
	var kept uint64
	for _, n := range sums {
		kept += n
	}
	cell, rows, _ := l.Others()
	if others := binary.NativeEndian.Uint64(cell); kept+others != all {
		t.Errorf("%d kept and %d in others are not %d", kept, others, all)
	}
	if rows+len(sums) != 500 || len(sums) > 63 || sums[string(number(499))] != 499 {
		t.Errorf("%d rows and %d in others", len(sums), rows)
	}
}

// Totals may fall where values are signed; counts tell then.
func TestLedgerSigned(t *testing.T) {
	l := NewLedger(AddWords, 1, 0)
	cell := func(total int64, count uint64) []byte { return append(number(uint64(total)), number(count)...) }
	l.Seen([]byte("k"), cell(5, 1))
	l.Seen([]byte("k"), cell(-5, 2))
	sums, low := totals(l)
	if int64(sums["k"]) != -5 || low["k"] {
		t.Errorf("%d, %v", int64(sums["k"]), low)
	}
	l.Seen([]byte("k"), cell(3, 1)) // made anew
	if sums, low := totals(l); int64(sums["k"]) != -2 || !low["k"] {
		t.Errorf("%d, %v", int64(sums["k"]), low)
	}
}

func TestLedgerWraps(t *testing.T) {
	l := NewLedger(AddWords, 0, 0)
	l.Seen([]byte("k"), number(1<<64-5))
	l.Seen([]byte("k"), number(5))
	if _, low := totals(l); low["k"] {
		t.Error("a counter that wrapped is taken for another")
	}
}

// TestLedgerRoom keeps what a map of many keys holds, in not much more than the keys and cells are long.
func TestLedgerRoom(t *testing.T) {
	const keys = 100_000
	before := bound.Heap()
	l := NewLedger(AddWords, 0, 0)
	l.Begin()
	for i := range uint64(keys) {
		l.Seen(number(i), number(i))
	}
	l.End()
	if n := (bound.Heap() - before) / keys; n > 64 {
		t.Errorf("a key takes %d bytes", n)
	}
	if l.Len() != keys {
		t.Errorf("there are %d keys", l.Len())
	}
}
