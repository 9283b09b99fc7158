package symbolize

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
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
	rings   []*perfRing
	pending []event           // read, but perhaps not yet in order
	paths   map[string]string // one copy of each
}

const (
	ringBytes    = 64 << 10 // of one CPU: some 500 mappings
	ringBytesAll = 8 << 20  // of all, where there are many CPUs
	ringBytesMin = 16 << 10
	maxPaths     = 1 << 14
	metaOffset   = 1024 // of data_head in struct perf_event_mmap_page
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
		ring.close()
	}
	r.rings = nil
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
		if ring.head() != ring.tail {
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
	// What happened up to now is in the rings; of what happens while they are
	// read, one may show the effect and another not yet the cause.
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	limit := uint64(now.Nano())
	for _, ring := range r.rings {
		r.pending = ring.read(r.pending, r.intern)
	}
	slices.SortStableFunc(r.pending, func(a, b event) int { return cmp.Compare(a.time, b.time) })
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

// A perfRing is the ring buffer of one CPU.
type perfRing struct {
	fd   int
	mem  []byte // the page of head and tail, then the buffer
	data []byte
	tail uint64
	wrap []byte // a record that goes over the end
}

func openPerfRing(cpu, size, wakeup int, buildIDs bool) (*perfRing, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Wakeup:  uint32(wakeup),
		Clockid: unix.CLOCK_MONOTONIC,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	if buildIDs {
		attr.Bits |= attrBuildID
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	page := unix.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mmap of a perf event: %w", err)
	}
	return &perfRing{fd: fd, mem: mem, data: mem[page:]}, nil
}

func (r *perfRing) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

func (r *perfRing) word(n int) *uint64 { return (*uint64)(unsafe.Pointer(&r.mem[metaOffset+8*n])) }

// head is how far the kernel has written, in bytes since the beginning.
func (r *perfRing) head() uint64 { return atomic.LoadUint64(r.word(0)) }

// read appends the events in the ring and frees their room.
func (r *perfRing) read(out []event, intern func([]byte) string) []event {
	head := r.head()
	if head-r.tail > uint64(len(r.data)) {
		r.tail = head // nonsense, which the kernel does not write
		out = append(out, event{kind: lost})
	}
	var e event
	for head-r.tail >= 8 {
		rec := r.record(head - r.tail)
		if rec == nil {
			r.tail = head
			out = append(out, event{kind: lost})
			break
		}
		if parseRecord(rec, &e, intern) {
			out = append(out, e)
		}
		r.tail += uint64(len(rec))
	}
	atomic.StoreUint64(r.word(1), r.tail)
	return out
}

// record is the record at the tail, nil if it is not within the given number
// of bytes. It is valid until the next call.
func (r *perfRing) record(most uint64) []byte {
	n := uint64(len(r.data))
	at := r.tail & (n - 1) // a power of two
	// Headers are 8 bytes at multiples of 8, which the end does not divide.
	size := uint64(binary.NativeEndian.Uint16(r.data[at+6:]))
	if size < 8 || size%8 != 0 || size > most || size > n {
		return nil
	}
	if at+size <= n {
		return r.data[at : at+size]
	}
	r.wrap = append(append(r.wrap[:0], r.data[at:]...), r.data[:at+size-n]...)
	return r.wrap
}
