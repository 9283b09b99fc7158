package hawktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/collect"
	"github.com/hawktrace/hawk/internal/hawktest/vm"
)

// waitLimit bounds every single wait of a case. Nothing waits that long unless something is broken, on a machine that
// does much else either.
func waitLimit() time.Duration {
	if InVM() {
		return 30 * time.Second * vm.TimeScale
	}
	return 2 * time.Minute
}

// A process is one that a case started with start or hawk.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdout collect.Output
	stderr collect.Output
	peak   int64         // memory of hawk, in kilobytes
	ended  chan struct{} // closed when the process has ended and all its output is in
}

// state is what the commands of one case share.
type state struct {
	processes map[string]*process
	status    int // exit status of the last process that was waited for
	holdings  *Holdings
	peak      int64 // memory of the last hawk, in kilobytes
}

// A stateKey is where testscript keeps the state of a case.
type stateKey struct{}

func stateOf(ts *testscript.TestScript) *state { return ts.Value(stateKey{}).(*state) }

// launch starts a process in the case's directory. Its end, and the case's, are the caller's
// business.
func launch(ts *testscript.TestScript, name string, env []string, program string, args ...string) *process {
	if strings.ContainsRune(program, filepath.Separator) {
		program = ts.MkAbs(program)
	}
	p := &process{name: name, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = env
	// Nothing else of the test's own environment reaches a process: a case does the same on
	// every machine.
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "WORK", "LC_ALL", "TZ", "GOCOVERDIR", "LD_LIBRARY_PATH"} {
		if value := ts.Getenv(key); value != "" {
			p.cmd.Env = append(p.cmd.Env, key+"="+value)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// Tests that are killed leave no process behind, which would go on tracing.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 5 * time.Second // something it left behind may hold its output open
	if err := p.cmd.Start(); err != nil {
		ts.Fatalf("starting %s: %v", name, err)
	}
	stateOf(ts).processes[name] = p
	ts.Setenv(name, fmt.Sprint(p.cmd.Process.Pid))
	if name == "hawk" {
		go p.watchMemory()
	}
	go func() {
		p.cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	return p
}

// status is the exit status as a shell shows it.
func (p *process) status() int {
	ws := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// wait waits until the process has ended, which is then no longer one of the case's. A hawk that
// crashed fails the case.
func (p *process) wait(ts *testscript.TestScript) {
	select {
	case <-p.ended:
	case <-time.After(waitLimit()):
		if p.name == "hawk" {
			p.cmd.Process.Signal(unix.SIGQUIT) // a Go program then says where it hangs
			select {
			case <-p.ended:
			case <-time.After(2 * time.Second):
			}
		}
		p.cmd.Process.Kill()
		ts.Fatalf("%s did not end within %v\n%s", p.name, waitLimit(), p.report())
	}
	delete(stateOf(ts).processes, p.name)
	if p.name == "hawk" && stackTrace(p.stderr.String()) {
		ts.Fatalf("hawk crashed\n%s", p.report())
	}
}

// finish waits for the process, hands its output to the case and checks how it ended.
func (p *process) finish(ts *testscript.TestScript, neg bool) {
	p.wait(ts)
	st := stateOf(ts)
	st.status = p.status()
	if p.name == "hawk" {
		st.peak = atomic.LoadInt64(&p.peak)
	}
	fmt.Fprint(ts.Stdout(), p.stdout.String())
	fmt.Fprint(ts.Stderr(), p.stderr.String())
	switch {
	case neg && st.status == 0:
		ts.Fatalf("%s succeeded, which it should not\n%s", p.name, p.report())
	case !neg && st.status != 0:
		ts.Fatalf("%s ended with status %d\n%s", p.name, st.status, p.report())
	}
}

// report shows all that the process printed.
func (p *process) report() string {
	return fmt.Sprintf("[%s]\n[stdout]\n%s[stderr]\n%s", strings.Join(p.cmd.Args, " "),
		p.stdout.String(), p.stderr.String())
}

// stackTrace says whether text shows a Go program that panicked, or one in which the race detector
// found something.
func stackTrace(text string) bool {
	return strings.Contains(text, "WARNING: DATA RACE") || strings.Contains(text, "\ngoroutine ") ||
		strings.HasPrefix(text, "panic: ") || strings.Contains(text, "\npanic: ")
}

// end kills what a case left running. It waits for each, or a directory would be removed under a
// process that still writes.
func (s *state) end() {
	for _, p := range s.processes {
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// find returns a process that is running or has not been awaited.
func find(ts *testscript.TestScript, name string) *process {
	p := stateOf(ts).processes[name]
	if p == nil {
		ts.Fatalf("no process %q was started", name)
	}
	return p
}

// waitFor waits until a stream of the process, or a file, matches.
func waitFor(ts *testscript.TestScript, p *process, stream, pattern string) {
	re := compile(ts, pattern)
	deadline := time.Now().Add(waitLimit())
	for {
		// Asked before looking, so that what a process prints at its very end is seen.
		ended := false
		select {
		case <-p.ended:
			ended = true
		default:
		}
		if re.MatchString(p.read(ts, stream)) {
			return
		}
		if ended {
			ts.Fatalf("%s ended with status %d before its %s matched %s\n%s", p.name, p.status(),
				stream, pattern, p.report())
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s of %s does not match %s after %v\n%s", stream, p.name, pattern, waitLimit(), p.report())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// read returns what is in a stream or file now. A file that does not exist yet is empty. A file
// is one that the process itself writes, with -o.
func (p *process) read(ts *testscript.TestScript, stream string) string {
	switch stream {
	case "stdout":
		return p.stdout.String()
	case "stderr":
		return p.stderr.String()
	}
	content, err := os.ReadFile(ts.MkAbs(stream))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	return string(content)
}

// compile has ^ and $ stand for the ends of lines, as in testscript's own commands.
func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	return re
}
