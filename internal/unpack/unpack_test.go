package unpack

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// anything is the value of a scalar, for any.
func anything(t types.Type, v value.Value) any {
	if n, negative, ok := value.Integer(v); ok {
		if negative {
			return int64(n)
		}
		return n
	}
	text, _, _, _ := Text(t, v)
	return string(text)
}

var testRules = Rules{Any: anything}

func record(names []string, elems ...types.Type) types.Type { return types.NewRecord(names, elems) }

// into stores a value in a new T.
func into[T any](t types.Type, v value.Value) (T, error) {
	var dst T
	plan, err := New(&testRules).For(t, reflect.TypeFor[T]())
	if err == nil {
		err = plan.Into(reflect.ValueOf(&dst).Elem(), v)
	}
	return dst, err
}

func want[T any](t *testing.T, want T, from types.Type, v value.Value) {
	t.Helper()
	got, err := into[T](from, v)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%s %v into %T: %v\n%s", from, v, got, err, d)
	}
}

func refuse[T any](t *testing.T, field string, from types.Type, v value.Value) {
	t.Helper()
	got, err := into[T](from, v)
	if e := (*Error)(nil); !errors.As(err, &e) || e.Field != field {
		t.Errorf("%s %v into %T: %v, %v", from, v, got, got, err)
	}
}

func TestIntegers(t *testing.T) {
	want[int8](t, -128, types.Int64, value.Int(-128))
	refuse[int8](t, "", types.Int64, value.Int(-129))
	want[uint8](t, 255, types.Int64, value.Int(255))
	refuse[uint8](t, "", types.Uint64, value.Uint(256))
	refuse[uint64](t, "", types.Int8, value.Int(-1))
	want[int64](t, math.MaxInt64, types.Uint64, value.Uint(math.MaxInt64))
	refuse[int64](t, "", types.Uint64, value.Uint(math.MaxInt64+1))
	want[uint64](t, math.MaxUint64, types.Uint64, value.Uint(math.MaxUint64))
	want(t, 3*time.Second, types.Uint64, value.Uint(3e9))
	want[any](t, uint64(7), types.Uint64, value.Uint(7))
	want[uintptr](t, 0xffff, &types.Pointer{Elem: types.Void}, value.Pointer(0xffff))
	refuse[float64](t, "", types.Uint64, value.Uint(7))
	seven := 7
	want(t, &seven, types.Uint64, value.Uint(7))
}

func TestScalars(t *testing.T) {
	want(t, true, types.Bool, value.Bool(true))
	refuse[bool](t, "", types.Uint8, value.Uint(1))
	enum := &types.Enum{Name: "e", Bytes: 4}
	want(t, "red", enum, value.Enum{Name: "red", Value: 2})
	want[uint8](t, 2, enum, value.Enum{Name: "red", Value: 2})
	text := &types.String{Cap: 5, Trunc: true}
	want(t, "abc", text, value.Str("abc"))
	want(t, "abcd", text, value.Str("abcd.."))
	want(t, []byte("abc"), text, value.Str("abc"))
	want(t, "", text, value.Unread("<unreadable>"))
	refuse[string](t, "", types.Uint64, value.Uint(1))
	want(t, []byte{0, 1}, &types.Buffer{Cap: 2}, value.Buffer{0, 1})
	want(t, "main+1", &types.Deferred{}, value.Text("main+1"))
	refuse[[]byte](t, "", types.Uint64, value.Uint(1))
}

