package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/progress"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// An interruption is the end of a run while its probes were being attached.
type interruption struct{ cause error }

// Error and Unwrap make the cause of the end findable: errors.Is(err, context.Canceled).
func (*interruption) Error() string   { return "interrupted while attaching" }
func (i *interruption) Unwrap() error { return i.cause }

// interruption is an error that says why the run is to end before it has begun.
func (s *session) interruption() error {
	if s.ctx == nil {
		return &interruption{}
	}
	return &interruption{context.Cause(s.ctx)}
}

// attach attaches all programs that the kernel fires. Where the kernel runs
// the handler that came last first, they are attached from the last to the
// first, so that bodies on one event run in the order of the script.
func (s *session) attach() error {
	s.startKeeper()
	if err := s.trackFamily(); err != nil {
		return err
	}
	s.follow() // of whom, trackFamily says
	s.o.Probe.Own = s.o.Config.OwnFilter()
	programs := s.Object.Programs
	attachable, attached := 0, 0
	total := 0
	s.o.Probe.Groups = nil
	for _, p := range programs {
		s.o.Probe.Groups = append(s.o.Probe.Groups, p.Group)
		if trigger(p) == probe.NotOurs {
			total += len(p.Group.Points)
		}
	}
	s.watchBudget()
	s.announceSites(total)
	shown := progress.Start(s.o.Progress, "Attaching", total)
	defer shown.End()
	// The files that probes are in stay open while they are attached, one group after the other.
	defer s.o.Probe.Machine.Executables.Forget()
	s.o.Probe.Missed = func(points int) { s.failing.unattached += points }
	s.o.Probe.Step = func() error {
		shown.Done.Add(1)
		if s.interrupted() {
			return s.interruption()
		}
		s.relieve() // those already attached are sending
		return nil
	}
	left := leftOut{total: map[source.Span]int{}, attached: map[source.Span]bool{}}
	// Two passes: programs whose mechanism runs the newest handler first are attached last to
	// first, after all others.
	one := func(i int, backwards bool) error {
		p := programs[i]
		if trigger(p) != probe.NotOurs || p.Group.Mech().Backwards != backwards {
			return nil
		}
		attachable++
		err := s.attachProgram(s.Programs[i], p)
		switch refused := (*attach.Refused)(nil); {
		case err == nil:
			attached++
		case s.interrupted():
			return s.interruption()
		case !errors.As(err, &refused):
			return s.missing(p, err)
		}
		left.note(p, err)
		return nil
	}
	for i := range programs {
		if err := one(i, false); err != nil {
			return err
		}
	}
	for i := len(programs) - 1; i >= 0; i-- {
		if err := one(i, true); err != nil {
			return err
		}
	}
	if err := s.reportLeft(left); err != nil {
		return err
	}
	if attachable > 0 && attached == 0 {
		if !slices.ContainsFunc(programs, func(p *object.Program) bool { return trigger(p).Counts() }) {
			return s.noneAttached()
		}
		// As where the script has no other probes.
		s.deaf = true
		return nil
	}
	return s.expect()
}

// leftOut tells, by attach point as written, what its programs came to where a
// pattern is served by one program for each function, or by several.
type leftOut struct {
	total    map[source.Span]int  // points
	attached map[source.Span]bool // some of them
	refused  []*object.Program    // those that nothing is left of
	why      []error
}

// note notes what a program came to; err is a *attach.Refused or nil.
func (l *leftOut) note(p *object.Program, err error) {
	at := p.Group.Points[0].At
	l.total[at] += len(p.Group.Points)
	if err == nil {
		l.attached[at] = true
		return
	}
	l.refused, l.why = append(l.refused, p), append(l.why, err)
}

// reportLeft warns of functions that patterns go without, once for each
// pattern. One that nothing is left of is missing.
func (s *session) reportLeft(l leftOut) error {
	type kind struct {
		at     source.Span
		unsafe bool
	}
	all := map[kind]*attach.Refused{}
	var order []kind
	for i, p := range l.refused {
		at := p.Group.Points[0].At
		if !l.attached[at] {
			if err := s.missing(p, l.why[i]); err != nil {
				return err
			}
			continue
		}
		var r *attach.Refused
		errors.As(l.why[i], &r)
		k := kind{at, r.Unsafe}
		if all[k] == nil {
			all[k] = &attach.Refused{Unsafe: r.Unsafe, First: r.First}
			order = append(order, k)
		}
		all[k].Points = append(all[k].Points, r.Points...)
		s.failing.unattached += len(p.Group.Counted())
	}
	for _, k := range order {
		attach.WarnRefused(s.o.Probe, all[k], l.total[k.at])
	}
	return nil
}

// interrupted reports whether the run is to end before it has begun.
func (s *session) interrupted() bool {
	return s.signals.Load() > 0 || s.ctx != nil && s.ctx.Err() != nil || s.meter.costly.Load()
}

