package symbolize

import (
	"cmp"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/order"
)

// A recorder learns from the kernel what processes map, fork and execute, as
// it happens and even if they are gone a moment later: by a perf event on each
// CPU that never fires but carries these records (see perf_event_open(2),
// PERF_COUNT_SW_DUMMY).
//
// The events are for the whole machine, even if one process tree is of
// interest. Those cost nothing measurable, where ones that children inherit
// are switched with each task (a round trip through a pipe took 2.4 µs instead
// of 2.0 on two CPUs) and copied at each fork, for every CPU.
type recorder struct {
	rings   []*bpf.PerfRing
	pending []event           // read, but perhaps not yet in order
	paths   map[string]string // one copy of each
}

const (
	ringBytes    = 64 << 10 // of one CPU: some 500 mappings
	ringBytesAll = 8 << 20  // of all, where there are many CPUs
	ringBytesMin = 16 << 10
	maxPaths     = 1 << 14
)

// newRecorder makes one whose descriptors become readable when much is recorded,
// or if it is eager at once.
func newRecorder(cpus []int, eager bool) (*recorder, error) {
	size := ringBytes
	for size > ringBytesMin && size*len(cpus) > ringBytesAll {
		size /= 2
	}
	size = max(size, unix.Getpagesize())
	wakeup := size / 2
	if eager {
		wakeup = 1
	}
	r := &recorder{}
	withBuildIDs := true
	for _, cpu := range cpus {
		ring, err := openPerfRing(cpu, size, wakeup, withBuildIDs)
		if withBuildIDs && errors.Is(err, unix.EINVAL) {
			withBuildIDs = false // before 5.12
			ring, err = openPerfRing(cpu, size, wakeup, false)
		}
		if errors.Is(err, unix.ENODEV) {
			continue // the CPU went offline
		}
		if err != nil {
			r.close()
			return nil, err
		}
		r.rings = append(r.rings, ring)
	}
	return r, nil
}

func (r *recorder) close() {
	for _, ring := range r.rings {
		ring.Close()
	}
	r.rings = nil
}

func (r *recorder) descriptors() []int {
	fds := make([]int, len(r.rings))
	for i, ring := range r.rings {
		fds[i] = ring.FD
	}
	return fds
}

// intern keeps one copy of each path.
func (r *recorder) intern(path []byte) string {
	if s, ok := r.paths[string(path)]; ok {
		return s
	}
	if r.paths == nil || len(r.paths) >= maxPaths {
		r.paths = make(map[string]string)
	}
	s := string(path)
	r.paths[s] = s
	return s
}

// empty reports whether there is nothing to read. It takes no system call.
func (r *recorder) empty() bool {
	for _, ring := range r.rings {
		if !ring.Empty() {
			return false
		}
	}
	return len(r.pending) == 0
}

// read gives f what has happened, in order over all CPUs: a process may fork
// on one, execute on the next and map on a third.
func (r *recorder) read(f func(*event)) {
	if r.empty() {
		return
	}
	// The rings hold all that happened up to now. While they are read, one may show
	// the effect of a later event and another not yet its cause.
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	limit := uint64(now.Nano())
	for _, ring := range r.rings {
		r.pending = appendEvents(r.pending, ring, r.intern)
	}
	order.Stably(r.pending, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	n := 0
	for ; n < len(r.pending) && r.pending[n].time <= limit; n++ {
		f(&r.pending[n])
	}
	rest := copy(r.pending, r.pending[n:])
	clear(r.pending[rest:])
	r.pending = r.pending[:rest]
	if cap(r.pending) > 1<<14 {
		r.pending = slices.Clip(r.pending)
	}
}

// openPerfRing opens an event that never fires but carries what processes do.
func openPerfRing(cpu, size, wakeup int, buildIDs bool) (*bpf.PerfRing, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Wakeup:  uint32(wakeup),
		Clockid: unix.CLOCK_MONOTONIC,
	}
	if buildIDs {
		attr.Bits |= attrBuildID
	}
	return bpf.OpenPerfRing(&attr, cpu, size)
}

// appendEvents takes the events out of a ring.
func appendEvents(out []event, ring *bpf.PerfRing, intern func([]byte) string) []event {
	var e event
	sound := ring.Read(func(rec []byte) {
		if parseRecord(rec, &e, intern) {
			out = append(out, e)
		}
	})
	if !sound {
		out = append(out, event{kind: lost})
	}
	return out
}
