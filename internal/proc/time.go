package proc

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime is the time of a processor that f takes, which starts no goroutine for its work.
func ThreadTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var begin, end unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &begin)
	f()
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &end)
	return time.Duration(end.Nano() - begin.Nano())
}
