package session

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/origin"
	"github.com/hawktrace/hawk/internal/output"
)

// System runs a shell command and waits for it. Its output becomes items, its
// errors go to standard error as they come. What was written before is written
// out first. Once the run is to end the command is ended, and others are
// dropped.
func (s *session) System(command string) (status int, err error) {
	s.flush()
	until := s.patient()
	if until.Err() != nil {
		s.dropped++
		return 0, nil
	}
	s.owner.start()
	cmd := exec.CommandContext(until, "sh", shell(command, origin.Ignored())...)
	cmd.Stdout = &commandOutput{s: s}
	cmd.Stderr = output.File(s.o.Stderr)
	// A command does not outlive a hawk that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return terminateTree(cmd.Process.Pid) }
	cmd.WaitDelay = waitOutput
	if s.o.WholeCommands {
		var text []byte
		text, err = collect(cmd)
		s.Emit(output.Raw{Type: "syscall", Text: text})
	} else {
		err = cmd.Run()
	}
	s.flush()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay), until.Err() != nil:
		return 0, nil
	case errors.As(err, &exit):
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, fmt.Errorf("cannot run the command: %w", err)
}

// shell is how sh is called to run a command that ignores the signals that hawk was started with as ignored.
// A Go program cannot pass on those that it handles itself; a first shell can.
func shell(command string, ignored uint64) []string {
	if ignored == 0 {
		return []string{"-c", command}
	}
	trap := "trap ''"
	for ; ignored != 0; ignored &= ignored - 1 {
		trap += fmt.Sprintf(" %d", bits.TrailingZeros64(ignored)+1)
	}
	return []string{"-c", trap + `; exec sh -c "$0"`, command}
}

// terminateTree asks a process and all that it has started to end. A shell is asked
// before the command that it waits for, since it would go on to the next one, and
// stands still meanwhile, so that it starts no other.
func terminateTree(pid int) error {
	syscall.Kill(pid, syscall.SIGSTOP)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	err := syscall.Kill(pid, syscall.SIGTERM)
	syscall.Kill(pid, syscall.SIGCONT)
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			terminateTree(n)
		}
	}
	return err
}

// waitOutput is how long output is waited for after a command has ended: what
// it left behind in the background may keep the pipe open for ever.
const waitOutput = time.Second

// maxCommand bounds what is kept of a command's output, in bytes.
const maxCommand = 16 << 20

// collect runs a command and keeps what it prints, as far as there is room.
func collect(cmd *exec.Cmd) ([]byte, error) {
	var out bounded
	cmd.Stdout = &out
	err := cmd.Run()
	return out.text, err
}

// A bounded keeps the first maxCommand bytes and takes the rest without keeping it, so that the
// command can go on.
type bounded struct{ text []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxCommand-len(b.text))]...)
	return len(p), nil
}

// commandOutput makes items of what a command prints. It is written to by a
// goroutine of os/exec while the reader waits for the command, never at the
// same time.
type commandOutput struct{ s *session }

func (c *commandOutput) Write(p []byte) (int, error) {
	c.s.Emit(output.Raw{Type: "syscall", Text: p})
	c.s.flush()
	return len(p), c.s.err
}

// maxHanging is how many files may be read whose file systems do not answer. Each holds a thread.
const maxHanging = 4

var errNoAnswer = errors.New("its file system does not answer")

// ReadFile reads at most limit bytes of a regular file. A traced program may have named it, so that
// it is waited for only as long as for output.
func (s *session) ReadFile(path string, limit int) ([]byte, error) {
	if s.hanging.Load() >= maxHanging {
		return nil, errNoAnswer
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	s.hanging.Add(1)
	go func() {
		text, err := readFile(path, limit)
		s.hanging.Add(-1)
		done <- result{text, err}
	}()
	var abort <-chan struct{}
	if s.abort != nil {
		abort = s.abort.Done()
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case r := <-done:
		return r.text, r.err
	case <-late.C:
	case <-abort:
	}
	return nil, errNoAnswer
}

// readFile reads the beginning of a file.
func readFile(path string, limit int) ([]byte, error) {
	if path == os.DevNull { // the one device whose opening has no effect, and which has nothing to read
		return nil, nil
	}
	f, err := foreign.Open(path)
	if errors.Is(err, foreign.ErrRefused) {
		return nil, errors.New("it is no regular file")
	}
	if err != nil {
		return nil, errors.Unwrap(err) // the message names the path itself
	}
	defer f.Close()
	text := make([]byte, limit)
	n, _ := io.ReadFull(f, text) // what was read until an error is worth printing
	return text[:n], nil
}
