package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// ErrClosed says that a session is closed, so that its maps are gone.
var ErrClosed = fmt.Errorf("the session is closed: %w", os.ErrClosed)

// A Reader reads the maps of a session from any goroutine, without waiting for who
// reads its events: it has symbols and clocks of its own, behind a lock.
type Reader struct {
	of *Session
	mu sync.Mutex
	// lines of stacks that are being sorted
	lines  value.Lines
	pool   value.Pool // of their frames
	taking taking
	s      *session // nil before it is asked for anything, and once the session is closed
}

// Reader is the reader of the session's maps, the same at each call.
func (s *Session) Reader() *Reader { return &s.reader }

// with runs f while the maps are there.
func (r *Reader) with(f func(s *session) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s == nil {
		// of is locked for a moment only: its own lock is never taken the other way round.
		r.of.mu.Lock()
		loaded, p := r.of.loaded, r.of.spec.Program
		r.of.mu.Unlock()
		if loaded == nil {
			return ErrClosed
		}
		probes := r.of.spec.Probe
		r.s = &session{
			Session: loaded, owner: r.of, symbols: &r.of.symbols, hosts: &r.of.hosts,
			wakeFD: -1, pidFD: -1, meter: meter{stats: -1},
			o: settings{
				Options: Options{Stderr: io.Discard}, Config: p.Config, Probe: &probes,
				Child: r.of.child, PID: r.of.spec.PID,
			},
			sink: output.NewText(io.Discard, io.Discard, output.Options{}), namer: r,
		}
	}
	return f(r.s)
}

// FramesAt names frames of stacks that were read, whenever that is asked for; once the
// session is closed there are only addresses.
func (r *Reader) FramesAt(st *value.Stack, i int, d value.Depth, frame *value.Frame, f func(*value.Frame)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s != nil {
		r.s.FramesAt(st, i, d, frame, f)
	} else {
		f(frame)
	}
}

// Truncated reports whether a stack was not followed to its end, or may be wrong.
func (r *Reader) Truncated(st *value.Stack) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return st.Broken || st.Doubtful && r.s != nil && r.s.Truncated(st)
}

// Lines are kept until the next read.
func (r *Reader) Lines() *value.Lines { return &r.lines }

// Pool is of all stacks that it reads.
func (r *Reader) Pool() *value.Pool { return &r.pool }

// close ends reading, before the maps go.
func (r *Reader) close() {
	r.taking.busy.Lock()
	defer r.taking.busy.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s != nil {
		r.s.close()
	}
	r.taking.grace.close()
	r.s, r.of = nil, new(Session)
}

// Read is all elements of a script map, by its number in Object.Scripts. whole is false if
// keys came or went meanwhile.
func (r *Reader) Read(n int) (entries output.Entries, whole bool, err error) {
	r.lines.Forget()
	err = r.with(func(s *session) error {
		m := s.scriptMap(n)
		if m == nil {
			whole = true
			return nil
		}
		// A batch goes by buckets: an element that moves on meanwhile is seen twice or not at
		// all.
		before := s.keySum(m)
		entries, err = s.readMap(m)
		whole = before == s.keySum(m)
		return err
	})
	return entries, whole, err
}

// keySum is a number that changes when keys come or go.
func (s *session) keySum(m *object.ScriptMap) (sum keySum) {
	if m.Map < 0 || s.Maps[m.Map] < 0 {
		return sum
	}
	s.walkMap(m, func(key, val []byte) bool {
		if m.Soft && binary.NativeEndian.Uint64(val[8:]) == 0 {
			return true
		}
		h := uint64(14695981039346656037)
		for _, b := range key {
			h = (h ^ uint64(b)) * 1099511628211 // FNV-1a
		}
		sum.n, sum.sum = sum.n+1, sum.sum+h
		return true
	})
	return sum
}

// A keySum is a number of keys and the sum of their hashes, in which their order does not matter.
type keySum struct {
	n   int
	sum uint64
}

// Get is the value of a key as it lies in memory; ok is false if there is none.
// The key of a scalar is nil.
func (r *Reader) Get(n int, key []byte) (v value.Value, ok bool, err error) {
	err = r.with(func(s *session) error {
		m := s.scriptMap(n)
		switch {
		case m == nil:
			return nil
		case m.Parts != 0:
			return errors.New("a series of many intervals is read as a whole")
		case m.Map < 0:
			v = s.readScalar(m)
			ok = v != nil
			return nil
		}
		size := s.Object.Maps[m.Map].KeySize
		if len(key) > size {
			return fmt.Errorf("the key has %d bytes instead of %d", len(key), size)
		}
		key = append(key, make([]byte, size-len(key))...) // padding
		table := m.Map
		if m.Short != 0 {
			short := s.Object.Maps[m.Short].KeySize
			if len(bytes.TrimRight(key[short-1:], "\x00")) == 0 {
				table, key = m.Short, key[:short]
			}
		}
		val := make([]byte, s.valueBytes(table, m.PerCPU))
		err := bpf.MapLookup(s.Maps[table], key, val)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err == nil {
			v, ok = s.elementValue(m, val)
		}
		return err
	})
	return v, ok, err
}

// Clear removes all elements, as clear() does.
func (r *Reader) Clear(n int) error {
	return r.with(func(s *session) error {
		s.ClearMap(n)
		return nil
	})
}

// Decode is the value of bytes that programs have left, as printing makes it.
func (r *Reader) Decode(t types.Type, raw []byte) (v value.Value, err error) {
	err = r.with(func(s *session) error {
		v = value.Decode(t, raw, s)
		return nil
	})
	return v, err
}
