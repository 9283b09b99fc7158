package child

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/origin"
)

// A waiting is what a forked process needs to become a command, prepared
// before the fork: behind it nothing may be allocated.
type waiting struct {
	path      *byte
	argv, env []*byte
	release   uintptr   // descriptor: one byte lets it go, the end ends it
	failure   uintptr   // descriptor: gets the errno of a failed exec
	mask      uint64    // the signals that hawk blocks
	ignored   uint64    // bit n-1: signal n was ignored when hawk started
	own       []uintptr // descriptors that the command does not get
	std       []uintptr // descriptors that become its standard ones; nil: those of hawk
	files     [2]uint64 // the limit of open files
	limited   bool      // files is known
	user      *User     // nil: the same
	survives  bool
}

// forkWaiting starts a process that waits for a byte on release and then
// executes a program. It is a copy of this one that makes a few system calls
// and nothing else, so that who traces the command sees nothing before it: a
// process with a Go runtime has threads, timers and memory of its own.
func forkWaiting(path string, argv []string, o Options, release, failure *os.File) (*os.Process, error) {
	w := waiting{release: release.Fd(), failure: failure.Fd(), user: o.User, survives: o.Survives}
	for _, f := range o.Files {
		w.std = append(w.std, f.Fd())
	}
	if err := unix.SetNonblock(int(w.release), false); err != nil {
		return nil, err
	}
	w.files, w.limited = origin.OpenFiles()
	w.ignored = origin.Ignored()
	var err error
	if w.path, err = unix.BytePtrFromString(path); err != nil {
		return nil, err
	}
	if w.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if w.env, err = syscall.SlicePtrFromStrings(o.Env); err != nil {
		return nil, err
	}
	// No descriptor may come to be between being opened and being marked to be
	// closed, and no signal may be handled in the copy, which has no runtime.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	w.own = closed(w.release, w.failure)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := ^uint64(0)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&w.mask)), unsafe.Sizeof(all), 0, 0)
	pid, errno := w.fork()
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&w.mask)), 0,
		unsafe.Sizeof(all), 0, 0)
	runtime.KeepAlive(&w)
	if errno != 0 {
		return nil, errno
	}
	return os.FindProcess(int(pid))
}

// fork returns in this process only.
//
//go:noinline
//go:norace
//go:nocheckptr
//go:nosplit
func (w *waiting) fork() (pid uintptr, errno syscall.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		w.become()
	}
	return pid, errno
}

// become is all that the forked process does.
//
//go:noinline
//go:norace
//go:nocheckptr
//go:nosplit
func (w *waiting) become() {
	errno := w.switchUser() // which is not seen: nothing is attached
	if !w.survives {
		unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0, 0)
	}
	for i, fd := range w.std {
		unix.RawSyscall6(unix.SYS_DUP3, fd, uintptr(i), 0, 0, 0, 0)
	}
	// Descriptors that hawk waits on the other end of must not be held open. Those
	// that hawk was given it passes on.
	for _, fd := range w.own {
		unix.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	}
	// The Go runtime has raised the limit of open files.
	if w.limited {
		unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&w.files)), 0, 0, 0)
	}
	// Signals do to the command what they did to hawk when it started: those
	// that were ignored are so. Handlers would run without a runtime.
	const ignore = 1
	var action [4]uint64 // struct sigaction, whose first word is the handler
	for sig := uintptr(1); sig <= 64; sig++ {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)),
			unsafe.Sizeof(w.mask), 0, 0)
		now := action[0]
		action = [4]uint64{w.ignored >> (sig - 1) & 1}
		if errno == 0 && now != ignore {
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0,
				unsafe.Sizeof(w.mask), 0, 0)
		}
	}
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&w.mask)), 0,
		unsafe.Sizeof(w.mask), 0, 0)
	var b [1]byte
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_READ, w.release, uintptr(unsafe.Pointer(&b)), 1, 0, 0, 0)
		if errno == 0 && n == 1 {
			break
		}
		if errno != unix.EINTR {
			w.exit(1) // hawk has ended, or changed its mind
		}
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_EXECVE, uintptr(unsafe.Pointer(w.path)),
			uintptr(unsafe.Pointer(&w.argv[0])), uintptr(unsafe.Pointer(&w.env[0])), 0, 0, 0)
	}
	b[0] = byte(errno)
	unix.RawSyscall6(unix.SYS_WRITE, w.failure, uintptr(unsafe.Pointer(&b)), 1, 0, 0, 0)
	w.exit(127)
}

//go:noinline
//go:norace
//go:nocheckptr
//go:nosplit
func (w *waiting) switchUser() (errno syscall.Errno) {
	u := w.user
	if u == nil {
		return 0
	}
	_, _, errno = unix.RawSyscall6(unix.SYS_SETGROUPS, uintptr(len(u.Groups)),
		uintptr(unsafe.Pointer(unsafe.SliceData(u.Groups))), 0, 0, 0, 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_SETGID, uintptr(u.GID), 0, 0, 0, 0, 0)
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_SETUID, uintptr(u.UID), 0, 0, 0, 0, 0)
	}
	return errno
}

//go:noinline
//go:norace
//go:nosplit
func (w *waiting) exit(code uintptr) {
	for {
		unix.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}

// closed lists the descriptors that are closed when a program is executed, but
// for some.
func closed(but ...uintptr) (fds []uintptr) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, e := range all {
		n, err := strconv.ParseUint(e.Name(), 10, 31)
		if err != nil || slices.Contains(but, uintptr(n)) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC != 0 {
			fds = append(fds, uintptr(n))
		}
	}
	return fds
}
