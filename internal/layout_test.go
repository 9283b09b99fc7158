package internal_test

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// TestScriptsFormatted fails when a script is not in the layout that hawk --fmt prints: a tool, a
// library, a macro of the language. Those of the corpus are as others write.
func TestScriptsFormatted(t *testing.T) {
	scripts := 0
	for _, file := range sources(t, ".bt") {
		if strings.Contains(file, "/corpus/") {
			continue
		}
		scripts++
		text := readSource(t, file)
		tree, ds := syntax.Parse(source.NewFile(file, string(text)))
		if ds.HasErrors() {
			t.Errorf("%s does not parse", file)
		} else if syntax.Format(tree) != string(text) {
			t.Errorf("%s is not in canonical layout: run hawk --fmt %[1]s -o %[1]s", file)
		}
	}
	if scripts == 0 {
		t.Error("there are no scripts")
	}
}
