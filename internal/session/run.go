package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/keeper"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/session/ring"
	"github.com/hawktrace/hawk/internal/unwind"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Options are what a run depends on besides what is loaded.
type Options struct {
	Sink   output.Sink // takes what the script prints, from one goroutine at a time
	Stderr io.Writer   // errors of commands, notes of Verbose; nil: nobody wants them
	// DwarfPIDs are processes whose user stacks will be taken (--dwarf-pid).
	DwarfPIDs []int
	DryRun    bool // end once everything is attached; show nothing
	// Progress is the terminal to show on how far attaching has come, when that
	// takes long; nil: none.
	Progress io.Writer
	// WholeCommands makes one item of all that a command of system() prints;
	// else it is passed on as it comes.
	WholeCommands bool
	// Valves are the files of the output, which are shut where writing to them
	// would keep the run from ending.
	Valves []*output.Valve
	// Last says that the process ends with the run: links that are slow to close are
	// closed when it has.
	Last    bool
	Verbose bool
	// MaxOverhead is the most that the programs may take of a CPU, in percent, over
	// three seconds; 0: anything. Else the run ends, OverBudget.
	MaxOverhead float64
	// Announce: what is likely to slow the machine down is said.
	Announce bool
	// Often is how many runs of a program in a second are worth saying; 0: a million.
	Often float64

	// Feed takes all that happens as typed values beside Sink; nil: nobody wants
	// them. Needs is what it wants of them; Meaning says what maps and events are,
	// see package view/derive.
	Feed    view.Feed
	Needs   view.Needs
	Meaning *view.Script

	// Attached is called once everything is attached, Stopping when that ends,
	// Pinned for a program that stays when hawk ends, with its path. They are called
	// between two items; nil: nobody wants to know.
	Attached func(probes int)
	Stopping func()
	Pinned   func(path string)
}

// A Result is how a run ended.
type Result struct {
	Status  int // that of exit(), or 1 if a test failed
	Reason  Reason
	Command int // exit status of the command, as a shell has it
}

// Reason is why a run ended.
type Reason int

// The reasons.
const (
	Finished     Reason = iota // there was nothing to wait for
	Exited                     // by exit()
	Stopped                    // by Stop
	Cancelled                  // its context was done
	ProcessEnded               // the command, or the process traced
	OverBudget                 // its programs took more of a CPU than they may
	Elapsed                    // the time that its context gave it is over
)

func (r Reason) String() string {
	return [...]string{"finished", "exit", "signal", "cancelled", "target", "budget", "duration"}[r]
}

// settings are all that a run depends on.
type settings struct {
	Options
	Config *config.Config
	Probe  *probe.Options
	Child  *child.Child
	PID    int
	Report probe.Trigger // runs tests or measurements in place of tracing
	Unused int           // attach points that were not even loaded
}

// A session is one run. It is the builtin.Env of its handlers.
type session struct {
	*load.Session
	owner       *Session
	o           settings
	sink        output.Sink
	ring        *ring.Rings // nil if no program sends records
	events      []event
	links       []probe.Link
	watcher     *watcher                // nil: nobody takes the feed
	watchpoints map[uint64][]probe.Link // by address; they are among links, and gone once they are closed
	packets     packets
	walks       []walk
	family      *family        // nil without --follow
	arrivals    *arrivals      // nil if no program waits for files
	keeper      *keeper.Keeper // nil without links that are slow to close

	status  int
	reason  Reason
	exited  bool        // an exit() was handled
	ending  atomic.Bool // the end programs run: exit() only sets the status
	deaf    bool        // none of the probes that the kernel fires could be attached
	walking bool        // an iterator runs, and is to be walked to its end whatever calls exit()
	err     error       // of writing output

	wakeFD, pidFD int // -1 if not open
	sleeper       *ring.Sleeper
	inMain        chan func()   // what the main thread runs while another reads
	received      atomic.Uint64 // records
	signals       atomic.Int32  // 1: the run is to end, 2: at once
	selfSignals   atomic.Int32
	cancelled     atomic.Bool

	format   output.Printf // text of the last printf
	failing  failures
	meter    meter
	symbols  *symbols // of the Session, which reads maps by the same ones
	follows  bool     // user records what processes map
	calm     func()   // ends the thread of hurry, nil if there is none
	stacks   map[stackKey]*value.Stack
	namer    value.Namer      // of stacks: itself, or who has a lock for it
	lines    value.Lines      // of stacks that are being sorted
	pool     value.Pool       // of their frames
	unstored uint64           // updates of maps without room, as of the last Unstored
	unwind   *unwind.Unwinder // nil if no stack is unwound by tables
	hanging  atomic.Int32     // files of cat() that are being read
	attention
	skips
	clocks
	users
	*hosts // of the Session, for what the run learns names maps that others read
	cgroups
}

// An event is what the reader knows of a kind of record.
type event struct {
	*object.Event
	handle func(e builtin.Env, ev *object.Event, rec []byte) error
	slots  []value.Slot // of the arguments
	plan   *value.Plan  // of its format; nil: not made yet, or it has none
}

