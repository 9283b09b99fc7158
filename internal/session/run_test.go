package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// workload is a command of this test's own: so many calls of getppid(2).
const workload = "HAWK_TEST_GETPPID"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(workload)); err == nil {
		for range n {
			unix.Syscall(unix.SYS_GETPPID, 0, 0, 0)
		}
		return
	}
	os.Exit(m.Run())
}

// A log is what a run wrote; it can be waited for.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if l.seen != nil && strings.Contains(l.text.String(), l.want) {
		close(l.seen)
		l.seen = nil
	}
	return len(p), nil
}

// A tracing is one run for a test.
type tracing struct {
	ctx      context.Context
	command  []string
	pid      int
	json     bool
	dryRun   bool
	unsafe   bool
	announce bool
	often    float64
	session  atomic.Pointer[session.Session]
	stdout   io.Writer // nil: kept
	out      log
	stderr   log
	result   session.Result
	err      error
}

// needsBPF skips a test where nothing can be loaded.
func needsBPF(t *testing.T) {
	t.Helper()
	fd, err := bpf.MapCreate(bpf.MapSpec{Type: 27, MaxEntries: unix.Getpagesize()})
	if err != nil {
		t.Skipf("creating a ring buffer: %v (needs root and Linux 5.8)", err)
	}
	unix.Close(fd)
}

// Run compiles and runs a script, with children of this process let in on
// what the machine does not allow.
func (tr *tracing) run(t *testing.T, script string) {
	t.Helper()
	needsBPF(t)
	po := probe.Options{Machine: machine.Host(), MaxProbes: 1024, PID: tr.pid, PIDFilter: tr.pid > 0, Unsafe: tr.unsafe}
	p, ds := session.Compile(source.NewFile("stdin", script), compile.Options{Probe: po})
	if p == nil {
		var b strings.Builder
		ds.Print(&b, source.PrintOptions{})
		t.Fatalf("%s\n%s", script, &b)
	}
	s, err := session.Load(session.Spec{Program: p, Probe: po, Command: tr.command, PID: tr.pid})
	if err != nil {
		tr.err = err
		return
	}
	defer s.Close()
	tr.session.Store(s)
	o := session.Options{
		Stderr: &tr.stderr, DryRun: tr.dryRun, WholeCommands: tr.json, Announce: tr.announce, Often: tr.often,
	}
	var w io.Writer = &tr.out
	if tr.stdout != nil {
		w = tr.stdout
	}
	if tr.json {
		o.Sink = output.NewJSON(w, &tr.stderr, output.Options{})
	} else {
		o.Sink = output.NewText(w, &tr.stderr, output.Options{})
	}
	ctx := tr.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	tr.result, tr.err = s.Run(ctx, o)
}

func (tr *tracing) check(t *testing.T, out, stderr string, status int) {
	t.Helper()
	if tr.err != nil {
		t.Errorf("error: %v", tr.err)
	}
	if got := tr.out.text.String(); got != out {
		t.Errorf("output %q, want %q", got, out)
	}
	if got := tr.stderr.text.String(); got != stderr {
		t.Errorf("stderr %q, want %q", got, stderr)
	}
	if got := tr.result.Status; got != status {
		t.Errorf("status %d, want %d", got, status)
	}
}

