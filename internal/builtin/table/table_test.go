package table

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/hawktrace/hawk/internal/probe/kinds" // all that an entry can ask for

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// TestEntries checks what every entry of the tables must say.
func TestEntries(t *testing.T) {
	for _, f := range builtin.All() {
		t.Run(f.Name, func(t *testing.T) {
			checkText(t, f.Name, f.Doc, f.Example)
			checkParams(t, f.Params, f.Min)
			if f.Variadic && len(f.Params) == 0 {
				t.Error("Variadic without a parameter that repeats")
			}
			if f.Stands == nil && f.Result == nil && f.Check == nil {
				t.Error("neither Result nor Check says the type")
			}
			if f.Lower == nil && f.Const == nil && f.Stands == nil {
				t.Error("nothing makes the value")
			}
			for _, p := range f.Params {
				takesWord := p.Kind == builtin.Word || p.Kind == builtin.WordOrIntLit
				if takesWord && len(f.Words) == 0 {
					t.Errorf("parameter %s takes a word and there are no Words", p.Name)
				}
			}
			if !slices.ContainsFunc(probe.Kinds(), func(k *probe.Kind) bool { return k.Has&f.Probes == f.Probes }) {
				t.Error("no probe kind offers what it needs")
			}
			for _, old := range f.Old {
				if got, ok := builtin.Lookup(old); !ok || got != f {
					t.Errorf("Lookup(%q) does not find it", old)
				}
			}
		})
	}
	for _, a := range builtin.Aggs() {
		t.Run(a.Name, func(t *testing.T) {
			checkText(t, a.Name, a.Doc, a.Example)
			checkParams(t, a.Params, a.Min)
			if a.CellBytes == nil || a.Update == nil || a.Fold == nil || a.Show == nil {
				t.Error("CellBytes, Update, Fold or Show is missing")
			}
			if a.Castable != (a.Accumulate != nil) || a.Castable != (a.Read != nil) {
				t.Error("Accumulate and Read are for Castable aggregations, and those need both")
			}
		})
	}
}

// numbered reports whether a name stands for many: arg0, sarg1.
func numbered(name string) bool { return name == "argN" || name == "sargN" }

func checkText(t *testing.T, name, doc, example string) {
	t.Helper()
	if !strings.HasSuffix(doc, ".") {
		t.Errorf("Doc %q is not a sentence", doc)
	}
	if strings.Contains(example, "\n") {
		t.Error("Example has more than one line")
	}
	if numbered(name) {
		name = strings.TrimSuffix(name, "N")
	}
	if !strings.Contains(example, name) {
		t.Errorf("Example %q does not show it", example)
	}
	script, ds := syntax.Parse(source.NewFile("example", example))
	if ds.HasErrors() {
		t.Errorf("Example %q does not parse", example)
	}
	if len(script.Items) == 0 {
		t.Errorf("Example %q has no probe", example)
	}
}

func checkParams(t *testing.T, params []builtin.Param, least int) {
	t.Helper()
	if least > len(params) {
		t.Errorf("Min is %d and there are %d parameters", least, len(params))
	}
	for _, p := range params {
		if p.Name == "" || p.Kind.String() == "" {
			t.Errorf("parameter %+v has no name or its kind no description", p)
		}
	}
}

// TestRooms finds the rooms of builtins, so that none is left out of the table.
func TestRooms(t *testing.T) {
	src, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := filepath.Glob("../*/*.go")
	if err != nil || len(rooms) == 0 {
		t.Fatal("no rooms", err)
	}
	for _, path := range rooms {
		if room := filepath.Base(filepath.Dir(path)); room != "table" &&
			!strings.Contains(string(src), `internal/builtin/`+room+`"`) {
			t.Errorf("table.go does not import %s", room)
		}
	}
}

func TestOrder(t *testing.T) {
	byName := func(a, b *builtin.Func) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(builtin.All(), byName) {
		t.Error("All is not sorted")
	}
	names := builtin.Names()
	for _, f := range builtin.All() {
		if !numbered(f.Name) && !slices.Contains(names, f.Name) {
			t.Errorf("Names lacks %s", f.Name)
		}
	}
	if got := len(builtin.Aggs()) + len(builtin.All()) - 2; got > len(names) {
		t.Errorf("%d entries and only %d names", got, len(names))
	}
}