// newSession makes what a run needs before its begin programs: the ring, handlers, buffers, the
// feed. What it opens, close closes.
func newSession(of *Session, o Options) (*session, error) {
	ls, p, probes := of.loaded, of.spec.Program, of.spec.Probe
	s := &session{
		Session: ls, owner: of, symbols: &of.symbols, hosts: &of.hosts,
		o:    settings{o, p.Config, &probes, of.child, of.spec.PID, p.mode, p.unused},
		sink: o.Sink, wakeFD: -1, pidFD: -1, meter: meter{stats: -1}, inMain: make(chan func()),
	}
	s.namer = s
	if o.Stderr == nil {
		s.o.Stderr = io.Discard
	}
	if o.DryRun || o.Sink == nil {
		s.sink = output.NewText(io.Discard, io.Discard, output.Options{})
	}
	s.events = make([]event, len(ls.Object.Events))
	for i, ev := range ls.Object.Events {
		f, ok := builtin.Lookup(ev.Builtin)
		if !ok || f.Handle == nil {
			return nil, fmt.Errorf("nobody handles records of %s(): this is a bug of hawk", ev.Builtin)
		}
		e := event{Event: ev, handle: f.Handle, slots: make([]value.Slot, len(ev.Args))}
		for j, a := range ev.Args {
			e.slots[j] = slot(a)
		}
		s.events[i] = e
	}
	if err := s.openRings(); err != nil {
		return nil, err
	}
	s.failing.init(s)
	if err := errors.Join(s.openPackets(), s.prepare()); err != nil {
		s.close()
		return nil, err
	}
	s.initUnwind()
	if err := s.watchFeed(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openRings maps the ring buffers, if there are any.
func (s *session) openRings() error {
	var rings []*ring.Ring
	for _, of := range s.Rings {
		r, err := ring.Open(of.FD, of.Size)
		if err != nil {
			return errors.Join(err, ring.NewRings(rings, true).Close())
		}
		rings = append(rings, r)
	}
	if len(rings) > 0 {
		s.ring = ring.NewRings(rings, len(s.Object.Rings()) > 1)
	}
	return nil
}

// close frees what the run has but for what was loaded, which is the Session's.
func (s *session) close() {
	s.meter.close() // which may wake the reader
	if s.ring != nil {
		s.ring.Close()
	}
	if s.sleeper != nil {
		s.sleeper.Close()
	}
	for _, fd := range []int{s.wakeFD, s.pidFD} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	s.packets.close()
	if s.calm != nil {
		s.calm()
	}
	if s.follows {
		s.userSymbols().Unwatch()
	}
	if s.unwind != nil {
		s.unwind.Close()
	}
	if s.family != nil {
		s.family.close()
	}
	if s.arrivals != nil {
		s.arrivals.watcher.Close()
	}
}

// mapOf is the descriptor of the map of a role, -1 if no program refers to one.
func (s *session) mapOf(r object.Role) int {
	if i := s.Object.MapOf(r); i >= 0 {
		return s.Maps[i]
	}
	return -1
}

// word is a 64-bit word of the data map, shared with the programs.
func (s *session) word(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&s.Data[offset])) }

// waits reports whether there is anything to wait for after begin.
func (s *session) waits() bool {
	if s.deaf {
		return slices.ContainsFunc(s.Object.Programs, func(p *object.Program) bool {
			return trigger(p) == probe.OnSignal
		})
	}
	return waits(s.Object)
}

func waits(o *object.Object) bool {
	for _, p := range o.Programs {
		m := p.Group.Mech()
		if t := trigger(p); t == probe.NotOurs && m.Walk == nil && m.Reader == nil || t == probe.OnSignal {
			return true
		}
	}
	return false
}

// trigger is what runs a program: NotOurs is the kernel.
func trigger(p *object.Program) probe.Trigger { return p.Group.Points[0].Kind.Ours }

// watch makes the end of processes and of ctx wake the reader.
func (s *session) watch(ctx context.Context) (stop func(), err error) {
	if s.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	var fds []int
	for _, r := range s.Rings {
		fds = append(fds, r.FD)
	}
	for _, ring := range s.packets.rings {
		fds = append(fds, ring.FD)
	}
	if s.o.PID > 0 {
		if s.pidFD, err = unix.PidfdOpen(s.o.PID, 0); err != nil {
			s.pidFD = -1 // before 5.3, or gone already: asked by kill(2) from time to time
		} else {
			fds = append(fds, s.pidFD)
		}
	}
	if s.sleeper, err = ring.NewSleeper(s.wakeFD, fds); err != nil {
		return nil, err
	}
	s.attention.open(ctx)
	done := make(chan struct{})
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		s.attend(done)
	}()
	if s.o.Child != nil {
		s.o.Child.Watch(s.wake)
	}
	return func() {
		close(done)
		<-attended
		if s.o.Child != nil {
			<-s.o.Child.Told // it writes to a descriptor that is closed next
		}
	}, nil
}

// wake interrupts the reader's sleep. It may be called from any goroutine.
func (s *session) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if s.wakeFD >= 0 {
		unix.Write(s.wakeFD, one[:])
	}
}

// nap blocks the thread, which is more exact than the timers of the runtime.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil)
}
