package glyph

import "testing"

// TestFit: text is cut to a width with an ellipsis, and what takes no column is written by number.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"a", 0, ""},
		{"e\u0301e\u0301", 1, "…"}, {"e\u0301", 1, "e\u0301"}, {"", 3, ""}} {
		if got := Fit(tt.text, tt.width); got != tt.want || Width(got) > tt.width {
			t.Errorf("%q in %d columns is %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"a\u200bb\u2060": `a\u200bb\u2060`, "\u0301e\u0301": `\u0301e` + "\u0301", "日本": "日本",
		"\U0001f469\u200d\U0001f467": "\U0001f469" + `\u200d` + "\U0001f467",
		"\U0001f44d\U0001f3fd":       "\U0001f44d" + `\U0001f3fd`, "☠\ufe0f": "☠" + `\ufe0f`,
		"\u200f\u061c": `\u200f\u061c`,
	} {
		if got := Safe(text); got != want {
			t.Errorf("Safe(%+q) is %+q, not %+q", text, got, want)
		}
	}
	if got := Safe("a\x1b]0;x\x07\u202e\xff\n"); got != `a\x1b]0;x\x07\u202e\xff\n` {
		t.Errorf("text from outside is drawn as %q", got)
	}
}
