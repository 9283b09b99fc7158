// Package bound watches what one input of a fuzz target costs. Go's fuzzing
// finds panics by itself, but neither an input that takes no end of time nor
// one that takes no end of memory.
package bound

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// Limits of one input. They are far above what any input takes, so that a busy
// machine does not matter, and far below what an endless loop takes, or a size
// that was read from the input and believed.
const (
	longest  = time.Minute
	bytes    = 64 << 20
	perByte  = 64 << 10 // of input, on top
	allocKey = "/gc/heap/allocs:bytes"
)

// Run runs f on an input of n bytes. It fails the test if f allocates too much,
// and crashes if f does not come to its end: the fuzzer keeps the input then.
func Run(t testing.TB, n int, f func()) {
	t.Helper()
	watch := time.AfterFunc(longest, func() { panic(fmt.Sprintf("an input of %d bytes takes more than %s", n, longest)) })
	defer watch.Stop()
	before := allocated()
	f()
	if got, limit := allocated()-before, uint64(bytes+n*perByte); got > limit {
		t.Errorf("an input of %d bytes takes %d bytes of memory, more than %d", n, got, limit)
	}
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: allocKey}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
