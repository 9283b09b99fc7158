package cdef

import (
	"errors"
	"math/bits"
	"strings"
)

// A num is a value of a constant expression: 64 bits and a sign.
// All numbers are of 64 bits, also those that C has as int: ~0u is larger here than there, and
// #if has it so, too.
type num struct {
	v        uint64
	unsigned bool
}

// signed is a number of a signed type.
func signed(v int64) num { return num{v: uint64(v)} }

// truth is the result of a comparison, an int.
func truth(b bool) num {
	if b {
		return num{v: 1}
	}
	return num{}
}

// A syntaxError unwinds to whoever can go on after it.
// Panics carry it, from deep inside of expressions and declarators.
type syntaxError struct {
	at  token
	msg string
}

// An evaluator computes constant expressions of tokens whose macros are
// expanded.
// The preprocessor and the parser have one each: in #if there are no types, and names are 0.
type evaluator struct {
	list []token
	last token // for messages at the end of the list
	// word reads a name, which has been taken from the list: an enumerator,
	// sizeof and what follows it. It may take more of the list.
	word func(t token) (num, bool)
	// typeName reads a type in parentheses, if one comes, and returns the width
	// in bytes and the sign of an integer type to convert to; nil: there are no
	// types.
	typeName func() (t *ctype, ok bool)
	depth    int
}

// fail gives up the expression.
func (e *evaluator) fail(at token, msg string) {
	if at.file == nil {
		at = e.last
	}
	panic(syntaxError{at, msg})
}

// peek is the next token, eof at the end.
// The list is cut from its front, and is not needed again.
func (e *evaluator) peek() token {
	if len(e.list) == 0 {
		return token{kind: eof}
	}
	return e.list[0]
}

// take consumes the next token and remembers it for messages.
func (e *evaluator) take() token {
	t := e.peek()
	if len(e.list) > 0 {
		e.last = t
		e.list = e.list[1:]
	}
	return t
}

// accept consumes a token of some text, if it is next.
func (e *evaluator) accept(text string) bool {
	if e.peek().is(text) {
		e.take()
		return true
	}
	return false
}

// expect consumes a token of some text, or gives up.
func (e *evaluator) expect(text string) {
	if !e.accept(text) {
		e.fail(e.peek(), "expected '"+text+"' in a constant expression")
	}
}

// all evaluates the whole list.
func (e *evaluator) all() num {
	v := e.conditional()
	if t := e.peek(); t.kind != eof {
		e.fail(t, "unexpected '"+t.text+"' in a constant expression")
	}
	return v
}

// enter counts a level of nesting.
// Without it a header of ten thousand parentheses would end the process, as a full stack of Go
// cannot be recovered from.
func (e *evaluator) enter() {
	if e.depth++; e.depth > maxNesting {
		e.fail(e.peek(), "the expression is nested too deeply")
	}
}

// conditional reads c ? a : b, of which both arms are computed: there are no effects.
func (e *evaluator) conditional() num {
	e.enter()
	defer func() { e.depth-- }()
	c := e.binary(1)
	if !e.accept("?") {
		return c
	}
	a := c
	if !e.peek().is(":") {
		a = e.conditional()
	}
	e.expect(":")
	b := e.conditional()
	a.unsigned, b.unsigned = a.unsigned || b.unsigned, a.unsigned || b.unsigned
	if c.v != 0 {
		return a
	}
	return b
}

// level is how tightly a binary operator binds, 0 for other tokens.
func level(t token) int {
	if t.kind != punct {
		return 0
	}
	switch t.text {
	case "*", "/", "%":
		return 10
	case "+", "-":
		return 9
	case "<<", ">>":
		return 8
	case "<", ">", "<=", ">=":
		return 7
	case "==", "!=":
		return 6
	case "&":
		return 5
	case "^":
		return 4
	case "|":
		return 3
	case "&&":
		return 2
	case "||":
		return 1
	}
	return 0
}

// binary reads operators of at least some level.
func (e *evaluator) binary(lowest int) num {
	x := e.unary()
	for {
		op := e.peek()
		l := level(op)
		if l < lowest || l == 0 {
			return x
		}
		e.take()
		y := e.binary(l + 1)
		x = e.apply(op, x, y)
	}
}

// The result is unsigned if an operand is, as the usual conversions have it for two types of 64
// bits.
func (e *evaluator) apply(op token, x, y num) num {
	u := x.unsigned || y.unsigned
	less := int64(x.v) < int64(y.v)
	if u {
		less = x.v < y.v
	}
	out := num{unsigned: u}
	switch op.text {
	case "*":
		out.v = x.v * y.v
	case "/", "%":
		// A division by zero on a side that is not evaluated, as in x && 1/0,
		// is legal: it is zero, which nobody sees.
		switch {
		case y.v == 0:
		case u:
			q, r := bits.Div64(0, x.v, y.v)
			out.v = q
			if op.text == "%" {
				out.v = r
			}
		case op.text == "%":
			if int64(y.v) != -1 {
				out.v = uint64(int64(x.v) % int64(y.v))
			}
		// The quotient of the least number by -1 would trap in hardware; negated, it wraps around.
		case int64(y.v) == -1:
			out.v = -x.v
		default:
			out.v = uint64(int64(x.v) / int64(y.v))
		}
	case "+":
		out.v = x.v + y.v
	case "-":
		out.v = x.v - y.v
	case "<<":
		out.unsigned = x.unsigned
		// Go yields 0 for shifts by 64 and more; C leaves them undefined.
		out.v = x.v << (y.v & 127)
	case ">>":
		out.unsigned = x.unsigned
		if x.unsigned {
			out.v = x.v >> (y.v & 127)
		} else {
			out.v = uint64(int64(x.v) >> (y.v & 127))
		}
	case "<":
		return truth(less)
	case ">":
		return truth(!less && x.v != y.v)
	case "<=":
		return truth(less || x.v == y.v)
	case ">=":
		return truth(!less)
	case "==":
		return truth(x.v == y.v)
	case "!=":
		return truth(x.v != y.v)
	case "&":
		out.v = x.v & y.v
	case "^":
		out.v = x.v ^ y.v
	case "|":
		out.v = x.v | y.v
	case "&&":
		return truth(x.v != 0 && y.v != 0)
	case "||":
		return truth(x.v != 0 || y.v != 0)
	}
	return out
}

