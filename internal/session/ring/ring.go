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

	// firstPart is how much of the buffer is mapped at first, in bytes.
	firstPart = 256 << 10
)

// A Ring is the reader's side of a BPF ring buffer. Of the buffer it maps what records have come to: most
// scripts send little, and the mapping of all of a large one takes longer than to attach.
type Ring struct {
	Consumer    *uint64 // how far the reader has come, in bytes since the beginning
	Producer    *uint64
	Data        []byte // the buffer twice, one behind the other: no record wraps
	Size        uint64
	Mapped      uint64 // up to where Data is there, in bytes
	position    uint64 // what is or will be in *consumer
	uncommitted int    // records since it was written there

	fd     int
	words  []byte // the mappings of the two positions
	others []byte
}

// Open maps a ring buffer. Addresses are reserved for its data twice in a row; what is needed is
// mapped then.
func Open(fd, size int) (*Ring, error) {
	page := unix.Getpagesize()
	r := &Ring{Size: uint64(size), fd: fd}
	var err error
	if r.words, err = unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, failed(err)
	}
	if r.others, err = unix.Mmap(fd, int64(page), page, unix.PROT_READ, unix.MAP_SHARED); err == nil {
		r.Data, err = unix.Mmap(-1, 0, 2*size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	}
	if err == nil {
		err = r.need(1)
	}
	if err != nil {
		r.Close()
		return nil, failed(err)
	}
	r.Consumer, r.Producer = (*uint64)(unsafe.Pointer(&r.words[0])), (*uint64)(unsafe.Pointer(&r.others[0]))
	r.position = atomic.LoadUint64(r.Consumer)
	return r, nil
}

func failed(err error) error { return fmt.Errorf("cannot map the ring buffer into memory: %w", err) }

// need has Data be there up to an end. Each time twice as much is mapped.
func (r *Ring) need(end uint64) error {
	for r.Mapped < end {
		page := unix.Getpagesize()
		part := min(max(r.Mapped, firstPart), uint64(len(r.Data))-r.Mapped)
		_, err := unix.MmapPtr(r.fd, int64(2*page)+int64(r.Mapped), unsafe.Pointer(&r.Data[r.Mapped]), uintptr(part),
			unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED)
		if err != nil {
			return err
		}
		r.Mapped += part
	}
	return nil
}

func (r *Ring) Close() error {
	var err error
	for _, m := range [][]byte{r.words, r.others, r.Data} {
		if m != nil {
			err = errors.Join(err, unix.Munmap(m))
		}
	}
	return err
}

// Empty reports whether nothing is in the buffer, not even a record that is
// still being written.
func (r *Ring) Empty() bool { return r.Used() == 0 }

// Used is how much of the buffer is taken, in bytes.
func (r *Ring) Used() uint64 { return atomic.LoadUint64(r.Producer) - r.position }

// peek yields the header of the next record and, unless it is busy, its bytes. It fails if the kernel
// does not map more of the buffer.
func (r *Ring) peek() (header uint32, rec []byte, err error) {
	at := r.position & (r.Size - 1)
	if at >= r.Mapped {
		if err = r.need(at + ringHeader); err != nil {
			return Busy, nil, failed(err)
		}
	}
	header = atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.Data[at])))
	if header&Busy != 0 {
		return header, nil, nil
	}
	behind := at + ringHeader + uint64(header&ringLength)
	if behind > r.Mapped {
		if err = r.need(behind); err != nil {
			return Busy, nil, failed(err)
		}
	}
	return header, r.Data[at+ringHeader : behind : behind], nil
}

// skip goes behind a record. The kernel is told so from time to time; commit tells it.
func (r *Ring) skip(length int) {
	r.position += (ringHeader + uint64(length) + 7) &^ 7
	if r.uncommitted++; r.uncommitted == commitEvery {
		r.commit()
	}
}

func (r *Ring) commit() {
	if r.uncommitted > 0 {
		atomic.StoreUint64(r.Consumer, r.position)
		r.uncommitted = 0
	}
}

// Read hands up to most records to handle until it returns false, and says
// how many it handed over. A record is valid during the call only. It fails
// if the kernel does not map more of the buffer; the record stays.
func (r *Ring) Read(most int, handle func(rec []byte) bool) (n int, err error) {
	end := atomic.LoadUint64(r.Producer)
	for more := true; more && n < most && r.position < end; {
		var header uint32
		var rec []byte
		if header, rec, err = r.peek(); header&Busy != 0 {
			break
		}
		if header&Discard == 0 {
			more = handle(rec)
			n++
		}
		r.skip(len(rec))
		if r.position == end {
			end = atomic.LoadUint64(r.Producer)
		}
	}
	r.commit()
	return n, err
}
