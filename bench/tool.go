package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/collect"
	"github.com/hawktrace/hawk/internal/hawktest/deb"
)

// A tool is hawk or bpftrace.
type tool struct {
	name    string
	version string
	argv    []string // how to start it
	root    string   // where it was unpacked with its libraries, if it was
}

// findTools returns hawk, another binary of it if one is named, and bpftrace if there is one. The
// choice "none" does without.
func findTools(hawk, against, bpftrace string) ([]*tool, error) {
	path, err := filepath.Abs(hawk)
	if err != nil {
		return nil, err
	}
	tools := []*tool{{name: "hawk", argv: []string{path}}}
	if against != "" {
		if path, err = filepath.Abs(against); err != nil {
			return nil, err
		}
		tools = append(tools, &tool{name: "hawk", argv: []string{path}})
	}
	switch bpftrace {
	case "none":
	case "":
		root, err := newestBpftrace()
		argv := inRoot(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: no newer bpftrace than an installed one:", err)
			path, err := exec.LookPath("bpftrace")
			if err != nil {
				fmt.Fprintln(os.Stderr, "bench: bpftrace is not installed, so hawk is measured alone")
				break
			}
			root, argv = "", []string{path}
		}
		tools = append(tools, &tool{name: "bpftrace", argv: argv, root: root})
	default:
		t := &tool{name: "bpftrace", argv: []string{bpftrace}}
		if info, err := os.Stat(bpftrace); err == nil && info.IsDir() {
			t.argv, t.root = inRoot(bpftrace), bpftrace
		}
		tools = append(tools, t)
	}
	for _, t := range tools {
		out, err := exec.Command(t.argv[0], append(t.argv[1:], "--version")...).Output()
		if err != nil {
			return nil, fmt.Errorf("asking %s for its version: %w", t.name, err)
		}
		_, t.version, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	}
	return tools, nil
}

// newestBpftrace unpacks Debian's newest bpftrace with all its libraries and returns the directory.
func newestBpftrace() (root string, err error) {
	suite, err := deb.Open("sid")
	if err != nil {
		return "", err
	}
	return suite.Install("bpftrace")
}

// libraries is where Debian's libraries are, below a root.
const libraries = "usr/lib/x86_64-linux-gnu"

// inRoot is the command that starts a bpftrace with the libraries beside it. The loader of that
// release is called by name, since the machine's own may be too old for them.
func inRoot(root string) []string {
	dir := filepath.Join(root, libraries)
	return []string{filepath.Join(dir, "ld-linux-x86-64.so.2"), "--library-path", dir,
		filepath.Join(root, "usr/bin/bpftrace")}
}

// command prepares a run. Warnings that the machine causes and not the script are none of the measurement.
func (t *tool) command(args ...string) *exec.Cmd {
	// The third index makes append copy: two commands must not share an array.
	cmd := exec.Command(t.argv[0], append(t.argv[1:len(t.argv):len(t.argv)], args...)...)
	// A bench that is killed leaves no tracer behind. The signal comes as the thread ends that
	// has started it, so that callers must not leave theirs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// whole runs the tool to its end and returns how long that took.
func (t *tool) whole(args ...string) (time.Duration, error) {
	cmd := t.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", t.name, strings.Join(args, " "), err, out.Bytes())
	}
	return took, nil
}

// A session is a tool with its probes attached.
type session struct {
	tool   *tool
	cmd    *exec.Cmd
	output collect.Output
	ended  chan error
}

// notice is the word that both tools print when asked to by an environment variable of that name,
// once all probes are attached.
const notice = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"

var attached = regexp.MustCompile(`(?m)^(` + notice + `|Attached \d+ probes?)$`)

// attach starts the tool and waits until its probes are attached.
func (t *tool) attach(args ...string) (*session, error) {
	s := &session{tool: t, cmd: t.command(args...), ended: make(chan error, 1)}
	s.cmd.Env = append(os.Environ(), notice+"=1")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	limit := time.After(time.Minute)
	// Polling is good enough, as the clocks of all parts that attach start behind it.
	for !attached.MatchString(s.output.String()) {
		select {
		case err := <-s.ended:
			return nil, fmt.Errorf("%s ended before it attached: %v\n%s", t.name, err, s.output.String())
		case <-limit:
			s.cmd.Process.Kill()
			return nil, fmt.Errorf("%s did not attach in a minute\n%s", t.name, s.output.String())
		case <-time.After(time.Millisecond):
		}
	}
	return s, nil
}

// stop interrupts the tool and waits for its end. The two minutes are for tools that detach from
// many functions or name many addresses at their end.
func (s *session) stop() error {
	if err := s.cmd.Process.Signal(unix.SIGINT); err != nil {
		return err
	}
	select {
	case err := <-s.ended:
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", s.tool.name, err, s.output.String())
		}
		return nil
	case <-time.After(2 * time.Minute):
		s.cmd.Process.Kill()
		return errors.New(s.tool.name + " did not end when interrupted")
	}
}

// cpu is the processor time that the ended tool has used. The kernel fills it in as the process
// is waited for, by stop.
func (s *session) cpu() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}