// unary reads an operand with its prefix operators.
func (e *evaluator) unary() num {
	e.enter()
	defer func() { e.depth-- }()
	t := e.take()
	switch t.kind {
	case number:
		n, err := parseNumber(t.text)
		if err != nil {
			e.fail(t, err.Error())
		}
		return n
	case char:
		return signed(charValue(t.text))
	case name:
		v, ok := e.word(t)
		if !ok {
			e.fail(t, "'"+t.text+"' is not a constant")
		}
		return v
	case punct:
		switch t.text {
		case "(":
			if e.typeName != nil {
				if to, ok := e.typeName(); ok {
					e.expect(")")
					return castNum(to, e.unary())
				}
			}
			v := e.conditional()
			e.expect(")")
			return v
		case "+":
			return e.unary()
		case "-":
			v := e.unary()
			v.v = -v.v
			return v
		case "~":
			v := e.unary()
			v.v = ^v.v
			return v
		case "!":
			return truth(e.unary().v == 0)
		}
	}
	if t.kind == eof {
		e.fail(e.last, "the constant expression ends too early")
	}
	e.fail(t, "unexpected '"+t.text+"' in a constant expression")
	return num{}
}

// castNum converts to an integer type.
// Types narrower than int become int in C, which is signed.
func castNum(to *ctype, v num) num {
	bytes, isSigned := to.size, to.signed
	if to.kind == boolKind {
		return truth(v.v != 0)
	}
	if bytes < 1 || bytes > 8 {
		return v
	}
	shift := uint(64 - 8*bytes)
	if isSigned {
		return num{v: uint64(int64(v.v<<shift) >> shift)}
	}
	return num{v: v.v << shift >> shift, unsigned: bytes >= 4}
}

var (
	errNumber   = errors.New("this is not an integer")
	errTooLarge = errors.New("the integer is too large")
)

// parseNumber reads an integer constant. It is unsigned by its suffix or if it
// does not fit the signed type.
// A hexadecimal number that needs 32 bits is unsigned int in C, a decimal one long.
func parseNumber(text string) (num, error) {
	s := strings.ToLower(strings.ReplaceAll(text, "'", ""))
	var n num
	for len(s) > 0 && (s[len(s)-1] == 'u' || s[len(s)-1] == 'l') {
		n.unsigned = n.unsigned || s[len(s)-1] == 'u'
		s = s[:len(s)-1]
	}
	base := uint64(10)
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case strings.HasPrefix(s, "0b"):
		base, s = 2, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	if s == "" {
		return n, errNumber
	}
	for i := range len(s) {
		d := hexDigit(s[i])
		if d >= base {
			return n, errNumber
		}
		hi, lo := bits.Mul64(n.v, base)
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			return n, errTooLarge
		}
		n.v = sum
	}
	if n.v > 1<<63-1 || base != 10 && n.v > 1<<31-1 && n.v <= 1<<32-1 {
		n.unsigned = true
	}
	return n, nil
}

// hexDigit is the value of a hexadecimal digit, 255 for anything else.
func hexDigit(c byte) uint64 {
	switch {
	case isDigit(c):
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}

// charValue is the value of a character constant. Of several characters, each
// is a digit to the base 256.
// char is signed here on all processors. On arm64 C has it unsigned, which only characters
// above 127 would show.
func charValue(text string) int64 {
	text = text[strings.IndexByte(text, '\'')+1:]
	text = strings.TrimSuffix(text, "'")
	var v int32
	n := 0
	for i := 0; i < len(text); n++ {
		c := text[i]
		i++
		if c == '\\' && i < len(text) {
			var used int
			c, used = escape(text[i:])
			i += used
		}
		v = v<<8 | int32(c)
	}
	if n == 1 {
		return int64(int8(v))
	}
	return int64(v)
}

// escape reads what follows a backslash.
// s is not empty.
func escape(s string) (c byte, n int) {
	const letters, values = `abfnrtve`, "\a\b\f\n\r\t\v\x1b"
	if i := strings.IndexByte(letters, s[0]); i >= 0 {
		return values[i], 1
	}
	base, n, limit := uint64(8), 0, 3
	if s[0] == 'x' {
		base, n, limit = 16, 1, len(s)
	}
	var v uint64
	for n < limit && n < len(s) && hexDigit(s[n]) < base {
		v = v*base + hexDigit(s[n])
		n++
	}
	if n == 0 {
		return s[0], 1
	}
	return byte(v), n
}
