package value

import (
	"bytes"
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/types"
)

// Types of the outside world may be malformed and contain themselves: depth
// and number of the values in one value are bounded.
const (
	maxDepth  = 512
	maxValues = 1 << 20
)

// A decoder is the state of one Decode.
type decoder struct {
	env  Env
	left int // values that may still be made
}

// Decode makes a value of type t of its bytes in memory. Bytes that are
// missing make Null of a scalar and shorten a sequence.
// raw may be longer than the value, and is not kept: records are read in place, from memory
// that the kernel writes to again.
func Decode(t types.Type, raw []byte, env Env) Value {
	if v, signed, ok := Scalar(t, raw); ok {
		return scalarValue(t, v, signed)
	}
	d := decoder{env, maxValues}
	return d.decode(t, raw, 0)
}

// decode is Decode inside of other values.
func (d *decoder) decode(t types.Type, raw []byte, depth int) Value {
	env := d.env
	if d.left--; depth > maxDepth || d.left < 0 {
		return Null{}
	}
	if v, signed, ok := Scalar(t, raw); ok {
		return scalarValue(t, v, signed)
	}
	switch t := t.(type) {
	case *types.String:
		if env != nil && unreadable(t, raw) {
			return Unread(env.Unreadable())
		}
		s, cut := stringBytes(t, raw)
		out := make(Str, 0, len(s)+8)
		out = append(out, s...)
		if cut && env != nil {
			out = append(out, env.Trailer()...)
		}
		return out
	case *types.Buffer:
		return Buffer(bytes.Clone(bufferBytes(t, raw)))
	case *types.Array:
		n := arrayLen(t, raw)
		if t.Text {
			return charsOf(t, raw[:n], env)
		}
		out := make(Array, n)
		size := t.Elem.Size()
		for i := range n {
			out[i] = d.decode(t.Elem, raw[i*size:(i+1)*size], depth+1)
		}
		return out
	case *types.Record:
		return Record{t.Names, d.elems(&t.Tuple, raw, depth)}
	case *types.Tuple:
		return Tuple(d.elems(t, raw, depth))
	case *types.Struct:
		var r Record
		d.fields(&r, t, raw, depth)
		return r
	case *types.Stack:
		if env != nil && len(raw) >= t.Size() {
			return env.Stack(t, raw[:t.Size()])
		}
	case *types.Agg:
		if env != nil {
			return env.Agg(t, raw)
		}
	case *types.Deferred:
		if env != nil && len(raw) >= t.Size() {
			return env.Deferred(t, raw[:t.Size()])
		}
	}
	return Null{}
}

// Scalar reads a value that fits a register, extended to 64 bits by its own
// sign. ok is false for other types and if bytes are missing.
func Scalar(t types.Type, raw []byte) (v uint64, signed, ok bool) {
	switch t := t.(type) {
	case *types.Int:
		v, ok = integer(raw, t.Bytes, t.Signed)
		return v, t.Signed, ok
	case *types.Pointer:
		v, ok = integer(raw, 8, false)
		return v, false, ok
	case *types.Enum:
		v, ok = integer(raw, t.Bytes, t.Signed)
		return v, t.Signed, ok
	}
	if t == types.Bool && len(raw) > 0 {
		return uint64(min(raw[0], 1)), false, true
	}
	return 0, false, false
}

// scalarValue is the value of a type that fits a register.
func scalarValue(t types.Type, v uint64, signed bool) Value {
	switch t := t.(type) {
	case *types.Pointer:
		return Pointer(v)
	case *types.Enum:
		return Enum{Name: t.NameOf(int64(v)), Value: int64(v)}
	case *types.Int:
		if signed {
			return Int(v)
		}
		return Uint(v)
	}
	return Bool(v != 0)
}

// integer reads a number in the machine's order; false if bytes are missing.
func integer(raw []byte, size int, signed bool) (uint64, bool) {
	if len(raw) < size {
		return 0, false
	}
	var v uint64
	switch size {
	case 1:
		v = uint64(raw[0])
	case 2:
		v = uint64(binary.NativeEndian.Uint16(raw))
	case 4:
		v = uint64(binary.NativeEndian.Uint32(raw))
	case 8:
		return binary.NativeEndian.Uint64(raw), true
	default:
		return 0, false
	}
	if signed {
		v = signExtend(v, size*8)
	}
	return v, true
}

// signExtend copies the highest of so many bits to those above.
func signExtend(v uint64, bits int) uint64 {
	shift := 64 - bits
	return uint64(int64(v<<shift) >> shift)
}

// upToNUL is a C string's bytes without its terminator.
func upToNUL(raw []byte) []byte {
	if i := bytes.IndexByte(raw, 0); i >= 0 {
		return raw[:i]
	}
	return raw
}

