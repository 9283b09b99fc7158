package unwind

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/proc"
)

// mostLooks bounds how often the mappings of a process are read that changes
// them meanwhile.
const mostLooks = 4

// partsOf makes the tables of the executable mappings of a process; false if tables were dropped
// meanwhile to which the parts would refer. state is that of a space of these parts.
func (u *Unwinder) partsOf(pid int, maps []proc.Mapping) (parts []part, state int, ok bool) {
	// The numbers of tables are valid within one generation: startOver gives them up, perhaps in
	// the loop below.
	frames, generation := true, u.generation
	for i := range maps {
		m := &maps[i]
		p := part{start: m.Start, end: m.End}
		if f, bias := u.mapped(pid, m); f != nil {
			frames = frames && (f.frames() || m.Path == vdsoPath)
			if f.table != nil {
				p.delta, p.index = m.Start-m.Offset-bias+f.table.Base, f.index
			}
		}
		parts = append(parts, p)
	}
	if frames {
		return parts, object.UnwindFrames, u.generation == generation
	}
	return parts, object.UnwindReady, u.generation == generation
}

// put writes the space of a process.
func (u *Unwinder) put(pid int, space []byte) {
	if u.update(u.Spaces, key(pid), space) == unix.E2BIG {
		u.sweep()
		u.update(u.Spaces, key(pid), space)
	}
}

// A moment is what a process had mapped at some time: a space that was made of it is out of date when the
// process is found otherwise.
type moment struct{ identity, code uint64 }

// now is to be called before the mappings are read: a space that is newer than is thought does no harm.
func now(pid int) moment { return moment{identity(pid), proc.CodePages(pid)} }

// identity tells the program that a process runs from others, as programs in
// the kernel do; 0 if it has ended.
func identity(pid int) uint64 {
	l, ok := proc.MemoryLayout(pid)
	if !ok {
		return 0
	}
	sum := uint64(0)
	mix := int64(object.UnwindMix)
	for _, v := range [...]uint64{l.StartCode, l.EndCode, l.StartStack, l.StartData, l.ArgStart} {
		sum = sum*uint64(mix) + v
	}
	return sum | 1
}

// A part is a mapping with a table.
type part struct {
	start, end, delta uint64
	index             uint32
}

// space is the value of a process in the map, state 0 for one that programs
// fill. Of too many mappings, those at the lowest addresses count. The page of
// old system calls (vsyscall) is not a program's.
func space(state int, at moment, parts []part) []byte {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.start > math.MaxInt64 })
	order.By(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	v := make([]byte, object.UnwindSpace)
	order := binary.NativeEndian
	order.PutUint32(v[object.UnwindState:], uint32(state))
	order.PutUint32(v[object.UnwindCount:], uint32(min(len(parts), object.UnwindMost)))
	order.PutUint64(v[object.UnwindIdentity:], at.identity)
	order.PutUint64(v[object.UnwindCode:], at.code)
	for i := range object.UnwindMost {
		m := v[object.UnwindMappings+i*object.UnwindMapping:]
		if i >= len(parts) {
			order.PutUint64(m[object.UnwindStart:], math.MaxInt64)
			continue
		}
		p := &parts[i]
		order.PutUint64(m[object.UnwindStart:], p.start)
		order.PutUint64(m[object.UnwindEnd:], p.end)
		order.PutUint64(m[object.UnwindDelta:], p.delta)
		order.PutUint32(m[object.UnwindIndex:], p.index)
	}
	return v
}
