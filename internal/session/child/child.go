// Package child starts the command of -c, which waits until everything is attached.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
)

// A Child is the command of -c. It exists, with its final process ID, from
// Start on, so that probes can be aimed at it, and executes the command
// once everything is attached.
//
// Between fork and exec it waits for a byte on a pipe. No debugger interface is
// needed, so the command may be traced by one.
type Child struct {
	Path    string // of the program
	process *os.Process
	release *os.File         // one byte lets it go; closing it ends it
	failure *os.File         // reads the errno of a failed exec, or the end
	done    chan struct{}    // closed once it has ended
	state   *os.ProcessState // valid after done
	Told    chan struct{}    // closed once those who wait have been told
}

// SplitCommand splits the command of -c into words: at blanks, but not inside
// single or double quotes, or behind a backslash. No shell is involved.
func SplitCommand(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			inWord = true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("Failed to fork child: the command has no closing %c", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("Failed to fork child: the command is empty")
	}
	return words, nil
}

// Options say what the command is given.
type Options struct {
	Files    []*os.File // its standard ones; nil: those of hawk
	Env      []string   // nil: that of hawk
	User     *User      // nil: who hawk is
	Survives bool       // it goes on when hawk is killed
}

// A User is who the command runs as.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// A missing is a command that cannot be executed, in the words of the command line.
type missing struct {
	path string
	why  string
	err  error
}

func (m *missing) Error() string {
	return fmt.Sprintf("Failed to fork child: Path '%s' does not exist or is not executable (%s)", m.path, m.why)
}

func (m *missing) Unwrap() error { return m.err }

// Start creates the process that will execute a command. It ends when hawk does, but for one that
// survives.
func Start(argv []string, o Options) (*Child, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		reason := err
		var e *exec.Error
		if errors.As(err, &e) {
			reason = e.Err
		}
		if errors.Is(reason, exec.ErrNotFound) || errors.Is(reason, os.ErrNotExist) {
			return nil, &missing{argv[0], "No such file or directory", os.ErrNotExist}
		}
		return nil, &missing{argv[0], errno.Reason(reason), reason}
	}
	goR, goW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("Failed to fork child: %w", err)
	}
	failR, failW, err := os.Pipe()
	if err != nil {
		goR.Close()
		goW.Close()
		return nil, fmt.Errorf("Failed to fork child: %w", err)
	}
	p, err := forkWaiting(path, argv, o, goR, failW)
	goR.Close()
	failW.Close()
	if err != nil {
		goW.Close()
		failR.Close()
		return nil, fmt.Errorf("Failed to fork child: %w", err)
	}
	return &Child{Path: path, process: p, release: goW, failure: failR}, nil
}

// PID is the process ID, before and after the command starts.
func (c *Child) PID() int { return c.process.Pid }

// Close ends the child if it was never let go, and waits for it; after a run
// it does nothing. It is meant for runs that do not come about.
func (c *Child) Close() {
	if c.release == nil {
		return
	}
	c.release.Close()
	c.failure.Close()
	c.release = nil
	if c.done == nil {
		c.process.Wait()
	}
}

// Watch calls ended, in another goroutine, once the child has ended, and then
// closes told.
func (c *Child) Watch(ended func()) {
	c.done, c.Told = make(chan struct{}), make(chan struct{})
	go func() {
		c.state, _ = c.process.Wait()
		close(c.done)
		ended()
		close(c.Told)
	}()
}

// Run lets the child execute its command.
func (c *Child) Run() error {
	_, err := c.release.Write([]byte{1})
	c.release.Close()
	c.release = nil
	if err != nil {
		return fmt.Errorf("Failed to run child: %w", err)
	}
	var b [1]byte
	n, _ := c.failure.Read(b[:])
	c.failure.Close()
	if n == 1 {
		return fmt.Errorf("Failed to run child: child: failed to execve: %w", syscall.Errno(b[0]))
	}
	return nil
}

// Ended reports whether a watched child has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Interrupt has the command see a Ctrl-C: of those that a terminal sends it has had one.
func (c *Child) Interrupt() {
	if tty, err := os.Open("/dev/tty"); err == nil {
		defer tty.Close()
		if group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
			return
		}
	}
	c.process.Signal(syscall.SIGINT)
}

// Terminate asks the child to end and, after a while or when nobody wants to
// wait any more, ends it.
func (c *Child) Terminate(impatient context.Context) {
	if c.release != nil {
		c.Close()
	}
	if c.done == nil {
		return
	}
	if c.Ended() {
		return
	}
	c.process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-time.After(time.Second):
	case <-impatient.Done():
	}
	c.process.Kill()
	<-c.done
}

// Status is the exit status of a command that has ended, as a shell has it:
// 128 and the number for one that a signal ended.
func (c *Child) Status() int {
	if c.state == nil {
		return 0
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.state.ExitCode()
}

// Epitaph is what -v says about the end of a child.
func (c *Child) Epitaph() string {
	if c.state == nil {
		return ""
	}
	ws, ok := c.state.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Signaled():
		return fmt.Sprintf("Child terminated by signal: %d", ws.Signal())
	case ok && ws.Exited():
		return fmt.Sprintf("Child exited with code: %d", ws.ExitStatus())
	}
	return ""
}
