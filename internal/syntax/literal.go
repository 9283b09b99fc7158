package syntax

import (
	"math"
	"math/bits"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// A LiteralError says what is wrong with an integer literal.
type LiteralError struct {
	Code source.Code
	Msg  string
}

// Error is the message without a place, which only the scanner knows.
func (e *LiteralError) Error() string { return e.Msg }

// badInteger is an error in a literal.
func badInteger(code source.Code, msg string) error { return &LiteralError{code, msg} }

var errOverflow = &LiteralError{"integer-overflow", "integer is too large for 64 bits"}

// ParseInt returns the value of an integer literal: decimal, octal with a leading 0, hexadecimal or
// binary, with underscores, exponent, and C or duration suffix. A duration is in nanoseconds.
// Errors are *LiteralError. The forms are those of C and of the reference: 1_000, 0x_ff, 1e6, 10u,
// 5s.
func ParseInt(text string) (uint64, error) {
	if text == "" || !isDigit(text[0]) {
		return 0, badInteger("invalid-integer", "expected an integer")
	}
	if len(text) > 1 && text[0] == '0' {
		switch text[1] {
		case 'x', 'X':
			return parseRadix(text[2:], 16, "hexadecimal")
		case 'b', 'B':
			return parseRadix(text[2:], 2, "binary")
		}
	}
	digits := span(text, 10)
	body, rest := text[:digits], text[digits:]
	if err := checkUnderscore(body); err != nil {
		return 0, err
	}
	body = strings.ReplaceAll(body, "_", "")
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		return parseExponent(body, rest[1:])
	}
	radix := uint64(10)
	if len(body) > 1 && body[0] == '0' {
		radix = 8
	}
	v, err := digitsValue(body, radix)
	if err != nil {
		return 0, err
	}
	return applySuffix(v, rest, true)
}

// ParseSigned is ParseInt with an optional leading '-', the form of positional
// parameters. The value is the magnitude; with negative it is at most 2^63.
func ParseSigned(text string) (value uint64, negative bool, err error) {
	text, negative = strings.CutPrefix(text, "-")
	value, err = ParseInt(text)
	if err == nil && negative && value > 1<<63 {
		err = errOverflow
	}
	return value, negative, err
}

// span counts the leading bytes that are underscores or digits of the radix.
func span(s string, radix int) int {
	n := 0
	for n < len(s) && (s[n] == '_' || int(digitValue(s[n])) < radix) {
		n++
	}
	return n
}

// digitValue is the value of a hexadecimal digit, 255 for anything else.
// 255 is above any radix, so that one comparison tests both.
func digitValue(c byte) uint64 {
	switch {
	case isDigit(c):
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 255
}

// checkUnderscore refuses an underscore at the end; between digits there may be any number.
func checkUnderscore(digits string) error {
	if strings.HasSuffix(digits, "_") {
		return badInteger("invalid-integer", "trailing underscore in integer")
	}
	return nil
}

// parseRadix reads the digits behind 0x or 0b.
func parseRadix(text string, radix uint64, name string) (uint64, error) {
	n := span(text, int(radix))
	digits, rest := text[:n], text[n:]
	if strings.Trim(digits, "_") == "" {
		return 0, badInteger("invalid-integer", "expected a "+name+" digit")
	}
	if err := checkUnderscore(digits); err != nil {
		return 0, err
	}
	v, err := digitsValue(strings.ReplaceAll(digits, "_", ""), radix)
	if err != nil {
		return 0, err
	}
	return applySuffix(v, rest, false)
}

// digitsValue is the number that digits without underscores are. An overflow is an error, never a
// smaller number.
func digitsValue(digits string, radix uint64) (uint64, error) {
	v := uint64(0)
	for i := range len(digits) {
		d := digitValue(digits[i])
		if d >= radix {
			return 0, badInteger("invalid-integer", "invalid digit '"+digits[i:i+1]+"' in octal integer")
		}
		hi, lo := bits.Mul64(v, radix)
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			return 0, errOverflow
		}
		v = sum
	}
	return v, nil
}

// parseExponent handles the text after the e of 3e9.
// 1e3 is an integer: one digit, as the reference has it, keeps 12e3 from being read in two
// ways.
func parseExponent(coefficient, rest string) (uint64, error) {
	v, err := digitsValue(coefficient, 10)
	if err != nil {
		return 0, err
	}
	if v < 1 || v > 9 {
		return 0, badInteger("invalid-exponent", "coefficient of an exponent must be 1 to 9")
	}
	n := span(rest, 10)
	digits, suffix := rest[:n], rest[n:]
	value := strings.ReplaceAll(digits, "_", "")
	if value == "" || value[0] == '0' {
		return 0, badInteger("invalid-exponent", "exponent must be a positive integer")
	}
	if err := checkUnderscore(digits); err != nil {
		return 0, err
	}
	power, err := digitsValue(value, 10)
	// 10^19 is the largest power of ten below 2^64.
	if err != nil || power > 19 {
		return 0, errOverflow
	}
	for range power {
		hi, lo := bits.Mul64(v, 10)
		if hi != 0 {
			return 0, errOverflow
		}
		v = lo
	}
	return applySuffix(v, suffix, true)
}

