package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// compiled is a script that is ready to be loaded on this machine.
func compiled(t *testing.T, script string) session.Spec {
	t.Helper()
	needsBPF(t)
	po := probe.Options{Machine: machine.Host(), MaxProbes: 1024}
	p, ds := session.Compile(source.NewFile("stdin", script), compile.Options{Probe: po})
	if p == nil {
		var text strings.Builder
		ds.Print(&text, source.PrintOptions{})
		t.Fatalf("%s\n%s", script, &text)
	}
	return session.Spec{Program: p, Probe: po}
}

// TestStart starts a run in a thread of its own, and looks at it from outside.
func TestStart(t *testing.T) {
	var out, messages bytes.Buffer
	const script = `begin { printf("begin\n"); @ = 1; } interval:s:100 { exit(); } end { printf("end\n"); }`
	s, err := session.Start(t.Context(), compiled(t, script),
		session.Options{Sink: output.NewText(&out, &messages, output.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Attached(); n != 3 {
		t.Errorf("%d probes are attached, want 3", n)
	}
	s.Stop()
	s.Stop()
	res, err := s.Wait()
	if err != nil || res.Reason != session.Stopped || res.Status != 0 {
		t.Errorf("it ended by %+v, %v", res, err)
	}
	if want := "begin\nend\n\n\n@: 1\n"; out.String() != want {
		t.Errorf("output %q, want %q", &out, want)
	}
	if st := s.Stats(); st.Events != 2 || st.Lost != 0 {
		t.Errorf("%+v, want 2 events", st)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s.Stop()
	s.Signal()
	if _, err := s.Run(t.Context(), session.Options{}); err == nil {
		t.Error("a session runs twice")
	}
}

func TestReasons(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		script  string
		ctx     context.Context
		command []string
		want    session.Result
	}{
		{`begin { }`, t.Context(), nil, session.Result{Reason: session.Finished}},
		{`begin { exit(3); }`, t.Context(), nil, session.Result{Reason: session.Exited, Status: 3}},
		{`interval:ms:1 { exit(4); }`, t.Context(), nil, session.Result{Reason: session.Exited, Status: 4}},
		{`interval:s:100 { }`, t.Context(), []string{"sh", "-c", "exit 5"},
			session.Result{Reason: session.ProcessEnded, Command: 5}},
		{`interval:s:100 { }`, gone, nil, session.Result{Reason: session.Cancelled}},
	} {
		spec := compiled(t, c.script)
		spec.Command = c.command
		s, err := session.Start(c.ctx, spec, session.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.script, err)
		}
		if c.ctx == gone {
			cancel()
		}
		if got, err := s.Wait(); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.script, got, err, c.want)
		}
		s.Close()
	}
	spec := compiled(t, `interval:s:100 { }`)
	if _, err := session.Start(gone, spec, session.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: %v", err)
	}
}

// A stopper ends what it is of at one of many writes.
type stopper struct {
	at   int
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if s.at--; s.at == 0 {
		s.stop()
	}
	return len(p), nil
}

// TestCancelWhileAttaching ends runs before each of their probes is attached: the error
// says why, and nothing is left of them.
func TestCancelWhileAttaching(t *testing.T) {
	const script = `rawtracepoint:sys_enter { @a = count(); } software:faults:1 { @b = count(); }
profile:hz:9 { @c = count(); } interval:ms:100 { printf("%d\n", pid); } rawtracepoint:sched_switch { @d = count(); }`
	const last = 5
	spec := compiled(t, script)
	try := func(t *testing.T, at int, stops bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s, err := session.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &stopper{at, cancel}
		if stops {
			w.stop = s.Stop
		}
		err = s.Start(ctx, session.Options{Stderr: w, Verbose: true}) // each probe is described before it is attached
		switch {
		case at == last: // it is attached, then
			if err != nil {
				t.Errorf("ended at the last probe: %v", err)
			}
			if res, err := s.Wait(); err != nil || (res.Reason == session.Stopped) != stops {
				t.Errorf("ended at the last probe: %+v, %v", res, err)
			}
		case err == nil:
			t.Errorf("ended at probe %d, it starts", at)
		case errors.Is(err, context.Canceled) == stops || !strings.Contains(err.Error(), "interrupted"):
			t.Errorf("ended at probe %d: %v", at, err)
		}
	}
	try(t, 1, false)
	before := held(t)
	for at := 1; at <= last; at++ {
		try(t, at, false)
		try(t, at, true)
	}
	before.check(t)
}

// TestSideBySide runs one program many times at once, and others beside it; each has what
// is its own.
func TestSideBySide(t *testing.T) {
	const sessions, ticks = 24, 5
	adding := func(n int) string {
		return `interval:ms:2 { @n++; printf("%d\n", @n); if (@n == 5) { exit(7); } } ` +
			fmt.Sprintf("end { @k[@n] = sum(@n + %d); }", n)
	}
	shared := compiled(t, adding(0))
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			spec := shared
			if i%4 == 0 {
				spec = compiled(t, adding(i))
			}
			var out, messages bytes.Buffer
			sink := output.NewText(&out, &messages, output.Options{})
			s, err := session.Start(t.Context(), spec, session.Options{Sink: sink})
			if err != nil {
				t.Errorf("session %d: %v", i, err)
				return
			}
			defer s.Close()
			if i%3 == 0 { // these are closed while others run
				s.Close()
				return
			}
			res, err := s.Wait()
			sum := ticks
			if i%4 == 0 {
				sum += i
			}
			want := fmt.Sprintf("1\n2\n3\n4\n5\n\n\n@k[5]: %d\n@n: 5\n", sum)
			if err != nil || res.Status != 7 || out.String() != want {
				t.Errorf("session %d: %+v, %v, output %q, want %q", i, res, err, &out, want)
			}
		})
	}
	all.Wait()
}