func TestScripts(t *testing.T) {
	for _, c := range []struct {
		name, script, out, stderr string
		status                    int
	}{
		{"maps in order of names", `begin { @b = 1; @a = 2; @ = 3; @A = 4; exit(); }`,
			"\n\n@: 3\n@A: 4\n@a: 2\n@b: 1\n", "Attached 1 probe\n", 0},
		{"nothing after exit", `begin { printf("a\n"); exit(4); printf("b\n"); } begin { printf("c\n"); } end { ` +
			`printf("d\n"); }`,
			"a\nd\n\n\n", "Attached 3 probes\n", 4},
		{"the last exit wins", `begin { exit(300); } end { exit(5); }`, "\n\n", "Attached 2 probes\n", 5},
		{"low bits of a status", `begin { exit(300); }`, "\n\n", "Attached 1 probe\n", 44},
		{"ends in the order of the script", `end { printf("1\n"); } begin { printf("0\n"); } end { printf("2\n"); }`,
			"0\n1\n2\n\n\n", "Attached 3 probes\n", 0},
		{"print reads when handled", `begin { @n = 1; print(@n); @n = 2; exit(); }`, "@n: 2\n\n\n@n: 2\n",
			"Attached 1 probe\n", 0},
		{"scalar that was never written", `begin { print(@x); print(@s); clear(@x); exit(); @x = 1; @s = "a"; }`,
			"@x: 0\n@s: \n\n\n", "Attached 1 probe\n", 0},
		{"clear", `begin { @k[1] = 1; @k[2] = 2; @x = 3; clear(@k); clear(@x); }`, "\n\n", "Attached 1 probe\n", 0},
		{"zero", `begin { @k["a"] = 1; @k["b"] = 2; @x = 3; zero(@k); zero(@x); }`, "\n\n@k[a]: 0\n@k[b]: 0\n@x: 0\n",
			"Attached 1 probe\n", 0},
		{"elements deleted in place", `begin { @k[1] = 1; @k[2] = 2; @k[3] = 3; delete(@k, 2); print(@k); }`,
			"@k[1]: 1\n@k[3]: 3\n\n\n@k[1]: 1\n@k[3]: 3\n", "Attached 1 probe\n", 0},
		{"aggregations", `begin { @c = count(); @s = sum(-5); @mi = min(-3); @av = avg(10); @av = avg(5); @st = ` +
			`stats(4); @st = stats(7); @k[1] = max(7); }`,
			"\n\n@av: 7\n@c: 1\n@k[1]: 7\n@mi: -3\n@s: -5\n@st: { .count = 2, .average = 5, .total = 11 }\n",
			"Attached 1 probe\n", 0},
		{"division by zero", `begin { $z = 0; $a = 5 / $z; print($a); }`, "1\n\n\n", `Attached 1 probe
stdin:1:22-28: WARNING: Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.
begin { $z = 0; $a = 5 / $z; print($a); }
                     ~~~~~~
`, 0},
		{"full map", `config = { max_map_keys=2 } begin { @x[1]=1; @x[2]=2; @x[3]=3; }`, "\n\n@x[1]: 1\n@x[2]: 2\n",
			"Attached 1 probe\n" +
				"stdin:1:55-62: WARNING: Map full; can't update element. Try increasing max_map_keys config or " +
				"manually setting the max entries in a map declaration e.g. `let @a = hash(5000)`\n" +
				"Additional Info - helper: map_update_elem, retcode: -7\n" +
				"config = { max_map_keys=2 } begin { @x[1]=1; @x[2]=2; @x[3]=3; }\n" + strings.Repeat(" ", 54) +
				"~~~~~~~\n", 0},
		{"messages", `begin { errorf("bad %d", 5); warnf("hmm %s", "x"); exit(3); }`, "\n\n",
			"Attached 1 probe\nstdin:1:9-28: ERROR: bad 5\nstdin:1:30-50: WARNING: hmm x\n", 3},
		{"no maps at the end", `config = { print_maps_on_exit=false } begin { @x = 1; }`, "\n\n",
			"Attached 1 probe\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tr tracing
			tr.run(t, c.script)
			tr.check(t, c.out, c.stderr, c.status)
		})
	}
}

func TestJSON(t *testing.T) {
	tr := tracing{json: true, unsafe: true}
	tr.run(t, `begin { printf("hi %d\n", 3); @k["a",1]=2; @k["b",2]=5; print((1,"x",(2,3))); system("echo a; echo `+
		`b"); errorf("bad"); }`)
	tr.check(t, `{"type": "attached_probes", "count": 1, "data": {"probes": 1}}
{"type": "printf", "data": "hi 3\n"}
{"type": "value", "data": [1,"x",[2,3]]}
{"type": "syscall", "data": "a\nb\n"}
{"type": "errorf", "msg": "bad", "filename": "stdin", "line": 1, "col": 105}
{"type": "map", "data": {"@k": {"a,1": 2, "b,2": 5}}}
`, "", 0)
}

