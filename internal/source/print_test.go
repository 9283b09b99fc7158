package source

import (
	"strings"
	"testing"
)

// at returns the span of the first occurrence of part in f.
func at(f *File, part string) Span {
	i := strings.Index(f.Text, part)
	return Span{File: f, Start: i, End: i + len(part)}
}

func TestPrint(t *testing.T) {
	one := NewFile("stdin", `begin{ $a = 1; $a = "s"; }`)
	lines := NewFile("ml.bt", "begin {\n  printf(\"%d\\n\",\n    comm,\n    3);\n}\n")
	tabs := NewFile("t.bt", "\t\tx\ty = 1;\r\nz")
	odd := NewFile("o.bt", "a \x1b[31m\x00é\xff b \u202e c")
	crlf := NewFile("e\nvil.bt", "x")
	tests := []struct {
		name string
		d    Diagnostic
		opts PrintOptions
		want string
	}{
		{"line", Diagnostic{Severity: Error, Span: at(one, `$a = "s"`), Msg: "Type mismatch"}, PrintOptions{}, `
stdin:1:16-24: ERROR: Type mismatch
begin{ $a = 1; $a = "s"; }
               ~~~~~~~~
`},
		{"lines", Diagnostic{Severity: Error, Span: Span{File: lines, Start: 10, End: 41}, Msg: "too many"}, PrintOptions{}, `
ml.bt:2-4: ERROR: too many
  printf("%d\n",
    comm,
    3);
`},
		{"to the newline", Diagnostic{Severity: Error, Span: Span{File: lines, Start: 0, End: 8}, Msg: "m"}, PrintOptions{}, `
ml.bt:1:1-9: ERROR: m
begin {
~~~~~~~
`},
		{"tabs", Diagnostic{Severity: Warning, Span: at(tabs, "x\ty"), Msg: "w"}, PrintOptions{}, `
t.bt:1:3-6: WARNING: w
        x    y = 1;
        ~~~~~~
`},
		{"no place", Diagnostic{Severity: Error, Msg: "failed to open file"}, PrintOptions{}, `
ERROR: failed to open file
`},
		{"empty span", Diagnostic{Severity: Error, Span: Span{File: one, Start: 26, End: 26}, Msg: "m"}, PrintOptions{}, `
stdin:1:27-28: ERROR: m
begin{ $a = 1; $a = "s"; }
                          ~
`},
		{"out of the text", Diagnostic{Severity: Error, Span: Span{File: one, Start: 100, End: 90}, Msg: "m"}, PrintOptions{}, `
stdin:1:27-28: ERROR: m
begin{ $a = 1; $a = "s"; }
                          ~
`},
		{"unprintable", Diagnostic{Severity: Error, Span: at(odd, "b"), Msg: "bad \x1b[0m name \xff"}, PrintOptions{}, `
o.bt:1:13-14: ERROR: bad ?[0m name ?
a ?[31m?é? b ? c
           ~
`},
		{"file name", Diagnostic{Severity: Error, Span: Span{File: crlf, Start: 0, End: 1}, Msg: "two\nlines"}, PrintOptions{}, `
e?vil.bt:1:1-2: ERROR: two
lines
x
~
`},
		{"colour", Diagnostic{Severity: Error, Span: Span{File: crlf, Start: 0, End: 1}, Msg: "m"},
			PrintOptions{Color: true}, "\n" +
				"\x1b[31me?vil.bt:1:1-2: ERROR: m\x1b[0m\nx\n~\n"},
		{"colour of warnings", Diagnostic{Severity: Warning, Msg: "m", Hints: []string{"h"}},
			PrintOptions{Color: true}, "\n" +
				"\x1b[33mWARNING: m\x1b[0m\nHINT: h\n"},
		{"parts", Diagnostic{
			Severity: Error, Span: at(one, `$a = "s"`), Msg: "m",
			Notes: []Note{{at(one, "$a"), "earlier"}}, Hints: []string{"do this", "or that"},
			Trail: []Span{{File: tabs, Start: 12, End: 13}, {File: one, End: 5}},
		}, PrintOptions{}, `
stdin:1:16-24: ERROR: m
begin{ $a = 1; $a = "s"; }
               ~~~~~~~~
stdin:1:8-10: ERROR: earlier
begin{ $a = 1; $a = "s"; }
       ~~
HINT: do this
HINT: or that
t.bt:2:1-2: ERROR: expanded from
z
~
stdin:1:1-6: ERROR: expanded from
begin{ $a = 1; $a = "s"; }
~~~~~
`},
		{"hint", Diagnostic{Severity: Hint, Span: at(one, "$a"), Msg: "h"}, PrintOptions{}, "\nHINT: h\n"},
		{"warnings off", Diagnostic{Severity: Warning, Msg: "w", Hints: []string{"h"}},
			PrintOptions{NoWarnings: true}, "\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		tt.d.Print(&b, tt.opts)
		if got, want := b.String(), tt.want[1:]; got != want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

func TestPrintOrder(t *testing.T) {
	var ds Diagnostics
	ds.Warnf("w", Span{}, "first warning")
	ds.Errorf("e", Span{}, "first error")
	ds.Warnf("w", Span{}, "first warning")
	ds.Errorf("e", Span{}, "second error").Hint("fix it")
	for _, tt := range []struct {
		opts PrintOptions
		want string
	}{
		{PrintOptions{}, "ERROR: first error\nERROR: second error\nHINT: fix it\nWARNING: first warning\n"},
		{PrintOptions{NoWarnings: true}, "ERROR: first error\nERROR: second error\nHINT: fix it\n"},
	} {
		var b strings.Builder
		ds.Print(&b, tt.opts)
		if b.String() != tt.want {
			t.Errorf("%+v: got\n%s", tt.opts, b.String())
		}
	}
}

// TestPrintLong checks that an excerpt shows the neighbourhood of its span only.
func TestPrintLong(t *testing.T) {
	long := NewFile("l.bt", strings.Repeat("é", 5000)+"HERE"+strings.Repeat("b\t", 1<<19))
	for _, part := range []string{"HERE", "HERE" + strings.Repeat("b\t", 1000), "éé"} {
		var b strings.Builder
		d := Diagnostic{Severity: Error, Span: at(long, part), Msg: "m"}
		d.Print(&b, PrintOptions{})
		lines := strings.Split(b.String(), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines, want header, excerpt, markers and nothing", len(lines))
		}
		excerpt, marks := []rune(lines[1]), []rune(lines[2])
		if len(excerpt) > maxColumns+20 || len(marks) > len(excerpt) {
			t.Errorf("excerpt has %d columns, markers %d", len(excerpt), len(marks))
		}
		first := strings.IndexRune(lines[2], '~')
		if first < 0 || excerpt[first] != []rune(part)[0] {
			t.Errorf("markers do not start under the span: %q", lines[2])
		}
	}
	many := NewFile("m.bt", strings.Repeat("x\n", 10000))
	var b strings.Builder
	d := Diagnostic{Severity: Error, Span: Span{File: many, Start: 0, End: 20000}, Msg: "m"}
	d.Print(&b, PrintOptions{})
	if n := strings.Count(b.String(), "\n"); n != maxLines+2 {
		t.Errorf("%d lines, want header, %d lines and a mark that there is more", n, maxLines)
	}
}

func TestPosition(t *testing.T) {
	f := NewFile("f", "ab\r\nc\n\nd")
	for _, tt := range []struct{ offset, line, col int }{{0, 1, 1}, {2, 1, 3}, {4, 2, 1}, {5, 2, 2}, {6, 3, 1},
		{7, 4, 1}, {8, 4, 2}} {
		if line, col := f.Position(tt.offset); line != tt.line || col != tt.col {
			t.Errorf("Position(%d) = %d, %d, want %d, %d", tt.offset, line, col, tt.line, tt.col)
		}
	}
	for line, want := range []string{"", "ab", "c", "", "d", ""} {
		if got := f.Line(line); got != want {
			t.Errorf("Line(%d) = %q, want %q", line, got, want)
		}
	}
}

func TestTrail(t *testing.T) {
	lib := NewFile("lib.bt", "macro a() { b }\n")
	lib.Library = true
	script := NewFile("in.bt", "begin { m(1) }\nmacro m(x) { a() }\n")
	outer := &Expansion{at(script, "m(1)")}
	inner := at(script, "a()")
	inner.From = outer
	bad := at(lib, "b")
	bad.From = &Expansion{inner}

	var ds Diagnostics
	ds.Errorf("c", inner, "in a macro")
	ds.Errorf("c", bad, "in the library")
	var b strings.Builder
	ds.Print(&b, PrintOptions{NoExcerpt: true})
	use := "in.bt:1:9-13: ERROR: expanded from\nbegin { m(1) }\n        ~~~~\n"
	want := "in.bt:2:14-17: ERROR: in a macro\n" + use +
		"in.bt:2:14-17: ERROR: in the library\nlib.bt:1:13-14: ERROR: in the library\n" + use
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestPrintTool prints errors of a tool: its name stands in place of places, and each message once.
func TestPrintTool(t *testing.T) {
	lib, script := NewFile("lib.bt", "macro m(x) { b }"), NewFile("tool.bt", "begin { m(1) }")
	from := Span{File: script, Start: 8, End: 12}
	bad := Span{File: lib, Start: 13, End: 14, From: &Expansion{from}}
	var ds Diagnostics
	for _, at := range []Span{bad, {File: script, Start: 0, End: 5}} {
		ds.Errorf("c", at, "it is\nwrong").Hint("do better")
	}
	ds.Errorf("c", Span{}, "nowhere")
	for _, c := range []struct {
		name, want string
	}{
		{"tool", "ERROR: tool: it is\nwrong\nHINT: do better\nERROR: nowhere\n"},
		{"", "lib.bt:1:14-15: ERROR: it is\nwrong\nmacro m(x) { b }\n             ~\nHINT: do better\n" +
			"tool.bt:1:9-13: ERROR: expanded from\nbegin { m(1) }\n        ~~~~\n" +
			"tool.bt:1:1-6: ERROR: it is\nwrong\nbegin { m(1) }\n~~~~~\nHINT: do better\nERROR: nowhere\n"},
	} {
		var b strings.Builder
		if ds.Print(&b, PrintOptions{Tool: c.name}); b.String() != c.want {
			t.Errorf("got\n%swant\n%s", b.String(), c.want)
		}
	}
}
