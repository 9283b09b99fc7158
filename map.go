package hawk

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/unpack"
)

// A Map is a map of a running script. It is read from any goroutine, and waits for nobody who
// reads events. Once the session is closed the error is fs.ErrClosed.
type Map struct {
	Info MapInfo
	s    *Session
	n    int // in Object.Scripts
}

// Map finds a map by its name with @. The error is fs.ErrNotExist if there is none.
func (s *Session) Map(name string) (*Map, error) {
	if !s.started() {
		return nil, errNoSession
	}
	var names []string
	for i, info := range s.p.Maps() {
		names = append(names, info.Name)
		if info.Name == name {
			return &Map{info, s, i}, nil
		}
	}
	hint := ""
	if len(names) > 0 {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return nil, fmt.Errorf("hawk: the script has no map %s%s: %w", name, hint, fs.ErrNotExist)
}

// An Entry is an element of a map. Several keys are a tuple; that of a scalar is absent.
type Entry struct{ Key, Value Value }

// A Snapshot is what a map held.
type Snapshot struct {
	Info     MapInfo
	Time     time.Time
	Entries  []Entry
	Complete bool // no keys came or went while it was read
}

// reader is what reads the maps of its session.
func (m *Map) reader() (*session.Reader, error) {
	if m.s == nil {
		return nil, errNoMap
	}
	return m.s.s.Reader(), nil
}

func (m *Map) script() *object.ScriptMap { return m.s.p.res.Object.Scripts[m.n] }

// Snapshot reads all elements, in the order in which the command prints them.
// Aggregations are those of all CPUs together.
func (m *Map) Snapshot() (*Snapshot, error) {
	r, err := m.reader()
	if err != nil {
		return nil, err
	}
	entries, whole, err := r.Read(m.n)
	if err != nil {
		return nil, m.failed(err)
	}
	snap := m.s.snapshot(m.Info, output.Map{Keyed: len(m.Info.Keys) > 0, Entries: entries}.Sorted())
	snap.Complete = whole
	return snap, nil
}

// snapshot gives entries of a map their types.
func (s *Session) snapshot(info MapInfo, entries output.Entries) *Snapshot {
	snap := &Snapshot{Info: info, Time: s.o.Clock(), Complete: true, Entries: make([]Entry, entries.Len())}
	for i := range snap.Entries {
		e := entries.At(i)
		snap.Entries[i].Value = Value{info.Value.t, e.Value, s.plans}
		if e.Key != nil {
			snap.Entries[i].Key = Value{info.key, e.Key, s.plans}
		}
	}
	return snap
}

// All yields keys and values. Every key that is there throughout comes once. What keeps
// the map from being read ends it; Snapshot says what that is.
func (m *Map) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		snap, err := m.Snapshot()
		if err != nil {
			return
		}
		for _, e := range snap.Entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Get reads one element; false: there is none. Each part of the key is an integer, a
// bool or a string; a scalar has no key.
func (m *Map) Get(key ...any) (Value, bool, error) {
	r, err := m.reader()
	if err != nil {
		return Value{}, false, err
	}
	raw, err := unpack.Key(m.script().Key, key)
	if err != nil {
		return Value{}, false, m.failed(err)
	}
	v, ok, err := r.Get(m.n, raw)
	return Value{m.Info.Value.t, v, m.s.plans}, ok, m.failed(err)
}

// Take reads all elements, as Snapshot does, and removes them. Each update of a program
// is in what is taken, or left for the next Take, never lost and never in both, but for
// what the script itself clears. It waits for programs that run: the grace period of the
// kernel, some 20 ms. The error is errors.ErrUnsupported without CompileOptions.Take, and
// of series of so many intervals that they lie in parts.
func (m *Map) Take() (*Snapshot, error) {
	r, err := m.reader()
	if err != nil {
		return nil, err
	}
	entries, err := r.Take(m.n)
	if errors.Is(err, session.ErrOneGeneration) {
		err = fmt.Errorf("a series of so many intervals cannot be taken: %w", errors.ErrUnsupported)
		if !m.s.p.take {
			err = fmt.Errorf("to be taken it has to be compiled with CompileOptions.Take: %w", errors.ErrUnsupported)
		}
	}
	if err != nil {
		return nil, m.failed(err)
	}
	return m.s.snapshot(m.Info, output.Map{Keyed: len(m.Info.Keys) > 0, Entries: entries}.Sorted()), nil
}

// Clear removes all elements, as clear() does.
func (m *Map) Clear() error {
	r, err := m.reader()
	if err != nil {
		return err
	}
	return m.failed(r.Clear(m.n))
}

// failed says which map an error is about.
func (m *Map) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("hawk: %s: %w", m.Info.Name, err)
	}
	return err
}

// Entries yields the elements of a map as values of Go. Those that do not fit are left out: of keys
// or values of another type nothing is left. [Map.Snapshot] and [Value.Decode] have errors.
func Entries[K comparable, V any](m *Map) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for key, val := range m.All() {
			var k K
			var v V
			if key.t != nil && decodeInto(reflect.ValueOf(&k).Elem(), key) != nil {
				continue
			}
			if decodeInto(reflect.ValueOf(&v).Elem(), val) != nil {
				continue
			}
			if !yield(k, v) {
				return
			}
		}
	}
}
