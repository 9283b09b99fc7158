package session

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSample(t *testing.T) {
	record := func(kind uint32, time uint64, length uint32, data string) []byte {
		b := binary.NativeEndian.AppendUint32(nil, kind)
		b = append(b, 0, 0, 0, 0) // misc and size
		b = binary.NativeEndian.AppendUint64(b, time)
		b = binary.NativeEndian.AppendUint32(b, length)
		return append(b, data...)
	}
	for _, c := range []struct {
		what string
		rec  []byte
		time uint64
		want string
	}{
		{"padded by the kernel", record(unix.PERF_RECORD_SAMPLE, 7, 3, "abc\x00"), 7, "abc"},
		{"longer than it can be", record(unix.PERF_RECORD_SAMPLE, 7, 1<<31, "abcd"), 7, "abcd"},
		{"of another kind", record(unix.PERF_RECORD_LOST, 7, 3, "abcd"), 0, ""},
		{"cut", record(unix.PERF_RECORD_SAMPLE, 7, 3, "abcd")[:19], 0, ""},
	} {
		if time, raw := sample(c.rec); time != c.time || !bytes.Equal(raw, []byte(c.want)) {
			t.Errorf("%s: %d, %q; want %d, %q", c.what, time, raw, c.time, c.want)
		}
	}
}