// unreadable reports whether a string could not be read.
func unreadable(t *types.String, raw []byte) bool {
	return t.Marked && len(raw) >= len(types.Unreadable) && string(raw[:len(types.Unreadable)]) == types.Unreadable
}

// stringBytes is the text of a string, and whether a trailer belongs to it.
func stringBytes(t *types.String, raw []byte) (s []byte, cut bool) {
	if t.Cap > 0 && len(raw) > t.Cap {
		raw = raw[:t.Cap]
	}
	s = upToNUL(raw)
	return s, t.Cap > 0 && (len(s) >= t.Cap || t.Trunc && len(s) >= t.Cap-1)
}

// charsOf is the value of an array that is shown as text.
func charsOf(t *types.Array, raw []byte, env Env) Chars {
	c := Chars{All: bytes.Clone(raw)}
	if elem, ok := types.IsInteger(t.Elem); ok {
		c.Signed = elem.Signed
	}
	c.Shown = upToNUL(c.All)
	if len(c.Shown) == len(raw) && env != nil { // it may go on behind the array
		c.Shown = append(c.Shown[:len(raw):len(raw)], env.Trailer()...)
	}
	return c
}

// Elems are the bytes as the numbers that they are.
func (c Chars) Elems() []Value {
	out := make([]Value, len(c.All))
	for i, b := range c.All {
		out[i] = Uint(b)
		if c.Signed {
			out[i] = Int(int8(b))
		}
	}
	return out
}

// BufferBytes are what a value holds that is a buffer; none of others.
func BufferBytes(t types.Type, raw []byte) []byte {
	if b, ok := t.(*types.Buffer); ok {
		return bufferBytes(b, raw)
	}
	return nil
}

// bufferBytes is what a buffer holds: its length comes first, 4 bytes, and is not believed.
func bufferBytes(t *types.Buffer, raw []byte) []byte {
	if len(raw) < 4 {
		return nil
	}
	n := binary.NativeEndian.Uint32(raw)
	return raw[4 : 4+min(int(n), len(raw)-4, t.Cap)]
}

// arrayLen is how many elements of an array there are bytes for.
func arrayLen(t *types.Array, raw []byte) int {
	size := t.Elem.Size()
	if size <= 0 || t.Len < 0 {
		return 0
	}
	return min(t.Len, len(raw)/size)
}

// elems decodes the elements of a tuple, each at its offset.
func (d *decoder) elems(t *types.Tuple, raw []byte, depth int) []Value {
	out := make([]Value, len(t.Elems))
	for i, e := range t.Elems {
		out[i] = d.decode(e, slice(raw, t.Offsets[i], e.Size()), depth+1)
	}
	return out
}

// slice is raw[off:off+n] as far as it exists.
func slice(raw []byte, off, n int) []byte {
	if off < 0 || off > len(raw) || n < 0 {
		return nil
	}
	return raw[off:min(off+n, len(raw))]
}

// fields appends the fields of a struct to r; those of anonymous members count
// as the struct's own.
func (d *decoder) fields(r *Record, t *types.Struct, raw []byte, depth int) {
	if d.left--; depth > maxDepth || d.left < 0 {
		return
	}
	for _, f := range t.Fields() {
		inner, isStruct := f.Type.(*types.Struct)
		if f.Name == "" {
			if isStruct {
				d.fields(r, inner, slice(raw, f.Offset, inner.Size()), depth+1)
			}
			continue
		}
		r.Names = append(r.Names, f.Name)
		r.Values = append(r.Values, d.field(f, raw, depth))
	}
}

// field decodes a member, which may be some bits of a word.
func (d *decoder) field(f types.Field, raw []byte, depth int) Value {
	if f.BitSize == 0 {
		return d.decode(f.Type, slice(raw, f.Offset, f.Type.Size()), depth+1)
	}
	size := f.Type.Size()
	word := slice(raw, f.Offset, (f.BitOffset+f.BitSize+7)/8)
	if len(word)*8 < f.BitOffset+f.BitSize || f.BitSize > 64 || f.BitOffset < 0 || size > 8 {
		return Null{}
	}
	var v uint64
	// Bits are taken one by one, since a field of a packed struct may lie across more bytes
	// than a word has.
	for bit := range f.BitSize {
		at := f.BitOffset + bit
		v |= uint64(word[at/8]>>(at%8)&1) << bit
	}
	signed := false
	if i, ok := types.IsInteger(f.Type); ok && i.Signed {
		signed = true
		v = signExtend(v, f.BitSize)
	}
	return scalarValue(f.Type, v, signed)
}
