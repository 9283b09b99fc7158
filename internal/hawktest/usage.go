package hawktest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// watchMemory notes the most memory that a process has had, until it ends. What wait4 tells counts
// the memory of the test as well, which the process had before it began its program. The
// high-water mark only grows, so that a look now and then misses no more than the last moments.
func (p *process) watchMemory() {
	for {
		if n := memoryPeak(p.cmd.Process.Pid); n > 0 {
			atomic.StoreInt64(&p.peak, n)
		}
		select {
		case <-p.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// memoryPeak is the most memory that a process has had so far, in kilobytes.
func memoryPeak(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			n, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return n
		}
	}
	return 0
}

// cmdPeak compares the most memory that the last hawk has had, in megabytes.
func cmdPeak(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "<" {
		ts.Fatalf("usage: peak < MEGABYTES")
	}
	limit, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	peak := stateOf(ts).peak >> 10
	ts.Logf("hawk took %d MB", peak)
	if peak == 0 || peak >= limit {
		ts.Fatalf("hawk took %d MB of memory, want less than %d", peak, limit)
	}
}
