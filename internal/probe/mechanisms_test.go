package probe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// TestMechanismsAreRows finds the package's mechanisms in its source: each is a row, once.
func TestMechanismsAreRows(t *testing.T) {
	source := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	makes := map[string]bool{"Mechanism": true} // types and functions that yield one
	declared := 0
	for _, f := range pkgs["probe"].Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Type.Results != nil && len(fn.Type.Results.List) == 1 {
				if typ, ok := fn.Type.Results.List[0].Type.(*ast.Ident); ok && typ.Name == "Mechanism" {
					makes[fn.Name.Name] = true
				}
			}
		}
	}
	for _, f := range pkgs["probe"].Files {
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
	rows := map[*Mechanism]MechanismID{}
	for id, m := range mechanisms {
		if other, twice := rows[m]; twice {
			t.Errorf("%s and %s are one mechanism", id, other)
		}
		rows[m] = id
		if m.id() != id {
			t.Errorf("%s calls itself %s", id, m.id())
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
	case *ast.Ident:
		return e.Name
	}
	return ""
}
