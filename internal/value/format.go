package value

import (
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// A Format is a parsed format string of the printf family: literal text with
// conversions in between. It is immutable.
type Format struct {
	Convs []Conv
	Odd   string   // the first that looks like a conversion and is none, "" if there is none
	text  []string // text[i] stands in front of Convs[i], the last one at the end
}

// A Conv is one conversion.
type Conv struct {
	Start, End int // bytes in the format string
	Verb       Verb
	Bits       int    // 8, 16, 32 or 64: what an integer is cut to
	Width      int    // 0: none
	Prec       int    // -1: none
	Unit       uint64 // that the value is divided by, 0: it is not
	Digits     int    // behind the point of the quotient
	Left       bool
	Plus       bool
	Space      bool
	Alt        bool
	Zero       bool
}

// A Verb is what a conversion does with its argument.
type Verb uint8

// The verbs.
const (
	Signed     Verb = iota // d i
	Unsigned               // u
	Octal                  // o
	Hex                    // x
	UpperHex               // X
	Char                   // c
	Address                // p
	Default                // s
	Bytes                  // r: printable bytes as they are
	EscapedHex             // rx
	SpacedHex              // rh
	GFPFlags               // gr
)

// verbs lists spellings; the longer one of two with the same start comes first.
var verbs = [...]struct {
	text string
	verb Verb
}{
	{"d", Signed}, {"i", Signed}, {"u", Unsigned}, {"o", Octal}, {"x", Hex}, {"X", UpperHex}, {"c", Char},
	{"p", Address}, {"s", Default}, {"rx", EscapedHex}, {"rh", SpacedHex}, {"r", Bytes}, {"gr", GFPFlags},
}

// unsupported are conversions of C that have no meaning here.
const unsupported = "feganFEGA"

// lengths are the length modifiers, the longer one of two with the same start
// first.
var lengths = [...]struct {
	text string
	bits int
}{{"hh", 8}, {"h", 16}, {"ll", 64}, {"l", 64}, {"L", 64}, {"j", 64}, {"z", 64}, {"t", 64}}

// maxWidth bounds width and precision: one event must not print gigabytes.
const maxWidth = 1 << 16

// A FormatError is a mistake in a format string or in its arguments.
type FormatError struct {
	Index      int // of the argument, -1 if it is not about one
	Start, End int // bytes of the conversion in the format string; 0, 0: all of it
	Msg        string
}

// Error is the message alone: the builtin that reports it knows the place.
func (e *FormatError) Error() string { return e.Msg }

// ParseFormat parses a format string. What looks like a conversion but is
// none of the grammar stays literal text. The error is a *FormatError.
func ParseFormat(s string) (*Format, error) {
	f := &Format{}
	var text strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '%' {
			text.WriteByte(s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "%%") {
			text.WriteByte('%')
			i += 2
			continue
		}
		c, ok, err := parseConv(s, i)
		if err != nil {
			return nil, err
		}
		if !ok {
			if f.Odd == "" && i+1 < len(s) && 'A' <= s[i+1] && s[i+1] <= 'z' {
				f.Odd = s[i : i+2]
			}
			text.WriteByte('%')
			i++
			continue
		}
		f.text = append(f.text, text.String())
		text.Reset()
		f.Convs = append(f.Convs, c)
		i = c.End
	}
	f.text = append(f.text, text.String())
	return f, nil
}

// parseConv parses the conversion that starts at s[start], a percent sign.
func parseConv(s string, start int) (c Conv, ok bool, err error) {
	i := start + 1
	flag := func(b byte) bool {
		if i < len(s) && s[i] == b {
			i++
			return true
		}
		return false
	}
	number := func() (n int) {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			n = min(n*10+int(s[i]-'0'), maxWidth+1)
			i++
		}
		return n
	}
	c = Conv{Start: start, Bits: 32, Prec: -1}
	// Flags come in this order only, each once, as the reference matches them: %0-5d stays
	// text.
	c.Left, c.Plus, c.Space, c.Alt, c.Zero = flag('-'), flag('+'), flag(' '), flag('#'), flag('0')
	star := flag('*')
	if !star {
		c.Width = number()
	}
	// The quotient is hawk's own, and stands where C would have a precision. What is not wholly
	// one is text, as in "%d%/s".
	if flag('/') {
		if i = c.quotient(s, i); i < 0 {
			return c, false, nil
		}
	} else if flag('.') {
		if flag('*') {
			star = true
		} else {
			c.Prec = number()
		}
	}
	// A length says how many bits of an integer are shown, and nothing of the type of the
	// argument.
	for _, l := range lengths {
		if strings.HasPrefix(s[i:], l.text) {
			i += len(l.text)
			c.Bits = l.bits
			break
		}
	}
	fail := func(format string, args ...any) (Conv, bool, error) {
		return c, false, &FormatError{Index: -1, Start: start, End: c.End, Msg: fmt.Sprintf(format, args...)}
	}
	for _, v := range verbs {
		if !strings.HasPrefix(s[i:], v.text) {
			continue
		}
		c.End, c.Verb = i+len(v.text), v.verb
		switch {
		case c.Unit != 0 && v.verb > Unsigned:
			return c, false, nil
		case star:
			return fail("%s: a width or precision of '*' is not supported", s[start:c.End])
		case c.Width > maxWidth || c.Prec > maxWidth:
			return fail("%s: width and precision can be at most %d", s[start:c.End], maxWidth)
		}
		if c.Unit != 0 {
			c.Bits = 64 // what is divided is wanted whole
		}
		return c, true, nil
	}
	// These are errors and not literal text: a script that has one comes from C, and would
	// print nonsense.
	if i < len(s) && strings.IndexByte(unsupported, s[i]) >= 0 {
		c.End = i + 1
		return fail("%%%c conversion is not supported", s[i])
	}
	return c, false, nil
}

