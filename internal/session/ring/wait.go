package ring

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Waiting must not be seen in what is traced. A goroutine that waits in a system
// call of its own has the runtime's monitor thread look after it, with naps and
// futexes of its own at each turn, each of them an event again where these are
// traced. So the reader waits where the runtime itself waits, in its poller, during
// which the monitor sleeps, and all that it asks the kernel for meanwhile passes the runtime by.

// A Sleeper is what the reader sleeps on: descriptors that wake it, and a timer.
type Sleeper struct {
	file  *os.File // the set of them all, which the runtime's poller knows; nil: it is not open
	conn  syscall.RawConn
	Set   int // its descriptor
	timer int
	wake  int // an event descriptor, read when it has woken the reader
	short int // a set of this one alone, for naps
}

func NewSleeper(wake int, fds []int) (*Sleeper, error) {
	s := &Sleeper{Set: -1, timer: -1, wake: wake, short: -1}
	err := s.open(fds)
	if err != nil {
		s.Close()
		return nil, os.NewSyscallError("epoll", err)
	}
	return s, nil
}

// open makes what waits: a set of all descriptors, and one with the wake-up alone for short waits.
func (s *Sleeper) open(fds []int) (err error) {
	if s.Set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if s.short, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	if err := WatchFD(s.short, s.wake); err != nil {
		return err
	}
	for _, fd := range append([]int{s.wake, s.timer}, fds...) {
		if err := WatchFD(s.Set, fd); err != nil {
			return err
		}
	}
	if err := unix.SetNonblock(s.Set, true); err != nil {
		return err
	}
	s.file = os.NewFile(uintptr(s.Set), "epoll")
	s.conn, err = s.file.SyscallConn()
	return err
}

func WatchFD(set, fd int) error {
	return unix.EpollCtl(set, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *Sleeper) Close() {
	if s.file != nil {
		s.file.Close()
	} else if s.Set >= 0 {
		unix.Close(s.Set)
	}
	for _, fd := range []int{s.timer, s.short} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Sleep waits until one of the descriptors is ready, or for the time given.
func (s *Sleeper) Sleep(d time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(s.timer), 0, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
	var events [4]unix.EpollEvent
	n, woken := 0, false
	err := s.conn.Read(func(uintptr) bool {
		n = epollNow(s.Set, events[:], 0)
		// A perf event says once that it is ready, and has then said so to the runtime.
		done := n != 0 || woken
		woken = true
		return done
	})
	if err != nil { // the runtime's poller does not take it
		n, _ = unix.EpollWait(s.Set, events[:], int(d/time.Millisecond))
	}
	for _, e := range events[:max(n, 0)] {
		if int(e.Fd) == s.wake {
			var b [8]byte
			unix.RawSyscall(unix.SYS_READ, uintptr(s.wake), uintptr(unsafe.Pointer(&b)), 8)
		}
	}
}

// Nap waits for a millisecond, or until somebody wakes the reader.
func (s *Sleeper) Nap() {
	var events [1]unix.EpollEvent
	epollNow(s.short, events[:], 1)
}

// ReadyNow reports whether there is something to be read of a descriptor.
func ReadyNow(fd int) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	var none unix.Timespec
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return n == 1
}

// epollNow asks for events of a set, and waits for them for a few milliseconds at most:
// the runtime knows nothing of it.
func epollNow(set int, events []unix.EpollEvent, ms int) int {
	n, _, errno := unix.RawSyscall6(sysEpollWait,
		uintptr(set), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(ms), 0, 0)
	runtime.KeepAlive(events)
	if errno != 0 {
		return -int(min(errno, 1))
	}
	return int(n)
}
