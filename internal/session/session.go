package session

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/source"
)

// A Spec is what is loaded, and what it is aimed at.
type Spec struct {
	Program *Program
	Probe   probe.Options // the machine, -p, …
	// Command is what is run while the script traces (-c), with its arguments; it is
	// started with the programs and let go once everything is attached. Nil: none.
	Command []string
	Child   child.Options
	PID     int // the run ends with this process; 0: none
	// Log and Trace receive what the verifier and the loader say; nil: nobody asked.
	Log, Trace io.Writer
	Bursts     bool // records come in bursts: see load.Options
	Pieces     bool // the verifier would give up on the program as a whole: it is not tried
	// Again is told why the program is loaded once more, in pieces; nil: nobody asked.
	Again func(why error)
}

// A Session is a script from being loaded to its end. Its methods may be called from
// any goroutine, Run or Start once.
type Session struct {
	spec   Spec
	loaded *load.Session
	child  *child.Child
	reader Reader
	// symbols serve the run and the reader: what the run follows of processes that end names
	// their stacks for both.
	symbols symbols
	hosts   hosts

	mu       sync.Mutex // guards what follows, and that the run has its descriptors
	began    bool
	run      *session // nil before it begins, and once it has ended
	stopping int32    // 1: it is to end, 2: at once
	signals  int32    // of those that came before it began
	last     Stats    // when it ended

	attached atomic.Int64
	ready    chan struct{} // closed once all is attached
	started  chan struct{} // closed once the time of --duration begins
	starting sync.Once
	done     chan struct{} // closed once the run has ended
	result   Result
	err      error
}

// A CommandError is a command that cannot be started.
type CommandError struct{ Err error }

func (e *CommandError) Error() string { return e.Err.Error() }
func (e *CommandError) Unwrap() error { return e.Err }

// Interrupt has the command see a Ctrl-C.
func (s *Session) Interrupt() {
	if s.child != nil {
		s.child.Interrupt()
	}
}

