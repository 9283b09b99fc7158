package output

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A Valve is a file that output goes to, and that can be shut: writing may take
// for ever where nobody reads, at a full pipe or a terminal that was stopped.
type Valve struct {
	file  *os.File
	waits bool         // for somebody: it is no regular file
	since atomic.Int64 // when the write of a part that is under way began, from start; 0: there is none
	start time.Time
	shut  atomic.Bool
	flags int // of the file before it was shut, -1 if they are as they were
}

// ErrShut is what writing to a valve that was shut yields.
var ErrShut = errors.New("its reader had stopped reading when the run was to end; what was not written is lost")

// atATime is how many bytes a reader has to take for it to be seen that it reads.
const atATime = 16 << 10

// NewValve makes a valve of a file.
func NewValve(f *os.File) *Valve {
	st, err := f.Stat()
	return &Valve{file: f, waits: err != nil || !st.Mode().IsRegular(), start: time.Now(), flags: -1}
}

// Write writes to the file.
// Between two parts it looks whether it was shut meanwhile.
func (v *Valve) Write(p []byte) (int, error) {
	part := maxBuffer // a longer write to a disk would keep Ctrl-C waiting on a machine of one CPU
	if v.waits {
		part = atATime
	}
	for done := 0; ; {
		if v.shut.Load() {
			return done, ErrShut
		}
		v.since.Store(int64(time.Since(v.start)) | 1)
		n, err := write(v.file, p[done:min(done+part, len(p))], !v.waits)
		v.since.Store(0)
		if err != nil && v.shut.Load() {
			err = ErrShut
		}
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// Stuck is how long somebody has taken nothing of what is being written, 0 if
// nothing is. It may be asked from any goroutine.
func (v *Valve) Stuck() time.Duration {
	if !v.waits {
		return 0
	}
	if since := v.since.Load(); since != 0 {
		return time.Since(v.start) - time.Duration(since)
	}
	return 0
}

// Shut has the write under way fail, and all that follow. It may be called from
// any goroutine.
// A terminal that was stopped by Ctrl-S would else keep hawk, and its probes, for ever.
func (v *Valve) Shut() {
	if !v.shut.CompareAndSwap(false, true) || v.file.SetWriteDeadline(time.Unix(1, 0)) == nil {
		return
	}
	fd := v.file.Fd()
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		return
	}
	if _, err := unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_NONBLOCK); err != nil {
		return
	}
	v.flags = flags
	// A write that waits does not notice before it is begun again, which any
	// signal brings about. This one the Go runtime sends to its threads all the
	// time.
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
		}
	}
}

// Restore leaves the file as others, who have it too, expect it.
func (v *Valve) Restore() {
	if v.flags >= 0 {
		unix.FcntlInt(v.file.Fd(), unix.F_SETFL, v.flags)
		v.flags = -1
	}
}

// File is the file that a writer writes to, if it is a valve, and else the
// writer.
func File(w io.Writer) io.Writer {
	if v, ok := w.(*Valve); ok {
		return v.file
	}
	return w
}
