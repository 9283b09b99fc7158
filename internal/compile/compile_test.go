package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/target"
)

// TestTooLarge: what the kernel's machine has no room for is an error of the
// script, with advice, and no fault of hawk.
func TestTooLarge(t *testing.T) {
	var set, names []string
	for i := range 120 {
		set = append(set, fmt.Sprintf("$v%d = nsecs + %d;", i, i))
		names = append(names, fmt.Sprintf("$v%d", i))
	}
	alive := strings.Join(set, " ") + " print(" + strings.Join(names, " + ") + "); print(" + strings.Join(names, " ^ ") + ");"
	for _, tt := range []struct{ name, body, want, hint string }{
		{"long", strings.Repeat("print(1); ", 3000), "program too long", "split"},
		{"wide", alive, "variables do not fit the stack", "maps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := source.NewFile("stdin", "begin { "+tt.body+" }")
			_, ds := Compile(f, Options{Probe: probe.Options{Target: new(target.Target)}})
			var b strings.Builder
			ds.Print(&b, source.PrintOptions{})
			header, rest, _ := strings.Cut(b.String(), "\n")
			if !strings.HasPrefix(header, "stdin:1:1-6: ERROR: This probe is too large: ") || !strings.Contains(header, tt.want) ||
				!strings.Contains(rest, "HINT: ") || !strings.Contains(rest, tt.hint) {
				t.Errorf("want %q with a hint %q, have: %.200s", tt.want, tt.hint, header)
			}
		})
	}
}

// TestUnrolled: loops that are unrolled in each other end in an error, and soon.
func TestUnrolled(t *testing.T) {
	f := source.NewFile("stdin", "begin { unroll (100) { unroll (100) { unroll (100) { @x++; } } } }")
	_, ds := Compile(f, Options{Probe: probe.Options{Target: new(target.Target)}})
	var b strings.Builder
	ds.Print(&b, source.PrintOptions{})
	if text := b.String(); !strings.HasPrefix(text, "stdin:1:24-63: ERROR: The script becomes too large when its loops are unrolled") || strings.Count(text, "ERROR") != 1 {
		t.Errorf("%.300s", text)
	}
}
