package symbolize

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
)

// record makes a perf record: a header, then words and text, padded, then the
// time.
func record(kind uint32, misc uint16, time uint64, words []uint32, text string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = append(b, 0, 0)
	for _, w := range words {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	if text != "" {
		b = append(append(b, text...), 0)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
	}
	b = binary.NativeEndian.AppendUint64(b, time)
	binary.NativeEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

// mmap2 makes the words of a PERF_RECORD_MMAP2 of process 7.
func mmap2(start, size, offset uint64, id ...uint32) []uint32 {
	w := []uint32{7, 8}
	for _, v := range []uint64{start, size, offset} {
		w = append(w, uint32(v), uint32(v>>32))
	}
	w = append(w, id...)
	return append(w, 5, 2) // protection, flags
}

func TestParseRecord(t *testing.T) {
	inode := []uint32{8, 1, 77, 0, 3, 0}
	build := []uint32{20, 0x04030201, 0x08070605, 0, 0, 0x14000000}
	key := imageKey{path: "/bin/x"}
	byInode, byBuild := key, key
	byInode.dev, byInode.ino, byInode.gen = unix.Mkdev(8, 1), 77, 3
	byBuild.build = [maxBuildID]byte{0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 19: 0x14}
	for _, c := range []struct {
		name string
		rec  []byte
		want event
		ok   bool
	}{
		{"inode", record(unix.PERF_RECORD_MMAP2, 0, 9, mmap2(0x1000, 0x2000, 0x3000, inode...), "/bin/x"),
			event{time: 9, kind: mapped, pid: 7, start: 0x1000, size: 0x2000, offset: 0x3000, image: byInode}, true},
		{"build ID", record(unix.PERF_RECORD_MMAP2, miscBuildID, 9, mmap2(0x1000, 0x2000, 0, build...),
			"/bin/x (deleted)"),
			event{time: 9, kind: mapped, pid: 7, start: 0x1000, size: 0x2000, image: byBuild}, true},
		{"anonymous", record(unix.PERF_RECORD_MMAP2, 0, 9, mmap2(0x1000, 0x2000, 0, inode...), "//anon"),
			event{time: 9, kind: mapped, pid: 7, start: 0x1000, size: 0x2000}, true},
		{"empty mapping", record(unix.PERF_RECORD_MMAP2, 0, 9, mmap2(0x1000, 0, 0, inode...), "/bin/x"),
			event{}, false},
		{"over the end", record(unix.PERF_RECORD_MMAP2, 0, 9, mmap2(1<<63, 1<<63+1, 0, inode...), "/bin/x"),
			event{}, false},
		{"cut", record(unix.PERF_RECORD_MMAP2, 0, 9, []uint32{7, 8, 1, 1}, "/bin/x"), event{}, false},
		{"fork", record(unix.PERF_RECORD_FORK, 0, 9, []uint32{7, 5, 7, 5, 9, 0}, ""),
			event{time: 9, kind: forked, pid: 7, parent: 5}, true},
		{"thread", record(unix.PERF_RECORD_FORK, 0, 9, []uint32{7, 7, 8, 7, 9, 0}, ""), event{}, false},
		{"exec", record(unix.PERF_RECORD_COMM, miscCommExec, 9, []uint32{7, 7}, "x"),
			event{time: 9, kind: executed, pid: 7}, true},
		{"renamed", record(unix.PERF_RECORD_COMM, 0, 9, []uint32{7, 7}, "x"), event{}, false},
		{"lost", record(unix.PERF_RECORD_LOST, 0, 9, []uint32{1, 0, 4, 0}, ""), event{time: 9, kind: lost}, true},
		{"exit", record(unix.PERF_RECORD_EXIT, 0, 9, []uint32{7, 5, 7, 5, 9, 0}, ""), event{}, false},
		{"nothing", nil, event{}, false},
	} {
		var e event
		ok := parseRecord(c.rec, &e, func(b []byte) string { return string(b) })
		if ok != c.ok || ok && e != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, e, ok, c.want)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(record(unix.PERF_RECORD_MMAP2, miscBuildID, 9, mmap2(1, 2, 0, 255, 1, 2, 3, 4, 5), "/bin/x"))
	f.Add(record(unix.PERF_RECORD_FORK, 0, 9, []uint32{7, 5, 7, 5, 9, 0}, ""))
	f.Fuzz(func(t *testing.T, rec []byte) {
		var e event
		if parseRecord(rec, &e, func(b []byte) string {
			return string(b)
		}) && e.kind == mapped && e.start+e.size <= e.start {
			t.Errorf("%+v", e)
		}
	})
}

// TestAppendEvents counts as lost the records that the kernel could not write.
func TestAppendEvents(t *testing.T) {
	const page = 4096
	mem := make([]byte, page+256)
	ring := bpf.NewPerfRing(-1, mem, page)
	n := 0
	put := func(rec []byte) {
		n += copy(mem[page+n:], rec)
		binary.NativeEndian.PutUint64(mem[1024:], uint64(n))
	}
	intern := func(b []byte) string { return string(b) }
	put(record(unix.PERF_RECORD_COMM, miscCommExec, 5, []uint32{7, 7}, "x"))
	put(record(99, 0, 1, nil, "unknown"))
	if got := appendEvents(nil, ring, intern); len(got) != 1 || got[0].time != 5 || got[0].kind != executed {
		t.Errorf("%+v", got)
	}
	bad := record(unix.PERF_RECORD_COMM, miscCommExec, 1, []uint32{7, 7}, "x")
	binary.NativeEndian.PutUint16(bad[6:], 4)
	put(bad)
	if got := appendEvents(nil, ring, intern); len(got) != 1 || got[0].kind != lost {
		t.Errorf("a record of 4 bytes: %+v", got)
	}
}
