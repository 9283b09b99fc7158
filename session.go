package hawk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/hawktrace/hawk/internal/builtin/show"
	"github.com/hawktrace/hawk/internal/feed"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/unpack"
)

// Overflow says what becomes of events that a slow consumer leaves no room for.
type Overflow int

// With Block the kernel's buffer fills, and the kernel counts what is lost. With
// DropNewest hawk drops events and counts them.
const (
	Block Overflow = iota
	DropNewest

	overflows = iota // how many there are
)

// RunOptions say how a program runs.
type RunOptions struct {
	Command    []string         // -c: the run ends with it; needs Child; it has the caller's streams
	Output     Output           // takes events in place of, or beside, Events; nil: none
	Buffer     int              // events held for a slow reader; 0: 65,536
	Overflow   Overflow         // when that is full
	Budget     float64          // share of one CPU for the programs, for three seconds in a row, else ErrBudget; 0: any
	Child      bool             // allow system() and Command at all
	Clock      func() time.Time // of Event.Time; nil: time.Now
	MapsOnExit bool             // maps come as events at the end, as the command prints them
}

// A Session is a running program. Its methods may be called from any goroutine;
// Events has one consumer.
type Session struct {
	p      *Program
	s      *session.Session
	o      RunOptions
	queue  *feed.Queue[output.Item]
	queued atomic.Bool // somebody wants what is in the queue
	text   *renderer   // the consumer's
	free   func() bool // lets go of the context
	plans  *unpack.Plans
	within atomic.Int32 // the thread that the Output is called in; 0: it is not called now
}

// Start loads and attaches a program. It returns once begin has run and all is
// attached; on an error, and if ctx is done before, nothing stays attached. The run
// ends by exit(), by Stop or Close, with ctx, or with the process traced.
func (p *Program) Start(ctx context.Context, o *RunOptions) (*Session, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	s := &Session{p: p, plans: newPlans()}
	if o != nil {
		s.o = *o
	}
	if len(s.o.Command) == 0 {
		s.o.Command = nil
	}
	switch {
	case p == nil || p.prog == nil && p.payload == nil:
		return nil, errors.New("hawk: a script that was only checked cannot be started")
	case !p.machine.m.Live():
		err := fmt.Errorf("hawk: the program was compiled for a recorded machine, and is not portable")
		return nil, &BindError{"machine", p.machine.Kernel(), Host().Kernel(), err}
	case s.o.Overflow < 0 || s.o.Overflow >= overflows:
		return nil, fmt.Errorf("hawk: RunOptions.Overflow: there is no %v", s.o.Overflow)
	case !(s.o.Budget >= 0):
		return nil, fmt.Errorf("hawk: RunOptions.Budget: %v is no share of a CPU", s.o.Budget)
	case !s.o.Child && (s.o.Command != nil || show.RunsCommands(p.res.Object)):
		return nil, fmt.Errorf("%w: RunOptions.Child has to allow that it starts commands", ErrPolicy)
	}
	if err := errors.Join(p.machine.Privileges(), ctx.Err()); err != nil {
		return nil, err
	}
	if err := p.traced(); err != nil {
		return nil, err
	}
	if s.o.Buffer <= 0 {
		s.o.Buffer = 1 << 16
	}
	if s.o.Clock == nil {
		s.o.Clock = time.Now
	}
	s.queue = feed.New[output.Item](s.o.Buffer, s.o.Overflow == DropNewest)
	s.queue.Alone(true)
	s.queued.Store(s.o.Output == nil)
	s.text = newRenderer()
	prog, err := p.bind(s.o.MapsOnExit)
	if err != nil {
		return nil, err
	}
	s.free = context.AfterFunc(ctx, s.queue.Ending)
	spec := session.Spec{Program: prog, Probe: p.probe, Command: s.o.Command, PID: p.probe.PID}
	s.s, err = session.Start(ctx, spec, session.Options{
		Sink: &sink{s: s, text: newRenderer()}, WholeCommands: true, MaxOverhead: s.o.Budget * 100,
	})
	if err != nil {
		s.free()
		return nil, p.startError(ctx, err)
	}
	s.queue.Alone(false)
	go func() {
		s.s.Wait()
		s.queue.End()
		s.free()
	}()
	return s, nil
}

// Run starts a program and waits for its end. What it prints goes to the output of the options.
func (p *Program) Run(ctx context.Context, o *RunOptions) (*Result, error) {
	s, err := p.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.o.Output == nil {
		for range s.Events() {
		}
	}
	return s.Wait()
}

// started reports whether Start has made it: the methods of others do nothing.
func (s *Session) started() bool { return s != nil && s.s != nil }

// Events yields what the script prints, in order, until the run has ended. The last
// error is that of the run. Leaving the loop stops nothing: it can be entered again.
// With an Output, events come from the moment on that Events is ranged over.
func (s *Session) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !s.started() {
			yield(Event{}, errNoSession)
			return
		}
		if err := s.waitsForItself(); err != nil {
			yield(Event{}, err)
			return
		}
		s.queued.Store(true)
		s.queue.Attend(true)
		defer s.queue.Attend(false)
		for {
			it, ok := s.queue.Pop()
			if !ok {
				break
			}
			ev := s.event(it, s.text)
			if ev.Kind != 0 && !yield(ev, nil) {
				return
			}
		}
		if _, err := s.result(); err != nil {
			yield(Event{}, err)
		}
	}
}

