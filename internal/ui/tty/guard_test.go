package tty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is also the guard of the terminal that the tests below take, and who takes it.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == GuardName:
		Guard()
		os.Exit(0)
	case os.Getenv("HAWK_TEST_TERMINAL") != "":
		takeAnd(os.Getenv("HAWK_TEST_TERMINAL"))
	}
	os.Exit(m.Run())
}

// takeAnd takes the terminal that is standard output, and then fails in some way.
func takeAnd(fail string) {
	term, err := Open(os.Stdout, os.Getenv, Options{Guarded: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	switch fail {
	case "restored": // and then panics
		term.Restore()
		os.Stdout.WriteString("given back\n")
		go panic("too late to matter")
	case "panic":
		go panic("somewhere else")
	case "fatal": // which nobody can recover from
		var mu sync.Mutex
		go mu.Unlock()
	case "exit":
		os.Exit(3)
	}
	select {}
}

// TestGuard has a process end without a chance to put its terminal in order.
func TestGuard(t *testing.T) {
	for _, tt := range []struct{ fail, shows string }{
		{"panic", "panic: somewhere else"},
		{"fatal", "goroutine "}, // the runtime tells its first line to standard error alone
		{"exit", ""},
		{"kill", ""},
		{"restored", "given back"},
	} {
		t.Run(tt.fail, func(t *testing.T) {
			far, near := terminal(t)
			before, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "HAWK_TEST_TERMINAL="+tt.fail, "GOTRACEBACK=single", "TERM=xterm")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			far.SetReadDeadline(time.Now().Add(time.Minute))
			shown := ""
			sees := func(text string) {
				t.Helper()
				buf := make([]byte, 4096)
				for !strings.Contains(shown, text) {
					n, err := far.Read(buf)
					if shown += string(buf[:n]); err != nil {
						t.Fatalf("%q does not come, but %q: %v", text, shown, err)
					}
				}
				_, shown, _ = strings.Cut(shown, text)
			}
			sees("\x1b[?1049h")
			if tt.fail == "kill" {
				cmd.Process.Kill()
			}
			sees("\x1b[?25h\x1b[?1049l")
			sees(tt.shows)
			cmd.Wait()
			if after, err := unix.IoctlGetTermios(int(near.Fd()), unix.TCGETS); err != nil || *after != *before {
				t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
			}
			// The guard ends, and holds the terminal no longer.
			near.Close()
			rest, err := io.ReadAll(far)
			if !errors.Is(err, unix.EIO) {
				t.Errorf("somebody still has the terminal: %v", err)
			}
			if strings.Contains(string(rest), "\x1b[?1049l") {
				t.Errorf("given back twice: %q", rest)
			}
		})
	}
}

// terminal is a pseudo-terminal, as its user sees it and as programs do.
func terminal(t *testing.T) (far, near *os.File) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	far = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { far.Close() })
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { near.Close() })
	return far, near
}
