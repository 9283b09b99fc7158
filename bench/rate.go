package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	rateTime  = time.Second // of one try
	rateSteps = 6           // halvings of the gap between a rate that arrives and one that does not
	rateMost  = 16e6        // events a second: more than a loop of calls makes
)

// rate looks for the most events a second of which all arrive. A tool that keeps up with calls made
// one after the other is given that rate: there is none above it to try.
func rate(b *bench) ([]row, error) {
	got, err := b.interleave(min(b.rounds, 3), func(t *tool) ([]float64, error) {
		// The first try goes as fast as it can, and says by what it made where the search
		// begins.
		top, ok, err := tryRate(b, t, rateMost)
		if err != nil || ok {
			return []float64{top / 1000}, err
		}
		low, high := 0.0, top
		for range rateSteps {
			middle := (low + high) / 2
			if low == 0 {
				// While no rate has arrived yet the search goes down by quarters: a slow tool is
				// at a hundredth of the top, and halving would use all steps on the way.
				middle = high / 4
			}
			made, ok, err := tryRate(b, t, middle)
			if err != nil {
				return nil, err
			}
			if ok {
				// The rate that was made counts, not the one that was wanted, which the loop may
				// not reach.
				low = max(low, made)
			} else {
				high = middle
			}
		}
		return []float64{low / 1000}, nil
	})
	if err != nil {
		return nil, err
	}
	return []row{{"(d) without loss", "k/s", got[0]}}, nil
}

// tryRate makes calls at a rate and says which rate that was in fact and whether all events arrived.
func tryRate(b *bench, t *tool, wanted float64) (made float64, all bool, err error) {
	file := filepath.Join(b.dir, "out")
	s, err := t.attach("-o", file, "-e", floodScript)
	if err != nil {
		return 0, false, err
	}
	calls, took := paced(wanted, rateTime)
	if err := s.stop(); err != nil {
		return 0, false, err
	}
	arrived, err := arrivals(file)
	return float64(calls) / took.Seconds(), arrived == calls, err
}

// paced makes calls of getppid on one CPU at a rate, in small batches, for some time.
func paced(rate float64, limit time.Duration) (calls int, took time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer onOneCPU()()
	// A batch is short beside any tool's buffer, so that the pace is even for it, and long
	// enough that looking at the clock costs little.
	const batch = 64
	begin := time.Now()
	for ; took < limit; took = time.Since(begin) {
		if float64(calls) > rate*took.Seconds() {
			continue
		}
		for range batch {
			unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
		calls += batch
	}
	return calls, took
}

// arrivals counts the lines that this process has caused.
func arrivals(file string) (int, error) {
	out, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n := 0
	// Other processes call getppid as well, and their lines are no part of what was sent.
	mine := fmt.Appendf(nil, "%d ", os.Getpid())
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, mine) {
			n++
		}
	}
	return n, nil
}
