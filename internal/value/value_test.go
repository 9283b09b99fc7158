package value

import (
	"encoding/json"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

type fakeEnv struct{}

func (fakeEnv) Deferred(t *types.Deferred, raw []byte) Value { return Text("sym+" + string(raw)) }
func (fakeEnv) Stack(t *types.Stack, raw []byte) Value {
	return &Stack{Addrs: []uint64{1}, Namer: &frames{named: []Frame{{Func: "f", Offset: 1}}}}
}
func (fakeEnv) Agg(t *types.Agg, cell []byte) Value { return Avg{Total: int64(len(cell)), Count: 2} }
func (fakeEnv) Trailer() string                     { return ".." }
func (fakeEnv) Unreadable() string                  { return "<?>" }

var point = types.NewStruct(types.StructKind, "p", 48, 8, []types.Field{
	{Name: "x", Type: types.Int32},
	{Name: "name", Type: &types.String{Cap: 4}, Offset: 4},
	{Name: "raw", Type: &types.Array{Elem: types.Uint8, Len: 4}, Offset: 8},
	{Name: "", Offset: 12, Type: types.NewStruct(types.UnionKind, "", 4, 4,
		[]types.Field{{Name: "u", Type: types.Uint16}, {Name: "v", Type: types.Uint8}})},
	{Name: "p", Type: &types.Pointer{Elem: types.Void}, Offset: 16},
	{Name: "b1", Type: types.Uint32, Offset: 24, BitOffset: 1, BitSize: 3},
	{Name: "b2", Type: types.Int32, Offset: 24, BitOffset: 4, BitSize: 6},
	{Name: "ia", Offset: 28, Type: &types.Array{Len: 2, Elem: types.NewStruct(types.StructKind, "in", 4, 2,
		[]types.Field{{Name: "a", Type: types.Int16}, {Name: "b", Type: types.Bool, Offset: 2}})}},
})

func pointBytes() []byte {
	raw := make([]byte, 48)
	raw[0] = 3
	copy(raw[4:], "ab")
	raw[8], raw[11] = 10, 1
	raw[12], raw[13] = 5, 1
	raw[16], raw[17] = 0x34, 0x12
	raw[24], raw[25] = 0b0110_1011, 0b0000_0011 // b1 = 5, b2 = -10
	raw[28], raw[30] = 1, 1
	return raw
}

func TestText(t *testing.T) {
	key := types.NewTuple(types.Int8, &types.String{Cap: 3}, types.NewTuple(types.Int8, types.Int8))
	keyRaw := []byte{1, 'a', ' ', 0, 3, 4}
	matrix := &types.Array{Len: 2, Elem: &types.Array{Len: 2, Elem: types.Int16}}
	for _, c := range []struct {
		typ                types.Type
		raw                []byte
		text, key, jsonTxt string // key: "" if as text
	}{
		{types.Int8, []byte{0xfd}, "-3", "", "-3"},
		{types.Uint64, []byte{255, 255, 255, 255, 255, 255, 255, 255}, "18446744073709551615", "",
			`"18446744073709551615"`},
		{types.Uint64, []byte{0, 0, 0, 0, 0, 0, 0, 128}, "9223372036854775808", "", "9223372036854775808"},
		{types.Int64, []byte{255, 255, 255, 255, 255, 255, 255, 127}, "9223372036854775807", "",
			`"9223372036854775807"`},
		{types.Int64, []byte{1, 0, 0, 0, 0, 0, 0x20, 0}, "9007199254740993", "", `"9007199254740993"`},
		{types.Int64, []byte{0, 0, 0, 0, 0, 0, 0xe0, 0xff}, "-9007199254740992", "", "-9007199254740992"},
		{types.Bool, []byte{1}, "true", "", "true"},
		{color, []byte{7, 0, 0, 0}, "BLUE", "", "7"},
		{color, []byte{2, 0, 0, 0}, "2", "", "2"},
		{&types.Pointer{Elem: types.Void}, []byte{0x34, 0x12, 0, 0, 0, 0, 0, 0}, "0x1234", "", "4660"},
		{&types.String{Cap: 8}, []byte("hello\x00\x00\x00"), "hello", "", `"hello"`},
		{&types.String{Cap: 4, Trunc: true}, []byte("abc\x00"), "abc..", "", `"abc.."`},
		{&types.String{Cap: 4, Marked: true}, []byte(types.Unreadable + "\x00\x00"), "<?>", "", "null"},
		{&types.String{Cap: 4}, []byte(types.Unreadable + "\x00\x00"), "", "", `""`},
		{&types.String{Cap: 4, Trunc: true}, []byte("ab\x00\x00"), "ab", "", `"ab"`},
		{&types.String{Cap: 4}, []byte("abc\x00"), "abc", "", `"abc"`},
		{&types.String{Cap: 9}, []byte("\"\\\n\t\x01\xffé"), "\"\\\n\t\x01\xffé", "", `"\"\\\n\t\u0001\u00ffé"`},
		{&types.Buffer{Cap: 8}, []byte("\x06\x00\x00\x00a\xff\x7f b\"xx"), `a\xff\x7f b"`, "", "[97,-1,127,32,98,34]"},
		{key, keyRaw, "(1, a , (3, 4))", "1, a , (3, 4)", `[1,"a ",[3,4]]`},
		{types.NewTuple(types.Int8), []byte{1}, "(1)", "1", "[1]"},
		{types.NewRecord(nil, nil), nil, "{}", "", "{}"},
		{types.NewRecord([]string{"a", "b"}, []types.Type{types.Int8, types.Bool}), []byte{1, 0},
			"{ .a = 1, .b = false }", "", `{"a": 1, "b": false}`},
		{matrix, []byte{1, 0, 2, 0, 3, 0, 4, 0}, "[[1,2],[3,4]]", "", "[[1,2],[3,4]]"},
		{&types.Array{Elem: types.Int8, Len: 4}, []byte("ab\x00c"), "[97,98,0,99]", "", `[97,98,0,99]`},
		{point, pointBytes(), "{ .x = 3, .name = ab, .raw = [10,0,0,1], .u = 261, .v = 5, .p = 0x1234, " +
			".b1 = 5, .b2 = -10, .ia = [{ .a = 1, .b = true },{ .a = 0, .b = false }] }", "",
			`{"x": 3, "name": "ab", "raw": [10,0,0,1], "u": 261, "v": 5, "p": 4660, "b1": 5, "b2": -10, ` +
				`"ia": [{"a": 1, "b": true},{"a": 0, "b": false}]}`},
		{&types.Deferred{Bytes: 1}, []byte("x"), "sym+x", "", `"sym+x"`},
		{&types.Stack{}, make([]byte, 16), "\n        f+1\n", "", `"\n        f+1\n"`},
		{&types.Agg{Kind: "avg"}, make([]byte, 16), "8", "", "8"},
		{types.Void, nil, "null", "", "null"},
	} {
		v := Decode(c.typ, c.raw, fakeEnv{})
		if got := string(AppendText(nil, v)); got != c.text {
			t.Errorf("%s: text %q, want %q", c.typ, got, c.text)
		}
		if got := string(appendRaw(nil, c.typ, c.raw, fakeEnv{})); got != c.text {
			t.Errorf("%s: raw text %q, want %q", c.typ, got, c.text)
		}
		want := c.key
		if want == "" {
			want = c.text
		}
		if got := string(AppendKey(nil, v)); got != want {
			t.Errorf("%s: key %q, want %q", c.typ, got, want)
		}
		got := AppendJSON(nil, v)
		if string(got) != c.jsonTxt {
			t.Errorf("%s: JSON %s, want %s", c.typ, got, c.jsonTxt)
		}
		if !json.Valid(got) {
			t.Errorf("%s: invalid JSON %s", c.typ, got)
		}
		// Bytes that are missing must not be read.
		for n := range c.raw {
			AppendText(nil, Decode(c.typ, c.raw[:n], fakeEnv{}))
			appendRaw(nil, c.typ, c.raw[:n], nil)
			AppendJSON(nil, Decode(c.typ, c.raw[:n], nil))
		}
	}
	v := Decode(key, keyRaw, nil)
	if got := string(AppendJSONKey(nil, v)); got != `"1,a,(3,4)"` {
		t.Errorf("JSON key %s", got)
	}
}

func TestReduced(t *testing.T) {
	for _, c := range []struct {
		v          Value
		text, json string
	}{
		{Avg{15, 2, true}, "7", "7"},
		{Avg{-15, 2, true}, "-7", "-7"},
		{Avg{0, 0, true}, "0", "0"},
		{Avg{-2, 2, false}, "9223372036854775807", `"9223372036854775807"`},
		{Stats{11, 2, true}, "{ .count = 2, .average = 5, .total = 11 }", `{"count": 2, "average": 5, "total": 11}`},
		{Null{}, "null", "null"},
	} {
		if got := string(AppendText(nil, c.v)); got != c.text {
			t.Errorf("%#v: text %s, want %s", c.v, got, c.text)
		}
		if got := string(AppendJSON(nil, c.v)); got != c.json {
			t.Errorf("%#v: JSON %s, want %s", c.v, got, c.json)
		}
	}
}

func TestSelfContainedStruct(t *testing.T) {
	s := &types.Struct{Kind: types.StructKind, Name: "s", Bytes: 8}
	s.Load = func() []types.Field { return []types.Field{{Name: "self", Type: s}, {Name: "again", Type: s}} }
	AppendText(nil, Decode(s, make([]byte, 8), nil))
	anon := &types.Struct{Kind: types.StructKind, Bytes: 8}
	anon.Load = func() []types.Field { return []types.Field{{Type: anon}, {Type: anon}} }
	AppendText(nil, Decode(anon, make([]byte, 8), nil))
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b Value
		want int
	}{
		{Int(-1), Int(1), -1},
		{Uint(1 << 63), Uint(1), 1},
		{Str("a"), Str("b"), -1},
		{Str("a"), Str("ab"), -1},
		{Tuple{Int(1), Str("b")}, Tuple{Int(1), Str("a")}, 1},
		{Bool(false), Bool(true), -1},
		{Bool(true), Bool(true), 0},
		{Pointer(1 << 63), Pointer(0), 1},
		{Enum{"B", 1}, Enum{"A", 2}, -1},
		{Record{nil, []Value{Int(1)}}, Record{nil, []Value{Int(1)}}, 0},
		{Null{}, Int(1), -1},
	} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("Compare(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Compare(c.b, c.a); got != -c.want {
			t.Errorf("Compare(%v, %v) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}
