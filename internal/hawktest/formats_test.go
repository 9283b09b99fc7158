package hawktest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/output"
)

// TestFormatsProven finds a case for each value of -f that writes something: one that names it and says what is in it.
func TestFormatsProven(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, ScriptDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var cases [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, text)
	}
	check := func(name string) {
		use := regexp.MustCompile(`(?m)^(?:!? ?|start )hawk .*(?:-f |--save )` + regexp.QuoteMeta(name) + `[ :\n]`)
		expects := regexp.MustCompile(`(?m)^(?:stdout|grep|match|exists) `)
		for _, text := range cases {
			if use.Match(text) && expects.Match(text) {
				return
			}
		}
		t.Errorf("no case uses the format %s and expects something of it: write one, %s/view_%s.txtar", name,
			ScriptDir, name)
	}
	for _, f := range output.Forms() {
		if f != output.PlainText { // which all the others prove
			check(f.Name)
		}
	}
	for _, f := range export.Formats() {
		check(f.Name)
	}
}
