package strace

import (
	"strconv"
	"strings"
	"time"
)

// quoting says which bytes of strings are shown as they are.
type quoting uint8

const (
	plain    quoting = iota // printable ASCII; else octal
	hexTexts                // -x: in hexadecimal all of a string that has others
	hexAll                  // -xx: all
	octal                   // as plain, octal numbers but 0 in three digits, and quotes as such, as ltrace has them
)

// appendQuoted appends a string in double quotes.
func appendQuoted(b, s []byte, q quoting) []byte {
	return append(appendEscaped(append(b, '"'), s, "", q), '"')
}

// appendEscaped appends a string without quotes. Some characters more than usual are escaped. A
// digit behind an octal number would be read as part of it: then the number has three.
func appendEscaped(b, s []byte, more string, q quoting) []byte {
	hex := q == hexAll
	if q == hexTexts {
		for _, c := range s {
			// Tabs and ends of lines do not make bytes of a text.
			if (c < ' ' || c > '~') && (c < '\t' || c > '\r') {
				hex = true
				break
			}
		}
	}
	for i, c := range s {
		switch {
		case hex:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		case c == '"' && q != octal || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ' && c <= '~' && strings.IndexByte(more, c) < 0:
			b = append(b, c)
		case c >= '\t' && c <= '\r':
			b = append(b, '\\', "tnvfr"[c-'\t'])
		default:
			b = append(b, '\\')
			if q == octal && c == 0 {
				b = append(b, '0')
			} else if q == octal || i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '7' {
				b = append(b, '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			} else {
				b = strconv.AppendUint(b, uint64(c), 8)
			}
		}
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendHex appends a number as C writes it with %#x.
func appendHex(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	return strconv.AppendUint(append(b, "0x"...), v, 16)
}

// appendOctal appends a number as C writes it with %#o, three digits at least. strace writes
// modes so, and 0 as 000.
func appendOctal(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, "000"...)
	}
	b = append(b, '0')
	if v < 8 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, v, 8)
}

// appendDate appends a moment as a comment. 0 is no moment, but one that nobody has set.
func appendDate(b []byte, sec int64, nsec uint64, digits int) []byte {
	if sec == 0 && nsec == 0 {
		return b
	}
	layout := "2006-01-02T15:04:05"
	if nsec != 0 {
		layout += ".000000000"[:digits+1]
	}
	b = append(b, " /* "...)
	b = time.Unix(sec, int64(nsec)).AppendFormat(b, layout+"-0700")
	return append(b, " */"...)
}
