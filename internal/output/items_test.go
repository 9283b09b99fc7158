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

// samples has an item of every type. silent names the sinks that have nothing to
// write of it.
var samples = []struct {
	item   Item
	silent string
}{
	{&Printf{Text: []byte("x")}, ""},
	{&Snap{Integers: make([]byte, 8), Bytes: []byte("x")}, ""},
	{Print{Value: value.Int(1)}, ""},
	{Raw{Type: "cat", Text: []byte("x")}, ""},
	{Map{Name: "@m", Entries: EntriesOf(Entry{Value: value.Int(1)}), Div: 1}, ""},
	{Attached{Probes: 1}, ""},
	{Lost{Events: 1}, ""},
	{LostTotal{Events: 1}, ""},
	{Skipped{Events: 1}, ""},
	{Unread{Strings: 1}, ""},
	{Message{Severity: source.Error, Text: "x"}, ""},
	{Note{Text: "x"}, ""},
	{HelperError{Msg: "x", Helper: "h", Code: -1}, ""},
	{RuntimeError{Msg: "x"}, ""},
	{End{}, "json"},
	{Row{Spec: "A", Cells: []value.Value{value.Int(1)}}, ""},
	{Header{Spec: "A"}, "json"},
	{Table{Spec: "A", Rows: [][]value.Value{{value.Int(1)}}}, ""},
	{Shown{Names: Names{Value: "usecs"}, Entries: EntriesOf(Entry{Value: value.Int(1)})}, ""},
	{Stacks{Entries: EntriesOf(Entry{Key: value.Text("x"), Value: value.Int(1)})}, ""},
	{Screen{}, "json"},
	{Tests{Count: 1}, "json"}, // JSON has one record of all tests, and one of each measurement
	{Test{Name: "x"}, "json"},
	{TestDone{Name: "x"}, "json"},
	{TestsDone{All: []TestDone{{Name: "x"}}}, ""},
	{Benches{Width: 1}, "json"},
	{Bench{Name: "x"}, ""},
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
		for _, sink := range []string{"text", "json"} {
			var out, stderr bytes.Buffer
			var w Sink = NewText(&out, &stderr, Options{})
			if sink == "json" {
				w = NewJSON(&out, &stderr, Options{})
			}
			if err := w.Write(s.item); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
			w.Flush()
			if wrote := out.Len()+stderr.Len() > 0; wrote == (s.silent == sink) {
				t.Errorf("%s as %s: wrote %q, %q", typ, sink, &out, &stderr)
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
