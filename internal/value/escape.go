package value

import (
	"strings"
	"unicode/utf8"
)

// Escape is text from outside as a terminal may show it: control characters,
// bytes that are no text, and characters that turn the direction of writing
// around stand as \n, \x1b, \u202e. Nothing else changes.
// A traced program chooses its file names and its own name, and could else move the cursor or
// paint over lines of who watches it.
func Escape(s string) string { return string(appendEscaped(nil, s, "")) }

// EscapeLines is Escape for text that has lines of its own: newlines and tabs
// stay.
func EscapeLines(s string) string { return string(appendEscaped(nil, s, "\n\t")) }

// Escaped is a value whose text is to be escaped: what it holds of text from
// outside is. The lines of a stack stay, as does what formats of the script
// came to.
func Escaped(v Value) Value {
	switch v := v.(type) {
	case Str:
		return Str(appendEscaped(nil, string(v), ""))
	case Chars:
		return Escaped(v.Shown)
	case Text:
		return Text(Escape(string(v)))
	case Symbol:
		v.Name = Escape(v.Name)
		return v
	case *Stack:
		return Formatted(v.appendText(nil, true))
	case Enum:
		v.Name = Escape(v.Name)
		return v
	case Words:
		words := make([]string, len(v.Words))
		for i, word := range v.Words {
			words[i] = Escape(word)
		}
		return Words{words, v.Cut}
	case Tuple:
		return Tuple(escapedAll(v))
	case Array:
		return Array(escapedAll(v))
	case Record:
		names := make([]string, len(v.Names))
		for i, name := range v.Names {
			names[i] = Escape(name)
		}
		return Record{names, escapedAll(v.Values)}
	}
	return v
}

// escapedAll escapes the elements of a tuple or array. The list is new, since sinks share
// values.
func escapedAll(vs []Value) []Value {
	out := make([]Value, len(vs))
	for i, v := range vs {
		out[i] = Escaped(v)
	}
	return out
}

// appendEscaped appends s escaped, but for control characters that may stay.
func appendEscaped(dst []byte, s, stay string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		// ASCII is most of what comes by, and is not decoded. DEL, 0x7f, is a control character
		// as well.
		if c >= ' ' && c < 0x7f || c < ' ' && strings.IndexByte(stay, c) >= 0 {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case size > 1 && Commands(r):
			dst = appendRune(append(dst, '\\', 'u'), r)
		case size > 1:
			dst = append(dst, s[i:i+size]...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'x', lowerHex[c>>4], lowerHex[c&15])
		}
		i += size
	}
	return dst
}

// EscapeJSON is JSON as a terminal may show it: the same, with what else a
// terminal acts on written by number.
func EscapeJSON(s []byte) []byte {
	clean := true
	for rest := s; len(rest) > 0 && clean; {
		r, size := utf8.DecodeRune(rest)
		clean, rest = !Commands(r), rest[size:]
	}
	if clean {
		return s
	}
	var out []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if Commands(r) {
			out = appendRune(append(out, '\\', 'u'), r)
		} else {
			out = append(out, s[:size]...)
		}
		s = s[size:]
	}
	return out
}

// Commands reports whether terminals act on a character beyond ASCII, instead
// of showing it: C1, separators of lines, and what turns the direction around.
func Commands(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0, r == 0x2028, r == 0x2029:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// appendRune adds a character as four hexadecimal digits. All that Commands names fit in four.
func appendRune(dst []byte, r rune) []byte {
	return append(dst, lowerHex[r>>12&15], lowerHex[r>>8&15], lowerHex[r>>4&15], lowerHex[r&15])
}
