package opt

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestPassesProven has a golden section for each pass, under one of its names.
func TestPassesProven(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^-- (\S+) --$`).FindAllSubmatch(text, -1) {
			sections[strings.ReplaceAll(string(m[1]), "-", " ")] = true
		}
	}
	names, proven := map[uintptr]string{}, map[uintptr]bool{}
	for _, pass := range passes {
		f := reflect.ValueOf(pass.run).Pointer()
		if names[f] == "" {
			names[f] = pass.name
		}
		proven[f] = proven[f] || sections[pass.name]
	}
	for f, name := range names {
		if !proven[f] {
			t.Errorf("no file of testdata has a section -- %s --: write IR for it to change and run go test -update",
				strings.ReplaceAll(name, " ", "-"))
		}
	}
}
