package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// TestMain compiles scripts for other kernels, in place of all tests, if $HAWK_AHEAD_TO names a
// directory for that. $HAWK_AHEAD_FOR is their architecture.
func TestMain(m *testing.M) {
	if dir := os.Getenv("HAWK_AHEAD_TO"); dir != "" {
		if err := writeAhead(dir, os.Getenv("HAWK_AHEAD_FOR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writeAhead compiles the scripts that this machine can compile to run on others of an
// architecture.
func writeAhead(dir, goArch string) error {
	machine := arch.ByName(goArch)
	if machine == nil {
		return fmt.Errorf("no architecture is called %q", goArch)
	}
	scripts, err := Load()
	if err != nil {
		return err
	}
	for _, s := range scripts {
		if missing, err := s.Missing(); missing != nil || err != nil || !s.portable() {
			continue
		}
		// Programs to trace, and what only x86-64 has, are not here for another machine.
		if machine != arch.Native() && (slices.Contains(s.Needs, "amd64") || slices.Contains(s.Needs, "uprobe")) {
			continue
		}
		payload, err := s.ahead(machine, false)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, s.Name), payload, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// portable reports whether a script can be compiled ahead of time: there are no positional
// parameters, and user programs are not the same elsewhere.
func (s *Script) portable() bool {
	return !strings.Contains(s.Text, "$1") && !slices.Contains(s.Needs, "glibc")
}

// ahead compiles a script to run on other machines, in the variants that an executable carries, or
// only the last of them.
func (s *Script) ahead(a *arch.Arch, last bool) ([]byte, error) {
	p := &aot.Payload{Arch: a.Name, Unsafe: s.Has("unsafe")}
	for before := ""; ; {
		machine, ledger := machine.Host().ForOthers(a, before)
		o := compile.Options{Verify: true, Trace: true, Probe: probe.Options{Machine: machine, Unsafe: s.Has("unsafe")}}
		res, ds := compile.Compile(source.NewFile(s.Name+".bt", s.Text), o)
		if res == nil {
			if before != "" {
				break
			}
			var text bytes.Buffer
			ds.Print(&text, source.PrintOptions{NoWarnings: true})
			return nil, errors.New(text.String())
		}
		v, err := aot.NewVariant(res.Object, ledger)
		if err != nil {
			return nil, err
		}
		p.Config, p.Variants = res.Config, append(p.Variants, v)
		if before = ledger.Youngest(); before == "" {
			break
		}
	}
	if last {
		p.Variants = p.Variants[len(p.Variants)-1:]
	}
	return p.Encode()
}

// TestKernelAhead runs the scripts by way of what executables carry that were compiled ahead of
// time: those that were compiled on another kernel, if $HAWK_AHEAD names their directory, else
// compiled here, for this kernel and for the oldest.
func TestKernelAhead(t *testing.T) {
	if missing, err := hawktest.Have("root"); err != nil || missing != nil {
		t.Skipf("loading programs needs privileges: %v", missing)
	}
	t.Setenv("TZ", "UTC")
	elsewhere, other, ways := 0, 0, ways(t)
	for _, s := range loadAll(t) {
		missing, err := s.Missing()
		if err != nil {
			t.Fatal(err)
		}
		if missing != nil || !s.portable() {
			continue
		}
		if payload, err := s.elsewhere(); err == nil {
			t.Run(s.Name+"/elsewhere", func(t *testing.T) {
				elsewhere++
				other += s.runAhead(t, payload)
			})
			continue
		}
		if ways == hawktest.OneWay {
			continue
		}
		var here []byte
		t.Run(s.Name+"/here", func(t *testing.T) {
			if here, err = s.ahead(arch.Native(), false); err != nil {
				t.Fatal(err)
			}
			s.runAhead(t, here)
		})
		// Probes of old kernels do not wait for strings of a program that has just started.
		strs := slices.Contains(s.Needs, "uprobe") && strings.Contains(s.Text, "str(")
		newer := slices.ContainsFunc(s.Needs, func(need string) bool { return strings.HasPrefix(need, "kernel>") })
		if strs || newer || ways != hawktest.EveryWay {
			continue
		}
		oldest, err := s.ahead(arch.Native(), true)
		if err == nil && bytes.Equal(oldest, here) {
			continue // has run
		}
		t.Run(s.Name+"/oldest", func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			s.runAhead(t, oldest)
		})
	}
	if other > 3+elsewhere/10 {
		t.Errorf("%d of %d scripts say that they were compiled for another kernel", other, elsewhere)
	}
}

// elsewhere is the script as another kernel has compiled it for this one.
func (s *Script) elsewhere() ([]byte, error) {
	return os.ReadFile(filepath.Join(os.Getenv("HAWK_AHEAD"), s.Name))
}

// runAhead runs a script that was compiled ahead of time. It returns 1 if this kernel is too
// different from the one that the script was compiled for.
func (s *Script) runAhead(t *testing.T, payload []byte) (other int) {
	t.Helper()
	p, err := aot.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	o := probe.Options{Machine: machine.Host()}
	program, ds := session.Bind(p, &o)
	if ds.HasErrors() {
		var text bytes.Buffer
		ds.Print(&text, source.PrintOptions{NoWarnings: true})
		if ds.List()[0].Code != aot.OtherKernel {
			t.Fatal(&text)
		}
		t.Log(&text)
		return 1
	}
	s.run(t, program, o)
	return 0
}
