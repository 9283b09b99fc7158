package hawktest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/vm"
	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

// hawkOnce builds hawk once for all tests of this package.
var hawkOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hawk")
	if err != nil {
		return "", err
	}
	built = dir
	return BuildHawk(dir)
})

// built is the directory that hawkOnce has made.
var built string

func TestMain(m *testing.M) {
	// Under nohup the cases would start hawk with the signal ignored, and hawk leaves it so.
	if signal.Ignored(unix.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
	if err := keepDescriptors(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// keepDescriptors keeps what the caller left open beside the three streams from the programs of the cases, which are
// known by the numbers of what they open.
func keepDescriptors() error {
	open, err := os.ReadDir("/proc/self/fd")
	for _, d := range open {
		if fd, err := strconv.Atoi(d.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

func loadCases(t *testing.T) []*Case {
	t.Helper()
	dir := os.Getenv("HAWK_SCRIPTS")
	if dir == "" {
		root, err := Root()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, ScriptDir)
	}
	cases, err := Cases(dir)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// chosenCases are those that $HAWK_CHOICE chooses. For a VM the host does it, and gives names.
func chosenCases(t *testing.T) []*Case {
	t.Helper()
	if InVM() {
		return loadCases(t)
	}
	choice, err := Chosen()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := choice.Of(loadCases(t))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func runCases(t *testing.T, choose func(*Case) bool) {
	t.Helper()
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	narrowed, err := regexp.Compile(os.Getenv("HAWK_CASE"))
	if err != nil {
		t.Fatal(err)
	}
	again := mostAgain
	if os.Getenv("HAWK_CASE") != "" || InVM() { // somebody looks at it; in a VM the host runs it again
		again = 0
	}
	for _, c := range chosenCases(t) {
		if choose(c) && narrowed.MatchString(c.Name) {
			t.Run(c.Name, func(t *testing.T) {
				if c.Run(t, hawk, again > 0) {
					again--
				}
			})
		}
	}
}

// TestScript runs the cases that need neither privileges nor a particular kernel.
func TestScript(t *testing.T) {
	runCases(t, func(c *Case) bool { return len(c.Needs) == 0 })
}

// TestKernel runs the cases that need something, on the running kernel.
func TestKernel(t *testing.T) {
	runCases(t, func(c *Case) bool { return len(c.Needs) > 0 })
}

// TestVM runs the cases that need something, and the kernel tests of other packages, in a VM with
// each of the kernels that $HAWK_VM names, separated by commas: all, or what $HAWK_CHOICE chooses.
func TestVM(t *testing.T) {
	want := os.Getenv("HAWK_VM")
	if want == "" {
		t.Skip("takes minutes; set HAWK_VM=6.12, or say make vm-test")
	}
	for _, name := range strings.Split(want, ",") {
		t.Run(name, func(t *testing.T) {
			kernel, err := vm.FindKernel(name)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := sharedPayload(t, kernel.Arch)
			if err != nil {
				t.Fatal(err)
			}
			runVM(t, kernel, payload)
		})
	}
}

// TestRanSomewhere fails for cases that were skipped here and passed in no VM: such a case tests
// nothing, however green it looks. The runs of TestVM before it share its $HAWK_WORK.
func TestRanSomewhere(t *testing.T) {
	work := os.Getenv("HAWK_WORK")
	if work == "" {
		t.Skip("asks what passed in the VMs of one make test")
	}
	left, _ := filepath.Glob(filepath.Join(work, "left-vm-*"))
	if len(left) > 0 {
		t.Logf("there was no time for %s, which may show what is not asked for here", left)
	}
	passed := map[string]bool{}
	lists, _ := filepath.Glob(filepath.Join(work, "passed-*"))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.Lines(string(text)) {
			passed[strings.TrimSpace(name)] = true
		}
	}
	for _, c := range loadCases(t) {
		if len(left) > 0 && !c.noVM() {
			continue
		}
		if missing, err := c.Missing(); !passed[c.Name] && (missing != nil || err != nil) {
			t.Errorf("%s ran nowhere: not here (%v), not in a VM", c.Name, errors.Join(missing, err))
		}
	}
}

// sharedPayload makes the payload of an architecture. Tests with the same $HAWK_WORK make it once for all of them.
func sharedPayload(t *testing.T, arch string) (string, error) {
	work := os.Getenv("HAWK_WORK")
	if work == "" {
		dir := filepath.Join(t.TempDir(), arch)
		return dir, Payload(dir, arch)
	}
	lock, err := os.Create(filepath.Join(work, arch+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	dir := filepath.Join(work, arch)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := Payload(dir+".tmp", arch); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir+".tmp"))
	}
	return dir, os.Rename(dir+".tmp", dir)
}

// runVM runs the cases on one kernel and notes those that passed in $HAWK_WORK.
func runVM(t *testing.T, kernel vm.Kernel, payload string) {
	var passed []string
	defer func() {
		if work := os.Getenv("HAWK_WORK"); work != "" {
			if err := os.WriteFile(filepath.Join(work, "passed-"+kernel.Name), []byte(strings.Join(passed, "\n")),
				0o644); err != nil {
				t.Error(err)
			}
		}
	}()
	ctx := context.Background()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-10*time.Second))
		defer cancel()
	}
	machine, err := vm.Start(ctx, vm.Config{Kernel: kernel, Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		machine.Close()
		t.Logf("the VM kept a processor busy for %.0f s", machine.Busy().Seconds())
	}()
	t.Logf("kernel %s", machine.Release)

	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := KernelPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("HAWK_CASE") != "" {
		// they know no cases
		packages = slices.DeleteFunc(packages, func(pkg string) bool {
			return !strings.HasPrefix(pkg, "internal/hawktest/")
		})
	}
	// Twice: what is there before the tests, and what is there after them that was not.
	remains := func(t *testing.T) {
		var out bytes.Buffer
		status, err := machine.Run(ctx, wire.Command{
			Args: []string{"/hawk/tests/" + testBinary(remainsPackage), "-test.v", "-test.run", "^TestRemains$"},
			Env:  []string{"HAWK_IN_VM=" + kernel.Name, "HAWK_REMAINS=/run/remains"},
		}, &out, &out)
		if err != nil || status != 0 {
			t.Errorf("%v, status %d\n%s", err, status, out.Bytes())
		}
	}
	remains(t)
	defer t.Run("remains", remains)

	run := func(t *testing.T, pkg, pattern string) []result {
		var out, errs bytes.Buffer
		compiled := slices.DeleteFunc(sortedKeys(compilers), func(name string) bool {
			return !compilesFor(name, kernel.Arch)
		})
		status, err := machine.Run(ctx, wire.Command{
			Args: []string{"/hawk/tests/" + testBinary(pkg), "-test.v", "-test.run", pattern, "-test.timeout", "55m"},
			Env: []string{
				"HAWK_IN_VM=" + kernel.Name, "HAWK_CHOICE=" + os.Getenv("HAWK_CHOICE"),
				"HAWK_COMPILERS=" + strings.Join(compiled, " "), "HAWK_BIN=/usr/local/bin/hawk",
				"HAWK_SCRIPTS=/hawk/script", "HAWK_CORPUS=/hawk/corpus", "HAWK_CC=/hawk/cc", "HAWK_GLIBC=/hawk/glibc",
				"HAWK_AHEAD=/hawk/ahead",
			},
			Dir: "/hawk/src/" + pkg,
		}, &out, &errs)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
		}
		results := parseResults(out.String())
		failed := slices.ContainsFunc(results, func(r result) bool { return r.outcome == "FAIL" })
		if status != 0 && !failed || len(results) == 0 {
			t.Errorf("the tests ended with status %d\n%s%s", status, out.Bytes(), errs.Bytes())
		}
		return results
	}
	for _, pkg := range append([]string{"internal/hawktest"}, packages...) {
		t.Run(pkg, func(t *testing.T) {
			pattern := "^TestKernel/" + caseFilter()
			if pkg == "internal/hawktest" {
				pattern = "^TestKernel$/" + caseFilter() // what needs nothing of a kernel has run on the host
				if os.Getenv("HAWK_CASE") == "" {
					pattern = "^TestKernel$/" + names(t)
				}
			}
			results := run(t, pkg, pattern)
			logSlowest(t, results)
			if names := failures(results); pkg == "internal/hawktest" && len(names) > 0 && len(names) <= mostAgain {
				t.Logf("failed, and run again by themselves: %s", strings.Join(names, ", "))
				results = secondTry(results, run(t, pkg, "^TestKernel$/^("+strings.Join(names, "|")+")$"))
			}
			for _, r := range results {
				if r.outcome == "PASS" {
					passed = append(passed, filepath.Base(r.name))
				}
				t.Run(r.name, func(t *testing.T) { r.report(t) })
			}
		})
	}
}

// names is the pattern of the chosen cases.
func names(t *testing.T) string {
	var names []string
	for _, c := range chosenCases(t) {
		names = append(names, regexp.QuoteMeta(c.Name))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// mostAgain is how many cases may fail and be run again. An emulated machine stands still
// for a moment now and then, and what others do on a real one, the tests of other packages
// among them, makes the kernel skip an event; that befalls one case or another, more have a reason.
const mostAgain = 6

func failures(results []result) (names []string) {
	for _, r := range results {
		if r.outcome == "FAIL" {
			names = append(names, regexp.QuoteMeta(filepath.Base(r.name)))
		}
	}
	return names
}

// secondTry has the results of a second run in place of those that failed.
func secondTry(first, second []result) []result {
	out := slices.Clone(first)
	for i, r := range out {
		j := slices.IndexFunc(second, func(s result) bool { return s.name == r.name })
		if r.outcome == "FAIL" && j >= 0 {
			out[i] = second[j]
			out[i].first = r.output
		}
	}
	return out
}

// logSlowest says where the time went.
func logSlowest(t *testing.T, results []result) {
	sorted := slices.SortedFunc(slices.Values(results), func(a, b result) int {
		return cmp.Compare(b.seconds, a.seconds)
	})
	all := 0.0
	for _, r := range results {
		all += r.seconds
	}
	t.Logf("%d tests, %.0f s", len(results), all)
	for _, r := range sorted[:min(len(sorted), 12)] {
		t.Logf("%6.1f s %s", r.seconds, r.name)
	}
}

// caseFilter is the pattern of subtests to run in a VM: cases, scripts of the corpus. $HAWK_CASE
// narrows it, and the cases on the running kernel.
func caseFilter() string { return "(" + os.Getenv("HAWK_CASE") + ")" }

// A result is how one test ended in a VM.
type result struct {
	name    string // without the name of the test function
	outcome string // PASS, FAIL or SKIP
	output  string
	seconds float64
	first   string // what a first try that failed said
}

func (r result) report(t *testing.T) {
	switch r.outcome {
	case "PASS":
		if r.first != "" {
			t.Logf("%s passed when it was run again; at first:\n%s", r.name, r.first)
		}
	case "SKIP":
		t.Skip(strings.TrimSpace(r.output))
	default:
		t.Error(r.first + r.output)
	}
}

var (
	startLine = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)$`)
	endLine   = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)
)

// caseTest says whether a test does nothing but run cases, of which there may be none.
func caseTest(name string) bool { return name == "TestScript" || name == "TestKernel" }

// parseResults reads the subtests' results from the output of a verbose test run. A test that has
// no end there, since the tests crashed or were stopped in it, has failed.
func parseResults(out string) []result {
	var order []string
	output, outcome := map[string]*strings.Builder{}, map[string]string{}
	hasSub, seconds := map[string]bool{}, map[string]float64{}
	current := ""
	for line := range strings.Lines(out) {
		text := strings.TrimRight(line, "\r\n")
		if m := startLine.FindStringSubmatch(text); m != nil {
			current = m[1]
			if output[current] == nil {
				output[current] = &strings.Builder{}
				order = append(order, current)
				for i, c := range current {
					if c == '/' {
						hasSub[current[:i]] = true
					}
				}
			}
		} else if m := endLine.FindStringSubmatch(text); m != nil {
			outcome[m[2]] = m[1]
			seconds[m[2]], _ = strconv.ParseFloat(m[3], 64)
			current = m[2]
		} else if b := output[current]; b != nil {
			b.WriteString(line)
		}
	}
	var results []result
	for _, name := range order {
		if (hasSub[name] || caseTest(name)) && outcome[name] != "" {
			continue
		}
		r := result{name: name, outcome: outcome[name], output: output[name].String(), seconds: seconds[name]}
		if _, sub, ok := strings.Cut(name, "/"); ok {
			r.name = sub
		}
		if r.outcome == "" {
			r.outcome = "FAIL"
		}
		results = append(results, r)
	}
	return results
}