// Load starts the command, which waits, and has the kernel take the programs: once
// more in pieces if its verifier gives up. Nothing is attached yet. The error is a
// *CommandError, a *load.Rejected, or one of the kernel's.
func Load(spec Spec) (_ *Session, err error) {
	s := &Session{spec: spec, ready: make(chan struct{}), started: make(chan struct{}), done: make(chan struct{})}
	s.reader.of = s
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	if spec.Command != nil {
		if s.child, err = child.Start(spec.Command, spec.Child); err != nil {
			return nil, &CommandError{err}
		}
		// Kinds that the kernel filters follow the child; the others see the
		// whole system, so that grandchildren are seen.
		s.spec.Probe.PID = s.child.PID()
	}
	if spec.Pieces && spec.Program.inPieces != nil {
		if other := spec.Program.inPieces(); other != nil {
			spec.Program, s.spec.Program = other, other
		}
	}
	s.loaded, err = s.load(spec.Program)
	if gaveUp(err) && spec.Program.inPieces != nil {
		if spec.Again != nil {
			spec.Again(err)
		}
		if other := spec.Program.inPieces(); other != nil {
			if loaded, again := s.load(other); again == nil || saysMore(again) {
				s.loaded, err, s.spec.Program = loaded, again, other
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// load has the kernel take a program.
func (s *Session) load(p *Program) (*load.Session, error) {
	return load.Load(p.Object, load.Options{
		Config: p.Config, Probe: &s.spec.Probe, Log: s.spec.Log, Trace: s.spec.Trace, Bursts: s.spec.Bursts,
	})
}

// gaveUp reports whether the verifier came to its limits, rather than to a mistake.
func gaveUp(err error) bool {
	r := (*load.Rejected)(nil)
	return errors.As(err, &r) && r.GaveUp
}

// saysMore reports whether the error of a script in pieces is worth more than
// that the verifier gave up on it as a whole: it came to something that the
// script has to be changed for.
func saysMore(err error) bool {
	r := (*load.Rejected)(nil)
	return errors.As(err, &r) && !r.GaveUp && r.Diag.Severity != source.Bug
}

// Start loads and starts a session; see Load and Session.Start.
func Start(ctx context.Context, spec Spec, o Options) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := Load(spec)
	if err != nil {
		return nil, err
	}
	if err := s.Start(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Start runs the script in a thread of its own and returns once begin has run and
// everything is attached, or the run is over already. On an error, and if ctx is done
// before, nothing is attached. The run goes on until Stop, until ctx is done, or until
// it ends by itself; Wait says how.
func (s *Session) Start(ctx context.Context, o Options) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the run
		_, err := s.Run(ctx, o)
		failed <- err
	}()
	select {
	case <-s.ready:
		return nil
	case err := <-failed:
		return err
	}
}

// Run runs the script to its end in this goroutine, in whose thread begin and end
// programs run. It ends by exit(), by Stop, with the command or the process traced, with
// ctx, or at once if nothing but begin and end probes is in it. An error means that the
// run did not come about or that its output could not be written; a reader of the
// output that has gone away is not an error.
func (s *Session) Run(ctx context.Context, o Options) (Result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.mu.Lock()
	again := s.began
	s.began = true
	s.mu.Unlock()
	if again {
		return Result{}, errors.New("a session runs once")
	}
	s.result, s.err = s.live(ctx, o)
	close(s.done)
	return s.result, s.err
}

// live makes the run, runs it, and frees it.
func (s *Session) live(ctx context.Context, o Options) (Result, error) {
	r, err := newSession(s, o)
	if err != nil {
		return Result{}, err
	}
	defer s.leave(r)
	if s.Lasting() {
		stop, err := r.watch(ctx)
		if err != nil {
			return Result{}, err
		}
		defer stop()
	}
	s.enter(r)
	if err := r.trace(); err != nil {
		return r.result(), err
	}
	missing := r.endCaptures()
	if r.err != nil && !errors.Is(r.err, unix.EPIPE) {
		return r.result(), r.err
	}
	return r.result(), missing
}

// enter makes the run known, to which is passed on what came before.
func (s *Session) enter(r *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = r
	s.symbols.run.Store(r)
	r.end(s.stopping)
	r.selfSignals.Add(s.signals)
}

// leave ends what the run had.
func (s *Session) leave(r *session) {
	s.mu.Lock()
	s.run, s.last = nil, r.stats(r.meter.stats >= 0)
	s.mu.Unlock()
	r.close()
}

// Lasting reports whether the run may take its time, so that who runs it does well to
// see to it that it can be stopped: not if it is over after its begin and end programs.
func (s *Session) Lasting() bool {
	return !s.loaded.Bounded || waits(s.loaded.Object) || s.child != nil ||
		slices.ContainsFunc(s.loaded.Object.Events, func(ev *object.Event) bool {
			f, _ := builtin.Lookup(ev.Builtin)
			return f.Waits
		})
}

// Stop ends the run as Ctrl-C does: end programs run, and maps are printed. It does not
// wait for that. Further calls change nothing.
func (s *Session) Stop() { s.stop(1) }

// Abort ends the run without patience, as a second Ctrl-C does: what takes long is
// left out.
func (s *Session) Abort() { s.stop(2) }

// stop ends the run, or one that has not begun when it does.
func (s *Session) stop(how int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A run that has not begun learns of it in enter.
	s.stopping = max(s.stopping, how)
	if s.run != nil {
		s.run.end(how)
	}
}

// Signal runs the script's self:signal:SIGUSR1 probes.
func (s *Session) Signal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		s.signals++
		return
	}
	s.run.selfSignals.Add(1)
	s.run.wake()
}

// Ready is closed once begin has run and everything is attached.
func (s *Session) Ready() <-chan struct{} { return s.ready }

// Started is closed once the time that the run is given counts: everything is attached, or the
// first command is run, which a begin program may have asked for before.
func (s *Session) Started() <-chan struct{} { return s.started }

// start has the time begin.
func (s *Session) start() { s.starting.Do(func() { close(s.started) }) }

// Attached is how many probes are attached, 0 before all of them are.
func (s *Session) Attached() int { return int(s.attached.Load()) }

// Wait waits for the end of a run that was started.
func (s *Session) Wait() (Result, error) {
	<-s.done
	return s.result, s.err
}

// Close stops the run, waits for its end and frees everything. It may be called again.
func (s *Session) Close() error {
	s.Stop()
	s.mu.Lock()
	began := s.began
	s.mu.Unlock()
	if began {
		<-s.done
	}
	return s.free()
}

// free closes what was loaded and the command; the reader first, as it uses the maps.
func (s *Session) free() error {
	s.reader.close()
	s.symbols.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.Close()
	}
	if s.loaded == nil {
		return nil
	}
	loaded := s.loaded
	s.loaded = nil
	return loaded.Close()
}

// Stats are the counts of a run so far.
type Stats struct {
	Events uint64 // records that were read
	Lost   uint64 // records that found no room
	Missed uint64 // events that were skipped, since no memory was free or by the kernel
	Unread uint64 // strings of user memory that could not be read
	// Programs are those of the script; what they took is known while the kernel
	// measures, which a limit of the overhead has it do.
	Programs []ProgramStats
}

// ProgramStats is what one program of the script did.
type ProgramStats struct {
	Probe string // the attach point, or the first of them
	Runs  uint64
	CPU   time.Duration
}

// Stats are the counts so far, or those of the end.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return s.last
	}
	return s.run.stats(true)
}
