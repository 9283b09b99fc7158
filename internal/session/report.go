package session

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// A watch is the sink of one test: it keeps what the test prints and notices errors.
type watch struct {
	*output.Text
	text bytes.Buffer
	bad  bool
}

// newWatch makes a sink that escapes as the run's does.
func newWatch(e output.Escapes) *watch {
	w := &watch{}
	w.Text = output.NewText(&w.text, &w.text, output.Options{Escapes: e})
	return w
}

// Write takes an item. Warnings of the script's own are none of the errors.
func (w *watch) Write(item output.Item) error {
	switch it := item.(type) {
	case output.HelperError, output.RuntimeError:
		w.bad = true
	case output.Message:
		w.bad = w.bad || it.Severity == source.Error
	}
	return w.Text.Write(item)
}

// report runs the tests or the measurements of the script in place of tracing.
// It yields whether all went well.
func (s *session) report(t probe.Trigger) (bool, error) {
	var found []int
	longest := 0
	for i, p := range s.Object.Programs {
		if trigger(p) == t {
			found = append(found, i)
			longest = max(longest, len(p.Group.Points[0].Func))
		}
	}
	s.drain()
	if t == probe.AtBench {
		return s.benches(found, longest)
	}
	return s.tests(found)
}

// tests runs test programs one after the other: 0 passes, unless it reported an error.
func (s *session) tests(programs []int) (bool, error) {
	s.Emit(output.Tests{Count: len(programs)})
	all := output.TestsDone{}
	good := true
	for _, i := range programs {
		name := s.Object.Programs[i].Group.Points[0].Func
		s.Emit(output.Test{Name: name})
		s.flush()
		w := newWatch(s.sink.Escapes())
		var took time.Duration
		result, err := s.watched(w, func() error {
			start := time.Now()
			defer func() { took = time.Since(start) }()
			return s.runProgram(s.Programs[i])
		})
		if err != nil {
			return false, fmt.Errorf("cannot run the test %s: %w", name, err)
		}
		done := output.TestDone{Name: name, Passed: result == 0 && !w.bad, Took: took, Output: w.text.Bytes()}
		good = good && done.Passed
		s.Emit(done)
		all.All = append(all.All, done)
	}
	s.Emit(all)
	return good, s.err
}

// benchTime is how long a measurement lasts at least.
const benchTime = time.Millisecond

// benches measures programs one after the other; one that returns 1 is left out.
func (s *session) benches(programs []int, longest int) (bool, error) {
	s.Emit(output.Benches{Width: longest})
	good := true
	for _, i := range programs {
		name := s.Object.Programs[i].Group.Points[0].Func
		b := output.Bench{Name: name, Width: longest}
		w := newWatch(s.sink.Escapes())
		result, err := s.watched(w, func() (err error) {
			b.Average, b.Iterations, err = s.measure(s.Programs[i], w)
			return err
		})
		switch {
		case err != nil:
			return false, fmt.Errorf("cannot run the bench %s: %w", name, err)
		case w.bad:
			s.Errorf("Benchmark '%s' failed.", name)
			good = false
		case result != 1: // which skips it
			s.Emit(b)
		}
	}
	return good, s.err
}

// measure repeats a program until a round lasts long enough. Errors end it
// after the first run.
func (s *session) measure(fd int, w *watch) (average, rounds uint64, err error) {
	const most = 1 << 26       // rounds, however little the program does
	packet := make([]byte, 14) // what it runs on, as long as an Ethernet header
	for rounds = 1; ; {
		ns, err := bpf.Repeat(fd, packet, uint32(rounds))
		if err != nil {
			return 0, 0, err
		}
		s.drain()
		s.failing.report(s, false)
		total := time.Duration(uint64(ns) * rounds)
		stop := w.bad || s.exited || atomic.LoadUint64(s.word(object.DataResult)) == 1
		if stop || total >= benchTime || rounds >= most {
			return uint64(ns), rounds, nil
		}
		rounds *= 10
		if ns > 0 {
			rounds = min(rounds, uint64(benchTime)/uint64(ns)+1)
		}
	}
}

// watched runs something with a sink of its own and yields what it returned,
// or the status of exit() if that is not 0.
func (s *session) watched(w *watch, do func() error) (result uint64, err error) {
	sink := s.sink
	s.sink = w
	atomic.StoreUint64(s.word(object.DataResult), 0)
	err = do()
	s.drain()
	s.failing.report(s, true)
	s.failing.forget(s)
	s.flush()
	s.sink = sink
	result = atomic.LoadUint64(s.word(object.DataResult))
	if s.exited && s.status != 0 {
		w.bad = true
	}
	s.exited, s.status = false, 0
	atomic.StoreUint64(s.word(object.DataExited), 0)
	return result, err
}

// forget drops what has been counted of lost records: those of a test or a
// measurement are nobody's loss.
func (f *failures) forget(s *session) {
	atomic.StoreUint64(s.word(object.DataLost), 0)
	atomic.StoreUint64(s.word(object.DataMissed), 0)
	f.lost = 0
}
