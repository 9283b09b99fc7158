package outfile

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
)

// A Socket takes datagrams, one for each Write. Who listens gets those that are too large
// for a datagram as sealed files of memory, which is how systemd's journal takes them.
type Socket struct{ fd int }

// sendTime is how long a listener may take to make room.
const sendTime = 5 * time.Second

// Dial opens a socket of datagrams that somebody listens at.
func Dial(path string) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	// A listener that hangs does not hang who writes.
	timeout := unix.NsecToTimeval(sendTime.Nanoseconds())
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("nobody takes entries at %s: %s", path, errno.Reason(err))
	}
	return &Socket{fd}, nil
}

// Write sends a datagram.
func (s *Socket) Write(p []byte) (int, error) {
	for {
		err := unix.Sendto(s.fd, p, unix.MSG_NOSIGNAL, nil)
		switch {
		case err == nil:
			return len(p), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EMSGSIZE), errors.Is(err, unix.ENOBUFS):
			return s.writeFile(p)
		default:
			return 0, err
		}
	}
}

// writeFile sends bytes as a file.
func (s *Socket) writeFile(p []byte) (int, error) {
	file, err := unix.MemfdCreate("entry", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, err
	}
	defer unix.Close(file)
	for rest := p; len(rest) > 0; {
		n, err := unix.Write(file, rest)
		if err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err != nil {
		return 0, err
	}
	if err := unix.Sendmsg(s.fd, nil, unix.UnixRights(file), nil, unix.MSG_NOSIGNAL); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes the socket.
func (s *Socket) Close() error { return unix.Close(s.fd) }
