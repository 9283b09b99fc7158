package bpf

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// metaOffset is where data_head is in struct perf_event_mmap_page; data_tail
// follows.
const metaOffset = 1024

// A PerfRing is the ring buffer of a perf event of one CPU.
type PerfRing struct {
	FD   int
	mem  []byte // the page of head and tail, then the buffer
	data []byte
	tail uint64
	wrap []byte // a record that goes over the end
}

// OpenPerfRing opens an event on a CPU with a buffer of size bytes, a power of
// two of pages. The size of attr is filled in.
func OpenPerfRing(attr *unix.PerfEventAttr, cpu, size int) (*PerfRing, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	page := unix.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mmap of a perf event: %w", err)
	}
	return NewPerfRing(fd, mem, page), nil
}

// NewPerfRing is the ring in a mapping that the caller has made: its buffer
// begins at offset page.
func NewPerfRing(fd int, mem []byte, page int) *PerfRing {
	return &PerfRing{FD: fd, mem: mem, data: mem[page:]}
}

// Close frees the mapping and closes the event.
func (r *PerfRing) Close() {
	unix.Munmap(r.mem)
	unix.Close(r.FD)
}

func (r *PerfRing) word(n int) *uint64 { return (*uint64)(unsafe.Pointer(&r.mem[metaOffset+8*n])) }

// head is how far the kernel has written, in bytes since the beginning.
func (r *PerfRing) head() uint64 { return atomic.LoadUint64(r.word(0)) }

// Empty reports whether there is nothing to read. It takes no system call.
func (r *PerfRing) Empty() bool { return r.head() == r.tail }

// Read hands the records in the ring to f, header included, and frees their
// room. A record is valid during the call only. It returns false if it met
// something that the kernel does not write, and has skipped all there was.
func (r *PerfRing) Read(f func(rec []byte)) (sound bool) {
	head := r.head()
	sound = head-r.tail <= uint64(len(r.data))
	for sound && head-r.tail >= 8 {
		rec := r.record(head - r.tail)
		if sound = rec != nil; sound {
			f(rec)
			r.tail += uint64(len(rec))
		}
	}
	if !sound {
		r.tail = head
	}
	atomic.StoreUint64(r.word(1), r.tail)
	return sound
}

// record is the record at the tail, nil if it is not within the given number
// of bytes. It is valid until the next call.
func (r *PerfRing) record(most uint64) []byte {
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
