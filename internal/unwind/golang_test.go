package unwind

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

// The rules of this very program, which Go has compiled.
func TestGo(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := exe.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		t.Skipf("frame pointers have to do on %v", f.Machine)
	}
	table, err := NewTable(f)
	if err != nil {
		t.Fatal(err)
	}
	if table.Frames {
		t.Error("frame pointers would do")
	}
	want := map[string]object.Rule{
		"runtime.goexit":                                     object.NewRule(object.RuleEnd, 0, 0),
		"runtime.systemstack":                                object.NewRule(object.RuleGuess, 0, 0),
		"runtime.sigtramp":                                   object.NewRule(object.RuleSP, 1, 0),
		"runtime.sigreturn__sigaction":                       object.NewRule(object.RuleSignal, 0, 0),
		"github.com/hawktrace/hawk/internal/unwind.TestGo":   object.NewRule(object.RuleSP, 1, 0),
		"github.com/hawktrace/hawk/internal/unwind.NewTable": object.NewRule(object.RuleSP, 1, 0),
	}
	for _, s := range f.Functions(nil) {
		rule, ok := want[s.Name]
		if !ok {
			continue
		}
		delete(want, s.Name)
		if got := table.Rule(s.Addr); got != rule {
			t.Errorf("%s: %s, want %s", s.Name, describe(got), describe(rule))
		}
		if s.Name == "runtime.sigreturn__sigaction" && table.Rule(s.Addr-1) != rule {
			t.Error("handlers do not return")
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
