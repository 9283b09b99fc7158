package hawk_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/internal/hawktest"
)

var takeEvents = flag.Int("take-events", 400_000, "events of TestKernelTake, at least")

// An adder sums up what Takes of one map yield.
type adder struct {
	t      *testing.T
	m      *hawk.Map
	counts uint64
	totals uint64
	takes  atomic.Int64
}

func (a *adder) take() {
	snap, err := a.m.Take()
	if err != nil {
		a.t.Errorf("%s: %v", a.m.Info.Name, err)
		return
	}
	a.takes.Add(1)
	for _, e := range snap.Entries {
		switch v := e.Value.Interface().(type) {
		case uint64:
			a.counts += v
		case int64:
			a.counts += uint64(v)
		case hawk.Avg:
			a.counts += uint64(v.Count)
			a.totals += uint64(v.Total)
		case hawk.Hist:
			for _, b := range v.Buckets {
				a.counts += b.Count
			}
		case hawk.Series:
			for _, p := range v.Points {
				a.counts += uint64(p.Value)
			}
		default:
			a.t.Errorf("%s: %T", a.m.Info.Name, v)
		}
	}
}

// Takes while programs run on all CPUs add up to what happened.
func TestKernelTake(t *testing.T) {
	const script = `
	let @percpu = percpuhash(64);
	tracepoint:syscalls:sys_enter_getpgid /pid == %d/ {
		$n = (uint64)args.pid;
		@hash[$n %% 64] = count(); @sums[$n %% 8, comm] = sum($n); @percpu[$n %% 16] = count();
		@all = count(); @total = sum($n); @plain++; @keyed[$n %% 4]++;
		@avg[$n %% 3] = avg($n); @stats = stats($n); @hist = hist($n); @hists[$n %% 2] = hist($n);
		@lhist = lhist($n, 0, 100, 10); @series = tseries(1, 1s, 4); @least[0] = min($n);
	}`
	s := start(t, fmt.Sprintf(script, os.Getpid()), &hawk.CompileOptions{Take: true}, nil)
	var maps []*adder
	for _, name := range []string{"@hash", "@sums", "@percpu", "@all", "@total", "@plain", "@keyed", "@avg",
		"@stats", "@hist", "@hists", "@lhist", "@least"} {
		m, err := s.Map(name)
		if err != nil {
			t.Fatal(err)
		}
		maps = append(maps, &adder{t: t, m: m})
	}
	workers := min(max(runtime.NumCPU(), 2), 8)
	var working, taking sync.WaitGroup
	events, sums := make([]uint64, workers), make([]uint64, workers)
	// There are to be takes while programs run, however slow the machine is.
	const leastTakes = 10
	often := func() bool {
		return !slices.ContainsFunc(maps, func(a *adder) bool { return a.takes.Load() < leastTakes })
	}
	for w := range workers {
		working.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for i := 0; i < *takeEvents/workers || i%1000 != 0 || !often() && !t.Failed(); i++ {
				n := 1 + (i+w)%90
				syscall.RawSyscall(syscall.SYS_GETPGID, uintptr(n), 0, 0)
				events[w]++
				sums[w] += uint64(n)
			}
		})
	}
	ended := make(chan struct{})
	for _, a := range maps {
		taking.Go(func() {
			for {
				select {
				case <-ended:
					a.take() // what is left
					a.take() // nothing
					return
				case <-time.After(time.Millisecond):
					a.take()
				}
			}
		})
	}
	working.Wait()
	close(ended)
	taking.Wait()
	var all, sum uint64
	for w := range workers {
		all, sum = all+events[w], sum+sums[w]
	}
	by := map[string]*adder{}
	for _, a := range maps {
		by[a.m.Info.Name] = a
	}
	// From Linux 7.0 on the kernel skips a program that another task on the CPU is in, and says how
	// often: what the maps have is the same in all of them then, and near the number of events.
	ran, total := by["@all"].counts, by["@total"].counts
	if missed := s.Stats().Missed; ran > all || ran+missed < all || missed == 0 && total != sum {
		t.Errorf("%d and %d missed of %d events, the total is %d of %d", ran, missed, all, total, sum)
	}
	for _, a := range maps {
		want, got := ran, a.counts
		switch a.m.Info.Name {
		case "@sums", "@total":
			want = total
		case "@least":
			want, got = 1, uint64(min(1, a.counts))
		case "@avg", "@stats":
			if a.totals != total {
				t.Errorf("%s: the total is %d, want %d", a.m.Info.Name, a.totals, total)
			}
		}
		if got != want {
			t.Errorf("%s: %d, want %d", a.m.Info.Name, got, want)
		}
		t.Logf("%s: %d in %d takes", a.m.Info.Name, a.counts, a.takes.Load())
	}
	if missing, err := hawktest.Have("kernel>=7.0"); err != nil || missing != nil && s.Stats().Missed != 0 {
		t.Errorf("%+v, %v", s.Stats(), err)
	}
}
