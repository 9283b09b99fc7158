package session

import (
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/probe"
)

// skips are the events for which the kernel did not run a program of the script. It
// does not start one that is running on the same CPU, which happens where a program is
// interrupted or preempted; since Linux 7.0 another task can come in between at every
// tracepoint. Where a function returns, it has room for so many calls at a time.
// Kernels count both, and say nothing about them unless they are asked.
type skips struct {
	skipMu     sync.Mutex
	skipLinks  []int         // descriptors of links that count too
	skipsFinal bool          // the programs are silent, finalSkips is the number
	finalSkips atomic.Uint64 // those of the whole run
}

// counted notes the links of a program that know what did not reach it.
func (s *session) counted(links []probe.Link) {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	for _, l := range links {
		if d, ok := l.(interface{ Descriptors() []int }); ok {
			s.skipLinks = append(s.skipLinks, d.Descriptors()[0])
		}
	}
}

// uncount forgets the links, before they are closed.
func (s *session) uncount() {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	s.skipLinks = nil
}

// skipped is how many events were skipped so far. It costs a system call for each
// program that the kernel fires, which is little beside loading it.
func (s *session) skipped() (n uint64) {
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	if s.skipsFinal {
		return s.finalSkips.Load()
	}
	for i, fd := range s.Programs {
		if trigger(s.Object.Programs[i]) != probe.NotOurs {
			continue
		}
		if m, err := bpf.Measured(fd); err == nil {
			n += m.Skipped
		}
	}
	for _, fd := range s.skipLinks {
		n += bpf.LinkMissed(fd)
	}
	return n
}

// settleSkipped takes the number of the run, as its programs have just been silenced:
// what they are not run for from now on is nobody's loss.
func (s *session) settleSkipped() {
	n := s.skipped()
	s.skipMu.Lock()
	defer s.skipMu.Unlock()
	s.finalSkips.Store(n)
	s.skipsFinal = true
}
