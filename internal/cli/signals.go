package cli

import (
	"fmt"
	"math/bits"
	"os"
	"os/signal"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/origin"
	"github.com/hawktrace/hawk/internal/session"
)

// sameSignal is how soon after a signal another is no second one. Nobody presses Ctrl-C twice that fast.
const sameSignal = 100 * time.Millisecond

// catch has signals sent to the run, until hawk ends: a Ctrl-C that comes too late to
// cut anything short does not kill it on its way out. A closed pipe is seen when
// writing; its signal would end hawk before the end programs have run. A terminal that
// is gone is no reason to lose what was counted: the output may be a file. What nohup
// has arranged stays so. If the first Ctrl-C is the command's, the run goes on until that ends.
// A signal that comes right after another is that one again: timeout(1) sends each to the process
// and then to its group.
func catch(s *session.Session, commands bool) {
	// The package os/signal drops what finds no room.
	caught := make(chan os.Signal, 4)
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGUSR1, unix.SIGPIPE}
	if !signal.Ignored(unix.SIGHUP) {
		signals = append(signals, unix.SIGHUP)
	}
	signal.Notify(caught, signals...)
	go func() {
		stop := s.Stop
		var last time.Time
		for sig := range caught {
			if sig == unix.SIGUSR1 {
				s.Signal()
			}
			if sig == unix.SIGUSR1 || sig == unix.SIGPIPE || time.Since(last) < sameSignal {
				continue
			}
			last = time.Now()
			// The terminal sends Ctrl-C to the command as well, which may go on after it, as a
			// shell does.
			if sig == unix.SIGINT && commands {
				commands = false
				s.Interrupt()
				continue
			}
			stop()
			// The second signal is from somebody who waits.
			stop = s.Abort
		}
	}()
}

// besideSignals does work that reads files of others, and leaves Ctrl-C to other threads meanwhile. The
// kernel gives a signal to the main thread unless that blocks it; one that waits for a file system
// which does not answer could neither take it nor be ended by it. Only the main thread matters,
// which may be this one; on another the mask does no harm.
func besideSignals(work func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ours, before unix.Sigset_t
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		ours.Val[0] |= 1 << (sig - 1)
	}
	if unix.PthreadSigmask(unix.SIG_BLOCK, &ours, &before) == nil {
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	}
	work()
}

// announce has the service manager and test harnesses told of the run.
func (c *command) announce(o *session.Options) {
	o.Attached = func(probes int) {
		notify(fmt.Sprintf("READY=1\nSTATUS=%d probes attached", probes))
		const notice = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"
		if _, ok := os.LookupEnv(notice); ok {
			o.Sink.Flush()
			fmt.Fprintln(c.out, notice)
		}
		c.collect()
	}
	o.Stopping = func() { notify("STOPPING=1") }
	o.Pinned = func(path string) {
		o.Sink.Flush()
		fmt.Fprintf(c.out, "Program pinned to %s\n", path)
	}
}

// notify tells the service manager that started hawk how it is doing: one
// datagram to the socket that the environment names. There may be none, and
// nobody needs to hear that nobody listens. The protocol is that of sd_notify(3).
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

// used are the signals that hawk takes, or the runtime cannot do without.
const used = 1<<(unix.SIGHUP-1) | 1<<(unix.SIGINT-1) | 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGPIPE-1) |
	1<<(unix.SIGCHLD-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGPROF-1) | 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) |
	1<<(unix.SIGFPE-1)

// untouched has other signals do what they did when hawk was started, where the runtime does something else: what
// was ignored is, and SIGQUIT does not print the stacks of all goroutines on the terminal of someone who
// pressed Ctrl-\.
func untouched() {
	ignored := origin.Ignored() &^ used
	for set := ignored | 1<<(unix.SIGQUIT-1); set != 0; set &= set - 1 {
		n := bits.TrailingZeros64(set)
		// The kernel's struct sigaction: handler (SIG_DFL, SIG_IGN), flags, restorer, mask;
		// the same on amd64 and arm64.
		action := [4]uint64{ignored >> n & 1}
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n+1), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}
