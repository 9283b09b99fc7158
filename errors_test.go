package hawk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk"
)

// The tests below provoke each failure that has a type, and ask errors.Is and errors.As.

func TestPermissionError(t *testing.T) {
	privileged(t)
	p, err := compile(t, ticks, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread that lost its capabilities ends
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			failed <- err
			return
		}
		_, err := p.Start(context.Background(), nil)
		failed <- err
	}()
	err = <-failed
	var lacking *hawk.PermissionError
	if !errors.As(err, &lacking) || !errors.Is(err, fs.ErrPermission) || len(lacking.Need) < 2 {
		t.Errorf("%v", err)
	}
}

// TestDenied: who may not read what there is to trace has no wrong script.
func TestDenied(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread that is nobody ends
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			failed <- errno
			return
		}
		_, err := hawk.Check(context.Background(), &hawk.Script{Text: `tracepoint:sched:sched_switch { }`}, nil)
		failed <- err
	}()
	err := <-failed
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, hawk.ErrScript) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestFeatureError(t *testing.T) {
	old, err := hawk.Recorded(fstest.MapFS{
		"uname": {Data: []byte("x86_64 5.10.0\n")}, "features": {Data: []byte("kprobe\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for f := range old.Features() {
		if f.Name == "kprobe" {
			continue
		}
		var lacking *hawk.FeatureError
		if !errors.As(f.Err, &lacking) || !errors.Is(f.Err, errors.ErrUnsupported) || lacking.Since == "" ||
			lacking.Feature != f.Name || f.Doc == "" {
			t.Errorf("%+v: %v", f, f.Err)
		}
	}
}

func TestAttachError(t *testing.T) {
	privileged(t)
	program := filepath.Join(t.TempDir(), "program")
	image, err := os.ReadFile("/bin/true")
	if err == nil {
		err = os.WriteFile(program, image, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := compile(t, fmt.Sprintf("uprobe:%s:0x%x { @n = count(); }", program, 0x2000),
		&hawk.CompileOptions{Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	_, err = p.Start(context.Background(), nil)
	var attach *hawk.AttachError
	if !errors.As(err, &attach) || !errors.Is(err, fs.ErrNotExist) || attach.Probe == "" {
		t.Errorf("%#v", err)
	}
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors, %d before", n, before)
	}
}

// A file that was there where a portable program was compiled may be missing where it runs.
func TestPortableAttachError(t *testing.T) {
	privileged(t)
	program := filepath.Join(t.TempDir(), "program")
	for _, probe := range []string{"uprobe:" + program + ":runtime.main", "uprobe:" + program + `:"testing.t*"`} {
		image, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(program, image, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		script := &hawk.Script{Text: "begin { } " + probe + " { @n = count(); }"}
		p, err := hawk.Compile(context.Background(), script, &hawk.CompileOptions{Unsafe: true, Portable: true})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := p.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		q, err := hawk.Load(&b)
		if err == nil {
			err = os.Remove(program)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Start(context.Background(), nil)
		var attach *hawk.AttachError
		var all hawk.Diagnostics
		if !errors.As(err, &attach) || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &all) ||
			!strings.HasPrefix(attach.Probe, "uprobe:"+program) {
			t.Errorf("%s: %#v", probe, err)
		}
	}
}

func TestMissingProcess(t *testing.T) {
	privileged(t)
	const never = 1 << 22 // the kernel gives no process this number
	for name, c := range map[string]struct {
		co hawk.CompileOptions
		ro hawk.RunOptions
	}{
		"process": {hawk.CompileOptions{PID: never}, hawk.RunOptions{}},
		"command": {hawk.CompileOptions{}, hawk.RunOptions{Child: true, Command: []string{"/nosuch/command"}}},
		"name":    {hawk.CompileOptions{}, hawk.RunOptions{Child: true, Command: []string{"no-such-command"}}},
	} {
		p, err := compile(t, ticks, &c.co)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Start(context.Background(), &c.ro)
		var attach *hawk.AttachError
		if !errors.As(err, &attach) || !errors.Is(err, fs.ErrNotExist) || attach.Probe != "" {
			t.Errorf("%s: %#v", name, err)
		} else if !strings.HasPrefix(err.Error(), "hawk: ") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
	}
	if _, err := compile(t, ticks, &hawk.CompileOptions{PID: -1}); err == nil {
		t.Error("a process with a number below 0")
	}
}

func TestNothingToAttach(t *testing.T) {
	privileged(t)
	for _, script := range []string{
		"", "// nothing", "config = { missing_probes = ignore } kprobe:no_such_function { }",
	} {
		p, err := compile(t, script, nil)
		if err != nil {
			t.Errorf("%q: %v", script, err)
			continue
		}
		if s, err := p.Start(context.Background(), nil); err == nil {
			s.Close()
			t.Errorf("%q was started", script)
		} else if err.Error() != "hawk: No probes to attach" {
			t.Errorf("%q: %v", script, err)
		}
	}
}

// TestChild: commands have to be allowed. The message names the package once.
func TestChild(t *testing.T) {
	p, err := compile(t, ticks, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Start(context.Background(), &hawk.RunOptions{Command: []string{"true"}})
	if !errors.Is(err, hawk.ErrPolicy) || strings.Count(err.Error(), "hawk: ") != 1 {
		t.Errorf("%v", err)
	}
}

func TestEmptyCommand(t *testing.T) {
	s := start(t, "begin { exit(); }", nil, &hawk.RunOptions{Command: []string{}})
	if r, err := s.Wait(); err != nil || r.Reason != hawk.Exited {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestVerifierError(t *testing.T) {
	privileged(t)
	p, err := compile(t, "interval:ms:1 {\n  @n++; }", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Spoilt().Start(context.Background(), nil)
	var refused *hawk.VerifierError
	if !errors.As(err, &refused) || !errors.Is(err, hawk.ErrVerifier) || refused.Tail == "" ||
		refused.Span.Start.Line == 0 {
		t.Errorf("%#v", err)
	}
}

func TestBindErrors(t *testing.T) {
	for name, script := range map[string]string{"a recorded machine": "begin { }"} {
		m, err := hawk.Recorded(fstest.MapFS{"uname": {Data: []byte("x86_64 5.10.0\n")}, "features": {}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := compile(t, script, &hawk.CompileOptions{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Start(context.Background(), nil)
		var bind *hawk.BindError
		if !errors.As(err, &bind) || !errors.Is(err, hawk.ErrBind) || bind.Fact == "" || bind.Want == "" {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func TestBudget(t *testing.T) {
	s := start(t, ticks, nil, &hawk.RunOptions{Budget: 1e-9})
	var last error
	for _, err := range s.Events() {
		last = err
	}
	r, err := s.Wait()
	if !errors.Is(err, hawk.ErrBudget) || !errors.Is(last, hawk.ErrBudget) || r.Reason != hawk.OverBudget {
		t.Errorf("%+v, %v, %v", r, err, last)
	}
	if len(r.Stats.Programs) == 0 || r.Stats.Programs[0].Runs == 0 || r.Stats.Programs[0].Probe == "" {
		t.Errorf("programs %+v", r.Stats.Programs)
	}
}

func TestPolicyErrors(t *testing.T) {
	_, err := compile(t, `begin { exit(); }`, &hawk.CompileOptions{Policy: &hawk.Policy{Deny: []string{"exit"}}})
	var ds hawk.Diagnostics
	if !errors.Is(err, hawk.ErrPolicy) || !errors.Is(err, hawk.ErrScript) ||
		!errors.As(err, &ds) || ds[0].Code != "policy" {
		t.Errorf("%#v", err)
	}
}

// TestRunOptions: what options cannot be is said, not taken for their zero values.
func TestRunOptions(t *testing.T) {
	p, err := compile(t, `begin { exit() }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]*hawk.RunOptions{
		"Overflow(7)": {Overflow: 7}, "Overflow(-1)": {Overflow: -1},
		"Budget: -1": {Budget: -1}, "Budget: NaN": {Budget: math.NaN()},
	} {
		if _, err := p.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// full is a file without room.
type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFailedOutput: a run whose output fails was stopped.
func TestFailedOutput(t *testing.T) {
	s := start(t, `interval:ms:1 { print(1) }`, nil, &hawk.RunOptions{Output: hawk.TextOutput(full{}, nil)})
	if r, err := s.Wait(); !errors.Is(err, errFull) || r.Reason != hawk.Stopped {
		t.Errorf("%+v %v", r, err)
	}
}
