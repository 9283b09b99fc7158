package btf

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Exported methods that call others than exported ones keep the Spec: whoever called them may let
// go of it meanwhile, and the blob goes with it.
func TestMethodsKeepSpec(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	keeping := 0
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() || !callsOwn(fn) {
				continue
			}
			keeping++
			var first strings.Builder
			if err := format.Node(&first, fset, fn.Body.List[0]); err != nil {
				t.Fatal(err)
			}
			if want := "defer runtime.KeepAlive(s)"; first.String() != want {
				t.Errorf("%s begins with %q, not with %q", fn.Name.Name, &first, want)
			}
		}
	}
	if keeping < 8 {
		t.Errorf("%d exported methods that read, want those of Spec", keeping)
	}
}

// callsOwn reports whether a method calls methods that are not exported.
func callsOwn(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			s, ok := call.Fun.(*ast.SelectorExpr)
			found = found || ok && !s.Sel.IsExported()
		}
		return true
	})
	return found
}
