package export

import (
	"bufio"
	"strconv"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/view"
)

// A jsonWriter writes JSON as it goes. Text in it is safe in a terminal and within HTML:
// what either would act on stands by its number.
type jsonWriter struct{ *bufio.Writer }

// int writes an integer as it is: where the reader is hawk's own, or the number small.
func (w jsonWriter) int(n int64) { w.Write(strconv.AppendInt(w.AvailableBuffer(), n, 10)) }

// number writes an integer; one that a float cannot hold stands as text.
func (w jsonWriter) number(n int64) {
	// Readers of JSON in JavaScript have floats of 64 bits for numbers.
	const exact = 1 << 53
	if n > exact || n < -exact {
		w.WriteByte('"')
		w.int(n)
		w.WriteByte('"')
		return
	}
	w.int(n)
}

// raw writes what is JSON already.
func (w jsonWriter) raw(s string) { w.WriteString(s) }

// text writes a string.
func (w jsonWriter) text(s string) { w.Write(appendJSONText(w.AvailableBuffer(), s)) }

// key writes the name of a field and a colon; names are hawk's own.
func (w jsonWriter) key(name string) {
	w.WriteByte('"')
	w.WriteString(name)
	w.WriteString(`":`)
}

const lowerHex = "0123456789abcdef"

// appendJSONText appends a JSON string. Bytes that are no text become U+FFFD.
func appendJSONText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\t':
				dst = append(dst, '\\', 't')
			// < > & could end an element of a page, and DEL acts on terminals.
			case c < ' ' || c == 0x7f || c == '<' || c == '>' || c == '&':
				dst = append(dst, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		// A byte that belongs to no letter is not JSON, which is UTF-8 throughout.
		case r == utf8.RuneError && size == 1:
			dst = append(dst, "\uFFFD"...)
		case view.Acts(r):
			dst = append(dst, '\\', 'u', lowerHex[r>>12&15], lowerHex[r>>8&15], lowerHex[r>>4&15], lowerHex[r&15])
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return append(dst, '"')
}
