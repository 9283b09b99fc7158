package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/keeper"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session/progress"
)

// startKeeper starts the process that makes the attachments which must not be
// cut short, and undoes those that take long, if the script has any. It starts
// before anything is attached, so that nothing is seen of it. Without one, hawk
// does all by itself.
func (s *session) startKeeper() {
	if !slices.ContainsFunc(s.Object.Programs, s.slow) {
		return
	}
	// At the limit of processes there is no keeper, and attaching goes on without.
	if k, err := keeper.Start(); err == nil {
		s.keeper, s.o.Probe.Kernel = k, k.Call
	}
}

// slow reports whether the links of a program are for the keeper. Those to raw
// tracepoints are where nothing comes behind the run: the kernel changes its code
// when it closes one, which takes it some ten milliseconds for those of a tool.
func (s *session) slow(p *object.Program) bool {
	m := p.Group.Mech()
	raw := m.Program == bpf.RawTracepoint || m.Attach == bpf.AttachRawTracepoint
	return trigger(p) == probe.NotOurs && (m.Slow || raw && s.o.Last)
}

// held gives a link to the keeper, if there is one and it has room.
func (s *session) held(l probe.Link) bool {
	d, ok := l.(interface{ Descriptors() []int })
	return ok && s.keeper != nil && s.keeper.Hold(d.Descriptors()...)
}

// closers is how many links are closed at a time. The kernel waits for all
// CPUs on each of some kinds; more than a few at once do not make it faster.
const closers = 16

// detach closes all links. A second signal leaves the rest to the kernel,
// which closes them when hawk ends.
func (s *session) detach() {
	s.uncount()
	shown := progress.Start(s.o.Progress, "Detaching", len(s.links))
	defer shown.End()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(closers, len(s.links)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(s.links) && s.signals.Load() < 2; i = int(next.Add(1)) - 1 {
				s.links[i].Close() // there is nothing to be done about a failure
				shown.Done.Add(1)
			}
		})
	}
	workers.Wait()
	s.links = nil
	if s.keeper != nil && !s.leaves() {
		s.keeper.Finish()
		s.o.Probe.Kernel = nil
	}
}

// leaves reports whether the keeper closes its links when hawk has ended. With
// a PID namespace's first process all others are killed, perhaps while they do
// that: there it is waited for.
func (s *session) leaves() bool {
	if !s.o.Last {
		return false
	}
	ns, err := s.o.Probe.Machine.PIDNamespace()
	return err == nil && ns.Initial || s.signals.Load() > 1
}
