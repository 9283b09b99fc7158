package symbolize

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// An event is something a process did that changes what its addresses mean.
type event struct {
	time   uint64 // CLOCK_MONOTONIC, nanoseconds
	kind   eventKind
	pid    int
	parent int // of a fork
	// A mapping.
	start, size, offset uint64
	image               imageKey
}

// An eventKind is the kind of a record.
type eventKind uint8

const (
	mapped   eventKind = iota + 1 // executable memory appeared
	forked                        // a process was created
	executed                      // the program was replaced
	lost                          // events are missing
)

// Bits of perf_event_header.misc and of the attributes that the package unix
// lacks (include/uapi/linux/perf_event.h).
const (
	miscCommExec = 1 << 13
	miscBuildID  = 1 << 14
	attrBuildID  = 1 << 34 // Linux 5.12
)

// sampleIDSize is what PERF_SAMPLE_TIME appends to every record.
const sampleIDSize = 8

// fieldsEnd is where the fixed part of a PERF_RECORD_MMAP2 ends and the path
// begins.
const fieldsEnd = 8 + 8 + 3*8 + 24 + 8

// parseRecord decodes one record of perf_event_open(2), header included, into
// e and reports whether it matters. intern makes strings of paths. Records of
// unknown kinds and malformed ones do not matter.
func parseRecord(rec []byte, e *event, intern func([]byte) string) bool {
	if len(rec) < 8+sampleIDSize {
		return false
	}
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(rec[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(rec[at:]) }
	misc := binary.NativeEndian.Uint16(rec[4:])
	end := len(rec) - sampleIDSize
	*e = event{time: u64(end)}
	switch u32(0) {
	case unix.PERF_RECORD_LOST:
		e.kind = lost
	case unix.PERF_RECORD_COMM:
		if end < 16 || misc&miscCommExec == 0 {
			return false
		}
		e.kind, e.pid = executed, int(u32(8))
	case unix.PERF_RECORD_FORK:
		if end < 32 {
			return false
		}
		e.kind, e.pid, e.parent = forked, int(u32(8)), int(u32(12))
		return e.pid != e.parent // else a thread
	case unix.PERF_RECORD_MMAP2:
		if end <= fieldsEnd {
			return false
		}
		e.kind, e.pid = mapped, int(u32(8))
		e.start, e.size, e.offset = u64(16), u64(24), u64(32)
		if e.size == 0 || e.start+e.size < e.start {
			return false
		}
		path := rec[fieldsEnd:end]
		if i := bytes.IndexByte(path, 0); i >= 0 {
			path = path[:i]
		}
		path = bytes.TrimSuffix(path, []byte(" (deleted)"))
		switch {
		case bytes.HasPrefix(path, []byte("//")): // //anon, //toolong
			return true
		case misc&miscBuildID != 0:
			if n := min(int(rec[40]), maxBuildID); n > 0 {
				copy(e.image.build[:], rec[44:44+n])
			}
		default:
			e.image.dev, e.image.ino, e.image.gen = unix.Mkdev(u32(40), u32(44)), u64(48), u64(56)
		}
		e.image.path = intern(path)
	default:
		return false
	}
	return true
}