func TestSystem(t *testing.T) {
	tr := tracing{unsafe: true}
	tr.run(t, `begin { printf("before\n"); system("echo %s; echo err >&2; exit 3", "out"); printf("after\n"); }`)
	tr.check(t, "before\nout\nafter\n\n\n", "Attached 1 probe\nerr\nstdin:1:29-75: WARNING: command exited "+
		"with code 3\n", 0)
}

func TestDryRun(t *testing.T) {
	tr := tracing{dryRun: true, command: []string{"false"}}
	tr.run(t, `begin { printf("x\n"); @x = 1; } interval:s:9 { @y = 1; } end { printf("y\n"); }`)
	tr.check(t, "", "", 0)
}

func TestCommand(t *testing.T) {
	tr := tracing{command: []string{"sh", "-c", "exit 7"}}
	tr.run(t, `begin { @begin = cpid > 0; } interval:s:100 { exit(); } end { printf("end %d\n", cpid > 0); }`)
	tr.check(t, "end 1\n\n\n@begin: true\n", "Attached 3 probes\n", 0)
}

// TestCommandIsAnnounced has it said that all is attached before the command can print anything.
func TestCommandIsAnnounced(t *testing.T) {
	var waiting []string
	tr := tracing{command: []string{"sleep", "1000"}, json: true, stdout: writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "attached_probes") {
			waiting = commandsOf(t)
		}
		return len(p), nil
	})}
	tr.run(t, `begin { @x = 1; }`)
	if len(waiting) == 0 || slices.Contains(waiting, "sleep\x001000\x00") {
		t.Errorf("children at that time: %q, want one that is to execute the command", waiting)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// commandsOf is what the children of this process execute.
func commandsOf(t *testing.T) (lines []string) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lists {
		pids, _ := os.ReadFile(name) // the thread may have ended
		for pid := range strings.FieldsSeq(string(pids)) {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err != nil {
				t.Error(err)
			}
			lines = append(lines, string(line))
		}
	}
	return lines
}

// A script without anything to wait for does not wait for its command.
func TestCommandIsEnded(t *testing.T) {
	tr := tracing{command: []string{"sleep", "1000"}}
	tr.run(t, `begin { @x = 1; }`)
	tr.check(t, "\n\n@x: 1\n", "Attached 1 probe\n", 0)
}

func TestCommandCannotRun(t *testing.T) {
	name := t.TempDir() + "/notascript"
	if err := os.WriteFile(name, []byte("neither ELF nor #!"), 0o777); err != nil {
		t.Fatal(err)
	}
	tr := tracing{command: []string{name}}
	tr.run(t, `begin { @x = 1; }`)
	if !errors.Is(tr.err, unix.ENOEXEC) {
		t.Errorf("error %v", tr.err)
	}
	tr = tracing{command: []string{"no-such-command"}}
	tr.run(t, `begin { @x = 1; }`)
	if err := (*session.CommandError)(nil); !errors.As(tr.err, &err) ||
		!strings.Contains(err.Error(), "Path 'no-such-command' does not exist or is not executable") {
		t.Errorf("error %v", tr.err)
	}
}

// Every record arrives or is counted as lost; while all of them fit the ring
// buffer none is.
func TestEveryRecordIsAccountedFor(t *testing.T) {
	for _, calls := range []int{10_000, 100_000} {
		t.Setenv(workload, strconv.Itoa(calls))
		tr := tracing{command: []string{os.Args[0]}}
		tr.run(t, `rawtracepoint:sys_enter /pid == cpid && arg1 == `+strconv.Itoa(unix.SYS_GETPPID)+
			`/ { printf("%d %s\n", pid, comm); @ = count(); }`)
		if tr.err != nil {
			t.Fatal(tr.err)
		}
		text, _, _ := strings.Cut(tr.out.text.String(), "\n\n\n")
		arrived, lost := strings.Count(text, "\n")+1, 0
		if _, total, ok := strings.Cut(tr.stderr.text.String(), "Total lost event count: "); ok {
			fmt.Sscan(total, &lost)
		}
		if arrived+lost != calls || calls == 10_000 && lost > 0 {
			t.Errorf("%d calls: %d records arrived, %d were lost", calls, arrived, lost)
		}
		if want := fmt.Sprintf("\n@: %d\n", calls); !strings.HasSuffix(tr.out.text.String(), want) {
			t.Errorf("no %q at the end", want)
		}
	}
}

