package value

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/types"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, all, lines string }{
		{"", "", ""},
		{"plain é €", "plain é €", "plain é €"},
		{"a\nb\tc\rd", `a\nb\tc\rd`, "a\nb\tc" + `\rd`},
		{"\x1b]0;x\x07\x7f", `\x1b]0;x\x07\x7f`, `\x1b]0;x\x07\x7f`},
		{"\xff\xc3(\xe2\x82", `\xff\xc3(\xe2\x82`, `\xff\xc3(\xe2\x82`},
		{"\u009b\u202e\u2066\u2028", `\u009b\u202e\u2066\u2028`, `\u009b\u202e\u2066\u2028`},
		{`back\slash`, `back\slash`, `back\slash`},
	} {
		if got := Escape(c.in); got != c.all {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.all)
		}
		if got := EscapeLines(c.in); got != c.lines {
			t.Errorf("EscapeLines(%q) = %q, want %q", c.in, got, c.lines)
		}
	}
}

// Only what is put into a format is escaped, and it is padded as it is shown.
func TestAppendEscaped(t *testing.T) {
	f, err := ParseFormat("\x1b[1m%-6s|%c%r")
	if err != nil {
		t.Fatal(err)
	}
	args := []Arg{
		{&types.String{Cap: 4}, []byte("\x1ba\x00\x00")},
		{types.Uint64, []byte{27, 0, 0, 0, 0, 0, 0, 0}},
		{&types.Buffer{Cap: 1}, []byte{1, 0, 0, 0, 27}},
	}
	const want = "\x1b[1m" + `\x1ba |\x1b\x1b`
	if got := string(f.AppendEscaped(nil, args, nil)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[2J\n\u009b\xff\u202eé")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Escape(s) {
			if r < ' ' || r == 0x7f || Commands(r) {
				t.Errorf("%q escaped has %q", s, r)
			}
		}
		if !utf8.ValidString(EscapeLines(s)) {
			t.Errorf("%q escaped is no text", s)
		}
		line := AppendJSONString(nil, []byte(s))
		var plain, escaped string
		if json.Unmarshal(line, &plain) != nil || json.Unmarshal(EscapeJSON(line), &escaped) != nil ||
			plain != escaped {
			t.Errorf("%q: JSON for terminals says %q, not %q", s, escaped, plain)
		}
	})
}
