package session_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
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
	before.check(t)
}

// check fails the test if more is held than before.
func (before resources) check(t *testing.T) {
	t.Helper()
	after := held(t)
	if after.fds > before.fds || after.mappings > before.mappings || after.goroutines > before.goroutines {
		t.Errorf("held before %+v, after %+v", before, after)
	}
	const slack = 4 << 20
	if after.heap > before.heap+slack {
		t.Errorf("the heap has grown from %d to %d bytes", before.heap, after.heap)
	}
}

// TestCyclesOnTarget makes a thousand attachments to a process, which works on in
// between: ten at a time, since the kernel waits for all CPUs before it has let
// go of one.
func TestCyclesOnTarget(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while read line; do echo $line; done")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	var script strings.Builder
	for _, function := range []string{"write", "read", "fork", "open", "close"} {
		fmt.Fprintf(&script, "uprobe:libc:%s { @[\"%s\"] = count(); } uretprobe:libc:%s { @sums[\"%s\"] = "+
			"sum(retval); } ", function, function, function, function)
	}
	cycle := func(n int) {
		for i := range n {
			tr := tracing{pid: cmd.Process.Pid, dryRun: true}
			tr.run(t, script.String())
			if tr.err != nil {
				t.Fatalf("cycle %d: %v", i, tr.err)
			}
			fmt.Fprintln(in, i)
			if !answers.Scan() || answers.Text() != fmt.Sprint(i) {
				t.Fatalf("after cycle %d the process answers %q, %v", i, answers.Text(), answers.Err())
			}
		}
	}
	cycle(10)
	before := held(t)
	cycle(100)
	before.check(t)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
