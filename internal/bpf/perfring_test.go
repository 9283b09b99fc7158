package bpf

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// A ring in ordinary memory: records that go over the end, and nonsense.
func TestPerfRing(t *testing.T) {
	const page, size = 4096, 256
	r := NewPerfRing(-1, make([]byte, page+size), page)
	put := func(rec []byte) {
		head := r.head()
		for i, b := range rec {
			r.data[(head+uint64(i))%size] = b
		}
		*r.word(0) = head + uint64(len(rec))
	}
	record := func(n int, fill byte) []byte {
		rec := bytes.Repeat([]byte{fill}, n)
		binary.NativeEndian.PutUint16(rec[6:], uint16(n))
		return rec
	}
	for i := range 50 {
		first, second := record(16+8*(i%15), byte(i)), record(8, 99)
		put(first)
		put(second)
		var got [][]byte
		if !r.Read(func(rec []byte) { got = append(got, bytes.Clone(rec)) }) {
			t.Fatalf("round %d: it is not sound", i)
		}
		if len(got) != 2 || !bytes.Equal(got[0], first) || !bytes.Equal(got[1], second) {
			t.Fatalf("round %d: %x", i, got)
		}
		if *r.word(1) != r.head() || !r.Empty() {
			t.Fatalf("round %d: the kernel is not told of room", i)
		}
	}
	for _, length := range []uint16{4, 12, 512} {
		bad := record(16, 1)
		binary.NativeEndian.PutUint16(bad[6:], length)
		put(bad)
		if r.Empty() || r.Read(func(rec []byte) { t.Errorf("a record of %d bytes: %x", length, rec) }) || !r.Empty() {
			t.Errorf("a record of %d bytes is taken for one", length)
		}
	}
}
