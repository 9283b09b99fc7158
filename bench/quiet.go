package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Bounds of the loops that tell a quiet machine.
const (
	quietLoops = 150
	quietTurns = 4_000_000 // of a loop, which takes some milliseconds
	mostSpread = 1.2       // from the least of the loops to all but the slowest tenth
)

// quiet fails if somebody else uses the machine: loops that are all the same then take unevenly
// long. There is one on each processor.
func quiet() error {
	spreads := make([]float64, runtime.NumCPU())
	var running sync.WaitGroup
	for i := range spreads {
		running.Go(func() {
			// One loop on each processor at a time shows a neighbour wherever the scheduler puts
			// it, and also a virtual machine whose processors are others' now and then.
			times := make([]time.Duration, quietLoops)
			for n := range times {
				begin := time.Now()
				turn(quietTurns)
				times[n] = time.Since(begin)
			}
			spreads[i] = spread(times)
		})
	}
	running.Wait()
	if worst := slices.Max(spreads); worst > mostSpread {
		return fmt.Errorf("%w: one in ten of loops that are all the same takes %.1f times as long as the "+
			"fastest (%.1f at most); without -write the tables are printed only", errNoisy, worst, mostSpread)
	}
	return nil
}

var errNoisy = errors.New("this machine is not quiet enough to write what is measured")

// spread is how many times as long as the least all but the slowest tenth take.
func spread(times []time.Duration) float64 {
	slices.Sort(times)
	// The slowest tenth is left out, since a timer or an interrupt hits some loops on any
	// machine.
	return float64(times[len(times)*9/10]) / float64(times[0])
}

// turn makes as many multiplications, each of which waits for the one before. The chain leaves
// the processor nothing to do side by side, and no memory is touched: only the clock and who
// else runs have a say in how long it takes. The multiplier is Knuth's for random numbers.
func turn(n int) (x uint64) {
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x)
	return x
}
