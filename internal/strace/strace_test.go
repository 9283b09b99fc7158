package strace

import (
	"slices"
	"strings"
	"testing"
)

// TestTable looks for words of calls.txt and flags.txt that nothing knows.
func TestTable(t *testing.T) {
	last := ""
	for line := range strings.Lines(callsText()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name <= last {
			t.Errorf("%s stands behind %s", name, last)
		}
		if last = name; rest == "" {
			t.Errorf("%s has no classes", name)
		}
		for _, a := range find(name).args {
			if (a.kind == "f" || a.kind == "e" || a.kind == "X") && loadSet(a.param, "amd64") == nil {
				t.Errorf("%s: there is no set %q", name, a.param)
			}
		}
	}
	for _, goarch := range []string{"amd64", "arm64"} {
		for _, name := range numbers(goarch) {
			if name != "" && !strings.Contains(callsText(), "\n"+name+" ") {
				t.Logf("%s: %s is shown with numbers alone", goarch, name)
			}
		}
		for set := range strings.Lines(flagsText()) {
			if strings.HasPrefix(set, " ") {
				continue
			}
			name, _, _ := strings.Cut(set, " ")
			for _, c := range loadSet(name, goarch) {
				if c.value == 0 && c.name != loadSet(name, goarch)[0].name {
					t.Errorf("%s: %s has no value", name, c.name)
				}
			}
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, c := range []struct {
		in   string
		q    quoting
		want string
	}{
		{"a\"b\\\n\t\x00", plain, `"a\"b\\\n\t\0"`},
		{"\x001\x33\x1b[", plain, `"\00013\33["`},
		{"é", plain, `"\303\251"`},
		{"a\x01", hexTexts, `"\x61\x01"`},
		{"ab", hexTexts, `"ab"`},
		{"ab", hexAll, `"\x61\x62"`},
	} {
		if got := string(appendQuoted(nil, []byte(c.in), c.q)); got != c.want {
			t.Errorf("%q: %s, not %s", c.in, got, c.want)
		}
	}
}

// TestFilter reads sets of calls.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		set, name string
		traced    bool
	}{
		{"open,close", "close", true}, {"open,close", "read", false}, {"!open", "read", true},
		{"!open", "open", false}, {"%file", "openat", true}, {"%file", "read", false}, {"file,read", "read", true},
		{"/^wr", "writev", true}, {"none", "read", false}, {"all", "read", true}, {"?nosuch,read", "read", true},
		{"%memory", "mmap", true}, {"%%stat", "statx", true}, {"%desc", "read", true}, {"trace=%net", "socket", true},
	} {
		var f Filter
		if err := f.Set(c.set, "amd64"); err != nil {
			t.Errorf("%s: %v", c.set, err)
		}
		if got := f.Traced(c.name, find(c.name).classes); got != c.traced {
			t.Errorf("%s: %s is traced: %v", c.set, c.name, got)
		}
	}
	for _, wrong := range []string{"nosuch", "%nosuch", "signal=NOSUCH", "inject=all", "status=x", "/("} {
		var f Filter
		if f.Set(wrong, "amd64") == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestArguments splits texts in which names of files and strings look like anything.
func TestArguments(t *testing.T) {
	for text, want := range map[string][]string{
		``:                                       nil,
		`3, "a, b)", 7`:                          {`3`, `"a, b)"`, `7`},
		`3</a\74b\76 \"c, (d>, "", 1`:            {`3</a\74b\76 \"c, (d>`, `""`, `1`},
		`3<TCP:[1.2.3.4:5->6.7.8.9:10]>, {a, b}`: {`3<TCP:[1.2.3.4:5->6.7.8.9:10]>`, `{a, b}`},
		`1</dev/null<char 1:3>>, 21<<MAP_X, [7]`: {`1</dev/null<char 1:3>>`, `21<<MAP_X`, `[7]`},
		`"\"<", 4<x>`:                            {`"\"<"`, `4<x>`},
	} {
		var got []string
		for _, part := range arguments([]byte(text)) {
			got = append(got, string(part))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestEachValueCounts: a wrong value is an error also where a later one is right.
func TestEachValueCounts(t *testing.T) {
	for _, name := range []string{"absolute-timestamps", "expr", "quiet", "decode-fds"} {
		right := map[string]string{"absolute-timestamps": "unix", "expr": "trace=read"}[name]
		if right == "" {
			right = "true"
		}
		if err := Defaults("amd64").Read(map[string][]string{name: {right}}); err != nil {
			t.Errorf("--%s=%s: %v", name, right, err)
		}
		if err := Defaults("amd64").Read(map[string][]string{name: {"no,such", right}}); err == nil {
			t.Errorf("--%s=no,such --%[1]s=%s is taken", name, right)
		}
	}
}
