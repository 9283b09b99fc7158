package session

import (
	"context"
	"time"

	"github.com/hawktrace/hawk/internal/source"
)

// patience is how long a write may last once the run is to end. Nobody reads
// what takes longer.
const patience = time.Second

// An attention is how a run learns that it is to end, and gets there.
type attention struct {
	ctx               context.Context // of the run; nil: nobody attends
	news              chan struct{}   // somebody has called end
	stop, abort       context.Context // done once the run is to end, and when that is to be at once
	stopNow, abortNow context.CancelFunc
	dropped           int // commands that were not run any more
}

// open makes what a run is told by. Commands and files that the reader waits for end with stop or
// abort.
func (a *attention) open(ctx context.Context) {
	a.ctx, a.news = ctx, make(chan struct{}, 1)
	a.stop, a.stopNow = context.WithCancel(context.Background())
	a.abort, a.abortNow = context.WithCancel(context.Background())
}

// end ends the run: 1 in its own time, 2 at once. It may be called from any goroutine while the run
// lasts.
func (s *session) end(how int32) {
	// It only ever grows: a first signal that comes late does not take the second back.
	for was := s.signals.Load(); was < how && !s.signals.CompareAndSwap(was, how); was = s.signals.Load() {
	}
	if how == 0 || s.ctx == nil {
		return
	}
	if s.stopNow(); how > 1 {
		s.abortNow()
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
	s.wake()
}

// attend waits for the end of the run's context, and for that somebody ends the run,
// until done is closed. It sees to it that the reader of events does not miss them: it
// wakes it, ends the command that it waits for, and shuts the output that it is stuck in.
func (s *session) attend(done <-chan struct{}) {
	cancelled := s.ctx.Done()
	var look <-chan time.Time
	for {
		select {
		case <-s.news:
		case <-cancelled:
			s.cancelled.Store(true)
			s.stopNow()
			s.wake()
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
	}
}

// unblock shuts the output if a write to it has lasted too long: after a second
// signal, any time is.
func (s *session) unblock() {
	// A second Ctrl-C says that nobody wants to wait for so long.
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
	case s.ending.Load():
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
