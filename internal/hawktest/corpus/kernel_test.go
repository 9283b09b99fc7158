package corpus

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
)

// most is how many bytes the compilation of a script may allocate in all; at no time are more in
// use.
const most = 60 << 20

// TestKernelCorpus compiles every script that this machine can run, loads and attaches it, and
// checks the output of those that foretell it.
func TestKernelCorpus(t *testing.T) {
	ways := ways(t)
	eachHere(t, func(s *Script, t *testing.T) {
		if _, err := s.elsewhere(); err == nil && ways == hawktest.OneWay {
			t.Skip("left to TestKernelAhead")
		}
		s.trace(t)
	})
}

// ways are how often a script runs.
func ways(t *testing.T) hawktest.Ways {
	t.Helper()
	choice, err := hawktest.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	return choice.Corpus
}

// TestKernelCorpusInPieces loads the scripts as hawk compiles them when the verifier has given up.
func TestKernelCorpusInPieces(t *testing.T) {
	if ways(t) != hawktest.EveryWay {
		t.Skip("left to other kernels, see hawktest.Choices")
	}
	eachHere(t, func(s *Script, t *testing.T) {
		res, o := s.compileOn(t, machine.Host(), compile.Options{Verify: true, Pieces: true})
		s.load(t, session.New(res), o.Probe).Close()
	})
}

// TestKernelCorpusTake runs the scripts with two generations of maps, and loads them in pieces: what
// they print stays the same, but for those that wait for pages of user memory otherwise.
func TestKernelCorpusTake(t *testing.T) {
	if ways(t) != hawktest.EveryWay {
		t.Skip("left to other kernels, see hawktest.Choices")
	}
	eachHere(t, func(s *Script, t *testing.T) {
		res, o := s.compileOn(t, machine.Host(), compile.Options{Verify: true, Pieces: true, Take: true})
		s.load(t, session.New(res), o.Probe).Close()
		res, _ = s.compileOn(t, machine.Host(), compile.Options{})
		waits := slices.ContainsFunc(res.Object.Programs, func(p *object.Program) bool { return p.Sleeps })
		res, o = s.compileOn(t, machine.Host(), compile.Options{Verify: true, Take: true})
		if waits {
			s.load(t, session.New(res), o.Probe).Close()
		} else {
			s.run(t, session.New(res), o.Probe)
		}
	})
}

// eachHere runs a test for each script that this machine can run.
func eachHere(t *testing.T, test func(*Script, *testing.T)) {
	t.Helper()
	if missing, err := hawktest.Have("root"); err != nil || missing != nil {
		t.Skipf("loading programs needs privileges: %v", missing)
	}
	t.Setenv("TZ", "UTC")
	for _, s := range loadAll(t) {
		t.Run(s.Name, func(t *testing.T) {
			missing, err := s.Missing()
			if err != nil {
				t.Fatal(err)
			}
			if missing != nil {
				t.Skipf("needs %v", missing)
			}
			test(s, t)
		})
	}
}

// trace compiles, loads and attaches a script, and runs it if it says what it prints.
func (s *Script) trace(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, o := s.compileOn(t, machine.Host(), compile.Options{})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("compiling it takes %d MB", n>>20)
	}
	s.run(t, session.New(res), o.Probe)
}

// run loads and attaches a compiled script, and runs it if it says what it prints.
func (s *Script) run(t *testing.T, p *session.Program, o probe.Options) {
	t.Helper()
	loaded := s.load(t, p, o)
	defer loaded.Close()
	if s.Has("compile") {
		return
	}

	// A script that does not end by itself fails by what it has not printed.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, messages bytes.Buffer
	sink := output.NewText(&out, &messages, output.Options{Buffering: output.FullyBuffered, Quiet: true})
	if _, err := loaded.Run(ctx, session.Options{Sink: sink, Stderr: &messages, DryRun: !s.Expects}); err != nil {
		t.Fatal(err)
	}
	if err := sink.Flush(); err != nil {
		t.Fatal(err)
	}
	if s.Expects {
		if err := s.Check(out.String(), messages.String()); err != nil {
			t.Error(err)
		}
	}
}

// load loads a compiled script, and starts its command.
func (s *Script) load(t *testing.T, p *session.Program, o probe.Options) *session.Session {
	t.Helper()
	o.PID = 0
	loaded, err := session.Load(session.Spec{Program: p, Probe: o, Command: s.Run})
	var refused *load.Rejected
	if errors.As(err, &refused) {
		t.Fatalf("refused: %v\n%s", err, tail(refused.Log, 40))
	}
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// BenchmarkCompile compiles the scripts that can run here, each with a target of its own, as every
// hawk has: what a script wants to know of the kernel is read again.
func BenchmarkCompile(b *testing.B) {
	for _, s := range loadAll(b) {
		if missing, err := s.Missing(); err != nil || missing != nil {
			continue
		}
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.compileOn(b, new(machine.Machine), compile.Options{})
			}
		})
	}
}
