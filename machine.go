package hawk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
)

// A Machine is what scripts are compiled for: the running one, or a recorded one.
// It keeps what it was asked, and may be used from any goroutine.
type Machine struct{ m *machine.Machine }

// Host is a new view of the running machine, with caches of its own.
func Host() *Machine { return &Machine{machine.Host()} }

// Recorded is a machine that "hawk --record-machine DIR" wrote down. Programs compiled for
// it run there only, and are sent there if they are portable. The files may be anybody's.
func Recorded(fsys fs.FS) (*Machine, error) {
	if fsys == nil {
		return nil, errors.New("hawk: the file system of the recording is nil")
	}
	m := machine.RecordedIn(fsys)
	if err := m.CheckRecording(); err != nil {
		return nil, fmt.Errorf("hawk: not the recording of a machine: %w", err)
	}
	return &Machine{m}, nil
}

// known reports whether Host or Recorded has made it.
func (m *Machine) known() bool { return m != nil && m.m != nil }

// Kernel is the kernel's release, "" if unknown.
func (m *Machine) Kernel() string {
	if !m.known() {
		return ""
	}
	return m.m.Release()
}

// A Feature is something that not every kernel can do.
type Feature struct {
	Name, Doc string
	Err       error // why it is not there; nil: it is
}

// Features tries what the kernel can do.
func (m *Machine) Features() iter.Seq[Feature] {
	return func(yield func(Feature) bool) {
		if !m.known() {
			return
		}
		for _, f := range machine.Features() {
			if !yield(Feature{f.Name, f.What, failure(m.has(f))}) {
				return
			}
		}
	}
}

// has asks for a feature alone. Some are tried on types of the kernel, which a compilation may be
// looking up.
func (m *Machine) has(f *machine.Feature) error {
	m.m.Resolve.Lock()
	defer m.m.Resolve.Unlock()
	return m.m.Has(f)
}

// Privileges is nil, or a [*PermissionError] with what this process lacks to trace
// the machine.
func (m *Machine) Privileges() error {
	if !m.known() {
		return errNoMachine
	}
	return failure(m.m.Privileges())
}

// A Probe is something that a script can attach to.
type Probe struct {
	Name, Kind, Target, Func string // Name is what the script variable probe yields
	Args                     []Field
	Semaphore                bool // a mark that knows whether it is traced
	Locations                int  // of a mark; 0 of others
}

// ListOptions say which probes are listed, and what of them.
type ListOptions struct {
	PID  int  // those of a process, too
	Args bool // arguments as well, which takes longer
}

// Probes lists what a pattern matches, as hawk -l does. What keeps a list from
// being complete is an error in it.
func (m *Machine) Probes(ctx context.Context, pattern string, o *ListOptions) iter.Seq2[Probe, error] {
	if o == nil {
		o = &ListOptions{}
	}
	return func(yield func(Probe, error) bool) {
		switch {
		case ctx == nil:
			yield(Probe{}, errNoContext)
			return
		case !m.known():
			yield(Probe{}, errNoMachine)
			return
		}
		for _, l := range m.list(ctx, pattern, o) {
			if !yield(l.probe, l.err) {
				return
			}
		}
	}
}

// A listItem is a probe, or why there are no more.
type listItem struct {
	probe Probe
	err   error
}

// stopListing is the panic that ends a listing.
type stopListing struct{}

// list collects what a pattern matches. Listing cannot be stopped but by a panic, which is caught
// here.
func (m *Machine) list(ctx context.Context, pattern string, o *ListOptions) (out []listItem) {
	m.m.Resolve.Lock()
	defer m.m.Resolve.Unlock()
	if err := ctx.Err(); err != nil {
		return []listItem{{err: err}}
	}
	add := func(p Probe, err error) {
		if out = append(out, listItem{p, err}); ctx.Err() != nil {
			panic(stopListing{}) // listing has no other way out
		}
	}
	defer func() {
		if r := recover(); r == any(stopListing{}) {
			out = append(out, listItem{err: ctx.Err()})
		} else if r != nil {
			panic(r)
		}
	}()
	opts := probe.Options{Machine: m.m, PID: o.PID, PIDFilter: o.PID != 0, Verbose: o.Args, ForListing: true}
	l := probe.Listing{
		Options: &opts,
		Emit:    func(l probe.Listed) { add(listed(l), nil) },
		Warn:    func(msg string) { add(Probe{}, errors.New("hawk: "+msg)) },
		Passed:  func(kind string, err error) { add(Probe{}, failure(fmt.Errorf("%s: %w", kind, err))) },
	}
	if err := l.Pattern(pattern); err != nil {
		add(Probe{}, failure(err))
	}
	return out
}

// listed takes a line of a listing apart.
func listed(l probe.Listed) Probe {
	p := Probe{Name: l.Name}
	p.Kind, p.Target, _ = strings.Cut(l.Name, ":")
	if i := strings.LastIndexByte(p.Target, ':'); i >= 0 {
		p.Target, p.Func = p.Target[:i], p.Target[i+1:]
	} else {
		p.Target, p.Func = "", p.Target
	}
	for _, d := range l.Details {
		if d.Name != "" || d.Type != "" {
			p.Args = append(p.Args, Field{d.Name, Type{text: d.Type}})
		}
	}
	if pt := l.Point; pt != nil {
		p.Target, p.Func = pt.Target, pt.Func
		p.Locations, p.Semaphore = pt.Marks()
	}
	return p
}

// failure gives an error of the inside the type that it has outside.
func failure(err error) error {
	var lacking *machine.Lacking
	var unsupported *machine.Unsupported
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lacking):
		return &PermissionError{lacking.Need, err}
	case errors.As(err, &unsupported):
		return &FeatureError{unsupported.Feature.Name, unsupported.Feature.Since, err}
	}
	return named(err)
}

// attachError gives what went wrong at the start of a session its type.
func attachError(m *Machine, err error) error {
	var rejected *load.Rejected
	var unattached *session.Unattached
	var command *session.CommandError
	switch {
	case errors.As(err, &command):
		return &AttachError{Err: err}
	case errors.As(err, &rejected):
		tail := rejected.Log
		if len(tail) > 2000 {
			tail = tail[len(tail)-2000:]
		}
		return &VerifierError{rejected.Diag.Span.Text(), span(rejected.Diag.Span), tail, rejected.Error()}
	case errors.Is(err, fs.ErrPermission):
		lacking := (*machine.Lacking)(nil)
		errors.As(m.m.Privileges(), &lacking)
		p := &PermissionError{err: m.m.Explain(err)}
		if lacking != nil {
			p.Need = lacking.Need
		}
		return p
	case errors.As(err, &unattached):
		return &AttachError{unattached.Probe, err}
	}
	return failure(err)
}
