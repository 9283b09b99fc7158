package unpack

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/hawktrace/hawk/internal/types"
)

// Key is the key of a map as it lies in memory, of values of Go: one, or one for each
// part of a tuple; nil of a scalar, whose type is nil.
func Key(t types.Type, parts []any) ([]byte, error) {
	if t == nil {
		if len(parts) > 0 {
			return nil, fmt.Errorf("a map without keys is read without one")
		}
		return nil, nil
	}
	// Padding between the parts stays zero, as programs leave it: the kernel compares keys byte
	// by byte.
	raw := make([]byte, t.Size())
	tuple, ok := t.(*types.Tuple)
	// The parts of a record are given in the order of the script: by name they would have to be
	// looked up for each key.
	if r, isRecord := t.(*types.Record); isRecord {
		tuple, ok = &r.Tuple, true
	}
	if !ok {
		if len(parts) != 1 {
			return nil, fmt.Errorf("a key of type %s has one part, not %d", t, len(parts))
		}
		return raw, put(raw, t, parts[0])
	}
	if len(parts) != len(tuple.Elems) {
		return nil, fmt.Errorf("a key of type %s has %d parts, not %d", t, len(tuple.Elems), len(parts))
	}
	for i, e := range tuple.Elems {
		if err := put(raw[tuple.Offsets[i]:tuple.Offsets[i]+e.Size()], e, parts[i]); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// textOf is what a value of Go holds that is text or bytes.
func textOf(v reflect.Value) (text string, ok bool) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return "", false
		}
		text := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(text), v)
		return string(text), true
	}
	return "", false
}

// put writes one part.
func put(dst []byte, t types.Type, part any) error {
	v := reflect.ValueOf(part)
	no := fmt.Errorf("%v (%T) is no key of type %s", part, part, t)
	if isByteArray(t) {
		text, ok := textOf(v)
		switch {
		case !ok:
			return no
		case len(text) > t.Size():
			return fmt.Errorf("%q is longer than a key of type %s", text, t)
		}
		copy(dst, text)
		return nil
	}
	if s, ok := t.(*types.String); ok {
		text, ok := textOf(v)
		if !ok {
			return no
		}
		// There has to be room for a NUL. A longer text is refused rather than cut: the key would
		// be that of another element.
		if len(text) >= s.Cap {
			return fmt.Errorf("%q is longer than a key of type %s", text, t)
		}
		copy(dst, text)
		return nil
	}
	var bits uint64
	signed := false
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			bits = 1
		}
	case v.CanInt():
		bits, signed = uint64(v.Int()), v.Int() < 0
	case v.CanUint():
		bits = v.Uint()
	default:
		return no
	}
	// Types that have no size here, as stacks and addresses of the network, no value of Go stands
	// for.
	size, mayBe := 0, false
	switch t := t.(type) {
	case *types.Int:
		size, mayBe = t.Bytes, t.Signed
	case *types.Enum:
		size, mayBe = t.Bytes, t.Signed
	case *types.Pointer:
		size = 8
	default:
		if t == types.Bool {
			size = 1
		}
	}
	// limit is how many bits a value may take; a negative one has the sign besides.
	limit := 8*size - 1
	if !mayBe {
		limit++
	}
	switch {
	case size == 0, signed && !mayBe, signed && int64(bits) < -1<<limit, !signed && limit < 64 && bits>>limit != 0:
		return no
	}
	// The low bytes come first, and are all that is copied: hawk runs on little-endian machines.
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], bits)
	copy(dst, word[:size])
	return nil
}
