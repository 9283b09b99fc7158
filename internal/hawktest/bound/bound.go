// Package bound watches what one input of a fuzz target costs. Go's fuzzing
// finds panics by itself, but neither an input that takes no end of time nor
// one that takes no end of memory.
package bound

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of one input. They are far above what any input takes and far below
// what an endless loop takes, or a size that was read from the input and
// believed. Time is the processor's, so that a busy machine does not matter.
const (
	longest  = time.Minute
	bytes    = 64 << 20
	perByte  = 1 << 10 // of input, on top
	allocKey = "/gc/heap/allocs:bytes"
)

// Run runs f on an input of n bytes. It fails the test if f allocates too much,
// and crashes if f does not come to its end: the fuzzer keeps the input then.
func Run(t testing.TB, n int, f func()) {
	t.Helper()
	start, before := used(), allocated()
	var watch *time.Timer
	watch = time.AfterFunc(longest, func() {
		if used()-start > longest {
			panic(fmt.Sprintf("an input of %d bytes takes more than %s", n, longest))
		}
		watch.Reset(longest / 4)
	})
	defer watch.Stop()
	f()
	if got, limit := allocated()-before, uint64(bytes+n*perByte); got > limit {
		t.Errorf("an input of %d bytes takes %d bytes of memory, more than %d", n, got, limit)
	}
}

// used is the processor time of the process.
func used() time.Duration {
	var r unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: allocKey}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Heap is how many bytes are held on the heap once what nobody needs is collected.
func Heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
