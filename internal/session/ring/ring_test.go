package ring

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// producer writes records to a file that is laid out as the kernel's buffer.
type producer struct {
	fd, page, size int
	mem            []byte
}

func newProducer(t *testing.T, size int) *producer {
	p := &producer{page: unix.Getpagesize(), size: size}
	var err error
	if p.fd, err = unix.MemfdCreate("ring", unix.MFD_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p.fd) })
	all := 2*p.page + 2*size
	if err := unix.Ftruncate(p.fd, int64(all)); err != nil {
		t.Fatal(err)
	}
	if p.mem, err = unix.Mmap(p.fd, 0, all, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(p.mem) })
	return p
}

// put writes a record of a length that begins with a number. Both copies of the buffer change.
func (p *producer) put(n uint32, length int) {
	position := (*uint64)(unsafe.Pointer(&p.mem[p.page]))
	rec := make([]byte, ringHeader+length)
	binary.NativeEndian.PutUint32(rec, uint32(length))
	binary.NativeEndian.PutUint32(rec[ringHeader:], n)
	for i, b := range rec {
		at := (int(*position) + i) & (p.size - 1)
		p.mem[2*p.page+at], p.mem[2*p.page+p.size+at] = b, b
	}
	*position += uint64(len(rec)+7) &^ 7
}

// TestParts reads through a buffer twice. What is mapped grows with what was sent.
func TestParts(t *testing.T) {
	const size = 2 << 20
	p := newProducer(t, size)
	r, err := Open(p.fd, size)
	if err != nil {
		t.Fatal(err)
	}
	if r.Mapped != firstPart {
		t.Errorf("%d bytes are mapped at first, want %d", r.Mapped, firstPart)
	}
	sent, most := uint64(0), uint64(firstPart)
	for n := uint32(0); sent < 2*size; n++ {
		length := 30_000 + int(n%7)*1001
		p.put(n, length)
		sent += uint64(ringHeader+length+7) &^ 7
		got, err := r.Read(10, func(rec []byte) bool {
			if len(rec) != length || binary.NativeEndian.Uint32(rec) != n {
				t.Fatalf("record %d has %d bytes and number %d", n, len(rec), binary.NativeEndian.Uint32(rec))
			}
			return true
		})
		if got != 1 || err != nil || !r.Empty() {
			t.Fatalf("record %d: %d were read, error %v", n, got, err)
		}
		for most < min(sent, 2*size) {
			most *= 2
		}
		if r.Mapped > most {
			t.Fatalf("%d bytes are mapped after %d were sent", r.Mapped, sent)
		}
	}
	if r.Mapped < size {
		t.Errorf("%d bytes are mapped after two rounds", r.Mapped)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestPartRefused has the kernel refuse a part. The record is not lost without a word.
func TestPartRefused(t *testing.T) {
	const size = 2 << 20
	p := newProducer(t, size)
	r, err := Open(p.fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.put(1, 1000)
	p.put(2, firstPart)
	r.fd = -1
	n, err := r.Read(10, func([]byte) bool { return true })
	if n != 1 || err == nil || r.Empty() {
		t.Errorf("%d records were read, error %v, empty: %v", n, err, r.Empty())
	}
}

// TestSmall opens a buffer that is smaller than what is mapped at first.
func TestSmall(t *testing.T) {
	size := 64 << 10
	p := newProducer(t, size)
	r, err := Open(p.fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Mapped != uint64(2*size) {
		t.Errorf("%d bytes are mapped, want all %d", r.Mapped, 2*size)
	}
}
