package output

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// samples has an item of every type. silent are those of which JSON has nothing to write.
var samples = []struct {
	item   Item
	silent bool
}{
	{&Printf{Text: []byte("x")}, false},
	{&Snap{Integers: make([]byte, 8), Bytes: []byte("x")}, false},
	{Print{Value: value.Int(1)}, false},
	{Raw{Type: "cat", Text: []byte("x")}, false},
	{Map{Name: "@m", Entries: EntriesOf(Entry{Value: value.Int(1)}), Div: 1}, false},
	{Attached{Probes: 1}, false},
	{Lost{Events: 1}, false},
	{LostTotal{Events: 1}, false},
	{Skipped{Events: 1}, false},
	{Unread{Strings: 1}, false},
	{Message{Severity: source.Error, Text: "x"}, false},
	{Note{Text: "x"}, false},
	{HelperError{Msg: "x", Helper: "h", Code: -1}, false},
	{RuntimeError{Msg: "x"}, false},
	{End{}, true},
	{Row{Spec: "A", Cells: []value.Value{value.Int(1)}}, false},
	{Header{Spec: "A"}, true},
	{Table{Spec: "A", Rows: [][]value.Value{{value.Int(1)}}}, false},
	{Shown{Names: Names{Value: "usecs"}, Entries: EntriesOf(Entry{Value: value.Int(1)})}, false},
	{Cycles{Found: []Cycle{{Nodes: []value.Value{value.Int(1)}, Edges: []value.Value{value.Int(1)}}}}, false},
	{Stacks{Entries: EntriesOf(Entry{Key: value.Text("x"), Value: value.Int(1)})}, false},
	{Screen{}, true},
	{Tests{Count: 1}, true}, // JSON has one record of all tests, and one of each measurement
	{Test{Name: "x"}, true},
	{TestDone{Name: "x"}, true},
	{TestsDone{All: []TestDone{{Name: "x"}}}, false},
	{Benches{Width: 1}, true},
	{Bench{Name: "x"}, false},
}

// TestEveryItem finds the types of items in the source, so that none can be added
// that a sink forgets.
func TestEveryItem(t *testing.T) {
	sampled := map[string]bool{}
	for _, s := range samples {
		typ := reflect.TypeOf(s.item)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		sampled[typ.Name()] = true
		for _, form := range Forms() {
			var out, stderr bytes.Buffer
			w := form.New(&out, &stderr, Options{})
			if err := w.Write(s.item); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
			w.Flush()
			if form.Of != OfAnything { // it leaves out what else a script prints
				continue
			}
			if wrote := out.Len()+stderr.Len() > 0; wrote == (form.JSON && s.silent) {
				t.Errorf("%s as %s: wrote %q, %q", typ, form.Name, &out, &stderr)
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "item" {
				continue
			}
			of := f.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if id, ok := of.(*ast.Ident); ok && !sampled[id.Name] {
				t.Errorf("no sample of the item %s says what sinks make of it", id.Name)
			}
		}
	}
}
