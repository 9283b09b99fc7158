package hawk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk"
)

// TestMisspelt: a name that is none is an error, in whatever the caller fills in.
func TestMisspelt(t *testing.T) {
	deny := func(names ...string) *hawk.Policy { return &hawk.Policy{Deny: names} }
	kinds := func(names ...string) *hawk.Policy { return &hawk.Policy{Kinds: names} }
	for want, p := range map[string]*hawk.Policy{
		`Policy.Deny: there is no function "sytem" did you mean system?`:       deny("cat", "sytem"),
		`Policy.Deny: there is no function "nothing_of_that_name" `:            deny("nothing_of_that_name"),
		`Policy.Deny: there is no function "static_assert" static_assert() is`: deny("static_assert"),
		`Policy.Deny: there is no function "counts" did you mean count?`:       deny("counts()"),
		`Policy.Kinds: there is no probe type "kprob" did you mean kprobe?`:    kinds("kprob", "u"),
		`Policy.Kinds: there is no probe type "intervals" did you mean interv`: kinds("intervals"),
		`Policy.MaxProbes and Policy.MaxMapBytes cannot be negative `:          {MaxProbes: -1},
	} {
		type compiler func(context.Context, *hawk.Script, *hawk.CompileOptions) (*hawk.Program, error)
		for name, do := range map[string]compiler{"check": hawk.Check, "compile": hawk.Compile} {
			_, err := do(context.Background(), &hawk.Script{Text: "begin { }"}, &hawk.CompileOptions{Policy: p})
			var ds hawk.Diagnostics
			if !errors.As(err, &ds) || ds[0].Code != "bad-policy" || errors.Is(err, hawk.ErrScript) {
				t.Errorf("%s %+v: %v", name, p, err)
				continue
			}
			got := ds[0].Message + " "
			for _, n := range ds[0].Notes {
				got += n.Message
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			// The script is not to blame, but the message is to be read as any other.
			if !strings.Contains(err.Error(), ds[0].Message) {
				t.Errorf("%s: %v", name, err)
			}
			given := &hawk.Script{
				Text: `begin { print(getopt("every", 1)); }`, Options: map[string]string{"evry": "2"},
			}
			if _, err := do(context.Background(), given, nil); err == nil ||
				!strings.Contains(err.Error(), "no option evry: did you mean every?") {
				t.Errorf("%s: %v", name, err)
			}
			config := map[string]string{"max_map_key": "1", "zzz": "2"}
			if _, err := do(context.Background(), given, &hawk.CompileOptions{Config: config}); err == nil ||
				!strings.Contains(err.Error(), "max_map_key: there is no such setting: did you mean max_map_keys?") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	all := &hawk.Policy{
		Kinds: []string{"Begin", "i"}, Deny: []string{"argN", "arg3", "sym", "hist", "exit()", "strcontains"},
	}
	if _, err := compile(t, "begin { } interval:s:1 { }", &hawk.CompileOptions{Policy: all}); err != nil {
		t.Error(err)
	}
}

// TestChecked: a script that was only checked tells as much of itself as a compiled one.
func TestChecked(t *testing.T) {
	s := &hawk.Script{Text: `begin {
	if (getopt("loud", false)) { print((a=1, b="x")); }
	@m[1] = 2; print(@m[1]); print(@m); printf("%d", 1); print(getopt("n", 5, "how many"));
	for ($kv : @m) { print($kv); }
	@n = count(); print(@n); print((uint64)@n); print(ksym(1));
}
interval:s:1, interval:s:2 { print((p=probe, q=getopt("n", 5))); if comptime (false) { print(7); } }`}
	tell := func(p *hawk.Program, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, pr := range p.Prints() {
			fmt.Fprintf(&b, "%d:%d", pr.Site.Line, pr.Site.Column)
			for _, f := range pr.Fields {
				fmt.Fprintf(&b, " %s %s", f.Name, f.Type)
			}
			b.WriteString("\n")
		}
		for _, o := range p.Options() {
			fmt.Fprintf(&b, "%s %s %q %s\n", o.Name, o.Default, o.Doc, o.Type)
		}
		return b.String()
	}
	ctx := context.Background()
	checked, compiled := tell(hawk.Check(ctx, s, nil)), tell(hawk.Compile(ctx, s, nil))
	if checked != compiled || strings.Count(checked, "\n") < 8 || !strings.Contains(checked, `n 5 "how many" uint64`) {
		t.Errorf("checked:\n%s\ncompiled:\n%s", checked, compiled)
	}
	if !strings.HasPrefix(checked, "2:31 a int8 b string[2]") {
		t.Errorf("%s", checked)
	}
}

// TestRaw: what is shown as a text is there as it was, too.
func TestRaw(t *testing.T) {
	s := start(t, `begin {
	print((at=strftime("%H:%M", nsecs), k=ksym(kaddr("schedule")), u=usym(16)));
	exit();
}`, nil, nil)
	var n int
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind != hawk.Print {
			continue
		}
		n++
		var r struct {
			At   time.Time
			K, U uint64
		}
		var texts struct{ At, K, U string }
		if err := errors.Join(ev.Decode(&r), ev.Decode(&texts)); err != nil {
			t.Fatal(err)
		}
		if r.At.Format("15:04") != texts.At || time.Since(r.At).Abs() > time.Minute {
			t.Errorf("%v, %q", r.At, texts.At)
		}
		if texts.K != "schedule" || r.K < 1<<63 || r.U != 16 || texts.U != "0x10" {
			t.Errorf("%+v %+v", r, texts)
		}
		if a, ok := ev.Value.Field("k").Uint64(); !ok || a != r.K {
			t.Errorf("%d of %d", a, r.K)
		}
		if err := ev.Value.Field("k").Decode(new(time.Time)); err == nil {
			t.Error("a symbol is a time")
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// TestSites: an event says where in the script it was made, and is of the kind that it is.
func TestSites(t *testing.T) {
	s := start(t, `begin {
	@m[1] = 2;
	print(@m);
	time("%H\n");
	row("A B", 1, 2);
	errorf("wrong");
	notef("note");
	@edge[1, 2] = 1; @edge[2, 1] = 1;
	cycles(@edge);
	snap(1, 2, 3);
	exit();
}`, nil, nil)
	got := map[int]hawk.Kind{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Site.Line > 0 {
			got[ev.Site.Line] = ev.Kind
		} else if ev.Kind == hawk.RuntimeError {
			t.Errorf("%q is trouble", ev.Text)
		}
	}
	for line, kind := range map[int]hawk.Kind{
		3: hawk.MapPrint, 4: hawk.Text, 5: hawk.Text, 6: hawk.RuntimeError, 7: hawk.Text,
	} {
		if got[line] != kind {
			t.Errorf("line %d: kind %d, want %d", line, got[line], kind)
		}
	}
}

// TestNil: what must be there and is not is an error, no panic.
func TestNil(t *testing.T) {
	ctx, s := context.Background(), &hawk.Script{Text: "begin { }"}
	p, err := hawk.Compile(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	for name, do := range map[string]func() error{
		"check":    func() error { _, err := hawk.Check(ctx, nil, nil); return err },
		"compile":  func() error { _, err := hawk.Compile(ctx, nil, nil); return err },
		"context":  func() error { _, err := hawk.Compile(none, s, nil); return err },
		"start":    func() error { _, err := p.Start(none, nil); return err },
		"run":      func() error { _, err := p.Run(none, nil); return err },
		"recorded": func() error { _, err := hawk.Recorded(nil); return err },
		"script":   func() error { _, err := hawk.ReadScript("/nosuch.bt"); return err },
		"pattern": func() (err error) {
			for _, err = range hawk.Host().Probes(ctx, "nosuch:*", nil) {
			}
			return err
		},
		"load":   func() error { _, err := hawk.Load(new(bytes.Buffer)); return err },
		"reader": func() error { _, err := hawk.Load(nil); return err },
		"key":    func() error { _, err := p.Sign(nil); return err },
		"machine": func() error {
			_, err := hawk.Compile(ctx, s, &hawk.CompileOptions{Machine: &hawk.Machine{}})
			return err
		},
		"probes": func() (err error) {
			for _, err = range hawk.Host().Probes(none, "*", nil) {
			}
			return err
		},
	} {
		if err := do(); err == nil || !strings.HasPrefix(err.Error(), "hawk: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