// quotient reads the unit and digits of a conversion, as in ms.3, that begin at s[i],
// and returns what follows them; negative if there are none. Both are needed: %/s may
// be the text of a script.
func (c *Conv) quotient(s string, i int) int {
	dot := strings.IndexByte(s[i:], '.')
	if dot < 0 {
		return -1
	}
	unit, ok := Unit(s[i : i+dot])
	i += dot + 1
	if !ok || i >= len(s) || s[i] < '0' || s[i] > '0'+MaxDigits {
		return -1
	}
	c.Unit, c.Digits = unit, int(s[i]-'0')
	return i + 1
}

// Conversions is the number of arguments the format takes.
func (f *Format) Conversions() int { return len(f.Convs) }

// Check tests the arguments against the conversions. A nil type is not known
// yet and fits everything.
func (f *Format) Check(args []types.Type) []FormatError {
	var errs []FormatError
	if len(args) != len(f.Convs) {
		quantity := "too many"
		if len(args) < len(f.Convs) {
			quantity = "not enough"
		}
		return append(errs, FormatError{Index: -1,
			Msg: fmt.Sprintf("%s arguments for format string (%d supplied, %d expected)", quantity,
				len(args), len(f.Convs))})
	}
	for i, c := range f.Convs {
		if msg := c.check(args[i]); msg != "" {
			errs = append(errs, FormatError{Index: i, Start: c.Start, End: c.End, Msg: msg})
		}
	}
	return errs
}

// check says why a type does not fit the conversion, "" if it does.
func (c *Conv) check(t types.Type) string {
	if t == nil {
		return ""
	}
	if t == types.Void || t == types.None {
		return fmt.Sprintf("%%%s cannot print a value of type %s", c.Verb, t)
	}
	_, isInt := types.IsInteger(t)
	expected := ""
	switch c.Verb {
	case Default:
	case Bytes, EscapedHex, SpacedHex:
		if _, ok := t.(*types.Buffer); !ok {
			expected = "buffer"
		}
	case GFPFlags:
		if !isInt {
			expected = "integer"
		}
	default:
		if !types.IsScalar(t) {
			expected = "integer"
		}
	}
	if expected == "" {
		return ""
	}
	return fmt.Sprintf("%%%s conversion expects a value of type %s (%s supplied)", c.Verb, expected, t)
}

// String is the spelling of the verb without %, for messages.
func (v Verb) String() string {
	for _, e := range verbs {
		if e.verb == v {
			return e.text
		}
	}
	return "?"
}
