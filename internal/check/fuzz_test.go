package check_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// FuzzCheck: no script makes the front end panic or hang, and one without
// errors has a type for every expression that is evaluated.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.txtar", "testdata/types/*.txtar"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range a.Files {
				f.Add(string(file.Data))
			}
		}
	}
	m := machine.Recorded("testdata/machine")
	f.Fuzz(func(t *testing.T, text string) { bound.Run(t, len(text), func() { checkAll(t, m, text) }) })
}

// checkAll takes a script through the front end.
func checkAll(t *testing.T, m *machine.Machine, text string) {
	tree, ds := syntax.Parse(source.NewFile("in.bt", text))
	if ds.HasErrors() {
		return
	}
	script, ds := expand.Expand(tree, expand.Options{Probe: probe.Options{Machine: m}, Params: []string{"7", "text"}})
	if script == nil || ds.HasErrors() {
		return
	}
	prog, ds := check.Check(script)
	if ds.HasErrors() {
		return
	}
	for _, p := range prog.Probes {
		for e, v := range p.Info.Vars {
			if v.Type == nil {
				t.Errorf("$%s at %s has no type", v.Name, e.Span())
			}
		}
		for e := range p.Info.Calls {
			if p.Info.Types[e] == nil {
				t.Errorf("the call at %s has no type", e.Span())
			}
		}
	}
}
