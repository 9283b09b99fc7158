package value

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A maker makes values of one type.
type maker func(r *rand.Rand) Value

// texts are pieces of strings that one form of JSON or another confuses.
var texts = []string{"", "a", "b", ",", ", ", " ", ":", "(", ")", "[", "]", `"`, `\`, `\n`, "\n", "\x00", "\x1b",
	"\xff", "ÿ", "\u00ff", "\ufffd", "\xed\xa0\x80",
	"\xc3", "\xa9", "é", "$bytes", `{"$bytes": "ff"}`, "ff", "null", "1", "<unreadable>", "\u2028"}

func someText(r *rand.Rand) Str {
	out := Str{}
	for range r.IntN(4) {
		out = append(out, texts[r.IntN(len(texts))]...)
	}
	return out
}

// numbers are near the bounds of what a double and 64 bits hold.
func someNumber(r *rand.Rand) uint64 {
	bounds := []uint64{0, 1, 7, 1 << 31, 1 << 53, 1 << 60, 1 << 63, 0}
	return bounds[r.IntN(len(bounds))] + uint64(r.IntN(5)) - 2
}

// someType is how values of a type are made.
func someType(r *rand.Rand, depth int) maker {
	kinds := 10
	if depth == 0 {
		kinds = 7
	}
	several := func() (out []maker) {
		for range 1 + r.IntN(3) {
			out = append(out, someType(r, depth-1))
		}
		return out
	}
	all := func(r *rand.Rand, elems []maker) (out []Value) {
		for _, m := range elems {
			out = append(out, m(r))
		}
		return out
	}
	switch r.IntN(kinds) {
	case 0:
		return func(r *rand.Rand) Value { return Int(someNumber(r)) }
	case 1:
		return func(r *rand.Rand) Value { return Uint(someNumber(r)) }
	case 2:
		return func(r *rand.Rand) Value { return Pointer(someNumber(r)) }
	case 3:
		return func(r *rand.Rand) Value { return Bool(r.IntN(2) == 0) }
	case 4:
		return func(r *rand.Rand) Value { return Enum{"SAME", int64(someNumber(r))} }
	case 5:
		return func(r *rand.Rand) Value { return Buffer(someText(r)) }
	case 7:
		elems := several()
		return func(r *rand.Rand) Value { return Tuple(all(r, elems)) }
	case 8:
		elem := someType(r, depth-1)
		return func(r *rand.Rand) Value { return Array{elem(r), elem(r)} }
	case 9:
		elems := several()
		names := []string{"bytes", "a", "key"}[:len(elems)]
		return func(r *rand.Rand) Value { return Record{names, all(r, elems)} }
	}
	return func(r *rand.Rand) Value {
		if r.IntN(10) == 0 {
			return Unread("<unreadable>")
		}
		return someText(r)
	}
}

// read makes a value of JSON again; like says of which type.
func read(t *testing.T, doc any, like Value) Value {
	list := func(likes []Value) []Value {
		docs, ok := doc.([]any)
		if !ok || len(docs) != len(likes) {
			t.Fatalf("%v is no list of %d", doc, len(likes))
		}
		out := make([]Value, len(likes))
		for i := range likes {
			out[i] = read(t, docs[i], likes[i])
		}
		return out
	}
	number := strings.Trim(fmt.Sprint(doc), `"`)
	switch like := like.(type) {
	case Int, Enum:
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := like.(Enum); ok {
			return Enum{"SAME", n}
		}
		return Int(n)
	case Uint, Pointer:
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := like.(Pointer); ok {
			return Pointer(n)
		}
		return Uint(n)
	case Bool:
		return Bool(doc.(bool))
	case Buffer:
		out := Buffer{}
		for _, n := range doc.([]any) {
			c, _ := strconv.Atoi(fmt.Sprint(n))
			out = append(out, byte(c))
		}
		return out
	case Tuple:
		return Tuple(list(like))
	case Array:
		return Array(list(like))
	case Record:
		out := Record{Names: like.Names}
		for i, name := range like.Names {
			out.Values = append(out.Values, read(t, doc.(map[string]any)[name], like.Values[i]))
		}
		return out
	}
	switch doc := doc.(type) {
	case nil:
		return Unread("<unreadable>")
	case map[string]any:
		out, err := hex.DecodeString(doc["$bytes"].(string))
		if err != nil || len(doc) != 1 {
			t.Fatalf("%v, %v", doc, err)
		}
		return Str(out)
	default:
		return Str(doc.(string))
	}
}

// TestSafeKeys makes keys of made-up types, two by two: the JSON of each reads as
// the key again, so no two can have the same.
func TestSafeKeys(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		of := someType(r, 3)
		var keys [2]Value
		var lines [2][]byte
		for i := range keys {
			keys[i] = of(r)
			lines[i] = AppendSafeKey(nil, keys[i])
			dec := json.NewDecoder(bytes.NewReader(lines[i]))
			dec.UseNumber()
			var docs []any
			if err := dec.Decode(&docs); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, lines[i], err)
			}
			like := keys[i]
			var doc any = docs
			if _, ok := like.(Tuple); !ok {
				doc = docs[0]
			}
			if again := read(t, doc, like); !reflect.DeepEqual(again, keys[i]) {
				t.Fatalf("seed %d: %#v became %s, which is %#v", seed, keys[i], lines[i], again)
			}
		}
		if same := bytes.Equal(lines[0], lines[1]); same != reflect.DeepEqual(keys[0], keys[1]) {
			t.Fatalf("seed %d: %#v and %#v are both %s", seed, keys[0], keys[1], lines[0])
		}
	}
}

func FuzzSafeString(f *testing.F) {
	for _, s := range texts {
		f.Add(s, s+"\xff")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := AppendSafeString(nil, []byte(a)), AppendSafeString(nil, []byte(b))
		if !json.Valid(x) || (a == b) != bytes.Equal(x, y) {
			t.Errorf("%q is %s, %q is %s", a, x, b, y)
		}
		var doc any
		if err := json.Unmarshal(x, &doc); err != nil {
			t.Fatal(err)
		}
		if again := read(t, doc, Str(a)); string(again.(Str)) != a {
			t.Errorf("%q became %s, which is %q", a, x, again)
		}
	})
}
