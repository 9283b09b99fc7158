package value

import (
	"math/bits"
	"strconv"

	"github.com/hawktrace/hawk/internal/types"
)

// An Arg is an argument of a format: its type and its bytes.
type Arg struct {
	Type types.Type
	Raw  []byte
}

// Append formats args, as many as there are conversions. It does not allocate
// beyond dst for integers, strings, pointers, enums and tuples of them. A value that
// cannot be shown stands as !{reason}.
func (f *Format) Append(dst []byte, args []Arg, env Env) []byte {
	return f.append(dst, args, env, false)
}

// AppendEscaped is Append with the text of the arguments escaped, see Escape;
// that of the format is not.
func (f *Format) AppendEscaped(dst []byte, args []Arg, env Env) []byte {
	return f.append(dst, args, env, true)
}

// AppendValues formats values that are decoded. Integers are cut to what the conversion says.
func (f *Format) AppendValues(dst []byte, values []Value) []byte {
	for i := range f.Convs {
		dst = append(dst, f.text[i]...)
		if i >= len(values) {
			dst = append(dst, "!{no argument}"...)
			continue
		}
		dst = f.Convs[i].appendValue(dst, values[i])
	}
	return append(dst, f.text[len(f.text)-1]...)
}

// appendValue formats one decoded value.
func (c *Conv) appendValue(dst []byte, v Value) []byte {
	switch n := v.(type) {
	case Int:
		if c.Verb < Char {
			return c.appendInteger(dst, uint64(n))
		}
	case Uint:
		if c.Verb < Char {
			return c.appendInteger(dst, uint64(n))
		}
	}
	start := len(dst)
	return c.pad(c.cut(AppendText(dst, v), start), start)
}

// append is Append, or AppendEscaped. Events, of which there are many, have plans: see Plan.
func (f *Format) append(dst []byte, args []Arg, env Env, escape bool) []byte {
	for i := range f.Convs {
		dst = appendShort(dst, f.text[i])
		if i >= len(args) {
			dst = append(dst, "!{no argument}"...)
			continue
		}
		dst = f.Convs[i].append(dst, args[i], env, escape)
	}
	return appendShort(dst, f.text[len(f.text)-1])
}

// appendShort appends a text that mostly is one byte.
func appendShort(dst []byte, text string) []byte {
	if len(text) == 1 {
		return append(dst, text[0])
	}
	return append(dst, text...)
}

// append formats one argument, by the verb.
func (c *Conv) append(dst []byte, a Arg, env Env, escape bool) []byte {
	start := len(dst)
	switch c.Verb {
	case Default:
		if escape {
			dst = AppendText(dst, Escaped(Decode(a.Type, a.Raw, env)))
		} else {
			dst = appendRaw(dst, a.Type, a.Raw, env)
		}
		return c.pad(c.cut(dst, start), start)
	case Bytes, EscapedHex, SpacedHex:
		buf, ok := a.Type.(*types.Buffer)
		if !ok {
			return append(dst, "!{not a buffer}"...)
		}
		return c.pad(c.appendBytes(dst, bufferBytes(buf, a.Raw)), start)
	}
	v, _, ok := Scalar(a.Type, a.Raw)
	if !ok {
		return append(dst, "!{not an integer}"...)
	}
	switch c.Verb {
	case Char:
		if escape {
			return c.pad(appendEscaped(dst, string([]byte{byte(v)}), ""), start)
		}
		return c.pad(append(dst, byte(v)), start)
	case GFPFlags:
		return c.pad(appendGFP(dst, truncate(v, c.Bits)), start)
	}
	return c.appendInteger(dst, v)
}

// cut applies a precision to text.
func (c *Conv) cut(dst []byte, start int) []byte {
	if c.Prec >= 0 && len(dst)-start > c.Prec {
		return dst[:start+c.Prec]
	}
	return dst
}

// pad fills dst[start:] up to the width. Zero padding of text is not C, but
// scripts have it from the reference.
func (c *Conv) pad(dst []byte, start int) []byte {
	n := c.Width - (len(dst) - start)
	if n <= 0 {
		return dst
	}
	fill := byte(' ')
	if c.Zero && !c.Left {
		fill = '0'
	}
	dst = repeat(dst, fill, n)
	if !c.Left {
		copy(dst[start+n:], dst[start:len(dst)-n])
		for i := range n {
			dst[start+i] = fill
		}
	}
	return dst
}

