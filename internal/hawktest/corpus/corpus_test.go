package corpus

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

func loadAll(t testing.TB) []*Script {
	t.Helper()
	scripts, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return scripts
}

// compileOn compiles a script for a machine, with more options if need be.
func (s *Script) compileOn(t testing.TB, machine *machine.Machine, o compile.Options) (*compile.Result,
	compile.Options) {
	t.Helper()
	o.Params, o.Trace = s.Params, true
	o.Probe = probe.Options{Machine: machine, Unsafe: s.Has("unsafe")}
	if s.Run != nil {
		o.Probe.PID = 1 // any: that of the command is known when the script is loaded
	}
	res, ds := compile.Compile(source.NewFile(s.Name+".bt", s.Text), o)
	if res == nil {
		var text bytes.Buffer
		ds.Print(&text, source.PrintOptions{NoWarnings: true})
		t.Fatalf("%s does not compile:\n%s", s.Name, &text)
	}
	return res, o
}

// TestSize holds the corpus to its purpose: many scripts, a third of them with their output.
func TestSize(t *testing.T) {
	scripts := loadAll(t)
	checked := 0
	for _, s := range scripts {
		if s.Expects {
			checked++
		}
	}
	if len(scripts) < 150 || checked*3 < len(scripts) {
		t.Errorf("%d scripts, %d with their output", len(scripts), checked)
	}
}

// TestFormat prints the scripts and reads them again: the tree is the same, the comments are all
// there, and printing once more changes nothing.
func TestFormat(t *testing.T) {
	for _, s := range loadAll(t) {
		t.Run(s.Name, func(t *testing.T) {
			tree := parseScript(t, s.Text)
			once := syntax.Format(tree)
			again := parseScript(t, once)
			if d := diffTrees(tree, again); d != "" {
				t.Errorf("the tree changes:\n%s\nprinted:\n%s", d, once)
			}
			if len(tree.Comments) != len(again.Comments) {
				t.Errorf("%d comments became %d\nprinted:\n%s", len(tree.Comments), len(again.Comments), once)
			}
			if twice := syntax.Format(again); twice != once {
				t.Errorf("printing twice is not printing once:\n%s", cmp.Diff(once, twice))
			}
		})
	}
}

func parseScript(t *testing.T, text string) *syntax.Script {
	t.Helper()
	tree, ds := syntax.Parse(source.NewFile("script.bt", text))
	if ds.HasErrors() {
		var b bytes.Buffer
		ds.Print(&b, source.PrintOptions{})
		t.Fatalf("%s\n%s", &b, text)
	}
	return tree
}

// diffTrees compares trees without places and comments. Settings are compared as printed: quotes
// make no difference there.
func diffTrees(a, b *syntax.Script) string {
	setting := cmp.Transformer("text", func(s *syntax.Setting) string { return syntax.Format(s) })
	return cmp.Diff(a, b, setting, cmpopts.EquateEmpty(),
		cmpopts.IgnoreTypes(syntax.Pos{}, source.Span{}), cmpopts.IgnoreFields(syntax.Script{}, "Comments"))
}

// TestCompile compiles what needs nothing of the kernel on a machine of which nothing is known.
func TestCompile(t *testing.T) {
	machine := machine.Recorded(t.TempDir())
	for _, s := range loadAll(t) {
		if len(s.Needs) > 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) { s.compileOn(t, machine, compile.Options{Verify: true}) })
	}
}
