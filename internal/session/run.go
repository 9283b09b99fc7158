package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/keeper"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/unwind"
	"github.com/hawktrace/hawk/internal/value"
)

// Options are what a run depends on besides the loaded script.
type Options struct {
	Config *config.Config
	Probe  *probe.Options
	Sink   output.Sink
	Stdout io.Writer // where the notice for test harnesses goes
	Stderr io.Writer // errors of commands, notes of Verbose
	Child  *Child    // -c; it is let go once everything is attached
	PID    int       // -p: the run ends with this process; 0: none
	// DwarfPIDs are processes whose user stacks will be taken (--dwarf-pid).
	DwarfPIDs []int
	DryRun    bool // end once everything is attached; show nothing
	// Report runs the script's tests or measurements, those with this trigger,
	// instead of tracing; NotOurs: neither.
	Report probe.Trigger
	Unused int // attach points that were not even loaded
	// Progress is the terminal to show on how far attaching has come, when that
	// takes long; nil: none.
	Progress io.Writer
	// WholeCommands makes one item of all that a command of system() prints;
	// else it is passed on as it comes.
	WholeCommands bool
	// Valves are the files of the output, which are shut where writing to them
	// would keep the run from ending.
	Valves []*output.Valve
	// Last says that the process ends with the run: a second Ctrl-C that comes
	// too late to cut anything short does not kill it on its way out.
	Last    bool
	Verbose bool
	// MaxOverhead is the most that the programs may take of a CPU, in percent, over
	// three seconds; 0: anything. Else the run ends with ExitCostly.
	MaxOverhead float64
	// Announce: what is likely to slow the machine down is said.
	Announce bool
}

// Run runs the script until it ends: by exit(), by a signal, with the child or
// the process traced, with ctx, or at once if nothing but begin and end
// probes is in it. The status is that of exit(). An error means that the run
// did not come about or that its output could not be written; a reader of the
// output that has gone away is not an error.
func Run(ctx context.Context, ls *load.Session, o Options) (status int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := newSession(ls, o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	// A script that is over in a moment needs no protection from signals.
	if !s.brief() || o.Child != nil {
		stop, err := s.watch(ctx)
		if err != nil {
			return 0, err
		}
		defer stop()
	}
	if err := s.trace(); err != nil {
		return 0, err
	}
	missing := s.endCaptures()
	if s.err != nil && !errors.Is(s.err, unix.EPIPE) {
		return s.status, s.err
	}
	return s.status, missing
}

// A session is one run. It is the builtin.Env of its handlers.
type session struct {
	*load.Session
	o           Options
	sink        output.Sink
	ring        *ring // nil if no program sends records
	events      []event
	links       []probe.Link
	watchpoints map[uint64][]probe.Link // by address; they are among links, and gone once they are closed
	packets     packets
	walks       []walk
	family      *family        // nil without --follow
	keeper      *keeper.Keeper // nil without links that are slow to close

	status int
	exited bool  // an exit() was handled
	ending bool  // the end programs run: exit() only sets the status
	err    error // of writing output

	wakeFD, pidFD int // -1 if not open
	sleeper       *sleeper
	inMain        chan func() // what the main thread runs while another reads
	signals       atomic.Int32
	selfSignals   atomic.Int32
	cancelled     atomic.Bool

	format  output.Printf // text of the last printf
	failing failures
	meter   meter
	kernel  *symbolize.Kernel
	user    *symbolize.User
	follows bool   // user records what processes map
	calm    func() // ends the thread of hurry, nil if there is none
	stacks  map[stackKey]value.Stack
	unwind  *unwind.Unwinder // nil if no stack is unwound by tables
	attention
	clocks
	users
	cgroups
}

// An event is what the reader knows of a kind of record.
type event struct {
	*object.Event
	handle func(e builtin.Env, ev *object.Event, rec []byte) error
	format *value.Format
	sizes  []int // of the arguments, bytes
	args   []value.Arg
}

func newSession(ls *load.Session, o Options) (*session, error) {
	s := &session{
		Session: ls, o: o, sink: o.Sink, wakeFD: -1, pidFD: -1, meter: meter{stats: -1}, inMain: make(chan func()),
	}
	if o.DryRun {
		s.sink = output.NewText(io.Discard, io.Discard, output.Options{})
	}
	s.events = make([]event, len(ls.Object.Events))
	for i, ev := range ls.Object.Events {
		f, ok := builtin.Lookup(ev.Builtin)
		if !ok || f.Handle == nil {
			return nil, fmt.Errorf("nobody handles records of %s(): this is a bug of hawk", ev.Builtin)
		}
		e := event{Event: ev, handle: f.Handle, args: make([]value.Arg, len(ev.Args)), sizes: make([]int, len(ev.Args))}
		e.format, _ = ev.Payload.(*value.Format)
		for j, a := range ev.Args {
			e.args[j].Type, e.sizes[j] = a.Type, argSize(a)
		}
		s.events[i] = e
	}
	if ls.RingSize > 0 {
		var err error
		if s.ring, err = openRing(ls.Maps[object.RingMap], ls.RingSize); err != nil {
			return nil, err
		}
	}
	s.failing.init(s)
	if err := errors.Join(s.openPackets(), s.prepare()); err != nil {
		s.close()
		return nil, err
	}
	s.initUnwind()
	return s, nil
}

func (s *session) close() {
	if s.ring != nil {
		s.ring.close()
	}
	if s.sleeper != nil {
		s.sleeper.close()
	}
	for _, fd := range []int{s.wakeFD, s.pidFD} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	s.meter.close()
	s.packets.close()
	if s.calm != nil {
		s.calm()
	}
	if s.unwind != nil {
		s.unwind.Close()
	}
	if s.kernel != nil {
		s.kernel.Close()
	}
	if s.user != nil {
		s.user.Close()
	}
	if s.family != nil {
		s.family.close()
	}
}

// word is a 64-bit word of the data map, shared with the programs.
func (s *session) word(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&s.Data[offset])) }