func TestSignature(t *testing.T) {
	two := []builtin.Param{builtin.StringLit.Named("format"), builtin.AnyValue.Named("argument")}
	for _, c := range []struct {
		params   []builtin.Param
		least    int
		variadic bool
		want     string
	}{
		{nil, 0, false, "f()"},
		{two, 2, false, "f(format, argument)"},
		{two, 1, false, "f(format[, argument])"},
		{two, 0, false, "f([format[, argument]])"},
		{two, 1, true, "f(format[, argument, …])"},
	} {
		if got := builtin.Signature("f", c.params, c.least, c.variadic); got != c.want {
			t.Errorf("Signature(%d, %v) = %q, want %q", c.least, c.variadic, got, c.want)
		}
	}
}

// stages are the packages that get to know a builtin by its entry and must not
// compare names. Those missing here have vocabularies of their own: flags,
// BPF opcodes, IR, events of perf.
var stages = []string{
	"check", "compile", "expand", "load", "lower", "object", "opt", "output", "session", "symbolize", "syntax",
	"types", "value", "view/derive",
}

// mayName are names that are quoted outside the table, and why.
var mayName = map[string][]string{
	// the grammar knows them: they are never types or record fields
	"syntax/names.go": {"args", "ctx", "kstack", "ustack", "nsecs", "pid", "tid"},
	"syntax/item.go":  {"config"}, // the block of settings
	// what joins the parts of a long text, which tools read without compiling
	"syntax/literal.go": {"str_concat"},
	// how the type of a map is spelled
	"types/types.go":          {"count", "hist", "lhist", "tseries"},
	"types/names.go":          {"count"},           // the type count_t
	"view/derive/annotate.go": {"name", "show"},    // words of annotations
	"lower/lower.go":          {"stacks"},          // a map of hawk's own
	"lower/unwindprobes.go":   {"stack"},           // a member of a structure of the kernel
	"output/shown.go":         {"hist", "tseries"}, // types of JSON records
	"session/run.go":          {"exit", "signal"},  // reasons for an end
	// a field of the kernel's tasks
	"session/family.go":  {"pid"},
	"load/elf.go":        {"probe"}, // the end of a section's name
	"load/btf.go":        {"ctx"},   // a parameter's name in BTF
	"compile/compile.go": {"join"},  // a stage
	// the types of JSON records, which have names of their own right
	"output/json.go": {"printf", "warnf", "errorf", "stats", "hist", "tseries"},
}

// TestNamedOnce looks for names of the table in the string literals of other
// packages.
func TestNamedOnce(t *testing.T) {
	names := builtin.Names()
	found := map[string][]string{}
	for _, stage := range stages {
		files, err := filepath.Glob(filepath.Join("..", "..", stage, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no files of that package (%v): say in stages what it is called now", stage, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file := stage + "/" + filepath.Base(path)
			for name, line := range quotedNames(t, path, src, names) {
				if !slices.Contains(mayName[file], name) {
					t.Errorf("%s:%d names %q; let its entry in the table say what this place wants to know",
						file, line, name)
				}
				found[file] = append(found[file], name)
			}
		}
	}
	for file, names := range mayName {
		for _, name := range names {
			if !slices.Contains(found[file], name) {
				t.Errorf("%s does not name %q any more: drop the exception", file, name)
			}
		}
	}
}

func TestQuotedNames(t *testing.T) {
	const src = `package p

import "time"

// "comment"
var x = map[string]int{"key": 1, ` + "`raw`: 2" + `}

func f(s string) bool { return s == "compared" || s == "longer compared" }
`
	got := quotedNames(t, "p.go", []byte(src), []string{"time", "comment", "key", "raw", "compared"})
	want := map[string]int{"key": 6, "raw": 6, "compared": 8}
	if len(got) != len(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for name, line := range want {
		if got[name] != line {
			t.Errorf("%s found on line %d, want %d", name, got[name], line)
		}
	}
}

// quotedNames finds names that are string literals in a file, with the line of
// one place each. Imports and comments do not count.
func quotedNames(t *testing.T, path string, src []byte, names []string) map[string]int {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(n.Value); err == nil && slices.Contains(names, s) {
				found[s] = fset.Position(n.Pos()).Line
			}
		}
		return true
	})
	return found
}
