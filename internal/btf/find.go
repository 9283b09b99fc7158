package btf

import (
	"encoding/binary"
	"fmt"
	"runtime"
)

// The kinds a script can name.
var named = Set(Struct, Union, Enum, Enum64, Typedef, Fwd, Int, Func, Float)

// Find returns the ID of the first type of one of the kinds with that name,
// ErrNotFound if there is none. Types of the base are found as well.
func (s *Spec) Find(name string, kinds Kinds) (uint32, error) {
	defer runtime.KeepAlive(s)
	if s.base != nil {
		// Modules mostly refer to types of vmlinux; what they add differs.
		if id, err := s.findOwn(name, kinds); err == nil {
			return id, nil
		}
		return s.base.Find(name, kinds)
	}
	return s.findOwn(name, kinds)
}

// A question is what findOwn was asked; answers found by scanning are kept,
// because stages ask for the same few types again.
type question struct {
	name  string
	kinds Kinds
}

// findOwn finds a type in these types alone, not in those that they build upon. A few questions are
// answered by walking over all types; more are worth a table.
func (s *Spec) findOwn(name string, kinds Kinds) (uint32, error) {
	if s.table == nil {
		if id, ok := s.found[question{name, kinds}]; ok {
			return id, nil
		}
		// The table takes two walks over all types: a few questions are answered sooner without.
		if s.scans >= scansBeforeTable {
			if err := s.buildTable(); err != nil {
				return 0, err
			}
		}
		s.scans++
	}
	if s.table != nil && kinds&^named == 0 {
		return s.tableFind(name, kinds)
	}
	// One walk over all types answers this question and the expected ones.
	asked := append([]question{{name, kinds}}, s.expected...)
	s.expected = nil
	if s.found == nil {
		s.found = make(map[question]uint32)
	}
	if err := s.scan(asked); err != nil {
		return 0, err
	}
	if id, ok := s.found[asked[0]]; ok {
		return id, nil
	}
	return 0, fmt.Errorf("%s: %w", name, ErrNotFound)
}

// scan answers questions in one walk over all records. It is walk without
// decoding, since a process that starts pays for every type of the kernel.
func (s *Spec) scan(asked []question) error {
	if s.broken != nil {
		return s.broken
	}
	wanted := Kinds(0)
	for _, q := range asked {
		wanted |= q.kinds
	}
	open := len(asked)
	id := s.firstID
	for off := 0; off < len(s.types); id++ {
		s.note(id, uint32(off))
		b := s.types[off:]
		size := len(b) + 1
		var kind Kind
		if len(b) >= recordSize {
			info := binary.LittleEndian.Uint32(b[4:])
			if kind = Kind(info >> 24 & 0x1f); kind != Void && kind < numKinds {
				size = recordSize + int(tail[kind].fixed) + int(tail[kind].each)*int(info&0xffff)
			}
		}
		if size > len(b) {
			_, _, s.broken = s.at(uint32(off)) // it knows what is wrong
			return s.broken
		}
		off += size
		if !wanted.has(kind) {
			continue
		}
		name := binary.LittleEndian.Uint32(b)
		for _, q := range asked {
			if q.kinds.has(kind) && s.named(name, q.name) && s.found[q] == 0 {
				s.found[q] = id
				open--
			}
		}
		if open == 0 {
			return nil
		}
	}
	s.count = id
	return nil
}

// named reports whether the string at an offset is name.
func (s *Spec) named(off uint32, name string) bool {
	for s.base != nil && off < s.firstSt {
		s = s.base
	}
	// The compare is of bytes in place: a string for each of 150,000 types would cost more than
	// the walk.
	at, end := uint64(off-s.firstSt), uint64(off-s.firstSt)+uint64(len(name))
	return end < uint64(len(s.strs)) && s.strs[end] == 0 && string(s.strs[at:end]) == name
}

// Expect announces that a type will be asked for, so that the next look-up
// finds it on the way. It reads nothing.
func (s *Spec) Expect(name string, kinds Kinds) {
	if q := (question{name, kinds}); s.found[q] == 0 && s.table == nil {
		s.expected = append(s.expected, q)
	}
}

