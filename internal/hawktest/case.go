package hawktest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// A Case is one script.
type Case struct {
	Name   string // file name without extension
	Path   string
	Needs  []string // words of its needs lines; empty: it runs anywhere
	Varies []string // words of its varies lines: what it shows differs between these
}

// Cases reads the cases of a directory, in the order of their names.
func Cases(dir string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no cases in %s", dir)
	}
	var cases []*Case
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return nil, err
		}
		c := &Case{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Path: path}
		for line := range strings.Lines(string(archive.Comment)) {
			words := strings.Fields(line)
			switch {
			case len(words) > 0 && words[0] == "needs":
				c.Needs = append(c.Needs, words[1:]...)
			case len(words) > 0 && words[0] == "varies":
				c.Varies = append(c.Varies, words[1:]...)
			}
		}
		for _, word := range c.Varies {
			// A word that is misspelt would let the case be left out in silence.
			if word != ArchVaries && word != KernelVaries {
				return nil, fmt.Errorf("%s: nothing varies by %q", c.Name, word)
			}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func (c *Case) varies(by string) bool { return slices.Contains(c.Varies, by) }

// anyKernel says whether the case needs privileges and nothing of the kernel that another may
// lack. The oldest kernel runs it then, for all others.
func (c *Case) anyKernel() bool {
	return !slices.ContainsFunc(c.Needs, func(word string) bool {
		return word != "root" &&
			word != "btf" && word != "cc"
	})
}

// noVM says whether the case needs what no VM has.
func (c *Case) noVM() bool {
	return slices.Contains(c.Needs, "native") || slices.Contains(c.Needs, "debian")
}

// Missing says what the case needs and this machine does not have; it is nil if the case can run
// here.
func (c *Case) Missing() (missing, err error) {
	var all []error
	for _, word := range c.Needs {
		missing, err := Have(word)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if missing != nil {
			all = append(all, fmt.Errorf("%s: %w", word, missing))
		}
	}
	return errors.Join(all...), nil
}

// Run runs the case with a hawk binary, or skips it with the reason if it cannot run here. If it
// fails and again is set, it is run once more, and only that counts; Run tells whether it was. A
// case that counts events of the whole machine may be disturbed by others, but hardly twice in a
// row.
func (c *Case) Run(t *testing.T, hawk string, again bool) (failed bool) {
	missing, err := c.Missing()
	if err != nil {
		t.Fatal(err)
	}
	if missing != nil {
		t.Skipf("needs %s; runs in a VM", strings.ReplaceAll(missing.Error(), "\n", "; "))
	}
	deadline, _ := t.Deadline()
	if again {
		first := &attempt{direct: direct{t}}
		failed := first.run(func() { c.script(first, deadline, hawk) })
		if first.skipped != "" {
			t.Skip(first.skipped)
		}
		if !failed {
			return false
		}
		t.Logf("%s is run again; at first:\n%s", c.Name, first.log.String())
	}
	c.script(direct{t}, deadline, hawk)
	return again
}

// script runs the case, with the commands that cases have and an environment that is the same
// everywhere.
func (c *Case) script(t testscript.T, deadline time.Time, hawk string) {
	testscript.RunT(t, testscript.Params{
		Deadline:           deadline,
		Files:              []string{c.Path},
		Cmds:               commands,
		RequireUniqueNames: true,
		Condition: func(word string) (bool, error) {
			missing, err := Have(word)
			return missing == nil, err
		},
		Setup: func(env *testscript.Env) error {
			st := &state{processes: map[string]*process{}}
			env.Values[stateKey{}] = st
			env.Defer(st.end)
			env.Setenv("HAWK_BIN", hawk)
			env.Setenv("PATH", filepath.Dir(hawk)+":"+env.Getenv("PATH"))
			env.Setenv(sharedEnv, filepath.Dir(c.Path))
			// Error texts, times and the order of names are then the same everywhere.
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("TZ", "UTC")
			// VMs have no module's directory.
			if root, err := Root(); err == nil && !InVM() {
				env.Setenv("CONTRIB", filepath.Join(root, "contrib"))
			}
			env.Setenv("TORTURE", os.Getenv("HAWK_TORTURE"))
			if dir, err := Glibc(); err == nil {
				env.Setenv("GLIBC", dir)
			}
			if disk, err := Disk(); err == nil {
				env.Setenv("DISK", disk)
			}
			return nil
		},
	})
}

// direct runs a script in the test itself instead of in a subtest named after the file once more.
type direct struct{ *testing.T }

func (d direct) Run(_ string, f func(testscript.T)) { f(d) }
func (d direct) Verbose() bool                      { return false } // a case that passes has nothing to say
func (d direct) Parallel()                          {}               // kernel cases count events of the whole machine

// An attempt is a direct whose end is not yet that of the test. testing.T cannot take back a
// failure, so that the first one must not reach it.
type attempt struct {
	direct
	log     strings.Builder
	skipped string
	failed  bool
}

func (a *attempt) Run(_ string, f func(testscript.T)) { f(a) }
func (a *attempt) Log(args ...any)                    { fmt.Fprintln(&a.log, args...) }

func (a *attempt) Fatal(args ...any) {
	a.Log(args...)
	a.FailNow()
}

// FailNow must not return, as testscript relies on it.
func (a *attempt) FailNow() {
	a.failed = true
	runtime.Goexit()
}

func (a *attempt) Skip(args ...any) {
	a.skipped = cmp.Or(fmt.Sprint(args...), "skipped")
	runtime.Goexit()
}

// run calls f in a goroutine of its own, which the end of the attempt ends, and tells whether it failed.
func (a *attempt) run(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	return a.failed
}

// Root returns the directory of the module that the working directory is in. Tests run in the
// directories of their packages.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside hawk's repository")
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
