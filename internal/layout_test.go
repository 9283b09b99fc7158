package internal_test

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// TestToolsFormatted fails when a tool or a library is not in the layout that hawk --fmt
// prints.
func TestToolsFormatted(t *testing.T) {
	tools := 0
	for _, file := range sources(t, ".bt") {
		if !strings.HasPrefix(file, "tools/") {
			continue
		}
		tools++
		text := readSource(t, file)
		tree, ds := syntax.Parse(source.NewFile(file, string(text)))
		if ds.HasErrors() {
			t.Errorf("%s does not parse", file)
		} else if syntax.Format(tree) != string(text) {
			t.Errorf("%s is not in canonical layout: run hawk --fmt %[1]s -o %[1]s", file)
		}
	}
	if tools == 0 {
		t.Error("there are no tools")
	}
}
