package perf

import (
	"time"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// planInterval runs the program by a timer of hawk's own where the kernel
// refuses perf events, which containers and sysctls do. What looks at the
// interrupted context needs the event all the same, and attaching says what
// forbids it.
func planInterval(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	m := intervalClock
	if !uses.Regs && !uses.Ctx && !uses.Stack && !o.Has(machine.PerfClock) {
		m = intervalTimer
	}
	return probe.PlanAlone(m)(points, uses, o)
}

// intervalTimer runs a raw tracepoint program by BPF_PROG_TEST_RUN, for which the kernel asks no
// rights to perf events.
var intervalTimer = &probe.Mechanism{
	Name:    "timer",
	Program: bpf.RawTracepoint,
	Link: func(progFD int, g *probe.Group, _ *probe.Options) ([]probe.Link, error) {
		p := g.Points[0]
		every := p.Period
		if p.Func == "hz" {
			every = uint64(time.Second) / p.Period
		}
		// A rate beyond a billion would give 0, which a ticker does not take.
		t := &timer{make(chan struct{}), make(chan struct{})}
		go t.run(progFD, time.NewTicker(time.Duration(max(every, 1))))
		return []probe.Link{t}, nil
	},
}

// A timer is a program that hawk runs regularly.
type timer struct {
	stop, stopped chan struct{}
}

// run ends with Close. Ticks that come while the program still runs are dropped by the ticker, so
// that they never pile up.
func (t *timer) run(progFD int, tick *time.Ticker) {
	defer close(t.stopped)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
			bpf.TestRun(progFD, nil) // a failure is a tick that is missed
		}
	}
}

// Close waits until the program does not run any more.
func (t *timer) Close() error {
	// Close is called once, by who detaches or who takes the link back after a failure.
	close(t.stop)
	<-t.stopped
	return nil
}