// applySuffix applies a C suffix, which only bounds the value, or a duration
// suffix, which multiplies it.
// Duration suffixes are in lower case only: 5M would be five minutes to one reader and mega to
// the next.
func applySuffix(v uint64, suffix string, durations bool) (uint64, error) {
	limit, unit := uint64(math.MaxUint64), uint64(1)
	switch suffix {
	case "":
	case "ns", "us", "ms", "s", "m", "h", "d":
		if !durations {
			return 0, badInteger("invalid-suffix", "invalid suffix '"+suffix+"' on integer")
		}
		unit = durationUnit(suffix)
	default:
		// int is taken to have 32 bits and long 64, as the kernel's headers do on both processors.
		switch strings.ToLower(suffix) {
		case "u":
			limit = math.MaxUint32
		case "l", "ll":
			limit = math.MaxInt64
		case "ul", "ull", "lu", "llu":
		default:
			return 0, badInteger("invalid-suffix", "invalid suffix '"+suffix+"' on integer")
		}
	}
	hi, lo := bits.Mul64(v, unit)
	if hi != 0 {
		return 0, errOverflow
	}
	if lo > limit {
		return 0, badInteger("integer-overflow", "integer is too large for its suffix '"+suffix+"'")
	}
	return lo, nil
}

// durationUnit is the length of a duration suffix in nanoseconds.
func durationUnit(suffix string) uint64 {
	switch suffix {
	case "us":
		return 1e3
	case "ms":
		return 1e6
	case "s":
		return 1e9
	case "m":
		return 60e9
	case "h":
		return 3600e9
	case "d":
		return 86400e9
	}
	return 1
}

// Part is where bytes start to end of the value stand in the source; ok is
// false for a literal that is not written there, or has no such bytes.
// A mistake in a format is so shown at its conversion.
func (l *StringLit) Part(start, end int) (at source.Span, ok bool) {
	span := l.Span()
	text := span.Text()
	if len(text) < 2 || text != l.Text || text[0] != '"' || start > end {
		return source.Span{}, false
	}
	at = span
	i := 1
	for n := 0; n <= end; n++ {
		if n == start {
			at.Start = span.Start + i
		}
		if n == end {
			at.End = span.Start + i
			return at, true
		}
		if i >= len(text)-1 {
			break
		}
		// An escape is several bytes of the source and one of the value.
		size := 1
		if text[i] == '\\' {
			_, escape, _ := scanEscape(text[i+1:])
			size += escape
		}
		i += size
	}
	return source.Span{}, false
}

// scanEscape reads the escape after a backslash. It returns the byte it stands
// for, the bytes read, and what is wrong with it if not "". n is at least 1
// unless s is empty.
// \x takes two digits at most, unlike in C, where it takes all that there are.
func scanEscape(s string) (c byte, n int, problem string) {
	if s == "" {
		return 0, 0, "unterminated string"
	}
	switch s[0] {
	case 'n':
		return '\n', 1, ""
	case 't':
		return '\t', 1, ""
	case 'r':
		return '\r', 1, ""
	case '"', '\\':
		return s[0], 1, ""
	case 'x', 'X':
		v, n := uint64(0), 1
		for n < len(s) && n < 3 && digitValue(s[n]) < 16 {
			v = v<<4 | digitValue(s[n])
			n++
		}
		if n == 1 {
			return 0, 1, "expected a hexadecimal digit after '\\x'"
		}
		return byte(v), n, ""
	}
	// Anything else is octal, or no escape.
	v, n := uint64(0), 0
	for n < len(s) && n < 3 && digitValue(s[n]) < 8 {
		v = v<<3 | digitValue(s[n])
		n++
	}
	switch {
	case n == 0:
		return 0, 1, "invalid escape sequence"
	case v > 255:
		return 0, n, "octal escape is larger than \\377"
	}
	return byte(v), n, ""
}

// Text is the text of a string literal, or of several that str_concat() joins, as do
// those that are too long for a line.
func Text(e Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *StringLit:
		return e.Value, true
	case *Call:
		for _, arg := range e.Args {
			part, ok := Text(arg)
			if !ok {
				return "", false
			}
			text += part
		}
		return text, e.Func.Name == "str_concat"
	}
	return "", false
}
