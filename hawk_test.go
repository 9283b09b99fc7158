package hawk_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/usdt"
)

func compile(t testing.TB, text string, o *hawk.CompileOptions) (*hawk.Program, error) {
	t.Helper()
	return hawk.Compile(context.Background(), &hawk.Script{Text: text}, o)
}

func TestCompile(t *testing.T) {
	p, err := compile(t, `begin { @n[pid, comm] = count(); @h = hist(3); print((a=1, b="x")); }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var maps []string
	for _, m := range p.Maps() {
		text := m.Name + " " + m.Agg
		for _, k := range m.Keys {
			text += " " + k.Type.String()
		}
		maps = append(maps, text)
	}
	if want := []string{"@h hist", "@n count uint32 string[16]"}; !slices.Equal(maps, want) {
		t.Errorf("maps %q, want %q", maps, want)
	}
	prints := p.Prints()
	if len(prints) != 1 || len(prints[0].Fields) != 2 || prints[0].Fields[0].Name != "a" || prints[0].Site.Line != 1 {
		t.Errorf("prints %+v", prints)
	}
	if probes := p.Probes(); len(probes) != 1 || probes[0].Name != "begin" || probes[0].Kind != "begin" {
		t.Errorf("probes %+v", probes)
	}
	if m := p.Mechanisms(); len(m) != 1 {
		t.Errorf("mechanisms %q", m)
	}
}

func TestDiagnostics(t *testing.T) {
	_, err := compile(t, "begin { @x = cuont(); }", nil)
	var ds hawk.Diagnostics
	if !errors.As(err, &ds) || !errors.Is(err, hawk.ErrScript) || errors.Is(err, hawk.ErrPolicy) {
		t.Fatalf("%#v", err)
	}
	d := ds[0]
	start, end := hawk.Position{File: "script", Line: 1, Column: 14}, hawk.Position{File: "script", Line: 1, Column: 19}
	if d.Severity != hawk.Error || d.Code == "" || d.Span.Start != start || d.Span.End.Line != end.Line {
		t.Errorf("%+v", d)
	}
	if d.Fix == nil || d.Fix.Text != "count" {
		t.Errorf("fix %+v of %+v", d.Fix, d)
	}
	if text := err.Error(); !strings.Contains(text, "begin { @x = cuont(); }\n             ~~~~~") {
		t.Errorf("no excerpt: %s", text)
	}

	_, err = compile(t, "macro m(x) { x + nothing }\nbegin { print(m(1)); }", nil)
	if !errors.As(err, &ds) || len(ds[0].Span.Expanded) != 1 || ds[0].Span.Expanded[0].Start.Line != 2 {
		t.Errorf("%+v", err)
	}
}

func TestPolicy(t *testing.T) {
	for _, tt := range []struct {
		script string
		policy hawk.Policy
		ok     bool
	}{
		{`begin { system("true"); }`, hawk.Policy{Deny: []string{"system"}}, false},
		{`begin { print(1); }`, hawk.Policy{Deny: []string{"system"}}, true},
		{`begin { if (0) { exit(); } }`, hawk.Policy{Deny: []string{"exit"}}, false},
		{`macro m() { exit() } begin { m(); }`, hawk.Policy{Deny: []string{"exit"}}, false},
		{`begin { } interval:s:1 { }`, hawk.Policy{Kinds: []string{"begin"}}, false},
		{`begin { } i:s:1 { }`, hawk.Policy{Kinds: []string{"begin", "interval"}}, true},
		{`interval:s:1, interval:s:2, interval:s:3 { }`, hawk.Policy{MaxProbes: 2}, false},
		{`begin { @[1] = 1; }`, hawk.Policy{MaxMapBytes: 4096}, false},
		{`begin { @[1] = 1; }`, hawk.Policy{MaxMapBytes: 1 << 20}, true},
		{`begin { print(str(uptr(1))); }`, hawk.Policy{}, false},
		{`begin { print(str(uptr(1))); }`, hawk.Policy{UserMemory: true}, true},
		{`begin { print(*(uint64 *)uptr(1)); }`, hawk.Policy{}, false},
		{`begin { print(ustack); }`, hawk.Policy{}, false},
		{`begin { print(kstack); }`, hawk.Policy{}, true},
	} {
		_, err := compile(t, tt.script, &hawk.CompileOptions{Policy: &tt.policy, Unsafe: true})
		if tt.ok && err != nil || !tt.ok && !errors.Is(err, hawk.ErrPolicy) {
			t.Errorf("%s under %+v: %v", tt.script, tt.policy, err)
		}
	}
}

// Imports and headers come from the file system that is given, and from nowhere else.
func TestFiles(t *testing.T) {
	files := fstest.MapFS{
		"lib/one.bt": {Data: []byte("import \"two.h\"; macro one() { ONE }")},
		"lib/two.h":  {Data: []byte("#define ONE 1\n")},
	}
	s := &hawk.Script{Text: `import "lib/one.bt"; begin { print(one()); }`, FS: files}
	if _, err := hawk.Compile(context.Background(), s, nil); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`import "lib/one.bt"; begin { }`, `import "/etc/hostname.bt"; begin { }`,
		`import "../hawk.bt"; begin { }`, "#include <stdio.h>\nbegin { }",
		"#include \"/usr/include/stdio.h\"\nbegin { }"} {
		for _, files := range []fs.FS{nil, fstest.MapFS{}} {
			_, err := hawk.Compile(context.Background(), &hawk.Script{Text: text, FS: files}, nil)
			if !errors.Is(err, hawk.ErrScript) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestCancelledCompile(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := hawk.Compile(ctx, &hawk.Script{Text: "begin { }"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestConfig(t *testing.T) {
	for config, ok := range map[string]bool{"max_map_keys": true, "nonsense": false} {
		_, err := compile(t, "begin { }", &hawk.CompileOptions{Config: map[string]string{config: "7"}})
		if (err == nil) != ok {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Many may compile at once, for one machine and for many; they get what one gets.
func TestCompileSideBySide(t *testing.T) {
	const script = `struct pair { int a; char b[8]; }
tracepoint:sched:sched_switch { @[args.prev_comm, curtask.pid, *(struct pair *)1] = hist(curtask.mm.total_vm); print((a=args.next_pid, b=*curtask.mm)); }`
	want, err := compile(t, script, nil)
	if err != nil {
		t.Skip(err)
	}
	shared := hawk.Host()
	var working sync.WaitGroup
	for i := range 32 {
		working.Go(func() {
			o := &hawk.CompileOptions{Machine: shared}
			if i%4 == 0 {
				o = nil
			}
			p, err := compile(t, script, o)
			if err != nil {
				t.Error(err)
				return
			}
			if a, b := p.Maps()[0], want.Maps()[0]; a.Value.String() != b.Value.String() || len(a.Keys) != len(b.Keys) {
				t.Errorf("%v, want %v", a, b)
			}
			for _, f := range p.Prints()[0].Fields {
				_, _ = f.Type.String(), f.Type.Fields()
			}
		})
	}
	working.Wait()
}

func TestProbes(t *testing.T) {
	var names []string
	for p, err := range hawk.Host().Probes(context.Background(), "software:*", nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, p.Name)
	}
	if len(names) < 5 || !slices.Contains(names, "software:page-faults:") {
		t.Errorf("%q", names)
	}
}

// TestProbeArgs: arguments are those of the probe, and nothing else that a listing says of it.
func TestProbeArgs(t *testing.T) {
	pr := usdt.New("args")
	usdt.NewMark2[string, int16](pr, "two")
	usdt.NewMark0(pr, "none")
	if err := pr.Load(&usdt.LoadOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	got := map[string]string{}
	for p, err := range hawk.Host().Probes(t.Context(), "usdt:"+pr.Path()+":*", &hawk.ListOptions{Args: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Args {
			got[p.Func] += a.Type.String() + " " + a.Name + ";"
		}
	}
	if want := map[string]string{"two": "uint64 arg0;int16 arg1;"}; !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFeaturesBeside: features are tried while scripts are compiled for the same machine.
func TestFeaturesBeside(t *testing.T) {
	m := hawk.Host()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := hawk.Compile(t.Context(), &hawk.Script{Text: `profile:hz:99 { @[ustack] = count(); }`},
				&hawk.CompileOptions{Machine: m})
			if err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			n := 0
			for range m.Features() {
				n++
			}
			if n == 0 {
				t.Error("there are no features")
			}
		})
	}
	group.Wait()
}

// ticket is a context of a type that cannot be compared, as those of callers may be.
type ticket struct {
	context.Context
	notes map[string]string
}

// TestProbesCancelled: a listing ends with its context, and one that has ended lists nothing.
func TestProbesCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for p, err := range hawk.Host().Probes(ticket{Context: ctx}, "software:*", nil) {
		if p.Name != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", p, err)
		}
	}
	var got []error
	lapses := ticket{Context: &lapsing{Context: t.Context(), asks: 2}}
	for _, err := range hawk.Host().Probes(lapses, "software:*", nil) {
		got = append(got, err)
	}
	if len(got) != 3 || got[0] != nil || got[1] != nil || !errors.Is(got[2], context.Canceled) {
		t.Errorf("%v", got)
	}
}

// A lapsing context is cancelled when it has been asked a few times.
type lapsing struct {
	context.Context
	asks int
}

func (l *lapsing) Err() error {
	if l.asks--; l.asks < 0 {
		return context.Canceled
	}
	return nil
}
