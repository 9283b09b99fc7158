package hawk_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sources are the parsed files of a package, those of its tests apart.
func sources(t *testing.T, dir string) (files, tests []*ast.File, set *token.FileSet) {
	t.Helper()
	set = token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
		} else {
			files = append(files, f)
		}
	}
	return files, tests, set
}

// Every exported name has a sentence, and an example or a test uses it.
func TestAPI(t *testing.T) {
	for _, dir := range []string{".", "usdt"} {
		files, tests, set := sources(t, dir)
		used := map[string]bool{}
		for _, f := range tests {
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					used[id.Name] = true
				}
				return true
			})
		}
		pkg, err := doc.NewFromFiles(set, files, "github.com/hawktrace/hawk")
		if err != nil {
			t.Fatal(err)
		}
		check := func(name, text, whole string) {
			if !ast.IsExported(name) {
				return
			}
			if !strings.Contains(text, ".") && !strings.Contains(text, ":") {
				t.Errorf("%s: %s has no sentence", dir, whole)
			}
			if !used[name] {
				t.Errorf("%s: no example and no test uses %s", dir, whole)
			}
		}
		values := func(vs []*doc.Value) {
			for _, v := range vs {
				for _, name := range v.Names {
					check(name, v.Doc, name)
				}
			}
		}
		funcs := func(fs []*doc.Func, of string) {
			for _, f := range fs {
				if standard := f.Name == "Error" || f.Name == "Unwrap" || f.Name == "Is"; of == "" || !standard {
					check(f.Name, f.Doc, of+f.Name)
				}
			}
		}
		values(pkg.Consts)
		values(pkg.Vars)
		funcs(pkg.Funcs, "")
		for _, typ := range pkg.Types {
			check(typ.Name, typ.Doc, typ.Name)
			values(typ.Consts)
			values(typ.Vars)
			funcs(typ.Funcs, "")
			funcs(typ.Methods, typ.Name+".")
		}
	}
}

// guest is a program that compiles, runs and decodes.
const guest = `package main

import (
	"context"
	"fmt"

	"github.com/hawktrace/hawk"
)

func main() {
	ctx := context.Background()
	p, err := hawk.Compile(ctx, &hawk.Script{Text: "begin { print((text=\"hello, world\")); exit(); }"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := p.Start(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for r, err := range hawk.Decoded[struct{ Text string }](s, nil) {
		fmt.Println(r.Text, err)
	}
}
`

// TestDocFits: the list of what the package has fits two screens of 40 lines.
func TestDocFits(t *testing.T) {
	out, err := exec.Command("go", "doc", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("\n")); n > 80 {
		t.Errorf("go doc prints %d lines, of 80", n)
	}
}

const hello = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello, world\") }\n"

// TestWeight: the library makes a program at most 9 MB larger.
func TestWeight(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	// It is in the module, whose library is meant, where tests that walk the tree pass over it.
	dir, err := os.MkdirTemp("testdata", ".weight")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	size := func(name, text string) int64 {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), name)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, file)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	with, without := size("guest", guest), size("hello", hello)
	t.Logf("%d bytes with the library, %d without: %.2f MB", with, without, float64(with-without)/1e6)
	if with-without > 9_000_000 {
		t.Errorf("the library adds %d bytes, want 9,000,000 at most", with-without)
	}
}
