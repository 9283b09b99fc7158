package cli

import (
	"bytes"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/session"
)

// A service manager hears when everything is attached and when the run ends, a harness
// the first behind what was printed before.
func TestAnnounce(t *testing.T) {
	path := t.TempDir() + "/notify"
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED", "1")
	var out bytes.Buffer
	o := session.Options{Sink: output.NewText(&out, io.Discard, output.Options{Buffering: output.FullyBuffered})}
	(&command{out: &out}).announce(&o)
	o.Sink.Write(output.Raw{Text: []byte("x\n")})
	o.Attached(2)
	o.Stopping()
	if want := "x\n__BPFTRACE_NOTIFY_PROBES_ATTACHED\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
	for _, want := range []string{"READY=1\nSTATUS=2 probes attached", "STOPPING=1"} {
		buf := make([]byte, 256)
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("notified of %q, %v; want %q", buf[:max(n, 0)], err, want)
		}
	}
	// Nobody there, or no name of a socket: nothing happens.
	for _, nobody := range []string{path + ".none", "@hawk-nobody", "relative"} {
		t.Setenv("NOTIFY_SOCKET", nobody)
		o.Stopping()
	}
}
