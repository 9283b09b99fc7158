package output

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// atOnce is how many bytes a pipe takes without waiting if it takes any.
const atOnce = 4096

// write writes all of text. What the file takes without waiting is written past
// the runtime, whose monitor thread would be woken for each write, and seen by who
// traces what it does. A regular file takes anything, and need not be asked.
func write(f *os.File, text []byte, regular bool) (int, error) {
	done := 0
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) {
			for done < len(text) && (regular || writable(fd)) {
				part := text[done:]
				if !regular {
					part = part[:min(atOnce, len(part))]
				}
				n, _, errno := unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&part[0])),
					uintptr(len(part)))
				if errno != 0 {
					return // the file's own way of writing meets it again, and has the words for it
				}
				done += int(n)
			}
		})
		runtime.KeepAlive(text)
	}
	if done == len(text) {
		return done, nil
	}
	n, err := f.Write(text[done:])
	return done + n, err
}

// writable reports whether a file takes something without waiting.
// A pipe that is writable by poll takes atOnce bytes at least (POSIX: PIPE_BUF).
func writable(fd uintptr) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
	var none unix.Timespec
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL,
		uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return errno == 0 && n == 1 && p.Revents == unix.POLLOUT
}
