package kinds

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/probe"
)

// TestMechanismsAreRows finds the mechanisms of all rooms in their source: each is a row, once.
func TestMechanismsAreRows(t *testing.T) {
	var files []*ast.File
	for _, pattern := range []string{"../*.go", "../kernel/*.go", "../perf/*.go", "../user/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	makes := map[string]bool{"Mechanism": true} // types and functions that yield one
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Type.Results != nil &&
				len(fn.Type.Results.List) == 1 {
				if maker(fn.Type.Results.List[0].Type) == "Mechanism" {
					makes[fn.Name.Name] = true
				}
			}
		}
	}
	declared := 0
	for _, f := range files {
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				for _, v := range spec.(*ast.ValueSpec).Values {
					if makes[maker(v)] {
						declared++
					}
				}
			}
		}
	}
	rows := map[*probe.Mechanism]probe.MechanismID{}
	for id, m := range probe.Mechanisms() {
		if other, twice := rows[m]; twice {
			t.Errorf("%s and %s are one mechanism", id, other)
		}
		rows[m] = id
		if m.ID != id {
			t.Errorf("%s calls itself %s", id, m.ID)
		}
	}
	if declared != len(rows) {
		t.Errorf("%d mechanisms are declared, %d are rows", declared, len(rows))
	}
}

// maker is the type or function that makes a value, "" if it is not that simple.
func maker(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return maker(e.X)
	case *ast.CompositeLit:
		return maker(e.Type)
	case *ast.CallExpr:
		return maker(e.Fun)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
