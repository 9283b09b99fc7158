package hawk_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/usdt"
)

// objects counts what this process holds of the kernel: descriptors by kind ("bpf-prog",
// "bpf-map", "bpf_link", "[perf_event]") and mapped buffers.
func objects(t testing.TB) map[string]int {
	t.Helper()
	out := map[string]int{}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // that of the directory itself
		}
		if kind, anonymous := strings.CutPrefix(to, "anon_inode:"); anonymous {
			out[kind]++
		} else {
			out["file"]++
		}
	}
	mapped, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	out["mapped"] = strings.Count(string(mapped), "anon_inode:")
	return out
}

// settled waits until no more is held than before.
func settled(t testing.TB, what string, before map[string]int) {
	t.Helper()
	var now map[string]int
	for range 1000 {
		more := false // less may be: machines of before close with their last reference
		now = objects(t)
		for kind, n := range now {
			more = more || n > before[kind]
		}
		if !more {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: left %v, before %v", what, now, before)
}

// faulty is a script that needs a program, a map, and an event of each kind.
const faulty = `begin { @a = 1; }
tracepoint:sched:sched_switch { @c[pid, kstack] = count(); }
rawtracepoint:sys_enter { @r = sum(1); }
profile:hz:9 { print((n=@a, who=comm)); }
interval:ms:100 { @n++; } end { @e = 1; }`

// countdown is a context that is done once it was asked a number of times.
type countdown struct {
	context.Context
	left   atomic.Int64
	done   chan struct{}
	closed atomic.Bool
}

func newCountdown(n int) *countdown {
	c := &countdown{Context: context.Background(), done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Err() error {
	if c.left.Add(-1) >= 0 {
		return nil
	}
	if c.closed.CompareAndSwap(false, true) {
		close(c.done)
	}
	return context.Canceled
}

// warm compiles the script of these tests and runs it once: what hawk keeps for the next run is no leak.
func warm(t *testing.T) *hawk.Program {
	t.Helper()
	privileged(t)
	p, err := compile(t, faulty, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return p
}

// TestCancelledStart: a start that is cancelled, wherever it is, leaves nothing.
func TestCancelledStart(t *testing.T) {
	p := warm(t)
	before := objects(t)
	asked := 0
	for n := 0; ; n++ {
		ctx := newCountdown(n)
		s, err := p.Start(ctx, nil)
		if err == nil { // it was never asked so often
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			settled(t, "a whole run", before)
			break
		}
		if asked++; !errors.Is(err, context.Canceled) {
			t.Errorf("asked %d times: %v", n, err)
		}
		settled(t, "a cancelled start", before)
	}
	if asked < 3 {
		t.Errorf("the context was asked %d times", asked)
	}
}

// TestFaults: whichever system call of Start that makes a descriptor fails, nothing is left.
func TestFaults(t *testing.T) {
	p := warm(t)
	before := objects(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	failed := 0
	for n := uint64(descriptors(t)); ; n++ {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: limit.Max})
		s, err := p.Start(context.Background(), nil)
		unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			settled(t, "a whole run", before)
			break
		}
		failed++
		settled(t, err.Error(), before)
	}
	if t.Logf("%d system calls failed in turn", failed); failed < 10 {
		t.Errorf("%d system calls failed, want those of programs, maps and links", failed)
	}
}

// TestMillion: of a million marks that were fired, all are events, lost or dropped.
func TestMillion(t *testing.T) {
	privileged(t)
	const fired = 1_000_000
	for _, overflow := range []hawk.Overflow{hawk.Block, hawk.DropNewest} {
		provider := usdt.New("exact")
		mark := usdt.NewMark1[int](provider, "hit")
		if err := provider.Load(nil); err != nil {
			t.Fatal(err)
		}
		s := start(t, `usdt:*:exact:hit { print(arg0); }`, &hawk.CompileOptions{PID: os.Getpid()},
			&hawk.RunOptions{Overflow: overflow, Buffer: 1000})
		for i := range fired {
			mark.Fire(i)
		}
		accounted(t, s, overflow, fired)
		s.Close()
		provider.Close()
	}
}
