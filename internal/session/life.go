package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
)

// trace is the life cycle of the probes from the begin programs on. The order keeps promises: begin
// sees no event, the command does nothing before everything is attached, and links are closed after
// the end programs.
func (s *session) trace() error {
	s.startClocks()
	if c := s.o.Child; c != nil {
		atomic.StoreUint64(s.word(object.DataCPID), uint64(c.PID()))
		// Before anything can fail: what ends the run waits for the end of the command, which would
		// wait to be let go.
		defer c.Terminate(s.abort)
	}
	if err := s.startMeter(); err != nil {
		return err
	}
	if err := s.runAll(probe.AtBegin); err != nil {
		return err
	}
	if s.o.Report.Verdict() {
		good, err := s.report(s.o.Report)
		if err != nil {
			return err
		}
		defer func() {
			if !good {
				s.status = 1
			}
		}()
		return s.finish()
	}
	defer s.detach()
	if s.unwind != nil && !s.o.DryRun {
		s.unwind.Wait() // for what is known to be needed by the first sample
	}
	if err := s.attach(); err != nil {
		if s.meter.costly.Load() {
			return s.finish()
		}
		return err
	}
	if s.o.DryRun {
		return nil
	}
	n := s.announce()
	if c := s.o.Child; c != nil {
		if err := c.Run(); err != nil {
			return err
		}
	}
	s.begun(n)
	s.pinned()
	s.refresh()
	if err := s.iterate(); err != nil {
		return err
	}
	if s.waits() {
		s.unwindRunning()
		s.loop()
	} else {
		s.drain()
	}
	return s.finish()
}

// announce says that everything is attached, before the command prints anything.
func (s *session) announce() (probes int) {
	points := map[*probe.Point]bool{} // one that is at several places can have several programs
	for _, p := range s.Object.Programs {
		for _, pt := range p.Group.Counted() {
			points[pt] = true
		}
	}
	n := s.o.Unused + len(points) - s.failing.unattached
	s.Emit(output.Attached{Probes: n})
	s.open()
	s.flush()
	return n
}

// begun tells those who wait for the run that it has begun, with so many probes.
func (s *session) begun(probes int) {
	if s.o.Attached != nil {
		s.o.Attached(probes)
	}
	s.owner.attached.Store(int64(probes))
	close(s.owner.ready)
	s.owner.start()
}

// open shows what stands above the output, if there is one such thing.
func (s *session) open() {
	items := map[output.Item]bool{}
	for _, e := range s.events {
		if f, _ := builtin.Lookup(e.Builtin); f.Opening != nil {
			items[f.Opening(e.Event)] = true
		}
	}
	if len(items) == 1 {
		for it := range items {
			s.Emit(it)
		}
		s.flush() // before the first event, which may be long in coming
	}
}

// finish ends the run: it silences the programs, runs the end programs and
// prints what there is to print. Links are closed after that, as it may take
// long.
func (s *session) finish() error {
	if s.o.Stopping != nil {
		s.o.Stopping()
	}
	s.reason = s.why(atomic.SwapUint64(s.word(object.DataExited), 1) != 0)
	s.settleSkipped()
	s.drain()
	if c := s.o.Child; c != nil {
		c.Terminate(s.abort)
		if note := c.Epitaph(); note != "" && s.o.Verbose {
			fmt.Fprintln(s.o.Stderr, note)
		}
	}
	s.exited = false
	s.ending.Store(true)
	if err := s.runAll(probe.AtEnd); err != nil {
		return err
	}
	s.drain()
	s.failing.report(s, true)
	s.reportDropped()
	s.family.report(s)
	s.neverCame()
	s.Emit(output.End{})
	if u := s.symbols.known(); u != nil {
		u.Settle()
	}
	if s.o.Config.PrintMapsOnExit && !s.o.Report.Verdict() {
		s.printMaps()
	}
	s.leftOut()
	s.endFeed()
	s.flush()
	s.reportCost()
	return nil
}

// why is the reason of the run's end; exited says that some program called exit().
func (s *session) why(exited bool) Reason {
	switch {
	case s.meter.costly.Load():
		return OverBudget
	case s.exited, exited:
		return Exited
	case s.signals.Load() > 0, s.err != nil: // that of an output
		return Stopped
	case s.cancelled.Load() && errors.Is(context.Cause(s.ctx), context.DeadlineExceeded):
		return Elapsed
	case s.cancelled.Load():
		return Cancelled
	case s.waits():
		return ProcessEnded
	}
	return Finished
}

// result gathers the status of the run, its reason and that of the child.
func (s *session) result() Result {
	r := Result{Status: s.status, Reason: s.reason}
	if s.o.Child != nil {
		r.Command = s.o.Child.Status()
	}
	return r
}

// stats are the counts so far; any goroutine may ask while the run lasts.
func (s *session) stats(measured bool) Stats {
	st := Stats{
		Events: s.received.Load(), Lost: atomic.LoadUint64(s.word(object.DataLost)),
		Missed: atomic.LoadUint64(s.word(object.DataMissed)) + s.skipped(),
		Unread: atomic.LoadUint64(s.word(object.DataUnread)),
	}
	if !measured {
		return st
	}
	for i, fd := range s.Programs {
		if m, err := bpf.Measured(fd); err == nil {
			name := s.Object.Programs[i].Group.Points[0].Name()
			st.Programs = append(st.Programs, ProgramStats{name, m.Runs, time.Duration(m.Nanos)})
		}
	}
	return st
}

// runAll runs the programs of a trigger in the order of the script, and acts
// on what they send.
func (s *session) runAll(t probe.Trigger) error {
	for i, p := range s.Object.Programs {
		if trigger(p) != t {
			continue
		}
		if s.o.Verbose {
			fmt.Fprintf(s.o.Stderr, "Attaching '%s' probe\n", p.Group.Points[0].Name())
		}
		if err := s.runProgram(s.Programs[i]); err != nil {
			return fmt.Errorf("cannot run the %s probe: %w", p.Group.Points[0].Name(), err)
		}
		if t == probe.AtEnd {
			s.drain()
		}
	}
	return nil
}

// runProgram runs a program in this thread. One that may send more than the
// ring buffer holds is read by a helper meanwhile; this goroutine waits for the
// helper before it goes on, so that there is only ever one reader.
func (s *session) runProgram(fd int) error {
	if s.Bounded || s.ring == nil {
		_, err := bpf.TestRun(fd, nil)
		return err
	}
	var over atomic.Bool
	read := make(chan struct{})
	go func() {
		defer close(read)
		for !over.Load() {
			s.relieve()
			nap(100 * time.Microsecond)
		}
	}()
	_, err := bpf.TestRun(fd, nil)
	over.Store(true)
	<-read
	return err
}

// relieve reads records only if a ring is filling up: what begin programs
// send is to appear behind the message that says what is attached. A sink that is full before
// there is anybody to read from it is left alone.
func (s *session) relieve() {
	queue, _ := s.o.Sink.(interface{ Full() bool })
	for s.ring != nil && s.ring.Filling() && (queue == nil || !queue.Full()) {
		if s.readRing(readMost) == 0 {
			return
		}
	}
}
