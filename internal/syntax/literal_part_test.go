package syntax

import (
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

func TestStringLitPart(t *testing.T) {
	for _, c := range []struct {
		script     string
		start, end int
		want       string // "": none
	}{
		{`begin { printf("%d x"); }`, 0, 2, "%d"},
		{`begin { printf("a\n\x41b%5d\t"); }`, 4, 7, "%5d"},
		{`begin { printf("\101%d"); }`, 1, 3, "%d"},
		{`begin { printf("\x4"); }`, 0, 1, `\x4`},
		{`begin { printf("ab"); }`, 1, 2, "b"},
		{`begin { printf("ab"); }`, 1, 3, ""},
		{`begin { printf(""); }`, 0, 0, ""},
		{`begin { printf("a"); }`, 1, 0, ""},
	} {
		script, ds := Parse(source.NewFile("t", c.script))
		if ds.HasErrors() {
			t.Fatal(c.script)
		}
		var lit *StringLit
		Walk(script, func(n Node) bool {
			if l, ok := n.(*StringLit); ok {
				lit = l
			}
			return true
		})
		at, ok := lit.Part(c.start, c.end)
		if got := at.Text(); ok && got != c.want || !ok && c.want != "" {
			t.Errorf("%s: bytes %d to %d are %q (%v), want %q", c.script, c.start, c.end, got, ok, c.want)
		}
	}
	if _, ok := (&StringLit{Value: "made up"}).Part(0, 1); ok {
		t.Error("a literal of no file has a place")
	}
}
