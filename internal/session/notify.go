package session

import (
	"os"

	"golang.org/x/sys/unix"
)

// notify tells the service manager that started hawk how it is doing: one
// datagram to the socket that the environment names. There may be none, and
// nobody needs to hear that nobody listens.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" || path[0] != '/' && path[0] != '@' {
		return
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	// A leading @ stands for the NUL of names that are not in the file system.
	unix.Sendto(fd, []byte(state), unix.MSG_NOSIGNAL, &unix.SockaddrUnix{Name: path})
}