// attachProgram attaches one program to all of its points, and entrusts the links to who will close
// them.
func (s *session) attachProgram(fd int, p *object.Program) error {
	if s.interrupted() {
		return s.interruption()
	}
	if s.o.Verbose {
		s.describe(p)
	}
	links, err := p.Group.Mech().Link(fd, p.Group, s.o.Probe)
	s.entrust(p, links)
	if addr := p.Group.Points[0].Watched(); addr != 0 {
		if s.watchpoints == nil {
			s.watchpoints = map[uint64][]probe.Link{}
		}
		s.watchpoints[addr] = append(s.watchpoints[addr], links...)
	}
	if p.Group.Mech().Walk != nil && len(links) > 0 {
		s.walks = append(s.walks, walk{p, links[0]})
	}
	s.relieve()
	return err
}

// entrust has links be closed when the run ends: by the keeper, if that is slow.
func (s *session) entrust(p *object.Program, links []probe.Link) {
	if p.Group.Mech().Counts {
		s.counted(links)
	}
	for _, l := range links {
		if !s.slow(p) || !s.held(l) {
			s.links = append(s.links, l)
		}
	}
}

// Unwatch closes the watchpoints at an address. It reports whether there were
// any: a watchpoint can fire many times until what it asks for is done.
func (s *session) Unwatch(addr uint64) bool {
	links, ok := s.watchpoints[addr]
	if !ok {
		return false
	}
	for _, l := range links {
		l.Close()
		i := slices.Index(s.links, l)
		s.links = slices.Delete(s.links, i, i+1)
	}
	s.watchpoints[addr] = nil
	return true
}

// describe says what is about to be attached (-v).
func (s *session) describe(p *object.Program) {
	points := p.Group.Points
	fmt.Fprintf(s.o.Stderr, "Trying to attach probe: %s (%s)\n", s.Message(value.Text(points[0].Name())),
		p.Group.Mech().Name)
	if len(points) > 1 {
		fmt.Fprintf(s.o.Stderr, "Attaching to %d functions\n", len(points))
		for _, pt := range points {
			fmt.Fprintln(s.o.Stderr, s.Message(value.Text(pt.Name())))
		}
	}
}

// Unattached is a probe that the kernel or its file would not take.
type Unattached struct {
	Probe string
	Err   error
	shown string // Probe as it is written to standard error
}

func (e *Unattached) Error() string {
	return fmt.Sprintf("%s\nUnable to attach probe: %s. If this is expected, set the 'missing_probes' config "+
		"variable to 'warn'.", e.Err, e.shown)
}

func (e *Unattached) Unwrap() error { return e.Err }

// missing decides what a probe that cannot be attached means.
func (s *session) missing(p *object.Program, err error) error {
	name := s.Message(value.Text(p.Group.Points[0].Name()))
	switch how := s.o.Config.MissingProbes; {
	case how == "ignore" && !s.o.Probe.Tells:
		s.failing.ignored = errno.Message(err)
	case how != "error":
		s.Warnf(source.Span{}, "%s\nUnable to attach probe: %s. Skipping.", errno.Message(err), name)
	default:
		return &Unattached{Probe: p.Group.Points[0].Name(), Err: err, shown: name}
	}
	s.failing.unattached += len(p.Group.Counted())
	return nil
}

// noneAttached is the error of a run that would see nothing, with what it has kept silent
// about so far.
func (s *session) noneAttached() error {
	const none = "Attachment failed for all probes."
	if s.failing.ignored == "" {
		return errors.New(none)
	}
	return errors.New(none + "\nHINT: " + s.failing.ignored)
}

// A walk is an attached program that runs for everything there is, once.
type walk struct {
	program *object.Program
	link    probe.Link
}

// iterate runs iterators, and acts on what they send meanwhile. One that has
// begun is walked to its end: what exit() ends is the run, after it.
func (s *session) iterate() error {
	for _, w := range s.walks {
		if atomic.LoadUint64(s.word(object.DataExited)) != 0 {
			return nil
		}
		s.walking = true
		err := w.program.Group.Mech().Walk(w.link, func() bool {
			s.relieve()
			return s.signals.Load() == 0 && !s.cancelled.Load() && s.err == nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", w.program.Group.Points[0].Name(), err)
		}
		// An iterator may have sent more than the walk has read.
		s.drain()
		s.walking = false
		if !s.exited {
			s.told()
		}
	}
	return nil
}

// pinned says where programs are that stay when hawk ends.
func (s *session) pinned() {
	for _, p := range s.Object.Programs {
		for _, pt := range p.Group.Points {
			if pt.Pin != "" && s.o.Pinned != nil {
				s.o.Pinned(pt.Pin)
			}
		}
	}
}
