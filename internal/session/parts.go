package session

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// readInParts reads a map whose cells are in parts. Parts that belong to no
// cell any more are removed: programs that delete a cell leave them behind.
func (s *session) readInParts(m *object.ScriptMap) (out output.Entries, err error) {
	cells := map[uint64][]byte{} // the parts by the number of their cell
	// A key is the number of the cell, which the body counts up, and that of the part.
	size := s.Object.Maps[m.Parts].ValueSize
	err = s.walk(m.Parts, true, func(key, val []byte) bool {
		number := binary.NativeEndian.Uint64(key)
		cells[number] = append(cells[number], fold(m.Agg, val, size)...)
		return true
	})
	if err != nil {
		return out, err
	}
	// A part is made after its cell, so the cells of all that were seen are seen as well.
	live := map[uint64]bool{}
	add := func(key []byte, number uint64) {
		live[number] = true
		var k value.Value
		if key != nil {
			k = value.Decode(m.Key, key, s)
		}
		out.Add(k, s.Agg(m.Agg, cells[number]))
	}
	if m.Map < 0 {
		if number := atomic.LoadUint64(s.word(m.Offset + 8)); atomic.LoadUint64(s.word(m.Offset)) != 0 {
			add(nil, number)
		}
	} else {
		err = s.walk(m.Map, m.PerCPU, func(key, val []byte) bool {
			add(key, binary.NativeEndian.Uint64(val))
			return true
		})
	}
	if err == nil {
		s.sweep(m, cells, live)
	}
	return out, err
}

// sweep removes the parts whose cells are not alive, of those that were seen.
func (s *session) sweep(m *object.ScriptMap, cells map[uint64][]byte, live map[uint64]bool) {
	var dead [][]byte
	for number := range cells {
		if live[number] {
			delete(cells, number)
		}
	}
	if len(cells) == 0 {
		return
	}
	s.walk(m.Parts, true, func(key, _ []byte) bool {
		if _, ok := cells[binary.NativeEndian.Uint64(key)]; ok {
			dead = append(dead, slices.Clone(key))
		}
		return true
	})
	for _, key := range dead {
		bpf.MapDelete(s.Maps[m.Parts], key)
	}
}
