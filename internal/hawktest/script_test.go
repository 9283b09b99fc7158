package hawktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/hawktest/vm"
	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

// vmKernels are the kernels of TestVM.
var vmKernels = []string{"5.10", "6.1", "6.12"}

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
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
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

func runCases(t *testing.T, choose func(*Case) bool) {
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	narrowed, err := regexp.Compile(os.Getenv("HAWK_CASE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range loadCases(t) {
		if choose(c) && narrowed.MatchString(c.Name) {
			t.Run(c.Name, func(t *testing.T) { c.Run(t, hawk) })
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

// TestVM runs all cases, and the kernel tests of other packages, in a VM for each kernel. $HAWK_VM asks for it: it is "all" or the name of a kernel.
func TestVM(t *testing.T) {
	want := os.Getenv("HAWK_VM")
	if want == "" {
		t.Skip("takes minutes; set HAWK_VM=all or HAWK_VM=6.12, or say make vm-test")
	}
	kernels := vmKernels
	if want != "all" {
		kernels = strings.Split(want, ",")
	}
	temp := t.TempDir()
	payloads := map[string]string{} // by architecture
	passed := map[string]bool{}
	for _, name := range kernels {
		t.Run(name, func(t *testing.T) {
			kernel, err := vm.FindKernel(name)
			if err != nil {
				t.Fatal(err)
			}
			if payloads[kernel.Arch] == "" {
				dir := filepath.Join(temp, kernel.Arch)
				if err := Payload(dir, kernel.Arch); err != nil {
					t.Fatal(err)
				}
				payloads[kernel.Arch] = dir
			}
			runVM(t, kernel, payloads[kernel.Arch], passed)
		})
	}

	// A case that is skipped everywhere tests nothing, however green it looks.
	if t.Failed() || want != "all" || os.Getenv("HAWK_CASE") != "" {
		return
	}
	for _, c := range loadCases(t) {
		if passed[c.Name] {
			continue
		}
		if missing, err := c.Missing(); missing != nil || err != nil {
			t.Errorf("%s ran nowhere: not here (%v), not in a VM", c.Name, errors.Join(missing, err))
		}
	}
}

// runVM runs the cases on one kernel and adds those that passed.
func runVM(t *testing.T, kernel vm.Kernel, payload string, passed map[string]bool) {
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
	defer machine.Close()
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
		packages = slices.DeleteFunc(packages, func(pkg string) bool { return !strings.HasPrefix(pkg, "internal/hawktest/") }) // they know no cases
	}
	for _, pkg := range append([]string{"internal/hawktest"}, packages...) {
		t.Run(pkg, func(t *testing.T) {
			pattern := "^TestKernel/" + caseFilter()
			if pkg == "internal/hawktest" {
				pattern = "^(TestScript|TestKernel)$/" + caseFilter()
			}
			var out, errs bytes.Buffer
			status, err := machine.Run(ctx, wire.Command{
				Args: []string{"/hawk/tests/" + testBinary(pkg), "-test.v", "-test.run", pattern, "-test.timeout", "20m"},
				Env: []string{
					"HAWK_IN_VM=" + kernel.Name, "HAWK_BIN=/usr/local/bin/hawk", "HAWK_SCRIPTS=/hawk/script", "HAWK_CORPUS=/hawk/corpus", "HAWK_CC=/hawk/cc", "HAWK_GLIBC=/hawk/glibc", "HAWK_AHEAD=/hawk/ahead",
				},
				Dir: "/hawk/src/" + pkg,
			}, &out, &errs)
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
			}
			results := parseResults(out.String())
			for _, r := range results {
				if r.outcome == "PASS" {
					passed[filepath.Base(r.name)] = true
				}
				t.Run(r.name, func(t *testing.T) { r.report(t) })
			}
			if status != 0 && !slices.ContainsFunc(results, func(r result) bool { return r.outcome == "FAIL" }) || len(results) == 0 {
				t.Errorf("the tests ended with status %d\n%s%s", status, out.Bytes(), errs.Bytes())
			}
		})
	}
}

// caseFilter is the pattern of subtests to run in a VM: cases, scripts of the corpus. $HAWK_CASE narrows it, and the cases on the running kernel.
func caseFilter() string { return "(" + os.Getenv("HAWK_CASE") + ")" }

// A result is how one test ended in a VM.
type result struct {
	name    string // without the name of the test function
	outcome string // PASS, FAIL or SKIP
	output  string
}

func (r result) report(t *testing.T) {
	switch r.outcome {
	case "PASS":
	case "SKIP":
		t.Skip(strings.TrimSpace(r.output))
	default:
		t.Error(r.output)
	}
}

var (
	startLine = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)$`)
	endLine   = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
)

// caseTest says whether a test does nothing but run cases, of which there may be none.
func caseTest(name string) bool { return name == "TestScript" || name == "TestKernel" }

// parseResults reads the subtests' results from the output of a verbose test run. A test that has no end there, since the tests crashed or were
// stopped in it, has failed.
func parseResults(out string) []result {
	var order []string
	output, outcome, hasSub := map[string]*strings.Builder{}, map[string]string{}, map[string]bool{}
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
		r := result{name: name, outcome: outcome[name], output: output[name].String()}
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
