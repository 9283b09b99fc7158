package session

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
)

// ErrOneGeneration says that a map cannot be taken.
var ErrOneGeneration = fmt.Errorf("the map has one generation: %w", errors.ErrUnsupported)

// taking is what Takes need of each other. Other readers do not wait for programs.
type taking struct {
	busy  sync.RWMutex // held to read by those under way, so that the maps stay
	mu    sync.Mutex
	maps  map[int]*sync.Mutex // by the number of the script map: one at a time
	grace grace
}

// begin begins to take a map. The function it returns ends that.
func (t *taking) begin(n int) (end func()) {
	t.busy.RLock()
	t.mu.Lock()
	if t.maps == nil {
		t.maps = map[int]*sync.Mutex{}
	}
	if t.maps[n] == nil {
		t.maps[n] = new(sync.Mutex)
	}
	one := t.maps[n]
	t.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		t.busy.RUnlock()
	}
}

// Take reads all elements of a script map and removes them, such that each update is in
// exactly one of what is taken, before and after. It waits for programs that run.
func (r *Reader) Take(n int) (entries output.Entries, err error) {
	end := r.taking.begin(n)
	defer end()
	var s *session
	err = r.with(func(own *session) error {
		s = own
		return nil
	})
	if err != nil || n < 0 || n >= len(s.Object.Scripts) {
		return entries, err
	}
	m := s.Object.Scripts[n]
	r.lines.Forget()
	switch {
	case !m.Turns.Two():
		return entries, ErrOneGeneration
	case m.Map < 0:
		return r.takeCells(s, m)
	case s.Maps[m.Turns.Outer] < 0:
		return entries, nil // no program refers to it
	}
	return r.takeElements(s, m)
}

// takeCells takes a map in the data map.
func (r *Reader) takeCells(s *session, m *object.ScriptMap) (entries output.Entries, err error) {
	old := *m
	// The copy stays with the generation that is taken, whatever programs use by then.
	old.Offset, old.Turns = s.offset(m), object.Turns{}
	word := s.word(m.Turns.Word)
	atomic.StoreUint64(word, 1-atomic.LoadUint64(word)&1)
	if err := r.taking.grace.wait(); err != nil {
		return entries, err
	}
	err = r.with(func(s *session) error {
		if v := s.readScalar(&old); v != nil {
			entries.Add(nil, v)
		}
		s.wipe(&old, true)
		return nil
	})
	return entries, err
}

// takeElements takes a map with keys.
func (r *Reader) takeElements(s *session, m *object.ScriptMap) (entries output.Entries, err error) {
	if err := s.turn(m); err != nil {
		return entries, err
	}
	err = r.with(func(s *session) (err error) {
		twin := s.Twins[m.Map]
		if entries, err = s.readElements(&bpf.Batch{}, twin, m); err == nil {
			s.deleteAll(twin, m.Map, m.PerCPU)
		}
		return err
	})
	return entries, err
}

// turn has programs use the other generation of a map with keys, from now on that of
// Maps, and waits for those that use the old one, from now on the twin.
func (s *session) turn(m *object.ScriptMap) error {
	used, twin := s.Maps[m.Map], s.Twins[m.Map]
	if err := bpf.MapPut(s.Maps[m.Turns.Outer], twin); err != nil {
		return err
	}
	// The descriptors keep their numbers, which others may be reading.
	old, err := unix.FcntlInt(uintptr(used), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(old)
	return errors.Join(unix.Dup3(twin, used, unix.O_CLOEXEC), unix.Dup3(old, twin, unix.O_CLOEXEC))
}

// A grace waits for programs by a map of maps of its own. The zero value has none yet.
type grace struct {
	mu           sync.Mutex // of what follows
	made         bool
	inner, outer int
}

// wait returns once all programs have ended that run now, but for those that may sleep.
func (g *grace) wait() error {
	if err := g.open(); err != nil {
		return err
	}
	return bpf.MapPut(g.outer, g.inner)
}

// open makes the maps whose update waits for programs, once.
func (g *grace) open() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made {
		return nil
	}
	spec := bpf.MapSpec{Name: "hawk_grace", Type: bpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}
	if g.inner, err = bpf.MapCreate(spec); err != nil {
		return err
	}
	spec.Type, spec.ValueSize, spec.Inner = bpf.ArrayOfMaps, 4, g.inner
	if g.outer, err = bpf.MapCreate(spec); err != nil {
		unix.Close(g.inner)
		return err
	}
	g.made = true
	return nil
}

// close frees it. Nobody may be waiting.
func (g *grace) close() {
	if g.made {
		unix.Close(g.inner)
		unix.Close(g.outer)
	}
	g.made = false
}