// brief reports whether the script is over after its begin and end programs,
// each of which ends soon.
func (s *session) brief() bool { return s.Bounded && !s.waits() }

// waits reports whether there is anything to wait for after begin.
func (s *session) waits() bool {
	for _, p := range s.Object.Programs {
		m := p.Group.Mech
		if t := trigger(p); t == probe.NotOurs && m.Walk == nil && m.Reader == nil || t == probe.OnSignal {
			return true
		}
	}
	return false
}

func trigger(p *object.Program) probe.Trigger { return p.Group.Points[0].Kind.Ours }

// trace is the life cycle of the probes from the begin programs on.
func (s *session) trace() error {
	s.startClocks()
	if err := s.startMeter(); err != nil {
		return err
	}
	if c := s.o.Child; c != nil {
		atomic.StoreUint64(s.word(object.DataCPID), uint64(c.PID()))
		defer c.terminate(s.abort)
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
	if c := s.o.Child; c != nil {
		if err := c.run(); err != nil {
			return err
		}
	}
	s.announce()
	s.pinned()
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

// announce says that everything is attached.
func (s *session) announce() {
	points := map[*probe.Point]bool{} // one that is at several places can have several programs
	for _, p := range s.Object.Programs {
		for _, pt := range p.Group.Counted() {
			points[pt] = true
		}
	}
	n := s.o.Unused + len(points) - s.failing.unattached
	s.Emit(output.Attached{Probes: n})
	notify(fmt.Sprintf("READY=1\nSTATUS=%d probes attached", n))
	const notice = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"
	if _, ok := os.LookupEnv(notice); ok {
		s.flush()
		fmt.Fprintln(s.o.Stdout, notice)
	}
}

// finish ends the run: it silences the programs, runs the end programs and
// prints what there is to print. Links are closed after that, as it may take
// long.
func (s *session) finish() error {
	notify("STOPPING=1")
	atomic.StoreUint64(s.word(object.DataExited), 1)
	s.drain()
	if c := s.o.Child; c != nil {
		c.terminate(s.abort)
		if note := c.epitaph(); note != "" && s.o.Verbose {
			fmt.Fprintln(s.o.Stderr, note)
		}
	}
	s.exited, s.ending = false, true
	if err := s.runAll(probe.AtEnd); err != nil {
		return err
	}
	s.drain()
	s.failing.report(s, true)
	s.reportDropped()
	s.family.report(s)
	s.Emit(output.End{})
	if s.o.Config.PrintMapsOnExit && !s.o.Report.Verdict() {
		s.printMaps()
	}
	s.leftOut()
	s.flush()
	s.reportCost()
	if s.meter.costly.Load() && s.status == 0 {
		s.status = ExitCostly
	}
	return nil
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

// relieve reads records only if the ring is filling up: what begin programs
// send is to appear behind the message that says what is attached.
func (s *session) relieve() {
	for s.ring != nil && s.ring.used() > s.ring.size/2 {
		if s.readRing(readMost) == 0 {
			return
		}
	}
}

// watch makes signals, the end of processes and of ctx wake the reader.
func (s *session) watch(ctx context.Context) (stop func(), err error) {
	if s.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	var fds []int
	if s.ring != nil {
		fds = append(fds, s.Maps[object.RingMap])
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
	if s.sleeper, err = newSleeper(s.wakeFD, fds); err != nil {
		return nil, err
	}
	s.catch()
	done := make(chan struct{})
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		s.attend(ctx, done)
	}()
	if s.o.Child != nil {
		s.o.Child.watch(s.wake)
	}
	return func() {
		if s.o.Last {
			s.deaf.Store(true) // output may get stuck on the last yards
		} else {
			signal.Stop(s.caught)
			close(done)
			<-attended
		}
		if s.o.Child != nil {
			<-s.o.Child.told // it writes to a descriptor that is closed next
		}
	}, nil
}

// wake interrupts the reader's sleep. It may be called from any goroutine.
func (s *session) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(s.wakeFD, one[:])
}

// nap blocks the thread, which is more exact than the timers of the runtime.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil)
}
