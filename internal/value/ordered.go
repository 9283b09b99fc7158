package value

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/types"
)

// Ordered reports whether values of a type have an ordered form: what they mean is in their bytes alone, and in what
// a run has set for all strings.
func Ordered(t types.Type) bool {
	switch t := t.(type) {
	case *types.Int, *types.Pointer, *types.Enum, *types.String, *types.Buffer:
		return true
	case *types.Array:
		return t.Len >= 0 && t.Elem.Size() > 0 && !t.Text && Ordered(t.Elem)
	case *types.Record:
		return orderedAll(t.Elems)
	case *types.Tuple:
		return orderedAll(t.Elems)
	}
	return t == types.Bool
}

// orderedAll reports whether all elements have an ordered form.
func orderedAll(ts []types.Type) bool {
	for _, t := range ts {
		if !Ordered(t) {
			return false
		}
	}
	return true
}

// In the ordered form a string that can be unreadable begins with one of these.
const (
	formUnread = 0
	formRead   = 1
)

// A zero byte of a buffer is followed by one, the end is a zero byte and this.
const (
	formZero = 0xff
	formEnd  = 0
)

// AppendOrdered adds the ordered form of a value of an Ordered type, whose bytes in memory are all there. The bytes of
// two forms are in the order in which Compare has their values.
// Maps of many elements are sorted by these bytes: no value is made of an element before it is
// printed.
func AppendOrdered(dst []byte, t types.Type, raw []byte) []byte {
	switch t := t.(type) {
	case *types.String:
		if t.Marked {
			if unreadable(t, raw) {
				return append(dst, formUnread)
			}
			dst = append(dst, formRead)
		}
		s, _ := stringBytes(t, raw)
		return append(append(dst, s...), 0)
	case *types.Buffer:
		for _, c := range bufferBytes(t, raw) {
			if dst = append(dst, c); c == 0 {
				dst = append(dst, formZero)
			}
		}
		return append(dst, 0, formEnd)
	case *types.Array:
		size := t.Elem.Size()
		for i := range arrayLen(t, raw) {
			dst = AppendOrdered(dst, t.Elem, raw[i*size:(i+1)*size])
		}
		return dst
	case *types.Record:
		return appendOrderedAll(dst, &t.Tuple, raw)
	case *types.Tuple:
		return appendOrderedAll(dst, t, raw)
	}
	v, _, _ := Scalar(t, raw)
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], v^signBit(t))
	return append(dst, word[8-t.Size():]...)
}

// signBit is the bit of a scalar that is turned over, so that what is below zero comes first; 0 for types that nothing
// is below zero in.
func signBit(t types.Type) uint64 {
	switch t := t.(type) {
	case *types.Int:
		if t.Signed {
			return 1 << (8*t.Bytes - 1)
		}
	case *types.Enum: // its values are signed numbers, whatever its type is
		if t.Signed || t.Bytes == 8 {
			return 1 << (8*t.Bytes - 1)
		}
	}
	return 0
}

// appendOrderedAll adds the elements one behind the other. No form begins another form, so that
// nothing has to stand between.
func appendOrderedAll(dst []byte, t *types.Tuple, raw []byte) []byte {
	for i, e := range t.Elems {
		dst = AppendOrdered(dst, e, slice(raw, t.Offsets[i], e.Size()))
	}
	return dst
}

// DecodeOrdered makes the value of an ordered form, and yields what comes behind it. It equals what Decode makes of the
// value's bytes in memory, but for bytes of no meaning.
func DecodeOrdered(t types.Type, form []byte, env Env) (v Value, rest []byte) {
	switch t := t.(type) {
	case *types.String:
		return decodeOrderedString(t, form, env)
	case *types.Buffer:
		out := Buffer{}
		for len(form) >= 2 && (form[0] != 0 || form[1] != formEnd) {
			out = append(out, form[0])
			if form[0] == 0 {
				form = form[1:]
			}
			form = form[1:]
		}
		return out, form[min(2, len(form)):]
	case *types.Array:
		out := make(Array, t.Len)
		for i := range out {
			out[i], form = DecodeOrdered(t.Elem, form, env)
		}
		return out, form
	case *types.Record:
		values, rest := decodeOrderedAll(&t.Tuple, form, env)
		return Record{t.Names, values}, rest
	case *types.Tuple:
		values, rest := decodeOrderedAll(t, form, env)
		return Tuple(values), rest
	}
	size := t.Size()
	if len(form) < size {
		return Null{}, nil
	}
	var n uint64
	for _, c := range form[:size] {
		n = n<<8 | uint64(c)
	}
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], n^signBit(t))
	n, signed, _ := Scalar(t, raw[:size])
	return scalarValue(t, n, signed), form[size:]
}

// decodeOrderedString reads up to the NUL that ends the form. The trailer is not in it, since
// all cut strings have the same.
func decodeOrderedString(t *types.String, form []byte, env Env) (v Value, rest []byte) {
	if t.Marked && len(form) > 0 {
		if form[0] == formUnread {
			return Unread(env.Unreadable()), form[1:]
		}
		form = form[1:]
	}
	s := upToNUL(form)
	rest = form[min(len(s)+1, len(form)):]
	out := make(Str, 0, len(s)+8)
	out = append(out, s...)
	if _, cut := stringBytes(t, s); cut {
		out = append(out, env.Trailer()...)
	}
	return out, rest
}

// decodeOrderedAll reads the elements of a tuple or record.
func decodeOrderedAll(t *types.Tuple, form []byte, env Env) (out []Value, rest []byte) {
	out = make([]Value, len(t.Elems))
	for i, e := range t.Elems {
		out[i], form = DecodeOrdered(e, form, env)
	}
	return out, form
}

// SkipOrdered yields what comes behind an ordered form.
func SkipOrdered(t types.Type, form []byte) []byte {
	switch t := t.(type) {
	case *types.String:
		if t.Marked && len(form) > 0 {
			if form[0] == formUnread {
				return form[1:]
			}
			form = form[1:]
		}
		return form[min(len(upToNUL(form))+1, len(form)):]
	case *types.Buffer:
		_, form = DecodeOrdered(t, form, nil)
		return form
	case *types.Array:
		for range t.Len {
			form = SkipOrdered(t.Elem, form)
		}
		return form
	case *types.Record:
		return skipOrderedAll(t.Elems, form)
	case *types.Tuple:
		return skipOrderedAll(t.Elems, form)
	}
	return form[min(t.Size(), len(form)):]
}

// skipOrderedAll passes over the elements of a tuple or record.
func skipOrderedAll(ts []types.Type, form []byte) []byte {
	for _, t := range ts {
		form = SkipOrdered(t, form)
	}
	return form
}
