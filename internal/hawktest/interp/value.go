package interp

import (
	"strings"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A val is a value without its type, which is kept beside it: uint64 for
// scalars (extended to 64 bits by the sign of the type), string for strings,
// []val for tuples, records (in the order of their type) and arrays, nil for
// no value.
type val any

// extend cuts bits to an integer type and extends them to 64 bits again.
func extend(bits uint64, t *types.Int) uint64 {
	shift := 64 - 8*t.Bytes
	if t.Signed {
		return uint64(int64(bits<<shift) >> shift)
	}
	return bits << shift >> shift
}

// boolVal is a boolean in the form of all scalars.
func boolVal(b bool) val {
	if b {
		return uint64(1)
	}
	return uint64(0)
}

// zero is the zero of a type.
func zero(t types.Type) val {
	switch t := t.(type) {
	case *types.String:
		return ""
	case *types.Tuple:
		return zeros(t.Elems)
	case *types.Record:
		return zeros(t.Elems)
	case *types.Array:
		out := make([]val, t.Len)
		for i := range out {
			out[i] = zero(t.Elem)
		}
		return out
	}
	if types.IsScalar(t) {
		return uint64(0)
	}
	fail("a zero of type %s", t)
	return nil
}

func zeros(elems []types.Type) val {
	out := make([]val, len(elems))
	for i, e := range elems {
		out[i] = zero(e)
	}
	return out
}

// convert makes a value of one type a value of another. The checker has allowed the conversion:
// a combination that is not here is a hole in the interpreter.
func convert(v val, from, to types.Type) val {
	if types.Same(from, to) {
		return v
	}
	if to == types.Bool {
		return boolVal(truth(v))
	}
	if i, ok := types.IsInteger(to); ok {
		// An array becomes an integer by its bytes, of which the first is the lowest.
		if a, ok := from.(*types.Array); ok {
			return extend(fromBytes(toBytes(v, a)), i)
		}
		return extend(v.(uint64), i)
	}
	switch to := to.(type) {
	case *types.Pointer:
		return v
	case *types.String:
		s := v.(string)
		// The last byte of a capacity is for the NUL.
		return s[:min(len(s), to.Cap-1)]
	case *types.Record:
		return convertRecord(v.([]val), from.(*types.Record), to)
	case *types.Tuple:
		src, dst := v.([]val), make([]val, len(to.Elems))
		for i, e := range from.(*types.Tuple).Elems {
			dst[i] = convert(src[i], e, to.Elems[i])
		}
		return dst
	case *types.Array:
		raw := toBytes(v, from)
		// An array that is longer than the integer is filled up by its sign.
		if i, ok := types.IsInteger(from); ok && i.Signed && v.(uint64)>>63 != 0 {
			for len(raw) < to.Size() {
				raw = append(raw, 0xff)
			}
		}
		for len(raw) < to.Size() {
			raw = append(raw, 0)
		}
		return ofBytes(raw, to)
	}
	fail("a conversion from %s to %s", from, to)
	return nil
}

// convertRecord finds fields by name: two records with the same fields in another order are of
// one type.
func convertRecord(src []val, from, to *types.Record) val {
	dst := make([]val, len(to.Elems))
	for i, n := range to.Names {
		j, t, _ := from.Lookup(n)
		dst[i] = convert(src[j], t, to.Elems[i])
	}
	return dst
}

// toBytes is a value in memory. The order is little-endian, as on every machine that hawk runs
// on.
func toBytes(v val, t types.Type) []byte {
	switch t := t.(type) {
	case *types.Array:
		var out []byte
		for _, e := range v.([]val) {
			out = append(out, toBytes(e, t.Elem)...)
		}
		return out
	case *types.String:
		return append([]byte(v.(string)), make([]byte, t.Cap-len(v.(string)))...)
	}
	bits, ok := v.(uint64)
	if !ok {
		fail("the bytes of %s", t)
	}
	out := make([]byte, t.Size())
	for i := range out {
		out[i] = byte(bits >> (8 * i))
	}
	return out
}

func fromBytes(raw []byte) (bits uint64) {
	for i, b := range raw {
		bits |= uint64(b) << (8 * i)
	}
	return bits
}

// ofBytes is the inverse of toBytes for an array of integers.
func ofBytes(raw []byte, t *types.Array) val {
	out := make([]val, t.Len)
	size := t.Elem.Size()
	for i := range out {
		bits := fromBytes(raw[i*size : (i+1)*size])
		if e, ok := types.IsInteger(t.Elem); ok {
			bits = extend(bits, e)
		}
		out[i] = bits
	}
	return out
}

// truth is whether a condition holds.
func truth(v val) bool {
	switch v := v.(type) {
	case uint64:
		return v != 0
	case string:
		return v != ""
	}
	fail("a condition of kind %T", v)
	return false
}

// same is == on two values; numbers are extended already, so that those of
// different types are equal exactly if they are in the type they join to. Fields of records are
// compared by name, so that y is brought into the order of x first.
func same(x, y val, xt, yt types.Type) bool {
	switch x := x.(type) {
	case uint64:
		return x == y.(uint64)
	case string:
		return x == y.(string)
	case []val:
		if xr, ok := xt.(*types.Record); ok {
			y = convertRecord(y.([]val), yt.(*types.Record),
				&types.Record{Names: xr.Names, Tuple: *types.NewTuple(reordered(xr, yt.(*types.Record))...)})
			yt = xt
		}
		for i, e := range y.([]val) {
			if !same(x[i], e, nil, nil) {
				return false
			}
		}
		return true
	}
	fail("an equality of kind %T", x)
	return false
}

// reordered are the types of the fields of y in the order of x.
func reordered(x, y *types.Record) []types.Type {
	out := make([]types.Type, len(x.Names))
	for i, n := range x.Names {
		_, out[i], _ = y.Lookup(n)
	}
	return out
}

// shown is a value as package value knows it. Package value is hawk's own: its forms are tested
// there.
func shown(v val, t types.Type) value.Value {
	switch t := t.(type) {
	case *types.Int:
		if t.Signed {
			return value.Int(v.(uint64))
		}
		return value.Uint(v.(uint64))
	case *types.Pointer:
		return value.Pointer(v.(uint64))
	case *types.String:
		return value.Str(v.(string))
	case *types.Record:
		return value.Record{Names: t.Names, Values: shownAll(v.([]val), t.Elems)}
	case *types.Tuple:
		return value.Tuple(shownAll(v.([]val), t.Elems))
	case *types.Array:
		var out value.Array
		for _, e := range v.([]val) {
			out = append(out, shown(e, t.Elem))
		}
		return out
	}
	if t == types.Bool {
		return value.Bool(v.(uint64) != 0)
	}
	fail("printing type %s", t)
	return nil
}

func shownAll(vs []val, ts []types.Type) []value.Value {
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		out[i] = shown(v, ts[i])
	}
	return out
}

// cString is a string up to its first NUL.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
