package session

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/source"
)

// patience is how long a write may last once the run is to end. Nobody reads
// what takes longer.
const patience = time.Second

// An attention is how a run learns that it is to end, and gets there.
type attention struct {
	caught            chan os.Signal
	stop, abort       context.Context // done by the first signal that ends the run, by the second; nil: nobody attends
	stopNow, abortNow context.CancelFunc
	dropped           int         // commands that were not run any more
	deaf              atomic.Bool // the reader is gone
}

// catch has signals sent to the run. A closed pipe is seen when writing; its
// signal would end hawk before the end programs have run. A terminal that is
// gone is no reason to lose what was counted: the output may be a file. What
// nohup has arranged stays so.
func (a *attention) catch() {
	a.stop, a.stopNow = context.WithCancel(context.Background())
	a.abort, a.abortNow = context.WithCancel(context.Background())
	a.caught = make(chan os.Signal, 4)
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGUSR1, unix.SIGPIPE}
	if !signal.Ignored(unix.SIGHUP) {
		signals = append(signals, unix.SIGHUP)
	}
	signal.Notify(a.caught, signals...)
}

// attend takes signals, and the end of ctx, until done is closed. It sees to it
// that the reader of events does not miss them: it wakes it, ends the command
// that it waits for, and shuts the output that it is stuck in.
func (s *session) attend(ctx context.Context, done <-chan struct{}) {
	cancelled := ctx.Done()
	var look <-chan time.Time
	for {
		select {
		case sig := <-s.caught:
			switch sig {
			case unix.SIGUSR1:
				s.selfSignals.Add(1)
			case unix.SIGINT, unix.SIGTERM, unix.SIGHUP:
				if s.stopNow(); s.signals.Add(1) > 1 {
					s.abortNow()
				}
			}
		case <-cancelled:
			s.cancelled.Store(true)
			s.stopNow()
			cancelled = nil
		case <-look:
			s.unblock()
			continue
		case <-done:
			return
		}
		if s.interrupted() && look == nil {
			ticker := time.NewTicker(patience / 20)
			defer ticker.Stop()
			look = ticker.C
		}
		if !s.deaf.Load() {
			s.wake()
		}
	}
}

// unblock shuts the output if a write to it has lasted too long: after a second
// signal, any time is.
func (s *session) unblock() {
	limit := patience
	if s.signals.Load() > 1 {
		limit = patience / 20
	}
	for _, v := range s.o.Valves {
		if v.Stuck() >= limit {
			for _, all := range s.o.Valves {
				all.Shut()
			}
			return
		}
	}
}

// patient says until when the reader may wait for others, for commands of
// system() and for files: until the run is to end, or if it is ending, until
// somebody has lost patience.
func (s *session) patient() context.Context {
	switch {
	case s.stop == nil:
		return context.Background()
	case s.ending:
		return s.abort
	}
	return s.stop
}

// reportDropped says how many commands were not run.
func (s *session) reportDropped() {
	switch s.dropped {
	case 0:
	case 1:
		s.Warnf(source.Span{}, "1 command of system() was not run, since the run was to end")
	default:
		s.Warnf(source.Span{}, "%d commands of system() were not run, since the run was to end", s.dropped)
	}
	s.dropped = 0
}
