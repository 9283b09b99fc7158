package markdown

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFold has every word where it was, lines that fit, and none that begins as markup.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"short", "short"},
		{"", ""},
		{strings.Repeat("word ", 24), strings.TrimSpace(strings.Repeat("word ", 23)) + "\n  word"},
		{strings.Repeat("word ", 23) + "- word", strings.Repeat("word ", 23) + "-\n  word"},
		{strings.Repeat("word ", 23) + "1. word", strings.Repeat("word ", 23) + "1.\n  word"},
		{strings.Repeat("word ", 22) + "`a b c d` e",
			strings.TrimSpace(strings.Repeat("word ", 22)) + "\n  `a b c d` e"},
		{strings.Repeat("é", 118) + " e", strings.Repeat("é", 118) + "\n  e"},
	} {
		if got := Fold(tt.line, "  "); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.line, got, tt.want)
		}
	}
	long := strings.Repeat("several words of `code with spaces`, é and --option, 1. or * marks ", 40)
	folded := Fold(long, "")
	if strings.Join(strings.Fields(folded), " ") != strings.Join(strings.Fields(long), " ") {
		t.Errorf("words changed: %s", folded)
	}
	for line := range strings.SplitSeq(folded, "\n") {
		if utf8.RuneCountInString(line) > columns+4 || strings.Count(line, "`")%2 == 1 {
			t.Errorf("%q", line)
		}
	}
}
