package probe

import (
	"regexp"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false},
		{"*ab", "abxab", true}, // what the reference misses
		{"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"**a**", "xax", true},
		{"vfs_*", "vfs_read", true}, {"vfs_*", "xvfs_read", false},
		{"?fs", "vfs", true}, {"?fs", "fs", false}, {"v[fg]s", "vgs", true}, {"v[!fg]s", "vgs", false},
		{"v[^a-e]s", "vfs", true}, {"[a-c]x", "bx", true}, {"[]x]", "]", true}, {"a[", "a[", true},
		{"a[b", "a[b", true}, {"a[b", "ab", false}, {"operator[]", "operator[]", true}, {"[a-]", "-", true},
		{"[*]", "*", true}, {"[*]", "x", false},
	} {
		if got := Glob(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Glob(%q, %q) = %t", tt.pattern, tt.name, got)
		}
	}
	quoted := Part{Text: "f[0]?*", Literal: true}
	if !quoted.HasWild() || !quoted.Matches("f[0]?abc") || quoted.Matches("f0xabc") {
		t.Error("of a quoted part only * is a wildcard")
	}
}

func TestGlobIsQuick(t *testing.T) {
	// Exponential matchers would not come back from this.
	if Glob(strings.Repeat("*a", 2000)+"b", strings.Repeat("a", 4000)) {
		t.Error("matched")
	}
}

// FuzzGlob compares with a regular expression made of the same pattern.
func FuzzGlob(f *testing.F) {
	f.Add("a*b?c", "aXXbYc")
	f.Add("[a-c]*[!x]", "bqy")
	f.Add("[]", "[]")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Glob(pattern, name)
		if strings.Contains(pattern, "[") {
			return // only that it ends; sets differ in detail
		}
		var re strings.Builder
		re.WriteString(`(?s)\A`)
		for i := range len(pattern) {
			switch c := pattern[i]; c {
			case '*':
				re.WriteString(".*")
			case '?':
				re.WriteString(".")
			default:
				re.WriteString(regexp.QuoteMeta(string(rune(c))))
			}
		}
		re.WriteString(`\z`)
		if want := regexp.MustCompile(re.String()).MatchString(latin1(name)); got != want {
			t.Errorf("Glob(%q, %q) = %t", pattern, name, got)
		}
	})
}

// latin1 makes a rune of every byte, as the expression is made.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
