package lower

import (
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/view"
)

// layoutMap decides where a script map lives. Scalars that fit a register and scalar aggregations
// are words of the shared data map: no lookup, and user space reads them without a system call.
// Everything else is a hash. A value in the data map has a word in front that says whether the
// script has stored one: {u64 present; u64 value}. An aggregation has such a cell for each CPU, on
// cache lines of their own.
func (m *module) layoutMap(mp *check.Map) {
	s := &object.ScriptMap{Name: mp.Name, Key: mp.Key, Value: m.kept(mp.Value), Map: -1}
	m.maps[mp.Name] = len(m.obj.Scripts)
	m.obj.Scripts = append(m.obj.Scripts, s)

	agg, isAgg := s.Value.(*types.Agg)
	if isAgg {
		kind, _ := builtin.LookupAgg(agg.Kind)
		s.Agg, s.PerCPU = agg, true
		s.Cell = types.RoundUp(kind.CellBytes(agg), 8)
		m.layoutParts(mp, s)
	} else {
		s.Cell = max(types.RoundUp(mp.Value.Size(), 8), 8)
	}
	if mp.Key == nil {
		switch {
		case isAgg && s.PerCPU:
			m.placeAgg(s)
			return
		case isAgg, types.IsScalar(mp.Value):
			m.placeCells(s, 16)
			return
		}
	}
	keyBytes := 8
	if mp.Key != nil {
		keyBytes = types.RoundUp(mp.Key.Size(), 8)
	}
	if keyBytes > OldKey && !m.has(machine.LargeKey) {
		m.diags.Errorf("kernel", mp.First, "the keys of %s take %d bytes, and this kernel allows %d",
			mp.Name, keyBytes, OldKey).
			Hint("kernels from %s on allow more; shorten strings in the key: str(…, 200), or max_strlen for all",
				machine.LargeKey.Since)
	}
	k := &object.Map{
		Name: mp.Name[1:], Type: bpf.Hash, KeySize: keyBytes, ValueSize: s.Cell, MaxEntries: mp.MaxEntries,
	}
	lru := mp.Kind == "lruhash" || mp.Kind == "percpulruhash" || mp.Kind == "lrupercpuhash"
	switch {
	case isAgg && s.PerCPU && lru:
		k.Type = bpf.LRUCPUHash
	case isAgg && s.PerCPU:
		m.layoutAgg(mp, s, k)
	case lru:
		k.Type = bpf.LRUHash
	case mp.Key != nil && mp.DeletedFrom && types.IsScalar(mp.Value) && mp.MaxEntries >= leastSoft &&
		!m.o.Warnings && !m.o.Take:
		// See object.ScriptMap.Soft. Elements that were deleted in place stay in
		// the table, so it has room for as many again. With -k a key that is not
		// there must be told from one whose element is.
		s.Soft = true
		k.ValueSize, k.MaxEntries = 16, 2*mp.MaxEntries
		s.Offset = m.place(8, 64) // number of elements in the table
	}
	s.Map = m.kernelMap(k)
	m.layoutShort(mp, s, k)
	// The library's Take has programs write to the other of two maps while it reads one: see
	// turns.go.
	if m.o.Take && s.Parts == 0 {
		s.Turns.Outer = m.kernelMap(&object.Map{
			Name: mp.Name[1:] + ".turn", Type: bpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, Inner: s.Map,
		})
	}
}

// OldKey is how many bytes keys of hash maps have at most on older kernels: what the BPF stack holds
// (htab_map_alloc_check in kernel/bpf/hashtab.c).
const OldKey = 512

// TextSize is what max_strlen has to be for all keys of a program to fit a kernel that takes small ones
// only, and where the longest key stands. It is 0 if they all fit, or would not by that.
func TextSize(p *check.Program, o *probe.Options) (size int, at source.Span) {
	for _, mp := range p.Maps {
		if mp.Key == nil || types.RoundUp(mp.Key.Size(), 8) <= OldKey {
			continue
		}
		if o.Has(machine.LargeKey) {
			return 0, at
		}
		texts, bytes := longTexts(mp.Key, p.Config.MaxStrlen)
		if texts == 0 {
			return 0, at
		}
		// Each text may be padded to eight bytes, and has one more for the NUL.
		fits := (OldKey-(types.RoundUp(mp.Key.Size(), 8)-bytes))/texts&^7 - 1
		if fits < shortText/2 {
			return 0, at
		}
		if size == 0 || fits < size {
			size, at = fits, mp.First
		}
	}
	return size, at
}

// longTexts counts the texts in a key that have at least so many bytes, and what they take together.
func longTexts(t types.Type, least int) (texts, bytes int) {
	var elems []types.Type
	switch t := t.(type) {
	case *types.String:
		if t.Cap >= least {
			return 1, t.Cap
		}
	case *types.Tuple:
		elems = t.Elems
	case *types.Record:
		elems = t.Elems
	}
	for _, e := range elems {
		n, b := longTexts(e, least)
		texts, bytes = texts+n, bytes+b
	}
	return texts, bytes
}

