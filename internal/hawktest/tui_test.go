package hawktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watched is a script that goes on, with a map and an event.
const watched = `begin { @n["key"] = count(); printf("hello\n"); } interval:s:1000 { }`

// A screen is hawk's terminal view on a pseudo-terminal.
type screen struct {
	*terminal
	t      *testing.T
	line   *os.File // its near end
	before *unix.Termios
	hawk   *exec.Cmd
	ended  chan error
}

// show runs a command that shows the script, on a terminal of its own.
func show(t *testing.T, name string, args ...string) *screen {
	t.Helper()
	far, err := openTerminal()
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { far.Close() })
	far.SetSize(30, 100)
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", far.number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	s := &screen{terminal: far, t: t, line: line, ended: make(chan error, 1)}
	s.before = s.settings()
	s.hawk = exec.Command(name, args...)
	s.hawk.Dir = t.TempDir()
	s.hawk.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "NO_COLOR=") || strings.HasPrefix(e, "COLORTERM=")
	}), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "GOTRACEBACK=none")
	s.hawk.Stdin, s.hawk.Stdout, s.hawk.Stderr = line, line, line
	s.hawk.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.hawk.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.hawk.Wait() }()
	t.Cleanup(func() { s.hawk.Process.Kill() })
	return s
}

