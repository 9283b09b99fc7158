package hawktest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatchLines(t *testing.T) {
	for _, tt := range []struct {
		name, text, pattern string
		err                 string // part of the error; empty: matches
	}{
		{"empty", "", "", ""},
		{"same", "a\nb\n", "a\nb\n", ""},
		{"literal dots are no regexp", "a.b\n", "a.b\n", ""},
		{"literal is literal", "axb\n", "a.b\n", "line 1"},
		{"regexp", "@[cat]: 12\n", "@[{{\\w+}}]: {{\\d+}}\n", ""},
		{"regexp is anchored", "@[cat]: 12x\n", "@[cat]: {{\\d+}}\n", "line 1"},
		{"any lines", "1\n2\n3\n4\n", "1\n...\n4\n", ""},
		{"any lines, none", "1\n4\n", "1\n...\n4\n", ""},
		{"any lines twice", "1\nx\n2\ny\n3\n", "...\n2\n...\n3\n", ""},
		{"any lines, retried", "a\nb\na\nc\n", "...\na\nc\n", ""},
		{"trailing dots", "a\nb\n", "a\n...\n", ""},
		{"missing line", "a\n", "a\nb\n", "line 2"},
		{"extra line", "a\nb\n", "a\n", "there is more"},
		{"extra line after dots", "a\nb\nc\n", "...\nb\n", "there is more"},
		{"blank lines count", "a\n\n\nb\n", "a\n\n\nb\n", ""},
		{"blank line missing", "a\n\nb\n", "a\n\n\nb\n", "line 3"},
		{"unclosed", "a\n", "{{a\n", "without }}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := MatchLines(tt.text, tt.pattern)
			if tt.err == "" && err != nil {
				t.Error(err)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		op               string
		less, same, more bool // whether 1 op 2, 2 op 2, 3 op 2
	}{
		{"==", false, true, false}, {"!=", true, false, true}, {"<", true, false, false},
		{"<=", true, true, false}, {">", false, false, true}, {">=", false, true, true},
	} {
		for a, want := range map[int64]bool{1: tt.less, 2: tt.same, 3: tt.more} {
			if got, err := compare(a, tt.op, 2); err != nil || got != want {
				t.Errorf("%d %s 2 = %v, %v", a, tt.op, got, err)
			}
		}
	}
	if _, err := compare(1, "=", 1); err == nil {
		t.Error("= is accepted")
	}
}

func TestStackTrace(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             false,
		"ERROR: no such goroutine 5\n": false,
		"panic: boom\n\ngoroutine 1 [running]:\n": true,
		"x\npanic: y":                              true,
		"SIGQUIT\n\ngoroutine 7 [":                 true,
		"==================\nWARNING: DATA RACE\n": true,
	} {
		if got := stackTrace(text); got != want {
			t.Errorf("stackTrace(%q) = %v", text, got)
		}
	}
}

func TestParseRows(t *testing.T) {
	rows, err := parseRows(`# The first.
> begin {
>   print(1); }
1

> begin { print($1); }
$ 5 -- --x
! a warning
! its line
5
= 3
`)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []row{
		{line: 2, script: "begin {\n  print(1); }\n", stdout: "1\n"},
		{line: 6, script: "begin { print($1); }\n", args: []string{"5", "--", "--x"}, stdout: "5\n",
			stderr: "a warning\nits line\n", status: 3},
	} {
		if d := cmp.Diff(want, *rows[i], cmp.AllowUnexported(row{})); d != "" {
			t.Error(d)
		}
	}
	for _, bad := range []string{"output without a script\n", "> begin { }\n= x\n"} {
		if _, err := parseRows(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	r := rows[1]
	for _, tt := range []struct {
		stdout, stderr string
		status         int
		ok             bool
	}{
		{"5\n\n\n", "a warning\nits line\n", 3, true},
		{"5\n", "a warning\nits line\n", 0, false},
		{"5\n", "", 3, false},
		{"6\n", "a warning\nits line\n", 3, false},
		{"5\n5\n", "a warning\nits line\n", 3, false},
	} {
		if err := r.check(tt.stdout, tt.stderr, tt.status); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
