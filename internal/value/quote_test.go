package value

import (
	"os/exec"
	"strings"
	"testing"
)

func TestQuoted(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Words{Words: []string{"sh", "-c", "cut -f1 /etc/passwd"}}, `sh -c 'cut -f1 /etc/passwd'`},
		{Words{Words: []string{"a", "", "it's"}, Cut: true}, `a '' 'it'\''s' ...`},
		{Words{}, ""},
		{Str("x y"), "'x y'"},
		{Str("plain-1.2:3@h/z_%,=+"), "plain-1.2:3@h/z_%,=+"},
		{Str("~root"), "'~root'"},
		{Str("été"), "été"},
		{Text("c\nd\\ 'q'"), `$'c\nd\\ \'q\''`},
		{Str("\x1b[2J\xff\u202e"), `$'\x1b[2J\xff\u202e'`},
		{Int(-5), "-5"},
	} {
		if got := string(AppendQuoted(nil, c.v)); got != c.want {
			t.Errorf("%#v is %s, want %s", c.v, got, c.want)
		}
	}
}

// TestQuotedForShell has a shell print the words again.
func TestQuotedForShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash, which reads words back")
	}
	words := []string{"a b", "", "it's", `back\slash`, "$HOME `id` $(id)", "new\nline\ttab\r", "\x01\x7f\xff", "*?[x]",
		"été", "#no", "-n", "~", "{a,b}", "!x", "a;b|c&d<e>f", `"q"`, "\x1b'\\", "u\u202eu"}
	line := string(AppendQuoted(nil, Words{Words: words}))
	cmd := exec.Command(bash, "-c", `printf '%s\0' `+line)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	out, err := cmd.Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil ||
		strings.Join(got, "\x00") != strings.Join(words, "\x00") {
		t.Errorf("%s was read as %q, want %q (%v)", line, got, words, err)
	}
}
