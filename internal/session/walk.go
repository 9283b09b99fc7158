package session

import (
	"fmt"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
)

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
		err := w.program.Group.Mech.Walk(w.link, func() bool {
			s.relieve()
			return s.signals.Load() == 0 && !s.cancelled.Load() && s.err == nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", w.program.Group.Points[0].Name(), err)
		}
		s.drain()
		s.told()
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