// Decoded yields the records that fit T, and leaves other events to rest. With nil
// they are dropped and counted. A record fits if its types do, and if a struct has a field of it.
// One with a number that is too large comes as a [*DecodeError]. If nothing that the script prints
// fits, that is the first error. An error of rest ends it.
func Decoded[T any](s *Session, rest func(Event) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if !s.started() {
			yield(none, errNoSession)
			return
		}
		if err := s.fits(reflect.TypeFor[T]()); err != nil {
			yield(none, err)
			return
		}
		var v T // one for all: it is on the heap, since plans reach it by reflection
		to := reflect.ValueOf(&v).Elem()
		for ev, err := range s.Events() {
			if err == nil && ev.Kind == Print {
				plan, unfit := s.plan(ev.Value.t, to.Type())
				if unfit == nil {
					v = none
					err = decodeError(ev.Value, plan.Into(to, ev.Value.v))
					if !yield(v, err) {
						return
					}
					continue
				}
			}
			if err == nil && rest == nil {
				if ev.Kind <= MapPrint {
					s.queue.Drop()
				}
				continue
			}
			if err == nil {
				err = rest(ev)
			}
			if err != nil {
				yield(none, err)
				return
			}
		}
	}
}

// plan is how Decoded stores values of a type. One that would store nothing is none.
func (s *Session) plan(from types.Type, to reflect.Type) (*unpack.Plan, error) {
	plan, err := s.plans.For(from, to)
	if err == nil && plan.Nothing {
		err = &unpack.Error{Type: to, Why: "it has no field of " + from.String()}
	}
	return plan, err
}

// fits reports why no record of the script fits a type.
func (s *Session) fits(t reflect.Type) (err error) {
	for _, ev := range s.p.res.Object.Events {
		if show.PrintsValue(ev) {
			if _, err = s.plan(ev.Args[0].Type, t); err == nil {
				return nil
			}
		}
	}
	if err == nil {
		err = &unpack.Error{Type: t, Why: "the script prints no values"}
	}
	return decodeError(Value{}, err)
}

// Attached is how many probes are attached.
func (s *Session) Attached() int {
	if !s.started() {
		return 0
	}
	return s.s.Attached()
}

// Signal runs the script's self:signal:SIGUSR1 probes.
func (s *Session) Signal() {
	if s.started() {
		s.s.Signal()
	}
}

// Stop ends the run as Ctrl-C does: end probes run. It does not wait for that, and
// may be called again.
func (s *Session) Stop() {
	if s.started() {
		s.queue.Ending()
		s.s.Stop()
	}
}

// Wait waits for the end of the run. The error is [ErrBudget] if the programs took more
// than theirs, or that of an output. Who ranges over Events leaves the loop first: with a full
// buffer the run would wait for him, too.
func (s *Session) Wait() (*Result, error) {
	if !s.started() {
		return nil, errNoSession
	}
	if err := s.waitsForItself(); err != nil {
		return nil, err
	}
	s.queue.Ending() // who waits here does not consume
	return s.result()
}

func (s *Session) result() (*Result, error) {
	r, err := s.s.Wait()
	out := &Result{Status: r.Status, Stats: s.Stats(), Reason: reasons[r.Reason]}
	if err == nil && r.Reason == session.OverBudget {
		err = ErrBudget
	}
	return out, err
}

// Close stops the run, waits for its end and frees everything. It may be called again. An Output
// can only Stop: it is not closed from there, which is an error.
func (s *Session) Close() error {
	if !s.started() {
		return nil
	}
	if err := s.waitsForItself(); err != nil {
		s.Stop()
		return err
	}
	s.queue.Shut()
	err := s.s.Close()
	s.free()
	return err
}

// Reason is why a run ended. Programs must take unknown ones.
type Reason int

// The reasons.
const (
	Exited       Reason = iota // exit(), or a script with nothing to wait for
	Stopped                    // Stop, Close, or an Output that failed
	Cancelled                  // the context of Start ended
	ProcessEnded               // the process that was traced, or the command
	OverBudget                 // the probes cost more than RunOptions.Budget

	reasonCount = iota // how many there are
)

var reasons = map[session.Reason]Reason{
	session.Stopped: Stopped, session.Cancelled: Cancelled, session.ProcessEnded: ProcessEnded,
	session.OverBudget: OverBudget, session.Elapsed: Cancelled,
}

// A Result is how a run ended.
type Result struct {
	Status int // the argument of exit(); 0 without
	Stats  Stats
	Reason Reason
}

// Stats count what programs sent. It was read and handed on (Events), found no room in the
// kernel's buffer (Lost), or was dropped by hawk (Dropped). Missed counts events for which a probe
// had no memory to make a record in, or was not run by the kernel, which asks no predicate first.
// Unread strings could not be read.
type Stats struct {
	Events, Lost, Missed, Dropped, Unread uint64
	Programs                              []ProgramStats `json:",omitempty"` // with Budget only
}

// ProgramStats is what one program did since it was attached, by the kernel's count.
type ProgramStats struct {
	Probe string
	Runs  uint64
	CPU   time.Duration // of all its runs
}

// Stats are the counts so far.
func (s *Session) Stats() Stats {
	if !s.started() {
		return Stats{}
	}
	dropped := s.queue.Dropped() // counted before they are read
	st := s.s.Stats()
	out := Stats{Lost: st.Lost, Missed: st.Missed, Unread: st.Unread, Dropped: min(dropped, st.Events)}
	out.Events = st.Events - out.Dropped
	if s.o.Budget > 0 {
		for _, p := range st.Programs {
			out.Programs = append(out.Programs, ProgramStats(p))
		}
	}
	return out
}

// traced reports that the process to trace is not there.
func (p *Program) traced() error {
	pid := p.probe.PID
	if pid == 0 {
		return nil
	}
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &AttachError{Err: fmt.Errorf("hawk: process %d: %w", pid, fs.ErrNotExist)}
}

// startError gives an error of starting its type.
func (p *Program) startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return attachError(p.machine, err)
}
