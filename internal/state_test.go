package internal_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A listed package is what `go list -json` says of one.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
	DepOnly                 bool
}

// filled lists the package variables that functions write, with the reason why that is no
// state: tables that are complete before main begins.
var filled = map[string]string{
	"internal/builtin.funcs":          "Define fills it while the package starts",
	"internal/builtin.aggs":           "define fills it while the package starts",
	"internal/builtin.renderers":      "Define fills it while the package starts",
	"internal/builtin.typeNames":      "Define fills it while the package starts",
	"internal/syntax.typeNames":       "builtin.Define fills it while that package starts",
	"internal/probe.byName":           "Define fills it while the package starts",
	"internal/probe.kinds":            "Define fills it while the package starts",
	"internal/probe.mechanisms":       "AddMechanisms fills it while the package starts",
	"internal/output.forms":           "define fills it while the package starts",
	"internal/export.formats":         "define fills it while the package starts",
	"internal/session/child.ForkLock": "the lock of package syscall, which all who fork take",
	"internal/keeper.ForkLock":        "the lock of package syscall, which all who fork take",
	"usdt.registry":                   "what a process has mapped is one for the process, and Marks lists it",
	"usdt.texts":                      "a pool of buffers, whose content means nothing between two uses",
}

// Packages keep no state: what they know between two calls is in a value that
// the caller holds, so that any number of sessions live in one process.
func TestNoPackageState(t *testing.T) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,ImportMap,DepOnly",
		"../...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && !strings.Contains(p.ImportPath, "/hawktest") {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imp, FakeImportC: true}
		if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		w := writes{info: info, report: func(at token.Pos, name string) {
			name = strings.TrimPrefix(p.ImportPath, module+"/") + "." + name
			if filled[name] == "" {
				t.Errorf("%s: %s is written after the start", fset.Position(at), name)
			}
		}}
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && !(fn.Recv == nil && fn.Name.Name == "init") {
					ast.Inspect(fn, w.visit)
				}
			}
		}
	}
}

const module = "github.com/hawktrace/hawk"

// writes finds what assigns to package variables, to parts of them, or lets others do it.
type writes struct {
	info   *types.Info
	report func(at token.Pos, name string)
}

func (w *writes) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				w.written(e)
			}
		}
	case *ast.IncDecStmt:
		w.written(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			w.written(n.Key)
			w.written(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.shared(n.X)
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
			w.written(n.Args[0])
		}
		// A method of a pointer to it may change it.
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
			if s := w.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
				if _, ptr := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer); ptr {
					w.shared(sel.X)
				}
			}
		}
	}
	return true
}

// shared is a variable whose address is taken. That of a row of a table only says which one is
// meant; what has a lock, or counts, is there to be changed.
func (w *writes) shared(e ast.Expr) {
	t := w.info.Types[e].Type
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if changes(t, 0) {
		w.written(e)
	}
}

// changes reports whether values of a type are made for being changed in place.
func changes(t types.Type, depth int) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		switch pkg := n.Obj().Pkg(); {
		case pkg != nil && (pkg.Path() == "sync" || pkg.Path() == "sync/atomic"):
			return true
		case pkg != nil && !strings.HasPrefix(pkg.Path(), module):
			return false
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if depth < 10 && changes(f.Type(), depth+1) {
				return true
			}
		}
	case *types.Array:
		return changes(u.Elem(), depth+1)
	}
	return false
}

// written reports the package variable that an expression is part of.
func (w *writes) written(e ast.Expr) {
	for e != nil {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			if v, ok := w.info.Uses[x].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				w.report(x.Pos(), v.Name())
			}
			return
		case *ast.SelectorExpr:
			if v, ok := w.info.Uses[x.Sel].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				w.report(x.Pos(), v.Name())
				return
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return
		}
	}
}
