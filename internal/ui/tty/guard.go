package tty

import (
	"encoding/binary"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// GuardName is what a guard is called: the first word of its command line. It is hawk
// itself, started once more.
//
// A process that panics, runs out of memory or is killed cannot put its terminal in
// order. Its guard does, as it sees the end of it; the report of a
// panic, which the runtime writes to the pipe, too, it prints when it can be read.
const GuardName = "hawk: guard of the terminal"

// These are what a terminal says to its guard. All else is the report of a panic.
const (
	sayTaken    = 1
	sayRestored = 2
)

// A seal is what a guard has to know of a terminal, said first.
type seal struct {
	PID      int64
	Was, Raw unix.Termios
	Mouse    bool
	Report   bool // is printed, as standard error is a terminal
}

// watch has a guard watch over the terminal. Without one it is as safe as the process is.
func (t *Terminal) watch(raw *unix.Termios) {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{GuardName}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []*os.File{r, t.out, os.Stderr},
		Sys: &syscall.SysProcAttr{Setpgid: true}, // what ends a whole group leaves it be
	})
	if err != nil {
		w.Close()
		return
	}
	// A guard that ends before this process is not left a zombie.
	go p.Wait()
	_, err = unix.IoctlGetTermios(2, unix.TCGETS)
	if binary.Write(w, binary.NativeEndian, seal{int64(os.Getpid()), t.was, *raw, t.mouse, err == nil}) == nil {
		t.guard = w
		debug.SetCrashOutput(w, debug.CrashOptions{})
	}
}

// tell says something to the guard.
func (t *Terminal) tell(what byte) {
	if t.guard != nil {
		t.guard.Write([]byte{what})
	}
}

// Guard watches over the terminal that is standard output for the process at the other
// end of standard input, until that ends.
func Guard() {
	// The guard outlives what the terminal sends to all of its processes.
	signal.Ignore(unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGTSTP, unix.SIGTTOU, unix.SIGTTIN)
	var s seal
	if err := binary.Read(os.Stdin, binary.NativeEndian, &s); err != nil {
		return
	}
	// Others may hold the pipe for longer than the process is there.
	process, err := unix.PidfdOpen(int(s.PID), 0)
	if err != nil && err != unix.ESRCH {
		process = -1 // which poll passes over
	}
	gone := err == unix.ESRCH
	// All that was said is read before the end of the process is acted on.
	unix.SetNonblock(0, true)
	taken := false
	restore := func() {
		if taken {
			leave(os.Stdout, &s)
		}
		taken = false
	}
	var report []byte
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(0, buf)
		for _, b := range buf[:max(n, 0)] {
			switch b {
			case sayTaken:
				taken = true
			case sayRestored:
				taken = false
			default: // before a shell sees the end, and takes the terminal for what it should be
				restore()
				report = append(report, b)
			}
		}
		switch {
		case n > 0 || err == unix.EINTR:
			continue
		case gone || err != unix.EAGAIN:
			restore()
			if s.Report {
				os.Stderr.Write(report)
			}
			return
		}
		fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}, {Fd: int32(process), Events: unix.POLLIN}}
		unix.Poll(fds, -1)
		gone = fds[1].Revents != 0
	}
}

// leave gives a terminal back as it was found, unless somebody else has already taken it
// over: a shell, after the end of what it waits for.
func leave(out *os.File, s *seal) {
	now, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	if err == nil && *now == s.Raw {
		unix.IoctlSetInt(int(out.Fd()), unix.TCFLSH, unix.TCIFLUSH) // answers that nobody waits for
		unix.IoctlSetTermios(int(out.Fd()), unix.TCSETS, &s.Was)
	}
	io.WriteString(out, ending(s.Mouse))
}

// ending leaves the screen of views and shows the cursor.
func ending(mouse bool) string {
	if mouse {
		return "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l"
	}
	return "\x1b[0m\x1b[?25h\x1b[?1049l"
}
