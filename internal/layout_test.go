package internal_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

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

// belongs says what may lie at the root and in its folders; files of test data are of any kind.
var belongs = map[string][]string{
	"":        {".gitignore", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum", "*.go"},
	".ci":     {"fresh", "fuzz", "run"},
	"bench":   {"*.go", "*.bt"},
	"cmd":     {"*.go"},
	"contrib": {"*.py"},
	"docs":    {"*.md", "*.webp"},
	"internal": {
		"*.go", "*.s", "*.bt",
		"*.md", "*.txt", "*.z", // embedded: manual, tables, packed pages
		"*.html", "*.css", "*.js",
	},
	"tools": {"*.bt"},
	"usdt":  {"*.go", "*.s"},
}

// strays lists the files that are of no kind that belongs where they lie. What .gitignore names is left out: the
// binaries and folders that make makes.
func strays(tree fs.FS) ([]string, error) {
	ignore, err := fs.ReadFile(tree, ".gitignore")
	if err != nil {
		return nil, err
	}
	ignored := strings.Fields(string(ignore))
	var out []string
	return out, fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == "." {
			return err
		}
		isOne := func(pattern string) bool {
			isMatch := matches(strings.Trim(pattern, "/"), d.Name())
			return isMatch && (pattern[0] != '/' || !strings.Contains(file, "/")) &&
				(d.IsDir() || !strings.HasSuffix(pattern, "/"))
		}
		top, _, isBelow := strings.Cut(file, "/")
		if !isBelow && !d.IsDir() {
			top = ""
		}
		kinds, isKnown := belongs[top]
		switch {
		case d.IsDir() && (slices.ContainsFunc(ignored, isOne) || d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() && isKnown, file == ".git", slices.ContainsFunc(ignored, isOne):
		case !slices.ContainsFunc(kinds, func(kind string) bool { return matches(kind, d.Name()) }):
			out = append(out, file)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// TestEachFileBelongs fails at a file that somebody left in the tree: the output of a command, a copy, a dump.
func TestEachFileBelongs(t *testing.T) {
	found, err := strays(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("no file of such a kind belongs there: %s", strings.Join(found, ", "))
	}
	tree := fstest.MapFS{".gitignore": {Data: []byte("/hawk\n/.cache/\n*.prof\n")}}
	for _, file := range []string{
		"all.out", "LICENSE", "hawk", "hawk.go", "hawk.md", "cmd/hawk/main.go", "cmd/hawk/notes", "docs/hawk",
		"docs/design/a.md", "docs/cpu.prof", ".cache/x", "internal/a/testdata/odd", "scratch/hawk.go", "internal/log",
	} {
		tree[file] = &fstest.MapFile{}
	}
	found, err = strays(tree)
	want := "all.out cmd/hawk/notes docs/hawk hawk.md internal/log scratch"
	if got := strings.Join(found, " "); got != want || err != nil {
		t.Errorf("strays are %s, want %s; %v", got, want, err)
	}
}
