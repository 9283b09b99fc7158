package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/opt"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// TestLarge: what has no room in one function has it in several.
func TestLarge(t *testing.T) {
	var set, names []string
	for i := range 120 {
		set = append(set, fmt.Sprintf("$v%d = nsecs + %d;", i, i))
		names = append(names, fmt.Sprintf("$v%d", i))
	}
	for _, tt := range []struct{ name, body string }{
		{"long", strings.Repeat("print(1); ", 3000)},
		{"wide", strings.Join(set, " ") + " print(" + strings.Join(names, " + ") + "); print(" +
			strings.Join(names, " ^ ") + ");"},
		{"unrolled", "unroll (100) { unroll (100) { unroll (100) { @x++; } } }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := source.NewFile("stdin", "begin { "+tt.body+" }")
			res, ds := Compile(f, Options{Probe: probe.Options{Machine: new(machine.Machine)},
				Verify: true, Trace: true})
			if res == nil || ds.HasErrors() {
				var b strings.Builder
				ds.Print(&b, source.PrintOptions{})
				t.Fatalf("%.300s", b.String())
			}
			if n := len(res.Object.Programs[0].Code.Funcs); n < 2 {
				t.Errorf("%d functions", n)
			}
		})
	}
}

// TestRefused: what the kernel's machine has no room for is an error of the
// script, with advice, and no fault of hawk.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		err        error
		want, hint string
	}{
		{fmt.Errorf("begin: %w: 40000 operations", codegen.ErrLong), "This probe is too large: begin: program too " +
			"long: 40000 operations", "split"},
		{opt.ErrStack, "This probe is too large: variables do not fit the stack", "maps"},
		{codegen.ErrStack, "This probe is too large: stack frame too large", "maps"},
	} {
		d := refused(source.Span{}, tt.err)
		if d.Severity != source.Error || d.Msg != tt.want || len(d.Hints) != 1 ||
			!strings.Contains(d.Hints[0], tt.hint) {
			t.Errorf("want %q with a hint %q, have %+v", tt.want, tt.hint, d)
		}
	}
}

// TestUnrolled: more copies than any program has room for end in an error, and
// soon.
func TestUnrolled(t *testing.T) {
	f := source.NewFile("stdin", "begin { "+strings.Repeat("unroll (100) { @x++; } ", 201)+"}")
	_, ds := Compile(f, Options{Probe: probe.Options{Machine: new(machine.Machine)}})
	var b strings.Builder
	ds.Print(&b, source.PrintOptions{})
	if text := b.String(); !strings.HasPrefix(text, "stdin:1:4609-4631: ERROR: The script becomes too large when "+
		"its loops are unrolled") || strings.Count(text, "ERROR") != 1 {
		t.Errorf("%.300s", text)
	}
}