// repeat appends a byte n times.
func repeat(dst []byte, b byte, n int) []byte {
	for range n {
		dst = append(dst, b)
	}
	return dst
}

// appendBytes writes the bytes of a buffer in the manner of the verb.
func (c *Conv) appendBytes(dst, b []byte) []byte {
	start := len(dst)
	switch c.Verb {
	case EscapedHex:
		for _, x := range b {
			dst = append(dst, '\\', 'x', lowerHex[x>>4], lowerHex[x&15])
		}
	case SpacedHex:
		for i, x := range b {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = append(dst, lowerHex[x>>4], lowerHex[x&15])
		}
	default:
		dst = appendBuffer(dst, b)
	}
	return c.cut(dst, start)
}

// truncate keeps the low bits of a number.
func truncate(v uint64, bits int) uint64 { return v << (64 - bits) >> (64 - bits) }

// decimal reports whether a number is its digits: the usual case.
func (c *Conv) decimal() bool {
	return c.Verb <= Unsigned && c.Width == 0 && c.Prec < 0 && c.Unit == 0 && !c.Plus && !c.Space
}

// appendDecimal writes a number as digits, of the width that the conversion reads: %d of 64 bits
// shows 32, as C does.
func (c *Conv) appendDecimal(dst []byte, v uint64) []byte {
	v = truncate(v, c.Bits)
	if c.Verb == Signed && v>>(c.Bits-1) != 0 {
		return strconv.AppendInt(dst, int64(signExtend(v, c.Bits)), 10)
	}
	return strconv.AppendUint(dst, v, 10)
}

// appendInteger follows C: sign and prefix, then zeros up to the precision or,
// with the flag 0 and no precision, up to the width.
func (c *Conv) appendInteger(dst []byte, v uint64) []byte {
	if c.decimal() {
		return c.appendDecimal(dst, v)
	}
	// Sign and prefix together are at most two bytes.
	var head [2]byte
	h := head[:0]
	width := c.Bits
	if c.Verb == Address {
		width = 64
	}
	v = truncate(v, width)
	if c.Verb == Signed {
		s := int64(signExtend(v, width))
		switch {
		case s < 0:
			h = append(h, '-')
			v = -uint64(s)
		case c.Plus:
			h = append(h, '+')
		case c.Space:
			h = append(h, ' ')
		}
	}
	var room [32]byte
	digits := room[:0]
	switch {
	case c.Unit != 0:
		if digits = AppendFixed(digits, v, c.Unit, c.Digits); len(h) > 0 && h[0] == '-' && Zero(digits) {
			h = h[:0]
		}
	case v != 0 || c.Prec != 0:
		digits = c.appendDigits(digits, v)
	}
	switch {
	case c.Verb == Address && v != 0, c.Verb == Hex && c.Alt && v != 0:
		h = append(h, '0', 'x')
	case c.Verb == UpperHex && c.Alt && v != 0:
		h = append(h, '0', 'X')
	}
	zeros := max(c.Prec-len(digits), 0)
	if c.Verb == Octal && c.Alt && zeros == 0 && (len(digits) == 0 || digits[0] != '0') {
		zeros = 1
	}
	if c.Zero && !c.Left && c.Prec < 0 {
		zeros = max(c.Width-len(h)-len(digits), zeros)
	}
	blanks := c.Width - len(h) - zeros - len(digits)
	if !c.Left {
		dst = repeat(dst, ' ', blanks)
	}
	dst = append(dst, h...)
	dst = repeat(dst, '0', zeros)
	dst = append(dst, digits...)
	if c.Left {
		dst = repeat(dst, ' ', blanks)
	}
	return dst
}

// appendDigits writes a number without sign and prefix in the base of the verb.
func (c *Conv) appendDigits(dst []byte, v uint64) []byte {
	switch c.Verb {
	case Octal:
		return strconv.AppendUint(dst, v, 8)
	case Hex, Address:
		return strconv.AppendUint(dst, v, 16)
	case UpperHex:
		n := max((bits.Len64(v)+3)/4, 1)
		for i := n - 1; i >= 0; i-- {
			dst = append(dst, upperHex[v>>(4*i)&15])
		}
		return dst
	}
	return strconv.AppendUint(dst, v, 10)
}
