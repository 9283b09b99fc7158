package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hawktrace/hawk/internal/source"
)

// sameTree compares two trees without their positions and comments. A setting
// is printed without quotes where they make no difference.
func sameTree(a, b Node) string {
	plain := cmp.Transformer("plain", func(s *Setting) any {
		if str, ok := s.Value.(*StringLit); ok && isPlainWord(str) {
			return []string{s.Key.Name, str.Value}
		}
		if id, ok := s.Value.(*Ident); ok {
			return []string{s.Key.Name, id.Name}
		}
		return []any{s.Key.Name, s.Value}
	})
	return cmp.Diff(a, b, plain, cmpopts.EquateEmpty(),
		cmpopts.IgnoreTypes(Pos{}, source.Span{}), cmpopts.IgnoreFields(Script{}, "Comments"))
}

func render(ds *source.Diagnostics) string {
	var b strings.Builder
	ds.Print(&b, source.PrintOptions{})
	return b.String()
}

func parseClean(t testing.TB, text string) *Script {
	t.Helper()
	s, ds := Parse(source.NewFile("in.bt", text))
	if ds.Len() > 0 {
		t.Fatalf("%s\n%s", text, render(ds))
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	for _, text := range corpus {
		checkRoundTrip(t, parseClean(t, text), text)
	}
}

func checkRoundTrip(t testing.TB, s *Script, text string) {
	t.Helper()
	once := Format(s)
	again, ds := Parse(source.NewFile("out.bt", once))
	if ds.HasErrors() {
		t.Fatalf("printed text does not parse:\n%s\nscript:\n%s\nprinted:\n%s", render(ds), text, once)
	}
	if diff := sameTree(s, again); diff != "" {
		t.Fatalf("tree changed:\n%s\nscript:\n%s\nprinted:\n%s", diff, text, once)
	}
	if len(again.Comments) != len(s.Comments) {
		t.Fatalf("%d comments became %d\nscript:\n%s\nprinted:\n%s", len(s.Comments), len(again.Comments), text, once)
	}
	if diff := cmp.Diff(remarks(s), remarks(again)); diff != "" {
		t.Fatalf("comments changed: %s\nscript:\n%s\nprinted:\n%s", diff, text, once)
	}
	if twice := Format(again); twice != once {
		t.Fatalf("printing is not stable: %s\nscript:\n%s", cmp.Diff(once, twice), text)
	}
}

// TestPositions checks that every node lies within its parent.
func TestPositions(t *testing.T) {
	for _, text := range corpus {
		checkPositions(t, parseClean(t, text))
	}
}

func checkPositions(t testing.TB, n Node) {
	t.Helper()
	outer := n.Span()
	children(n, func(c Node) {
		inner := c.Span()
		if inner.Start < outer.Start || inner.End > outer.End || inner.Start > inner.End {
			t.Fatalf("%T at %d-%d is not within %T at %d-%d", c, inner.Start, inner.End, n, outer.Start, outer.End)
		}
		checkPositions(t, c)
	})
}