func TestTarget(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	attached := make(chan struct{})
	tr := tracing{pid: cmd.Process.Pid}
	tr.stderr.want, tr.stderr.seen = "Attached", attached
	go func() {
		<-attached
		cmd.Process.Kill()
	}()
	tr.run(t, `interval:s:100 { exit(9); } end { printf("end\n"); }`)
	if tr.stderr.seen != nil {
		cmd.Process.Kill()
	}
	tr.check(t, "end\n\n\n", "Attached 2 probes\n", 0)
}

// cancelWhen ends a run once its output contains something.
func (tr *tracing) cancelWhen(text string) {
	ctx, cancel := context.WithCancel(context.Background())
	tr.ctx = ctx
	tr.out.want, tr.out.seen = text, make(chan struct{})
	seen := tr.out.seen
	go func() {
		<-seen
		cancel()
	}()
}

func TestCancel(t *testing.T) {
	var tr tracing
	tr.cancelWhen("tick")
	tr.run(t, `interval:ms:20 { if (!@n) { printf("tick\n"); } @n = 1; } end { printf("end\n"); }`)
	tr.check(t, "tick\nend\n\n\n@n: 1\n", "Attached 2 probes\n", 0)
}

func TestSelfSignal(t *testing.T) {
	var tr tracing
	attached := make(chan struct{})
	tr.stderr.want, tr.stderr.seen = "Attached", attached
	go func() {
		<-attached
		tr.session.Load().Signal()
	}()
	tr.run(t, `self:signal:SIGUSR1 { printf("signal\n"); exit(2); }`)
	tr.check(t, "signal\n\n\n", "Attached 1 probe\n", 2)
}

func TestStop(t *testing.T) {
	var tr tracing
	attached := make(chan struct{})
	tr.stderr.want, tr.stderr.seen = "Attached", attached
	go func() {
		<-attached
		tr.session.Load().Stop()
	}()
	tr.run(t, `interval:s:100 { exit(9); } end { printf("end\n"); }`)
	tr.check(t, "end\n\n\n", "Attached 2 probes\n", 0)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputErrors(t *testing.T) {
	script := `interval:ms:10 { printf("x\n"); } end { @x = 1; }`
	full := tracing{stdout: failing{unix.ENOSPC}}
	full.run(t, script)
	if !errors.Is(full.err, unix.ENOSPC) {
		t.Errorf("full disk: %v", full.err)
	}
	closed := tracing{stdout: failing{unix.EPIPE}}
	closed.run(t, script)
	if closed.err != nil || closed.result.Status != 0 {
		t.Errorf("closed pipe: %v, status %d", closed.err, closed.result.Status)
	}
}

func TestKernelStack(t *testing.T) {
	var tr tracing
	tr.run(t, `begin { print(kstack(1)); print(kstack(raw, 1)); print(kstack(perf, 1)); @[kstack(1)] = count(); }`)
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	out := tr.out.text.String()
	if strings.Contains(out, "bpf_prog_") || !strings.HasPrefix(out, "\n        __") || !strings.Contains(out, "+") ||
		strings.Contains(out, "[unknown]") {
		t.Errorf("output %q", out)
	}
}

// TestHotProbes: a probe that fires very often is reported once, without being asked;
// not a clock, whose rate is known, and not if nobody wants to hear it.
func TestHotProbes(t *testing.T) {
	const script = `rawtracepoint:sys_enter { @ = count(); } interval:ms:10 { @n++; if (@n > 100) { exit(); } }`
	hot := regexp.MustCompile(`^Attached 2 probes\nWARNING: rawtracepoint:(vmlinux:)?sys_enter fires [0-9,]+ times ` +
		`a second, which takes [0-9]+ % of a CPU; --max-overhead sets a limit\n$`)
	tr := &tracing{announce: true, often: 0.001}
	tr.run(t, script)
	if got := tr.stderr.text.String(); !hot.MatchString(got) {
		t.Errorf("stderr is %q", got)
	}
	tr = &tracing{often: 0.001}
	tr.run(t, script)
	if got := tr.stderr.text.String(); got != "Attached 2 probes\n" {
		t.Errorf("without announcements, stderr is %q", got)
	}
}
