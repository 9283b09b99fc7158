package expand

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// importFiles writes the files of an archive and expands main.bt: the names of
// its probes, then messages with DIR for the directory.
func importFiles(t *testing.T, archive string, dirs ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Name, "open") {
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range dirs {
		dirs[i] = filepath.Join(dir, dirs[i])
	}
	name := filepath.Join(dir, "main.bt")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tree, ds := syntax.Parse(source.NewFile(name, string(text)))
	if ds.HasErrors() {
		t.Fatal(ds.List()[0].Msg)
	}
	s, ds := Expand(tree, Options{IncludeDirs: dirs, Probe: probe.Options{Machine: machine.Recorded(t.TempDir())}})
	var out []string
	for _, p := range s.Probes {
		out = append(out, p.Attach[0].Points[0].Name()+" "+p.Tree.Span().File.Name)
	}
	for _, d := range ds.List() {
		text := string(d.Code) + ": " + strings.Join(append([]string{d.Msg}, d.Hints...), " | ")
		for _, at := range d.Trail {
			text += " < " + at.Text()
		}
		out = append(out, text)
	}
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], dir, "DIR")
	}
	return out
}

func TestImports(t *testing.T) {
	for _, c := range []struct {
		name, archive string
		dirs          []string
		want          []string
	}{
		{"order", `
-- main.bt --
import "lib/a.bt"; import "lib/b.bt"; begin {}
-- lib/a.bt --
import "b.bt"; import "../main.bt"; begin {}
-- lib/b.bt --
begin {}
`, nil, []string{"begin b.bt", "begin lib/a.bt", "begin DIR/main.bt"}},
		{"cycle", `
-- main.bt --
import "a.bt"; begin {}
-- a.bt --
import "b.bt"; begin {}
-- b.bt --
import "a.bt"; begin {}
`, nil, []string{"begin b.bt", "begin a.bt", "begin DIR/main.bt"}},
		{"directory", `
-- main.bt --
import "d"; end {}
-- d/y.bt --
begin {}
-- d/x.bt --
begin {}
-- d/notes.txt --
not a script
-- d/deeper/z.bt --
begin {}
`, nil, []string{"begin d/x.bt", "begin d/y.bt", "end DIR/main.bt"}},
		{"search", `
-- main.bt --
import "a.bt"; end {}
-- open/a.bt --
begin {}
-- one/a.bt --
begin {}
`, []string{"open", "one"}, []string{"begin a.bt", "end DIR/main.bt",
			"import-skipped: DIR/open/a.bt is skipped: DIR/open/a.bt is writable by others"}},
		{"beside the script", `
-- main.bt --
import "lib/a.bt";
-- lib/a.bt --
import "common.bt"; end {}
-- common.bt --
begin {}
`, nil, []string{"begin common.bt", "end lib/a.bt"}},
		{"unsafe", `
-- main.bt --
import "open.bt"; begin {}
-- open.bt --
begin {}
`, nil, []string{"begin DIR/main.bt", `import-unsafe: Refusing to import "open.bt": others could change it | it, and all directories above it, must belong to root or to you, and nobody else may write to them (chmod go-w)`,
			"import-skipped: DIR/open.bt is skipped: DIR/open.bt is writable by others"}},
		{"missing", `
-- main.bt --
import "stdlib/typos"; import "ab.bt"; begin {}
-- aa.bt --
`, nil, []string{"begin DIR/main.bt",
			`import-not-found: Can not find "stdlib/typos" to import | looked for DIR/stdlib/typos, and among the ` +
				`packages of the library | did you mean "stdlib/types"?`,
			`import-not-found: Can not find "ab.bt" to import | looked for DIR/ab.bt, and among the packages of ` +
				`the library | did you mean "aa.bt"?`}},
		{"package", "-- main.bt --\nimport \"stdlib/types\"; import \"assert\"; begin {}\n", nil,
			[]string{"begin DIR/main.bt"}},
		{"kinds", `
-- main.bt --
import "a.bpf.c"; import "a.bpf.o"; import "a.txt"; begin {}
-- a.bpf.c --
-- a.bpf.o --
-- a.txt --
`, nil, []string{"begin DIR/main.bt", "import-unsupported: C programs can not be imported: hawk has no C compiler | scripts (.bt), headers (.h) and directories of them can be imported",
			"import-unsupported: Object files can not be imported by this version of hawk | scripts (.bt), headers " +
				"(.h) and directories of them can be imported",
			`import-extension: Can not import "a.txt": its name says that it is no script | scripts (.bt), headers ` +
				`(.h) and directories of them can be imported`}},
		{"config", `
-- main.bt --
import "a.bt"; begin {}
-- a.bt --
config = { max_strlen = 9; }
`, nil, []string{"begin DIR/main.bt", `import-config: An imported file can not have a config block < import "a.bt"`}},
		{"syntax", `
-- main.bt --
import "a.bt"; begin {}
-- a.bt --
begin { $x = ; }
`, nil, []string{"begin a.bt", "begin DIR/main.bt", `syntax: syntax: expected an expression < import "a.bt"`}},
		{"statement", "-- main.bt --\nbegin { import \"x\"; }\n", nil, []string{"begin DIR/main.bt",
			"import-statement: import can not be used as a statement | write it at the top of the script, before " +
				"the first probe"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, importFiles(t, c.archive, c.dirs...)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
