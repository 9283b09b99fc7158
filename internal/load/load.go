package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// Options are what loading depends on besides the object.
type Options struct {
	Config *config.Config
	Probe  *probe.Options // with the machine
	// Log receives the verifier's log of every program (-d verifier); nil: the
	// log is asked for only when a program is refused.
	Log io.Writer
	// Trace receives a line for every map and program (-d loader); nil: none.
	Trace io.Writer
	// Bursts asks for a larger ring buffer: each step of a program sends a record, and the reader has
	// no processor of its own.
	Bursts bool
}

// A Session is a script in the kernel, not yet attached to anything.
type Session struct {
	// Object is what was loaded: programs that the kernel refused, and that may be
	// missing, are not in it.
	Object *object.Object
	// Maps are the descriptors of Object.Maps; -1 for maps that no program
	// refers to, which were not created.
	Maps []int
	// Twins are the second generations of maps that have two, by the number of the
	// first; nil if no map has.
	Twins map[int]int
	// Data is the shared data map, mapped into memory.
	Data []byte
	// Programs are the descriptors of Object.Programs.
	Programs []int
	CPUs     int // possible CPUs, see machine.PossibleCPUs
	Rings    []Ring
	// PerCPU is how many values an element of a per-CPU map has; 0 if there is no
	// such map.
	PerCPU int
	// Bounded: the programs that send records run once each and cannot send more
	// than the ring holds.
	Bounded bool

	dataFD int
	btfFD  int
	opts   Options
}

// A Ring is a ring buffer that programs send records through.
type Ring struct{ FD, Size int }

