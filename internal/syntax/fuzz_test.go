package syntax

import (
	"io"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/source"
)

func seed(f *testing.F) {
	for _, text := range corpus {
		f.Add(text)
	}
	for _, tt := range faulty {
		f.Add(tt.text)
	}
}

func FuzzScan(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) { bound.Run(t, len(text), func() { scanAll(t, text) }) })
}

// scanAll checks that lexemes follow each other to the end.
func scanAll(t *testing.T, text string) {
	s := NewScanner(source.NewFile("in.bt", text))
	for end := 0; ; {
		l := s.Next()
		if l.Start < end || l.End < l.Start || l.End > len(text) {
			t.Fatalf("lexeme %d-%d after %d", l.Start, l.End, end)
		}
		if e := l.Err; e != nil && (e.Start < l.Start || e.End > l.End) {
			t.Fatalf("error at %d-%d outside of lexeme %d-%d", e.Start, e.End, l.Start, l.End)
		}
		if l.Token == EOF {
			return
		}
		if l.End == l.Start {
			t.Fatal("no progress")
		}
		end = l.End
	}
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) { bound.Run(t, len(text), func() { parseAll(t, text) }) })
}

// parseAll parses, formats and shows the errors of a script.
func parseAll(t *testing.T, text string) {
	s, ds := Parse(source.NewFile("in.bt", text))
	for _, d := range ds.List() {
		if d.Severity == source.Bug {
			t.Fatal(d.Msg)
		}
		if sp := d.Span; sp.Valid() && (sp.Start < 0 || sp.End < sp.Start || sp.End > len(text)) {
			t.Fatalf("%s: span %d-%d of %d", d.Msg, sp.Start, sp.End, len(text))
		}
	}
	ds.Print(io.Discard, source.PrintOptions{Color: true})
	checkPositions(t, s)
	Format(s)
	Walk(s, func(n Node) bool {
		if at, ok := n.(*AttachPoint); ok {
			SplitAttach(at.Text, at.At, Params{Positional: []string{"1", `"`, "a:b"}})
		}
		return true
	})
}

func FuzzPrintRoundTrip(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		bound.Run(t, len(text), func() {
			if s, ds := Parse(source.NewFile("in.bt", text)); ds.Len() == 0 {
				checkRoundTrip(t, s, text)
			}
		})
	})
}

// TestHostile checks that large nonsense ends soon and in few words.
func TestHostile(t *testing.T) {
	const size = 1 << 20
	noise := make([]byte, size)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x>>24)%95 + ' '
	}
	quotes := strings.Repeat(`'\`, size/2)
	for name, text := range map[string]string{
		"noise":       string(noise),
		"noise body":  "begin { " + string(noise),
		"binary":      "\x7fELF\x02\x01\x01\x00" + string(noise),
		"parentheses": "begin { print(" + strings.Repeat("(", size),
		"casts":       "begin { print(" + strings.Repeat("(t)", size/3) + "1); }",
		"minus":       "begin { print(" + strings.Repeat("- ", size/2) + "1); }",
		"sum":         "begin { print(1" + strings.Repeat("+1", size/2) + "); }",
		"postfix":     "begin { print($x" + strings.Repeat(".a", size/2) + "); }",
		"braces":      "begin " + strings.Repeat("{", size),
		"ternary":     "begin { print(1" + strings.Repeat("?1:1", size/4) + "); }",
		"else if":     "begin { if 1 {}" + strings.Repeat(" else if 1 {}", size/13) + "}",
		"pointers":    "begin { print((t " + strings.Repeat("*", size) + ")1); }",
		"arrays":      "begin { let $x: t" + strings.Repeat("[2]", size/3) + "; }",
		"typeof":      "begin { let $x: " + strings.Repeat("typeof(", size/7),
		"structs":     strings.Repeat("struct (", size/8),
		"struct body": "struct x { " + quotes,
		"comments":    strings.Repeat("/*", size/2),
		"string":      "begin { print(\"" + strings.Repeat("a", size),
		"escapes":     "begin { print(\"" + strings.Repeat(`\q`, size/2) + "\"); }",
		"attach":      strings.Repeat("a:", size/2),
		"commas":      strings.Repeat(",", size),
		"semicolons":  strings.Repeat(";", size),
		"closing":     strings.Repeat("}", size),
	} {
		s, ds := Parse(source.NewFile("in.bt", text))
		if !ds.HasErrors() || ds.Len() > maxErrors+1 {
			t.Errorf("%s: %d diagnostics", name, ds.Len())
		}
		if s == nil {
			t.Errorf("%s: no script", name)
		}
		var out strings.Builder
		ds.Print(&out, source.PrintOptions{})
		if out.Len() > 10_000 {
			t.Errorf("%s: %d bytes of diagnostics", name, out.Len())
		}
		if strings.Contains(out.String(), "BUG") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
