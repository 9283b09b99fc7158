package value

import (
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// AppendText appends the default text of a value.
// Histograms and series are drawn by package output and have none.
func AppendText(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Int:
		return strconv.AppendInt(dst, int64(v), 10)
	case Uint:
		return strconv.AppendUint(dst, uint64(v), 10)
	case Bool:
		return strconv.AppendBool(dst, bool(v))
	case Enum:
		return appendEnum(dst, v.Name, v.Value)
	case Pointer:
		return appendPointer(dst, uint64(v))
	case Str:
		return append(dst, v...)
	case Chars:
		return append(dst, v.Shown...)
	case Unread:
		return append(dst, v...)
	case Buffer:
		return appendBuffer(dst, v)
	case Text:
		return append(dst, v...)
	case Words:
		dst = append(dst, strings.Join(v.Words, " ")...)
		if v.Cut {
			dst = append(dst, " ..."...)
		}
		return dst
	case Formatted:
		return append(dst, v...)
	case Symbol:
		return append(dst, v.Name...)
	case Moment:
		return append(dst, v.Text...)
	case *Stack:
		return v.appendText(dst, false)
	case Tuple:
		dst = append(dst, '(')
		dst = appendList(dst, v, ", ")
		return append(dst, ')')
	case Array:
		dst = append(dst, '[')
		dst = appendList(dst, v, ",")
		return append(dst, ']')
	case Record:
		if len(v.Names) == 0 {
			return append(dst, "{}"...)
		}
		for i, name := range v.Names {
			dst = appendName(dst, i, name)
			dst = AppendText(dst, v.Values[i])
		}
		return append(dst, " }"...)
	case Avg:
		return appendSigned(dst, v.Average(), v.Signed)
	case Stats:
		dst = append(dst, "{ .count = "...)
		dst = strconv.AppendUint(dst, uint64(v.Count), 10)
		dst = append(dst, ", .average = "...)
		dst = appendSigned(dst, v.Average(), v.Signed)
		dst = append(dst, ", .total = "...)
		dst = appendSigned(dst, v.Total, v.Signed)
		return append(dst, " }"...)
	}
	return append(dst, "null"...)
}

// AppendKey appends the text of a map key: that of the value, but a tuple
// without its outer parentheses.
func AppendKey(dst []byte, v Value) []byte {
	if t, ok := v.(Tuple); ok {
		return appendList(dst, t, ", ")
	}
	return AppendText(dst, v)
}

// appendRaw appends what AppendText(Decode(t, raw, env)) would, without
// making values of the types that events usually carry.
// printf comes here for each %s of each event, which is why it does not allocate.
func appendRaw(dst []byte, t types.Type, raw []byte, env Env) []byte {
	switch t := t.(type) {
	case *types.Int:
		if v, ok := integer(raw, t.Bytes, t.Signed); ok {
			return appendSigned(dst, int64(v), t.Signed)
		}
	case *types.String:
		return appendString(dst, t, raw, env)
	case *types.Pointer:
		if v, ok := integer(raw, 8, false); ok {
			return appendPointer(dst, v)
		}
	case *types.Enum:
		if v, ok := integer(raw, t.Bytes, t.Signed); ok {
			return appendEnum(dst, t.NameOf(int64(v)), int64(v))
		}
	case *types.Buffer:
		return appendBuffer(dst, bufferBytes(t, raw))
	case *types.Tuple:
		dst = append(dst, '(')
		for i, e := range t.Elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendRaw(dst, e, slice(raw, t.Offsets[i], e.Size()), env)
		}
		return append(dst, ')')
	case *types.Record:
		if len(t.Names) == 0 {
			return append(dst, "{}"...)
		}
		for i, e := range t.Elems {
			dst = appendName(dst, i, t.Names[i])
			dst = appendRaw(dst, e, slice(raw, t.Offsets[i], e.Size()), env)
		}
		return append(dst, " }"...)
	}
	if t == types.Bool && len(raw) > 0 {
		return strconv.AppendBool(dst, raw[0] != 0)
	}
	return AppendText(dst, Decode(t, raw, env))
}

// appendString appends a string, the mark of one that was cut, or what stands for an unreadable one.
func appendString(dst []byte, t *types.String, raw []byte, env Env) []byte {
	if env != nil && unreadable(t, raw) {
		return append(dst, env.Unreadable()...)
	}
	s, cut := stringBytes(t, raw)
	dst = append(dst, s...)
	if cut && env != nil {
		dst = append(dst, env.Trailer()...)
	}
	return dst
}

// appendList appends values with a separator between them.
func appendList(dst []byte, vs []Value, sep string) []byte {
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = AppendText(dst, v)
	}
	return dst
}

// appendName appends the name of the i-th field of a record, with what stands before and behind it.
func appendName(dst []byte, i int, name string) []byte {
	if i == 0 {
		dst = append(dst, "{ ."...)
	} else {
		dst = append(dst, ", ."...)
	}
	dst = append(dst, name...)
	return append(dst, " = "...)
}

// appendSigned appends the 64 bits of a number as signed or unsigned.
func appendSigned(dst []byte, v int64, signed bool) []byte {
	if signed {
		return strconv.AppendInt(dst, v, 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

// appendEnum appends an enumerator's name, or its number if there is none.
func appendEnum(dst []byte, name string, v int64) []byte {
	if name != "" {
		return append(dst, name...)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendPointer appends an address.
func appendPointer(dst []byte, v uint64) []byte {
	dst = append(dst, "0x"...)
	return strconv.AppendUint(dst, v, 16)
}

const (
	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)

// appendBuffer appends printable ASCII as it is, quotes and backslashes
// included, and other bytes as \xHH.
func appendBuffer(dst, b []byte) []byte {
	for _, c := range b {
		if c >= ' ' && c <= '~' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', lowerHex[c>>4], lowerHex[c&15])
		}
	}
	return dst
}