// layoutShort adds a map for the elements with short keys, where it matters that these cost less.
// Each of the two has room for as many elements as the script wants, so that there is no exact limit.
func (m *module) layoutShort(mp *check.Map, s *object.ScriptMap, k *object.Map) {
	_, size := shortKey(mp.Key)
	plain := k.Type == bpf.Hash || k.Type == bpf.PerCPUHash
	if size == 0 || !plain || s.Soft || s.Parts != 0 || m.o.Take || mp.Walked || mp.MaxEntries < leastSoft {
		return
	}
	short := *k
	short.Name, short.KeySize = k.Name+".short", size
	s.Short = m.kernelMap(&short)
}

// placeAgg places the cells of an aggregation without keys in the data map: one for each CPU, or one
// for all of them where the kernel would not take a map of that size.
func (m *module) placeAgg(s *object.ScriptMap) {
	kind, _ := builtin.LookupAgg(s.Agg.Kind)
	s.Stride = types.RoundUp(8+s.Cell, 64)
	bytes := s.Stride * m.obj.Data.CPUSlots
	if kind.Additive && m.data+bytes > halfData && !m.has(machine.LargeValue) {
		s.PerCPU, bytes = false, s.Stride
	}
	m.placeCells(s, bytes)
}

// checkData tells of a data map that is larger than the kernel takes.
func (m *module) checkData() {
	bytes := m.obj.Data.Bytes
	if bytes <= machine.OldValue || len(m.prog.Maps) == 0 || m.has(machine.LargeValue) {
		return
	}
	m.diags.Errorf("kernel", m.prog.Maps[len(m.prog.Maps)-1].First,
		"the maps without keys take %d bytes, and this kernel allows %d", bytes, machine.OldValue).
		Hint("kernels from %s on allow more; one map with a key has room for more than many without",
			machine.LargeValue.Since)
}

// placeCells places the cells of a map in the data map.
func (m *module) placeCells(s *object.ScriptMap, bytes int) {
	s.Offset = m.place(bytes, 64)
	if m.o.Take && s.Parts == 0 {
		s.Turns.Bytes = m.place(bytes, 64) - s.Offset
		s.Turns.Word = m.place(8, 64)
	}
}

const (
	// leastSoft is from how many elements on a map may be one that elements are
	// deleted from in place: such a map has no exact limit, and a script that
	// sets a small one may count on it.
	leastSoft = 4096
	// fewCPUs is up to how many CPUs share the cells of an aggregation: atomic
	// additions to one cell cost them no more than cells of their own, and the
	// map costs 2 ms less to create.
	fewCPUs = 4
	// smallCell is up to how many bytes a cell is worth having once for each
	// CPU: that of a histogram would take 100 MB on a large machine.
	smallCell = 64
	// halfData is how much of the data map aggregations have to themselves on older kernels, so that
	// there is room for all else.
	halfData = machine.OldValue / 2
	// preallocated bounds the memory of elements that are allocated in advance.
	// Allocating when a key is first seen fails now and then under load, and
	// with it the count.
	preallocated = 32 << 20
)

// kept is the type of a map's values, with what is kept beside them.
func (m *module) kept(t types.Type) types.Type {
	agg, ok := t.(*types.Agg)
	if !ok || !m.o.Sums {
		return t
	}
	if kind, _ := builtin.LookupAgg(agg.Kind); kind.Shows != view.Histogram {
		return t
	}
	summed := *agg
	summed.Sum = true
	return &summed
}

// layoutParts makes a map for the parts of cells that are too large to be whole. There is room for
// all the parts of one cell, and for a good many of others, as cells rarely have all of theirs.
func (m *module) layoutParts(mp *check.Map, s *object.ScriptMap) {
	kind, _ := builtin.LookupAgg(s.Agg.Kind)
	if kind.Split == nil {
		return
	}
	parts, bytes := kind.Split(s.Agg)
	if parts == 0 {
		return
	}
	k := &object.Map{Name: mp.Name[1:] + ".parts", Type: bpf.PerCPUHash, KeySize: 16, ValueSize: bytes,
		MaxEntries: parts}
	most := 1 << 18
	if m.has(machine.NoPreallocPerf) {
		k.Flags = unix.BPF_F_NO_PREALLOC
	} else {
		most = 1 << 14
	}
	if mp.Key != nil {
		k.MaxEntries = max(parts, min(parts*mp.MaxEntries, most), mp.MaxEntries)
	}
	s.PerCPU, s.Cell, s.Parts = false, 8, m.kernelMap(k)
}

// mark adds a name to a set.
func mark(set *map[string]bool, name string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[name] = true
}

// layoutAgg decides how the cells of an aggregation with keys are kept: one
// for each CPU, or shared where only sums are kept.
func (m *module) layoutAgg(mp *check.Map, s *object.ScriptMap, k *object.Map) {
	kind, _ := builtin.LookupAgg(s.Agg.Kind)
	cpus := m.o.Probe.Machine.PossibleCPUs()
	k.Type = bpf.PerCPUHash
	if kind.Additive && mp.Kind == "" {
		if cpus <= fewCPUs || s.Cell > smallCell || m.shared[s.Name] {
			k.Type, s.PerCPU, cpus = bpf.Hash, false, 1
		} else {
			mark(&m.sharable, s.Name)
		}
	}
	if s.Cell*cpus*k.MaxEntries > preallocated && m.has(machine.NoPreallocPerf) {
		k.Flags = unix.BPF_F_NO_PREALLOC
	}
}
