package stdlib

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/syntax"
)

func TestPackages(t *testing.T) {
	seen := map[string]string{}
	for _, name := range Names() {
		f, ok := Open(name)
		if !ok || !f.Library {
			t.Fatalf("%s: Open gives %v, %v", name, f, ok)
		}
		tree, ds := syntax.Parse(f)
		if ds.Len() > 0 {
			t.Fatalf("%s: %s", name, ds.List()[0].Msg)
		}
		for _, item := range tree.Items {
			m, ok := item.(*syntax.Macro)
			if !ok {
				t.Errorf("%s holds a %T; only macros are found by name", name, item)
				continue
			}
			if other := seen[m.Name.Name]; other != "" && other != name {
				t.Errorf("%s is in %s and in %s: only one is found", m.Name.Name, other, name)
			}
			seen[m.Name.Name] = name
			if got := Find(m.Name.Name); got != name {
				t.Errorf("Find(%s) = %q, want %q", m.Name.Name, got, name)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("the library is empty")
	}
	for _, name := range []string{"", "is_st", "is_str(", "nothing"} {
		if got := Find(name); got != "" {
			t.Errorf("Find(%q) = %q", name, got)
		}
	}
	if _, ok := Open("../stdlib"); ok {
		t.Error("Open leaves the library")
	}
}

// TestMacros checks what every entry of the manual must say.
func TestMacros(t *testing.T) {
	all := Macros()
	if len(all) == 0 {
		t.Fatal("there are no macros")
	}
	for _, m := range all {
		if Find(m.Name) == "" || !strings.HasPrefix(m.Signature, m.Name+"(") {
			t.Errorf("%+v is not what a package defines", m)
		}
		if !strings.HasSuffix(m.Doc, ".") || !strings.Contains(m.Example, m.Name+"(") {
			t.Errorf("%s has no sentence or no example that shows it: %+v", m.Name, m)
		}
	}
}
