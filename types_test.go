package hawk_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk"
)

// TestTypes: each value of a script has a type of the language, before it runs.
func TestTypes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "types.hawk")
	const text = "begin { }"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := hawk.ReadScript(file, "first")
	if err != nil || s.Name != file || s.Text != text || len(s.Args) != 1 || s.FS == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	s.Text = `struct pair { int a; char b[8]; }
begin {
	print((i=(int32)1, b=true, s="x", tu=(1, 2), r=(z=1), t=strftime("%H", nsecs), k=kstack, y=buf(0, 4)));
	print((at=(struct pair *)0, whole=*(struct pair *)1, list=((struct pair *)1)->a));
	@h = hist(-3); @c[1, "a"] = count(); @s = avg(-2); @unused = 1;
	print(getopt("n", 5)); printf("%d", nsecs);
}`
	p, err := hawk.Compile(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	prints := p.Prints()
	kinds := func(i hawk.PrintInfo) (out []hawk.TypeKind) {
		for _, f := range i.Fields {
			out = append(out, f.Type.Kind())
		}
		return out
	}
	want := []hawk.TypeKind{hawk.IntType, hawk.BoolType, hawk.StringType, hawk.TupleType, hawk.RecordType,
		hawk.TextType, hawk.StackType, hawk.BytesType}
	if got := kinds(prints[0]); !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
	if got := kinds(prints[1]); !slices.Equal(got, []hawk.TypeKind{hawk.PointerType, hawk.StructType, hawk.IntType}) {
		t.Errorf("kinds %v", got)
	}
	if f := prints[0].Fields[0]; f.Name != "i" || !f.Type.Signed() || f.Type.Size() != 4 || f.Type.String() != "int32" {
		t.Errorf("%+v", f)
	}
	whole := prints[1].Fields[1].Type.Fields()
	text8 := []hawk.TypeKind{hawk.ArrayType, hawk.StringType}
	if len(whole) != 2 || whole[1].Name != "b" || !slices.Contains(text8, whole[1].Type.Kind()) {
		t.Errorf("struct %v", whole)
	}
	for _, m := range p.Maps() {
		if aggregated := m.Agg != ""; (m.Value.Kind() == hawk.AggregationType) != aggregated {
			t.Errorf("%s is of kind %d", m.Name, m.Value.Kind())
		}
	}
	var none hawk.Type
	if none.Kind() != hawk.NoType || none.Kind() == hawk.EnumType {
		t.Error("the zero type is something")
	}
	var options []hawk.Option = p.Options()
	if len(options) != 1 || options[0].Name != "n" || options[0].Default != "5" {
		t.Errorf("options %+v", options)
	}
	var maps []hawk.MapInfo = p.Maps()
	if len(maps) != 4 || len(maps[0].Keys) != 2 {
		t.Errorf("maps %+v", maps)
	}
	var d hawk.Diagnostic
	for _, d = range p.Warnings() {
		if d.Severity != hawk.Warning || d.Severity == hawk.Bug || d.Message == "" {
			t.Errorf("%+v", d)
		}
		var notes []hawk.Note = d.Notes
		if len(notes) > 0 && notes[0].Message == "" {
			t.Errorf("%+v", d)
		}
	}
	if d.Code == "" {
		t.Error("a clock that is cut short is worth no warning")
	}
}

// TestValues: each value that a script sends is one of Go, too.
func TestValues(t *testing.T) {
	s := start(t, `begin {
	@h = hist(3); @l = lhist(7, 0, 10, 5); @a = avg(3); @a = avg(4); @t = tseries(5, 1h, 3);
	print((n=7, s=str(uptr(1)), l="text")); print(@a); exit();
}`, nil, nil)
	var seen int
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case hawk.Attached, hawk.End:
			if ev.Text == nil && ev.Kind == hawk.Attached {
				t.Error("no text of what is attached")
			}
		case hawk.RuntimeError: // the address that cannot be read
			if !strings.Contains(string(ev.Text), "unreadable string count: 1") {
				t.Errorf("%s", ev.Text)
			}
		case hawk.Lost:
			t.Errorf("%s", ev.Text)
		case hawk.Print:
			if n, ok := ev.Value.At(0).Uint64(); !ok || n != 7 || ev.Value.Len() != 3 {
				t.Errorf("%v", ev.Value)
			}
			var r struct {
				S hawk.Str
				L hawk.Str
			}
			if err := ev.Decode(&r); err != nil || !r.S.Unread || r.L.Text != "text" || r.L.Cut {
				t.Errorf("%+v, %v", r, err)
			}
			seen++
		case hawk.MapPrint:
			var e hawk.Entry = ev.Map.Entries[0]
			if avg, ok := e.Value.Interface().(hawk.Avg); !ok || avg != (hawk.Avg{Count: 2, Total: 7}) {
				t.Errorf("%#v", e.Value.Interface())
			}
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d values", seen)
	}
	get := func(name string) hawk.Value {
		m, err := s.Map(name)
		if err != nil {
			t.Fatal(err)
		}
		v, ok, err := m.Get()
		if err != nil || !ok {
			t.Fatalf("%s: %v %v", name, ok, err)
		}
		return v
	}
	linear := get("@l").Interface().(hawk.Hist)
	var full hawk.Bucket
	for _, b := range linear.Buckets {
		if b.Count > 0 {
			full = b
		}
	}
	if !linear.Linear || full.Min != 5 || full.Count != 1 {
		t.Errorf("%+v", linear)
	}
	series := get("@t").Interface().(hawk.Series)
	var last hawk.Point
	for _, last = range series.Points {
	}
	if series.Interval.Hours() != 1 || last.Value != 5 {
		t.Errorf("%+v", series)
	}
	var r *hawk.Result
	r, err := s.Wait()
	if err != nil || r.Reason == hawk.ProcessEnded || s.Attached() != 1 {
		t.Errorf("%+v, %v, %d attached", r, err, s.Attached())
	}
	var programs []hawk.ProgramStats = r.Stats.Programs
	if programs != nil {
		t.Errorf("without a budget: %+v", programs)
	}
}
