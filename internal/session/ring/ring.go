// Package ring reads the ring buffer that programs write to, and sleeps until they do.
package ring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Layout of ring buffer records, from include/uapi/linux/bpf.h.
const (
	ringHeader = 8       // bytes: u32 length with flags, u32 for the kernel
	Busy       = 1 << 31 // not submitted yet
	Discard    = 1 << 30 // given up by its program
	ringLength = Discard - 1

	// commitEvery is after how many records the kernel is told how far the
	// reader has come: each time costs a cache line that producers read too.
	commitEvery = 64
)

// A Ring is the reader's side of a BPF ring buffer.
type Ring struct {
	Consumer *uint64 // how far the reader has come, in bytes since the beginning
	Producer *uint64
	Data     []byte // the buffer twice, one behind the other: no record wraps
	Size     uint64
	position uint64 // what is or will be in *consumer

	first, rest []byte // the two mappings
}

func Open(fd, size int) (*Ring, error) {
	page := unix.Getpagesize()
	first, err := unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map the ring buffer into memory: %w", err)
	}
	rest, err := unix.Mmap(fd, int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		unix.Munmap(first)
		return nil, fmt.Errorf("cannot map the ring buffer into memory: %w", err)
	}
	r := &Ring{
		Consumer: (*uint64)(unsafe.Pointer(&first[0])), Producer: (*uint64)(unsafe.Pointer(&rest[0])),
		Data: rest[page:], Size: uint64(size), first: first, rest: rest,
	}
	r.position = atomic.LoadUint64(r.Consumer)
	return r, nil
}

func (r *Ring) Close() error {
	return errors.Join(unix.Munmap(r.first), unix.Munmap(r.rest))
}

// Empty reports whether nothing is in the buffer, not even a record that is
// still being written.
func (r *Ring) Empty() bool { return r.Used() == 0 }

// Used is how much of the buffer is taken, in bytes.
func (r *Ring) Used() uint64 { return atomic.LoadUint64(r.Producer) - r.position }

// Read hands up to most records to handle until it returns false, and says
// how many it handed over. A record is valid during the call only.
func (r *Ring) Read(most int, handle func(rec []byte) bool) int {
	n, uncommitted, more := 0, 0, true
	end := atomic.LoadUint64(r.Producer)
	for more && n < most && r.position < end {
		at := r.position & (r.Size - 1)
		header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.Data[at])))
		if header&Busy != 0 {
			break
		}
		length := uint64(header & ringLength)
		if header&Discard == 0 {
			more = handle(r.Data[at+ringHeader : at+ringHeader+length : at+ringHeader+length])
			n++
		}
		r.position += (ringHeader + length + 7) &^ 7
		if uncommitted++; uncommitted == commitEvery {
			atomic.StoreUint64(r.Consumer, r.position)
			uncommitted = 0
		}
		if r.position == end {
			end = atomic.LoadUint64(r.Producer)
		}
	}
	atomic.StoreUint64(r.Consumer, r.position)
	return n
}