func TestComposites(t *testing.T) {
	type point struct {
		X     int16
		Label string `hawk:"name"`
		Skip  int    `hawk:"-"`
		Other int
		why   int
	}
	from := record([]string{"x", "name", "skip", "more"}, types.Int64, &types.String{Cap: 8}, types.Int64, types.Int64)
	v := value.Record{Names: []string{"x", "name", "skip", "more"},
		Values: []value.Value{value.Int(-3), value.Str("a"), value.Int(9), value.Int(1)}}
	got, err := into[point](from, v)
	if err != nil || got != (point{X: -3, Label: "a"}) {
		t.Errorf("%+v, %v", got, err)
	}
	wide := value.Record{Names: v.Names,
		Values: []value.Value{value.Int(1 << 20), value.Str("a"), value.Int(9), value.Int(1)}}
	refuse[point](t, "X", from, wide)
	want(t, map[string]any{"x": int64(-3), "name": "a", "skip": uint64(9), "more": uint64(1)}, from,
		value.Record{Names: v.Names,
			Values: []value.Value{value.Int(-3), value.Str("a"), value.Uint(9), value.Uint(1)}})
	want(t, []any{uint64(1), "b"}, types.NewTuple(types.Int64, &types.String{Cap: 8}),
		value.Tuple{value.Int(1), value.Str("b")})
	want(t, map[string]any{"0": uint64(1)}, types.NewTuple(types.Int64), value.Tuple{value.Int(1)})
	type pair struct{ A, B int }
	want(t, pair{1, 2}, types.NewTuple(types.Int64, types.Int64), value.Tuple{value.Int(1), value.Int(2)})
	want(t, pair{7, 0}, types.Int64, value.Int(7))
	type outer struct {
		Inner pair `hawk:"in"`
	}
	nested := record([]string{"in"}, record([]string{"a", "b"}, types.Int64, types.Int64))
	deep := value.Record{Names: []string{"in"},
		Values: []value.Value{value.Record{Names: []string{"a", "b"},
			Values: []value.Value{value.Int(1), value.Int(2)}}}}
	want(t, outer{pair{1, 2}}, nested, deep)
	type tight struct {
		Inner struct{ B int8 } `hawk:"in"`
	}
	refuse[tight](t, "in.B", nested,
		value.Record{Names: []string{"in"},
			Values: []value.Value{value.Record{Names: []string{"a", "b"},
				Values: []value.Value{value.Int(1), value.Int(200)}}}})
	array := &types.Array{Elem: types.Int32, Len: 2}
	want(t, []int{1, 2}, array, value.Array{value.Int(1), value.Int(2)})
	want(t, [2]uint8{1, 2}, array, value.Array{value.Int(1), value.Int(2)})
	refuse[[3]int](t, "", array, value.Array{value.Int(1), value.Int(2)})
	inner := types.NewStruct(types.StructKind, "", 8, 8, []types.Field{{Name: "b", Type: types.Int32, Offset: 4}})
	whole := types.NewStruct(types.StructKind, "s", 16, 8,
		[]types.Field{{Name: "a", Type: types.Int32}, {Type: inner, Offset: 8}})
	want(t, pair{1, 2}, whole,
		value.Record{Names: []string{"a", "b"}, Values: []value.Value{value.Int(1), value.Int(2)}})
}

func TestRequired(t *testing.T) {
	type must struct {
		A int `hawk:"a,required"`
	}
	_, err := New(&testRules).For(record([]string{"b"}, types.Int64), reflect.TypeFor[must]())
	if e := (*Error)(nil); !errors.As(err, &e) || e.Field != "a" {
		t.Errorf("%v", err)
	}
	want(t, must{1}, record([]string{"a"}, types.Int64),
		value.Record{Names: []string{"a"}, Values: []value.Value{value.Int(1)}})
}

// Base, Name and lower are embedded in what TestEmbedded fills.
type (
	Base  struct{ ID int64 }
	Name  string
	lower struct{ ID int64 }
)

