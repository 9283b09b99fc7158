package outfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSocket has a listener get what is written: small entries as datagrams, large ones as
// files that nobody can change any more.
func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	if _, err := Dial(path); err == nil || !strings.Contains(err.Error(), "nobody takes entries at "+path) {
		t.Errorf("without a listener: %v", err)
	}
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	timeout := unix.NsecToTimeval(time.Minute.Nanoseconds())
	if err := errors.Join(unix.Bind(listener, &unix.SockaddrUnix{Name: path}),
		unix.SetsockoptTimeval(listener, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)); err != nil {
		t.Fatal(err)
	}
	s, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	small, large := []byte("MESSAGE=small\n"), bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	for _, entry := range [][]byte{small, large, small} {
		if n, err := s.Write(entry); n != len(entry) || err != nil {
			t.Fatalf("%d bytes of %d, %v", n, len(entry), err)
		}
		buf, control := make([]byte, 1<<16), make([]byte, 256)
		n, nc, _, _, err := unix.Recvmsg(listener, buf, control, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		got := buf[:n]
		if len(entry) > len(buf) {
			got = sealed(t, control[:nc])
		}
		if !bytes.Equal(got, entry) {
			t.Errorf("%d bytes came of %d", len(got), len(entry))
		}
	}
}

// sealed is the file that came with a datagram.
func sealed(t *testing.T, control []byte) []byte {
	t.Helper()
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("descriptors %v, %v", fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "entry")
	defer f.Close()
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE; err != nil || seals&want != want {
		t.Errorf("seals are %x, %v", seals, err)
	}
	var out bytes.Buffer
	f.Seek(0, 0)
	if _, err := out.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
