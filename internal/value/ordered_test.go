package value

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// randomOrdered is a type that has an ordered form.
func randomOrdered(rng *rand.Rand, depth int) types.Type {
	kinds := 8
	if depth > 2 {
		kinds = 5
	}
	elems := func() (out []types.Type) {
		for range 1 + rng.IntN(3) {
			out = append(out, randomOrdered(rng, depth+1))
		}
		return out
	}
	bytes, signed := 1<<rng.IntN(4), rng.IntN(2) == 0
	switch rng.IntN(kinds) {
	case 0:
		return types.IntOf(bytes, signed)
	case 1:
		return &types.Enum{Name: "e", Bytes: bytes, Signed: signed, Values: []types.EnumValue{{Name: "ONE", Value: 1}}}
	case 2:
		return types.Bool
	case 3:
		return &types.Pointer{Elem: types.Void}
	case 4:
		return &types.String{Cap: 1 + rng.IntN(6), Trunc: rng.IntN(2) == 0, Marked: rng.IntN(2) == 0}
	case 5:
		return &types.Buffer{Cap: rng.IntN(6)}
	case 6:
		if elem := randomOrdered(rng, depth+1); elem.Size() > 0 {
			return &types.Array{Elem: elem, Len: rng.IntN(4)}
		}
		return types.Uint16
	}
	list := elems()
	if rng.IntN(2) == 0 {
		return types.NewTuple(list...)
	}
	return types.NewRecord([]string{"a", "b", "c"}[:len(list)], list)
}

// randomBytes are those of a value in memory: few different ones, so that parts are equal, and sizes that hold.
func randomBytes(rng *rand.Rand, t types.Type, raw []byte) {
	for i := range raw {
		raw[i] = []byte{0, 0, 1, 0x7f, 0x80, 0xff, 'a'}[rng.IntN(7)]
	}
	switch t := t.(type) {
	case *types.String:
		raw[t.Cap-1] = 0
		if t.Marked && t.Cap >= 2 && rng.IntN(3) == 0 {
			copy(raw, types.Unreadable)
		}
	case *types.Buffer:
		binary.LittleEndian.PutUint32(raw, uint32(rng.IntN(t.Cap+2)))
	case *types.Array:
		for i := range t.Len {
			randomBytes(rng, t.Elem, raw[i*t.Elem.Size():][:t.Elem.Size()])
		}
	case *types.Tuple:
		for i, e := range t.Elems {
			randomBytes(rng, e, raw[t.Offsets[i]:][:e.Size()])
		}
	case *types.Record:
		randomBytes(rng, &t.Tuple, raw)
	}
}

// TestOrdered compares forms as values are compared, and reads values back of them.
func TestOrdered(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		typ := randomOrdered(rng, 0)
		if !Ordered(typ) {
			t.Fatalf("%s has no ordered form", typ)
		}
		a, b := make([]byte, typ.Size()), make([]byte, typ.Size())
		randomBytes(rng, typ, a)
		randomBytes(rng, typ, b)
		x, y := Decode(typ, a, fakeEnv{}), Decode(typ, b, fakeEnv{})
		form, other := AppendOrdered(nil, typ, a), AppendOrdered(nil, typ, b)
		if got, want := bytes.Compare(form, other), Compare(x, y); got != want {
			t.Fatalf("%s: %v and %v compare as %d, their forms as %d", typ, x, y, want, got)
		}
		back, rest := DecodeOrdered(typ, append(form, "rest"...), fakeEnv{})
		if string(rest) != "rest" || Compare(back, x) != 0 || !reflect.DeepEqual(back, x) {
			t.Fatalf("%s: %#v was read back as %#v, and then %q", typ, x, back, rest)
		}
		if rest := SkipOrdered(typ, append(form, "rest"...)); string(rest) != "rest" {
			t.Fatalf("%s: behind %x comes %q", typ, form, rest)
		}
		for i := range form { // damaged ones do not crash
			DecodeOrdered(typ, form[:i], fakeEnv{})
			SkipOrdered(typ, form[:i])
		}
	}
	for _, typ := range []types.Type{point, &types.Stack{}, &types.Deferred{}, types.Void,
		types.NewTuple(types.Int8, &types.Stack{}), &types.Array{Elem: types.Int8, Len: -1}} {
		if Ordered(typ) {
			t.Errorf("%s has an ordered form", typ)
		}
	}
}
