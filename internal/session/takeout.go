package session

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// emptying does what clear and zero do for those who watch: if totals of the map are
// kept, what goes is taken out, such that none of it is missing in them. It reports
// whether it did that.
func (s *session) emptying(n int, zero bool) (done bool) {
	w, m := s.watcher, s.Object.Scripts[n]
	k := &w.maps[n]
	if k.ledger != nil {
		k.mu.Lock()
		s.takeOut(m, zero, k.ledger.Took)
		k.mu.Unlock()
	}
	s.say(view.Cleared{Map: k.of, Boot: bootTime(), Zero: zero})
	return k.ledger != nil
}

// emptied is what was taken out of a map with keys.
func (s *session) emptied(n int) (out output.Entries) {
	m, k := s.Object.Scripts[n], &s.watcher.maps[n]
	k.mu.Lock()
	s.takeOut(m, false, func(key, cell []byte) {
		k.ledger.Took(key, cell)
		out.Add(value.Decode(m.Key, key, s), s.shown(m, cell))
	})
	k.mu.Unlock()
	s.say(view.Cleared{Map: k.of, Boot: bootTime()})
	return out
}

// shown is the value that a cell of a map is.
func (s *session) shown(m *object.ScriptMap, cell []byte) value.Value {
	if m.Agg != nil {
		return s.Agg(m.Agg, cell)
	}
	return value.Decode(m.Value, cell, s)
}

// takeOut empties a map of cells and calls f for each key with what was there,
// the cells of all CPUs as one. Updates go to what was taken or to what is new: none is lost but
// what another CPU adds while the kernel copies that element, which takes longer the more CPUs there
// are. With zero the keys stay. The library's Take loses nothing, see take.go.
func (s *session) takeOut(m *object.ScriptMap, zero bool, f func(key, cell []byte)) {
	if m.Map < 0 {
		if cell := s.joined(m, s.takeCell); cell != nil {
			if f(nil, cell); !zero {
				s.unwritten(m)
			}
		}
		return
	}
	s.takeTable(m, m.Map, zero, f)
	if m.Short != 0 {
		whole := s.wholeKeys(m, func(key, cell []byte) bool {
			f(key, cell)
			return true
		})
		s.takeTable(m, m.Short, zero, func(key, cell []byte) { whole(key, cell) })
	}
}

// takeTable is takeOut for one of the kernel maps of a script map, of number n.
func (s *session) takeTable(m *object.ScriptMap, n int, zero bool, f func(key, cell []byte)) {
	fd := s.Maps[n]
	taken := s.takeAll(n, m.PerCPU)
	if m.Soft { // the number of elements in the table
		atomic.AddUint64(s.word(m.Offset), -uint64(taken.n))
	}
	zeros := make([]byte, s.valueBytes(n, m.PerCPU))
	if m.Soft {
		binary.NativeEndian.PutUint64(zeros[8:], 1)
	}
	keySize, valueSize := s.Object.Maps[n].KeySize, len(zeros)
	const absent = 1 // BPF_NOEXIST: what came meanwhile stays
	for i := range taken.n {
		key := taken.keys[i*keySize : (i+1)*keySize]
		cell := cellOf(m, taken.values[i*valueSize:(i+1)*valueSize])
		if cell == nil {
			continue
		}
		f(key, cell)
		if zero && bpf.MapUpdate(fd, key, zeros, absent) == nil && m.Soft {
			atomic.AddUint64(s.word(m.Offset), 1)
		}
	}
}

// takeAll removes the elements that kernel map n has.
func (s *session) takeAll(n int, perCPU bool) (all elements) {
	fd := s.Maps[n]
	batch := bpf.Batch{Take: true}
	collect := func(key, val []byte) bool {
		all.keys, all.values = append(all.keys, key...), append(all.values, val...)
		all.n++
		return true
	}
	s.walkBy(&batch, fd, n, perCPU, collect)
	if batch.Take {
		return all
	}
	// Such kernels (before 5.6) read an element and delete it in two steps: an update
	// between them is lost, so that they are close to each other.
	keys := slices.Clone(all.keys)
	all = elements{}
	size, val := s.Object.Maps[n].KeySize, make([]byte, s.valueBytes(n, perCPU))
	for ; len(keys) >= size; keys = keys[size:] {
		if bpf.MapLookup(fd, keys[:size], val) == nil && bpf.MapDelete(fd, keys[:size]) == nil {
			collect(keys[:size], val)
		}
	}
	return all
}

// takeCell is heldCell that leaves zeroes, word by word.
func (s *session) takeCell(m *object.ScriptMap, at int) (raw []byte, held bool) {
	return s.words(m, at, func(word *uint64) uint64 { return atomic.SwapUint64(word, 0) })
}

// heldCell is cell for totals: what is there counts, even if a program was in the middle
// of its first write as clear() came by.
func (s *session) heldCell(m *object.ScriptMap, at int) (raw []byte, held bool) {
	return s.words(m, at, func(word *uint64) uint64 { return atomic.LoadUint64(word) })
}

func (s *session) words(m *object.ScriptMap, at int, get func(word *uint64) uint64) (raw []byte, held bool) {
	if at < 0 || at+8+m.Cell > len(s.Data) {
		return nil, false
	}
	held = atomic.LoadUint64(s.word(at)) != 0
	raw = make([]byte, m.Cell)
	for off := 0; off+8 <= m.Cell; off += 8 {
		word := get(s.word(at + 8 + off))
		binary.NativeEndian.PutUint64(raw[off:], word)
		held = held || word != 0
	}
	return raw, held
}

// unwritten forgets that a map in the data map was written, where that is
// still so: an update that came meanwhile stays.
func (s *session) unwritten(m *object.ScriptMap) {
	first := s.offset(m)
	for i := range s.cellCount(m) {
		at := first + i*m.Stride
		if at < 0 || at+8+m.Cell > len(s.Data) {
			continue
		}
		atomic.StoreUint64(s.word(at), 0)
		for off := 0; off+8 <= m.Cell; off += 8 {
			if atomic.LoadUint64(s.word(at+8+off)) != 0 {
				atomic.StoreUint64(s.word(at), 1)
				break
			}
		}
	}
}
