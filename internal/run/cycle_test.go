package run_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// resources is what a process holds of the kernel, and of memory.
type resources struct {
	fds, mappings, goroutines int
	heap                      uint64 // bytes
}

func held(t *testing.T) resources {
	t.Helper()
	runtime.GC()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	bpf := strings.Count(string(maps), "anon_inode:") // rings and data are mapped from maps
	return resources{len(fds), bpf, runtime.NumGoroutine(), m.HeapAlloc}
}

// TestCycles attaches and detaches a thousand times. Programs, maps and links
// live by their descriptors and mappings, so that none of those may be left.
func TestCycles(t *testing.T) {
	scripts := []string{
		`rawtracepoint:sched_switch { @[tid] = count(); }`,
		`software:cpu-clock:1000000 { @[kstack] = count(); printf("%d\n", pid); }`,
		`profile:hz:99 { @ = hist(nsecs); } interval:s:1 { print(@); }`,
		`iter:task /ctx.task.pid == 1/ { @[ctx.task.comm] = count(); }`,
	}
	cycle := func(n int) {
		for i := range n {
			tr := tracing{dryRun: true}
			tr.run(t, scripts[i%len(scripts)])
			if tr.err != nil {
				t.Fatalf("cycle %d: %s: %v", i, scripts[i%len(scripts)], tr.err)
			}
		}
	}
	cycle(2 * len(scripts)) // what is kept for good is there now
	before := held(t)
	cycle(1000)
	after := held(t)
	if after.fds > before.fds || after.mappings > before.mappings || after.goroutines > before.goroutines {
		t.Errorf("held before %+v, after %+v", before, after)
	}
	const slack = 4 << 20
	if after.heap > before.heap+slack {
		t.Errorf("the heap has grown from %d to %d bytes", before.heap, after.heap)
	}
}