// SetSize makes the terminal as large.
func (t *terminal) SetSize(rows, columns uint16) {
	unix.IoctlSetWinsize(int(t.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
}

func (s *screen) settings() *unix.Termios {
	s.t.Helper()
	got, err := unix.IoctlGetTermios(int(s.line.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// sees waits until a text is drawn. Only what changes is, so that a text may come in
// pieces: Ctrl-L has all of it drawn.
func (s *screen) sees(text string) string {
	s.t.Helper()
	before, err := s.until(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return before
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end, and looks whether the terminal is as it was.
func (s *screen) ends() error {
	s.t.Helper()
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(time.Minute):
		s.t.Fatal("hawk does not end")
	}
	if after := s.settings(); *after != *s.before {
		s.t.Errorf("the terminal was %+v and is %+v", s.before, after)
	}
	return err
}

// restored reads what comes after the view was left.
func (s *screen) restored() {
	s.t.Helper()
	s.sees("\x1b[?25h\x1b[?1049l")
}

// TestTerminalView has the terminal view end in all ways, and the terminal be as it was.
func TestTerminalView(t *testing.T) {
	if missing, err := Have("root"); err != nil || missing != nil {
		t.Skipf("needs root: %v", errors.Join(missing, err))
	}
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	start := func(t *testing.T, more ...string) *screen {
		s := show(t, hawk, append([]string{"--tui", "--every", "100ms", "-e", watched}, more...)...)
		s.sees(" 1 @n ")
		s.sees("key") // of "keys" in the title
		s.sees("key") // the row, so that all is attached
		return s
	}
	t.Run("quit", func(t *testing.T) {
		s := start(t)
		s.types("q")
		s.restored()
		s.sees("@n[key]: 1\r\n")
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("stay", func(t *testing.T) { // after the end of the run, until q
		s := start(t)
		s.types("\x03")
		s.sees("ended: ")
		s.types("?\x0c")
		s.sees("another pane")
		s.types("qq")
		s.restored()
		s.sees("@n[key]: 1\r\n")
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("leave", func(t *testing.T) {
		s := show(t, hawk, "--tui", "--exit-with-run", "-q", "--exit-status", "child", "-e", watched,
			"-c", "sh -c 'echo out; echo err >&2; exit 3'")
		s.restored()
		var status *exec.ExitError
		if err := s.ends(); !errors.As(err, &status) || status.ExitCode() != 3 {
			t.Errorf("ends with %v, want status 3", err)
		}
	})
	t.Run("command", func(t *testing.T) { // whose output gets a pane, and which gets no terminal
		s := show(t, hawk, "--tui", "-e", watched, "-c", "sh -c 'test -t 0 || echo no terminal; seq 1 3'")
		s.sees("ended: ")
		s.types("3z\x0c")
		s.sees("no terminal")
		s.types("q")
		s.restored()
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			s := start(t)
			s.hawk.Process.Signal(sig)
			s.restored()
			s.sees("@n[key]: 1\r\n")
			if err := s.ends(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGABRT, unix.SIGSEGV} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			s := start(t)
			s.hawk.Process.Signal(sig)
			s.restored()
			var status *exec.ExitError
			if err := s.ends(); !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != sig {
				t.Errorf("ends with %v, want the signal %v", err, sig)
			}
		})
	}
	t.Run("killed", func(t *testing.T) { // nobody but the guard is left
		s := start(t)
		s.hawk.Process.Kill()
		s.restored()
		var status *exec.ExitError
		if err := s.ends(); !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
			t.Errorf("ends with %v, want to be killed", err)
		}
	})
	t.Run("page", func(t *testing.T) { // beside the view, of the same run
		socket := filepath.Join(t.TempDir(), "page")
		s := show(t, hawk, "--tui", "--web=unix:"+socket, "--web-token", "none", "--every", "100ms", "-e", watched)
		s.sees("Serving ")
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
		}}
		defer client.CloseIdleConnections()
		var text []byte
		for range 100 { // until maps were read for the first time
			res, err := client.Get("http://localhost/v1/map/@n?format=csv")
			if err != nil {
				t.Fatal(err)
			}
			text, err = io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || string(text) == "key,value\nkey,1\n" {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if string(text) != "key,value\nkey,1\n" {
			t.Errorf("the page has %q", text)
		}
		s.types("q")
		s.restored()
		s.sees("Serving ") // among the messages kept
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("ignored", func(t *testing.T) { // signals that mean nothing to hawk leave the view alone
		s := start(t)
		for _, sig := range []unix.Signal{unix.SIGUSR2, unix.SIGALRM, unix.SIGIO, unix.SIGCONT} {
			s.hawk.Process.Signal(sig)
		}
		s.types("?\x0c")
		s.sees("another pane")
		s.types("?q")
		s.restored()
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("resize", func(t *testing.T) {
		s := start(t)
		for _, size := range [][2]uint16{{50, 200}, {1, 1}, {5, 20}, {24, 80}} {
			s.SetSize(size[0], size[1])
		}
		s.sees(" 2 events ") // one below the other
		s.types("q")
		s.restored()
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("gone", func(t *testing.T) { // the terminal, with whoever looked at it
		s := start(t)
		s.line.Close()
		s.Close()
		select {
		case <-s.ended:
		case <-time.After(time.Minute):
			t.Error("hawk stays though nobody can see it")
		}
	})
	t.Run("save", func(t *testing.T) {
		s := start(t)
		s.types("S")
		s.sees(".html")
		s.types("e")
		s.sees("csv")
		s.types("q")
		s.restored()
		if err := s.ends(); err != nil {
			t.Error(err)
		}
		for pattern, want := range map[string]string{"hawk-*.html": "<h2>@n[key]</h2>",
			"hawk-*.csv": "key,value\nkey,1\n"} {
			files, _ := filepath.Glob(filepath.Join(s.hawk.Dir, pattern))
			if len(files) != 1 {
				t.Errorf("files %s: %q", pattern, files)
				continue
			}
			if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%q is not in %s: %v", want, files[0], err)
			}
		}
	})
	t.Run("suspend", func(t *testing.T) {
		// A shell that controls jobs goes on when hawk stops, and has the terminal as it was.
		s := show(t, "/bin/sh", "-mc", `"$0" --tui -e "$1"; echo stopped; fg; echo ended`, hawk, watched)
		s.sees(" 1 @n ")
		s.sees("key")
		s.sees("key")
		s.types("\x1a")
		s.restored()
		s.sees("stopped\r\n")
		s.sees(" 1 @n ") // fg has it drawn anew
		s.types("q")
		s.restored()
		s.sees("@n[key]: 1\r\n")
		s.sees("ended\r\n")
		if err := s.ends(); err != nil {
			t.Error(err)
		}
	})
}
