package value

import (
	"bytes"
	"encoding/hex"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends a value in its JSON form. Spacing is
// part of the format: ": " and ", " in objects, nothing between the elements
// of arrays.
func AppendJSON(dst []byte, v Value) []byte { return appendJSON(dst, v, AppendJSONString) }

// AppendSafeJSON is AppendJSON with strings as AppendSafeString has them.
func AppendSafeJSON(dst []byte, v Value) []byte { return appendJSON(dst, v, AppendSafeString) }

// appendJSON writes a value as JSON; text writes what is in quotes.
func appendJSON(dst []byte, v Value, text func(dst, s []byte) []byte) []byte {
	switch v := v.(type) {
	case Int:
		return appendNumber(dst, int64(v), true)
	case Uint:
		return appendNumber(dst, int64(v), false)
	case Bool:
		return strconv.AppendBool(dst, bool(v))
	case Enum:
		return appendNumber(dst, v.Value, true)
	case Pointer:
		return appendNumber(dst, int64(v), false)
	case Str:
		return text(dst, v)
	case Chars:
		return text(dst, v.Shown)
	case Buffer:
		dst = append(dst, '[')
		for i, c := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(int8(c)), 10)
		}
		return append(dst, ']')
	case Text:
		return text(dst, []byte(v))
	case Words:
		words := make([]Value, len(v.Words), len(v.Words)+1)
		for i, w := range v.Words {
			words[i] = Text(w)
		}
		if v.Cut {
			words = append(words, Text("..."))
		}
		return appendJSONArray(dst, words, text)
	case Formatted:
		return text(dst, []byte(v))
	case Symbol:
		return text(dst, []byte(v.Name))
	case Moment:
		return text(dst, []byte(v.Text))
	case *Stack:
		return text(dst, v.appendText(nil, false))
	case Tuple:
		return appendJSONArray(dst, v, text)
	case Array:
		return appendJSONArray(dst, v, text)
	case Record:
		dst = append(dst, '{')
		for i, name := range v.Names {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendJSONString(dst, []byte(name))
			dst = append(dst, ": "...)
			dst = appendJSON(dst, v.Values[i], text)
		}
		return append(dst, '}')
	case Avg:
		return appendNumber(dst, v.Average(), v.Signed)
	case Stats:
		dst = append(dst, `{"count": `...)
		dst = appendNumber(dst, v.Count, false)
		dst = append(dst, `, "average": `...)
		dst = appendNumber(dst, v.Average(), v.Signed)
		dst = append(dst, `, "total": `...)
		dst = appendNumber(dst, v.Total, v.Signed)
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// Average is the quotient, truncated toward zero; bits of an unsigned number
// if v is unsigned.
func (v Avg) Average() int64 { return average(v.Total, v.Count, v.Signed) }

// Average is the quotient, truncated toward zero; bits of an unsigned number
// if v is unsigned.
func (v Stats) Average() int64 { return average(v.Total, v.Count, v.Signed) }

// Summary is what an Avg or a Stats comes to; ok is false if v is neither.
func Summary(v Value) (s Stats, ok bool) {
	if avg, is := v.(Avg); is {
		return Stats(avg), true
	}
	s, ok = v.(Stats)
	return s, ok
}

// Sum is the total, an Int or a Uint.
func (v Stats) Sum() Value { return number(v.Total, v.Signed) }

// Mean is the average, an Int or a Uint.
func (v Stats) Mean() Value { return number(v.Average(), v.Signed) }

// Number is the value of a point, an Int or a Uint.
func (v Series) Number(of Point) Value { return number(of.Value, v.Signed) }

func number(n int64, signed bool) Value {
	if signed {
		return Int(n)
	}
	return Uint(n)
}

// average divides by the sign of the values. No value at all has the average 0, as in the
// reference.
func average(total, count int64, signed bool) int64 {
	switch {
	case count == 0:
		return 0
	case signed:
		return total / count
	}
	return int64(uint64(total) / uint64(count))
}

// AppendJSONKey appends a map key as a JSON string: its text, less all spaces.
// Keys that differ in spaces only have one text so: readers who mind take AppendSafeKey.
func AppendJSONKey(dst []byte, key Value) []byte {
	var room [64]byte
	text := AppendKey(room[:0], key)
	return AppendJSONString(dst, bytes.ReplaceAll(text, []byte(" "), nil))
}

// AppendSafeKey appends a map key as a JSON array: the elements of a tuple, or
// the one that it is; none of a map without keys. Keys that differ have arrays
// that differ, but for values that stand for many, as a symbol for addresses.
func AppendSafeKey(dst []byte, key Value) []byte {
	switch key := key.(type) {
	case nil:
		return append(dst, "[]"...)
	case Tuple:
		return AppendSafeJSON(dst, key)
	}
	return append(AppendSafeJSON(append(dst, '['), key), ']')
}

// appendJSONArray writes values between brackets, without spaces behind the commas.
func appendJSONArray(dst []byte, vs []Value, text func(dst, s []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, v, text)
	}
	return append(dst, ']')
}

// appendNumber writes a number as a string when a double cannot hold it: most
// readers of JSON would change it.
func appendNumber(dst []byte, v int64, signed bool) []byte {
	magnitude := uint64(v)
	if signed && v < 0 {
		magnitude = -magnitude
	}
	// A double has 53 bits of mantissa: 1<<60 is exact although it is large.
	exact := magnitude == 0 || bits.Len64(magnitude)-bits.TrailingZeros64(magnitude) <= 53
	if exact {
		return appendSigned(dst, v, signed)
	}
	dst = append(dst, '"')
	dst = appendSigned(dst, v, signed)
	return append(dst, '"')
}

// AppendJSONString appends bytes as a JSON string. UTF-8 passes through; a
// byte that is not part of any is written as the code point of its number, so
// that the line stays valid and nothing is dropped.
func AppendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		// size is 1 of a byte that is no UTF-8, and of ASCII that plainPrefix has stopped at.
		if _, size := utf8.DecodeRune(s); size > 1 {
			dst = append(dst, s[:size]...)
			s = s[size:]
			continue
		}
		switch c := s[0]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
		}
		s = s[1:]
	}
	return append(dst, '"')
}

// AppendSafeString is AppendJSONString where no two strings may become one: what
// is no UTF-8 stands as the bytes in hexadecimal, in an object whose member no
// field of a record can be named as.
func AppendSafeString(dst, s []byte) []byte {
	if utf8.Valid(s) {
		return AppendJSONString(dst, s)
	}
	return append(hex.AppendEncode(append(dst, `{"$bytes": "`...), s), `"}`...)
}

// plainPrefix counts leading bytes of ASCII that need no escape.
func plainPrefix(s []byte) int {
	for i, c := range s {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}