// Load creates the maps and loads the programs; it does not change the object. The
// error is a *Rejected if the verifier refused a program.
func Load(o *object.Object, opts Options) (_ *Session, err error) {
	own := *o
	s := &Session{Object: &own, CPUs: opts.Probe.Machine.PossibleCPUs(), dataFD: -1, btfFD: -1, opts: opts}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	// How much can be sent decides the size of the buffer, so that it comes before the maps.
	n, bounded := s.bounded()
	s.Bounded = bounded && n <= leastRing/2 && (opts.Config == nil || opts.Config.PerfRBPages == 0)
	if err := s.createMaps(); err != nil {
		return nil, err
	}
	if err := s.loadPrograms(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close frees what the session holds. Links keep programs, and programs keep
// maps, for as long as they are open.
func (s *Session) Close() error {
	var errs []error
	if s.Data != nil {
		errs = append(errs, unix.Munmap(s.Data))
		s.Data = nil
	}
	// The memory of the data map goes first: whoever reads it has to have ended by now.
	fds := append(append(append([]int(nil), s.Programs...), s.Maps...), s.dataFD, s.btfFD)
	slices.Sort(fds) // a ring buffer can stand for several
	for _, fd := range slices.Compact(fds) {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	for _, fd := range s.Twins {
		errs = append(errs, unix.Close(fd))
	}
	s.Twins = nil
	s.Programs, s.Maps, s.dataFD, s.btfFD = nil, nil, -1, -1
	return errors.Join(errs...)
}

// createMaps creates the data map and the maps that programs or hawk itself refer to.
func (s *Session) createMaps() error {
	o := s.Object
	s.Maps = make([]int, len(o.Maps))
	for i := range s.Maps {
		s.Maps[i] = -1
	}
	// A map that no program refers to is not created, so that programs that were selected away
	// cost nothing.
	used := make([]bool, len(o.Maps))
	var badMap error
	for _, p := range o.Programs {
		p.Code.Maps(func(n int) {
			if n < 0 || n >= len(used) {
				badMap = fmt.Errorf("program %s refers to map %d of %d: this is a bug of hawk", p.Name, n, len(used))
				return
			}
			used[n] = true
		})
	}
	// The code comes from a file where it was compiled ahead of time: numbers in it are checked.
	if badMap != nil {
		return badMap
	}
	if err := s.createData(); err != nil {
		return err
	}
	for i, m := range o.Maps {
		// Maps that others lead to come in front of them, so that one pass creates all in order.
		if used[i] && m.Type == bpf.ArrayOfMaps {
			used[m.Inner] = true
		}
		if m.Role == object.FollowRole { // whom it has the end of the run depends on
			used[i] = true
		}
	}
	for i, m := range o.Maps {
		if !used[i] {
			continue
		}
		var err error
		switch m.Type {
		case bpf.RingBuf:
			err = s.createRing(i, m)
		case bpf.ArrayOfMaps:
			err = s.createTurns(i, m)
		default:
			entries := m.MaxEntries
			if m.Type == bpf.PerfEventArray {
				entries = s.CPUs
			}
			if err = room(m, entries, s.CPUs); err == nil {
				s.Maps[i], err = bpf.MapCreate(specOf(m, entries))
			}
			if err == nil && m.Text != "" {
				err = freeze(s.Maps[i], m)
			}
		}
		if err != nil {
			return mapError(m, err)
		}
		if m.Type.PerCPU() {
			if s.PerCPU, err = perCPUValues(); err != nil {
				return mapError(m, err)
			}
		}
		s.trace("map %s: %s, keys of %d bytes, values of %d bytes, at most %d", m.Name, m.Type,
			m.KeySize, m.ValueSize, m.MaxEntries)
	}
	return nil
}

// specOf describes a map to the kernel, with as many entries as it gets.
func specOf(m *object.Map, entries int) bpf.MapSpec {
	return bpf.MapSpec{
		Name: m.Name, Type: m.Type, KeySize: m.KeySize, ValueSize: m.ValueSize,
		MaxEntries: entries, Flags: m.Flags,
	}
}

// createTurns creates a map of maps with its only element, and the twin of that.
func (s *Session) createTurns(n int, m *object.Map) error {
	inner := s.Object.Maps[m.Inner]
	twin, err := bpf.MapCreate(specOf(inner, inner.MaxEntries))
	if err != nil {
		return err
	}
	if s.Twins == nil {
		s.Twins = map[int]int{}
	}
	s.Twins[m.Inner] = twin
	spec := specOf(m, m.MaxEntries)
	// The kernel takes the inner map as a pattern: both generations have to be like it.
	spec.Inner = s.Maps[m.Inner]
	if s.Maps[n], err = bpf.MapCreate(spec); err != nil {
		return err
	}
	return bpf.MapPut(s.Maps[n], s.Maps[m.Inner])
}

// perCPUValues asks the kernel once.
var perCPUValues = sync.OnceValues(bpf.PerCPUValues)

// freeze writes the text of a map, which from then on is a constant to the verifier.
func freeze(fd int, m *object.Map) error {
	value := make([]byte, m.ValueSize)
	copy(value, m.Text)
	if err := bpf.MapUpdate(fd, make([]byte, m.KeySize), value, 0); err != nil {
		return err
	}
	return bpf.MapFreeze(fd)
}

// trace writes a line of -d loader.
func (s *Session) trace(format string, args ...any) {
	if s.opts.Trace != nil {
		fmt.Fprintf(s.opts.Trace, "[DEBUG] loader: "+format+"\n", args...)
	}
}

// createData creates the data map and maps it into memory.
func (s *Session) createData() error {
	d := s.Object.Data
	size := max(d.Bytes, object.DataFree, len(d.Init))
	fd, err := bpf.MapCreate(bpf.MapSpec{
		Name: "hawk_data", Type: bpf.Array, KeySize: 4, ValueSize: size, MaxEntries: 1, Flags: bpf.Mmapable,
	})
	if err != nil {
		return mapError(&object.Map{Name: "data", Type: bpf.Array, ValueSize: size, MaxEntries: 1}, err)
	}
	s.dataFD = fd
	page := unix.Getpagesize()
	s.Data, err = unix.Mmap(fd, 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("cannot map the data of the script into memory: %w", err)
	}
	// Nothing is attached yet: no program sees the data before it is complete.
	copy(s.Data, d.Init)
	s.trace("map hawk_data: %s, %d bytes, %d of them given", bpf.Array, size, len(d.Init))
	return nil
}

// Sizes of the ring buffers together, in bytes.
const (
	leastRing = 64 << 10  // for scripts that can only send little
	smallRing = 256 << 10 // where memory is short
	// some 16 ms of events at five million a second: a reader that waits for its turn on a busy
	// machine loses none
	defaultRing = 4 << 20
	mostRing    = 16 << 20
	burstRing   = 64 << 20 // where each call of a program sends a record, while hawk waits for its turn
)

// createRing creates a ring buffer. Where memory is short (before 5.11 by
// the limit of locked memory) it becomes smaller rather than fail, unless the
// user chose the size. Once there are enough, the first one stands for the others.
func (s *Session) createRing(n int, m *object.Map) error {
	count := s.ringCount()
	if len(s.Rings) == count {
		s.Maps[n] = s.Rings[0].FD
		return nil
	}
	size, chosen := s.ringSize()
	// The size is a power of two at each step, as the kernel wants it.
	for size /= count; ; size /= 2 {
		fd, err := bpf.MapCreate(bpf.MapSpec{Name: m.Name, Type: m.Type, MaxEntries: size})
		if err == nil {
			s.Maps[n], s.Rings = fd, append(s.Rings, Ring{fd, size})
			s.trace("ring buffer of %d bytes", size)
			return nil
		}
		short := errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM)
		if chosen || !short || size <= max(smallRing/count, unix.Getpagesize()) {
			return err
		}
	}
}

// ringCount is how many ring buffers there are to be: as many as the processors that run want, but
// not so many that each is small.
func (s *Session) ringCount() int {
	most := len(s.Object.Rings())
	if most == 1 || s.Bounded {
		return 1
	}
	cpus, end := s.CPUs, s.CPUs
	if online, err := s.opts.Probe.Machine.OnlineCPUs(); err == nil {
		cpus, end = len(online), online[len(online)-1]+1
	}
	size, _ := s.ringSize()
	count := max(min(most, cmp.Or(s.opts.Config, config.Default()).Rings(cpus), size/leastRing), 1)
	// Neighbours share a buffer, as they share caches and memory.
	// Programs find their buffer by a shift and a mask of the CPU's number, see object.DataShift.
	group := uint(max(end/count, 1))
	binary.NativeEndian.PutUint64(s.Data[object.DataRings:], uint64(count-1))
	binary.NativeEndian.PutUint64(s.Data[object.DataShift:], uint64(bits.Len(group)-1))
	return count
}

// ringSize is the size of all ring buffers together in bytes, a power of two, and whether the user
// chose it. More CPUs can fill a ring faster than the one reader empties it for a
// moment, so it grows with them.
func (s *Session) ringSize() (size int, chosen bool) {
	page := unix.Getpagesize()
	if c := s.opts.Config; c != nil && c.PerfRBPages > 0 {
		return types.PowerOfTwo(min(max(c.PerfRBPages, 1), 1<<18)) * page, true
	}
	if s.Bounded {
		return max(leastRing, page), false
	}
	size = min(max(defaultRing, types.PowerOfTwo(s.CPUs)/16*defaultRing), mostRing)
	if s.opts.Bursts {
		size = max(size, min(burstRing, memory()/64))
	}
	return size, false
}

// memory is how much the machine has in bytes, as a power of two that is no less; 0: not known.
func memory() int {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return types.PowerOfTwo(int(uint64(info.Totalram) * uint64(info.Unit)))
}

// mapError explains why a map cannot be had.
func mapError(m *object.Map, err error) error {
	what := fmt.Sprintf("cannot create the map %s (%v, %d entries of %d+%d bytes)", cmp.Or(m.Name, "@"),
		m.Type, m.MaxEntries, m.KeySize, m.ValueSize)
	if m.Type == bpf.RingBuf {
		what = "cannot create the ring buffer"
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: hawk needs CAP_BPF and CAP_PERFMON, or root; before Linux 5.11 also enough "+
			"locked memory (ulimit -l)", what, err)
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%s: %w: make the map smaller (max_map_keys, perf_rb_pages), or raise the memory limit "+
			"of the control group", what, err)
	case errors.Is(err, unix.E2BIG):
		return fmt.Errorf("%s: %w: keys, values or the number of entries are more than the kernel allows; lower "+
			"max_map_keys or max_strlen", what, err)
	case errors.Is(err, unix.EINVAL) && m.Type == bpf.RingBuf:
		return fmt.Errorf("%s: %w: it needs Linux 5.8", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
