package interp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/compile/dump"
	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/hawktest/interp"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// A verdict is what became of a script on the two roads.
type verdict int

const (
	agree   verdict = iota
	invalid         // the script does not compile: a mistake of whoever wrote it
	unknown         // the interpreter does not know something, or output was lost
	differ          // the two differ, or hawk failed
)

// spent is how long the steps took, nanoseconds over all scripts.
var spent struct{ compiling, interpreting, loading, running atomic.Int64 }

// stopwatch returns a function that adds the time since it was last called.
func stopwatch() func(to *atomic.Int64) {
	last := time.Now()
	return func(to *atomic.Int64) {
		now := time.Now()
		to.Add(int64(now.Sub(last)))
		last = now
	}
}

// needKernel skips a test where programs cannot be loaded.
func needKernel(t testing.TB) {
	t.Helper()
	if missing, err := hawktest.Have("root"); err != nil || missing != nil {
		t.Skipf("running scripts in the kernel needs privileges: %v", missing)
	}
}

// host is this machine for all scripts: to find out what its kernel can do takes many times longer than to load a
// small program.
var host = sync.OnceValue(machine.Host)

// options are those of a run that does without features of the kernel.
func options(without []*machine.Feature) probe.Options {
	o := probe.Options{Machine: host(), NoFeature: map[string]bool{}}
	for _, f := range without {
		o.NoFeature[f.Name] = true
	}
	return o
}

// judge runs a script on both roads and says what happened. The kernel's
// features that without names are not used.
func judge(script string, without ...*machine.Feature) (verdict, string) {
	v, text, _ := judgeAs(script, false, without)
	return v, text
}

// judgeAs is judge; with pieces the script is compiled in pieces at once.
// gaveUp says that the verifier did on a script that was not, upon which it was.
func judgeAs(script string, pieces bool, without []*machine.Feature) (v verdict, text string, gaveUp bool) {
	v, text, gaveUp = judgeOnce(script, pieces, without)
	if gaveUp && !pieces {
		v, text, _ = judgeOnce(script, true, without)
		return v, text, true
	}
	return v, text, false
}

func judgeOnce(script string, pieces bool, without []*machine.Feature) (v verdict, text string, gaveUp bool) {
	o := compile.Options{Probe: options(without), Verify: true, Trace: true, Pieces: pieces}
	res, v, text := compiled(script, o)
	if res == nil {
		return v, text, false
	}
	want, v, text := interpreted(res)
	if v != agree {
		return v, text, false
	}
	return judgeOutput(session.New(res), &o.Probe, want)
}

// compiled compiles a script. Without a result the verdict and its reason say why.
func compiled(script string, o compile.Options) (res *compile.Result, v verdict, text string) {
	spend := stopwatch()
	res, ds := compile.Compile(source.NewFile("stdin", script), o)
	spend(&spent.compiling)
	if res != nil {
		return res, agree, ""
	}
	var messages bytes.Buffer
	ds.Print(&messages, source.PrintOptions{NoWarnings: true})
	if strings.Contains(messages.String(), "please report") {
		return nil, differ, "hawk failed:\n" + messages.String()
	}
	return nil, invalid, messages.String()
}

// interpreted is what the interpreter says that a script prints. If it says nothing, the verdict
// is not agree.
func interpreted(res *compile.Result) (want string, v verdict, text string) {
	spend := stopwatch()
	want, err := interp.Run(res.Checked)
	spend(&spent.interpreting)
	var unsupported *interp.Unsupported
	switch {
	case errors.As(err, &unsupported):
		return "", unknown, err.Error()
	case err != nil:
		return "", differ, "the type checker is wrong: " + err.Error()
	}
	return want, agree, ""
}

// judgeOutput runs a compiled script and compares what it prints with what the interpreter said.
func judgeOutput(program *session.Program, o *probe.Options, want string) (v verdict, text string, gaveUp bool) {
	got, stderr, err := trace(program, o)
	var refused *load.Rejected
	switch {
	case err != nil:
		return differ, err.Error(), errors.As(err, &refused) && refused.GaveUp
	case strings.Contains(stderr, "Lost "), strings.Contains(stderr, "Map full"):
		return unknown, stderr, false
	case got != want:
		return differ, difference(got, want) + stderr, false
	}
	return agree, "", false
}

// trace loads and runs a compiled script.
func trace(program *session.Program, o *probe.Options) (stdout, stderr string, err error) {
	spend := stopwatch()
	s, err := session.Load(session.Spec{Program: program, Probe: *o})
	spend(&spent.loading)
	if err != nil {
		var r *load.Rejected
		if errors.As(err, &r) {
			return "", "", fmt.Errorf("the verifier refused it: %w\n%s", err, tail(r.Log, 60))
		}
		return "", "", err
	}
	defer func() {
		s.Close()
		spend(&spent.running)
	}()
	var out, msg bytes.Buffer
	sink := output.NewText(&out, &msg, output.Options{Buffering: output.FullyBuffered, Quiet: true})
	if _, err = s.Run(context.Background(), session.Options{Sink: sink, Stderr: &msg}); err != nil {
		return "", "", err
	}
	if err := sink.Flush(); err != nil {
		return "", "", err
	}
	return out.String(), msg.String(), nil
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// difference shows the lines around the first that differs.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for at < len(g) && at < len(w) && g[at] == w[at] {
		at++
	}
	part := func(lines []string) string {
		return strings.Join(lines[max(0, min(at-2, len(lines))):min(at+4, len(lines))], "\n")
	}
	return fmt.Sprintf("line %d of the output differs\nthe kernel says:\n%s\nthe interpreter says:\n%s\n", at+1,
		part(g), part(w))
}

// TestScript compares the two on the script in $HAWK_SCRIPT, without the
// features in $HAWK_WITHOUT (may_goto,loop), and shows what becomes of it.
func TestScript(t *testing.T) {
	script := os.Getenv("HAWK_SCRIPT")
	if script == "" {
		t.Skip("no script in HAWK_SCRIPT")
	}
	needKernel(t)
	var features []*machine.Feature
	for _, f := range machine.Features() {
		if slices.Contains(strings.Split(os.Getenv("HAWK_WITHOUT"), ","), f.Name) {
			features = append(features, f)
		}
	}
	if v, text := judge(script, features...); v != agree {
		t.Error(text)
	}
	var text bytes.Buffer
	watch := dump.Writers{"opt": &text, "asm": &text}.Watcher()
	compile.Compile(source.NewFile("stdin", script), compile.Options{Probe: options(features), Watch: watch})
	t.Log(text.String())
}