// contains is slices.Contains; the common case is one element.
func contains(offs []uint32, off uint32) bool {
	for _, o := range offs {
		if o == off {
			return true
		}
	}
	return false
}

// hash is FNV-1a.
func hash[T string | []byte](name T) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// buildTable indexes all names of s. Types are entered in the order of their
// IDs, so that probing meets the first of several of one name first.
func (s *Spec) buildTable() error {
	n := 0
	if err := s.walk(func(_ uint32, r *record) bool {
		if named.has(r.kind) && r.name != 0 {
			n++
		}
		return true
	}); err != nil {
		return err
	}
	// Half of the places stay free, so that few names meet others on their way.
	size := uint32(16)
	for int(size) < n*2 {
		size *= 2
	}
	table := make([]uint32, size)
	if err := s.walk(func(id uint32, r *record) bool {
		if !named.has(r.kind) || r.name == 0 {
			return true
		}
		i := hash(s.str(r.name)) & (size - 1)
		for table[i] != 0 {
			i = (i + 1) & (size - 1)
		}
		table[i] = id
		return true
	}); err != nil {
		return err
	}
	s.table = table
	return nil
}

func (s *Spec) tableFind(name string, kinds Kinds) (uint32, error) {
	mask := uint32(len(s.table) - 1)
	for i := hash(name) & mask; s.table[i] != 0; i = (i + 1) & mask {
		r, err := s.record(s.table[i])
		if err != nil {
			return 0, err
		}
		if kinds.has(r.kind) && string(s.str(r.name)) == name {
			return s.table[i], nil
		}
	}
	return 0, fmt.Errorf("%s: %w", name, ErrNotFound)
}

// NameOf is the name of a type.
func (s *Spec) NameOf(id uint32) (string, error) {
	defer runtime.KeepAlive(s)
	r, err := s.record(id)
	if err != nil {
		return "", err
	}
	return string(s.str(r.name)), nil
}

// Each calls f for every named type of the given kinds in s, not in its
// base, until f returns false. name is only valid during the call.
func (s *Spec) Each(kinds Kinds, f func(id uint32, kind Kind, name []byte) bool) error {
	defer runtime.KeepAlive(s)
	return s.walk(func(id uint32, r *record) bool {
		if !kinds.has(r.kind) || r.name == 0 {
			return true
		}
		return f(id, r.kind, s.str(r.name))
	})
}

// FindEnumerator returns the ID of the first enum with an enumerator of that
// name, and its value (bits; unsigned values reinterpreted).
func (s *Spec) FindEnumerator(name string) (id uint32, value int64, err error) {
	defer runtime.KeepAlive(s)
	offs := s.stringOffsets(name)
	if len(offs) > 0 {
		err = s.walk(func(at uint32, r *record) bool {
			if r.kind != Enum && r.kind != Enum64 {
				return true
			}
			each := int(tail[r.kind].each)
			for b := r.tail; len(b) >= each; b = b[each:] {
				if contains(offs, binary.LittleEndian.Uint32(b)) {
					id, value = at, enumValue(r, b)
					return false
				}
			}
			return true
		})
		if err != nil {
			return 0, 0, err
		}
	}
	if id == 0 && s.base != nil {
		return s.base.FindEnumerator(name)
	}
	if id == 0 {
		return 0, 0, fmt.Errorf("enumerator %s: %w", name, ErrNotFound)
	}
	return id, value, nil
}

// enumValue decodes the enumerator at the start of b. The kind flag of an
// enum says that its values are signed.
func enumValue(r *record, b []byte) int64 {
	lo := binary.LittleEndian.Uint32(b[4:])
	switch {
	case r.kind == Enum64:
		return int64(uint64(lo) | uint64(binary.LittleEndian.Uint32(b[8:]))<<32)
	case r.flag:
		return int64(int32(lo))
	}
	return int64(lo)
}