// TestEmbedded: fields of embedded structs are those of the struct around them, also behind a pointer. What has a
// tag, or is no struct, is a field itself.
func TestEmbedded(t *testing.T) {
	type whole struct {
		Base `hawk:"base"`
		B    int
	}
	type hidden struct {
		Base `hawk:"-"`
		B    int
	}
	type pointing struct {
		*Base
		B int
	}
	type sealed struct {
		*lower
		B int
	}
	type tagged struct {
		lower `hawk:"base"`
		B     int
	}
	type named struct {
		Name
		B int
	}
	flat := record([]string{"id", "b"}, types.Int64, types.Int64)
	one := value.Record{Names: []string{"id", "b"}, Values: []value.Value{value.Int(7), value.Int(2)}}
	want(t, pointing{&Base{7}, 2}, flat, one)
	want(t, hidden{B: 2}, flat, one)
	want(t, whole{B: 2}, flat, one)
	if got, err := into[sealed](flat, one); got != (sealed{B: 2}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	nested := record([]string{"base", "b"}, record([]string{"id"}, types.Int64), types.Int64)
	deep := value.Record{Names: []string{"base", "b"}, Values: []value.Value{
		value.Record{Names: []string{"id"}, Values: []value.Value{value.Int(7)}}, value.Int(2)}}
	want(t, whole{Base{7}, 2}, nested, deep)
	want(t, hidden{B: 2}, nested, deep)
	if got, err := into[tagged](nested, deep); got != (tagged{lower{7}, 2}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	want(t, named{"x", 2}, record([]string{"name", "b"}, &types.String{Cap: 4}, types.Int64), value.Record{
		Names: []string{"name", "b"}, Values: []value.Value{value.Str("x"), value.Int(2)}})
}

// TestMisspeltTag: a word that no tag has is an error, since "required" was meant.
func TestMisspeltTag(t *testing.T) {
	type must struct {
		A int `hawk:"a,requird"`
	}
	_, err := New(&testRules).For(record([]string{"a"}, types.Int64), reflect.TypeFor[must]())
	if e := (*Error)(nil); !errors.As(err, &e) || e.Field != "a" || !strings.Contains(e.Why, `"requird"`) {
		t.Errorf("%v", err)
	}
}

// The record of a server that logs transfers.
func BenchmarkDecode(b *testing.B) {
	type transfer struct {
		Timestamp time.Duration `hawk:"ts"`
		ClientIP  string        `hawk:"ip"`
		Path      string        `hawk:"path"`
		Size      uint32        `hawk:"size"`
	}
	text := &types.String{Cap: 64, Trunc: true}
	names := []string{"ts", "ip", "path", "size"}
	from := record(names, types.Uint64, text, text, types.Uint32)
	var v value.Value = value.Record{Names: names,
		Values: []value.Value{value.Uint(1e18), value.Str("127.0.0.1"), value.Str("/index.html"), value.Uint(4096)}}
	plans := New(&testRules)
	var dst transfer
	b.ReportAllocs()
	for b.Loop() {
		plan, err := plans.For(from, reflect.TypeFor[transfer]())
		if err == nil {
			err = plan.Into(reflect.ValueOf(&dst).Elem(), v)
		}
		if err != nil || dst.Size != 4096 {
			b.Fatal(err, dst)
		}
	}
}

// TestAllocations: a record is decoded into nothing but the strings that it has.
func TestAllocations(t *testing.T) {
	text := &types.String{Cap: 64}
	names := []string{"ts", "ip", "path", "size"}
	from := record(names, types.Uint64, text, text, types.Uint32)
	var v value.Value = value.Record{Names: names, Values: []value.Value{
		value.Uint(1e18), value.Str("127.0.0.1"), value.Str("/index.html"), value.Uint(4096),
	}}
	type embedded struct{ TS time.Duration }
	var dst struct {
		embedded
		IP, Path string
		Size     uint32
	}
	plans, to := New(&testRules), reflect.ValueOf(&dst).Elem()
	n := testing.AllocsPerRun(1000, func() {
		plan, err := plans.For(from, to.Type())
		if err == nil {
			err = plan.Into(to, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if n > 2 || dst.Path != "/index.html" || dst.TS != 1e18 {
		t.Errorf("%v allocations, want those of 2 strings: %+v", n, dst)
	}
}
