package interp

import (
	"math/big"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// printf formats as printf of the language does: an integer is cut to the width
// that the conversion names, and padded as in C. Only the grammar is shared
// with hawk.
func (m *machine) printf(c *builtin.Call) []byte {
	text := c.Consts[0].Str
	f, err := value.ParseFormat(text)
	if err != nil {
		panic(err)
	}
	// The arguments are evaluated in their order before any text is put together.
	var args [][]byte
	for i, conv := range f.Convs {
		args = append(args, m.conversion(conv, c, i+1))
	}
	var out []byte
	at := 0
	for i, conv := range f.Convs {
		out = append(out, plain(text[at:conv.Start])...)
		out = append(out, args[i]...)
		at = conv.End
	}
	return append(out, plain(text[at:])...)
}

// plain is the text between conversions, in which a percent sign is doubled.
func plain(s string) string { return strings.ReplaceAll(s, "%%", "%") }

// conversion writes digits by math/big, which knows no width: so that it shares no mistake with
// hawk's own code, which does.
func (m *machine) conversion(conv value.Conv, c *builtin.Call, i int) []byte {
	e := c.Args[i]
	var prefix, digits string
	switch conv.Verb {
	case value.Default:
		s := string(value.AppendText(nil, m.shownExpr(e)))
		if conv.Prec >= 0 {
			s = s[:min(len(s), conv.Prec)]
		}
		return pad(conv, "", s, conv.Zero)
	case value.Char:
		return pad(conv, "", string([]byte{byte(m.eval(e).(uint64))}), conv.Zero)
	case value.Address:
		// An address has no narrower form, whatever the length modifier says.
		conv.Bits = 64
	}
	bits := extend(m.eval(e).(uint64), types.IntOf(conv.Bits/8, conv.Verb == value.Signed))
	n := new(big.Int).SetUint64(bits)
	if conv.Verb == value.Signed {
		n.SetInt64(int64(bits))
		switch {
		case n.Sign() < 0:
			prefix = "-"
		case conv.Plus:
			prefix = "+"
		case conv.Space:
			prefix = " "
		}
		n.Abs(n)
	}
	switch conv.Verb {
	case value.Octal:
		digits = n.Text(8)
		// The zero is a digit and counts for the precision, unlike the 0x below.
		if conv.Alt && digits[0] != '0' {
			digits = "0" + digits
		}
	case value.Hex, value.UpperHex, value.Address:
		digits = n.Text(16)
		if (conv.Alt || conv.Verb == value.Address) && n.Sign() != 0 {
			prefix = "0x"
		}
		if conv.Verb == value.UpperHex {
			digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
		}
	case value.Signed, value.Unsigned:
		digits = n.String()
	default:
		fail("%%%s", conv.Verb)
	}
	if conv.Prec >= 0 {
		// C prints nothing for a zero with the precision 0.
		if conv.Prec == 0 && n.Sign() == 0 {
			digits = ""
		}
		for len(digits) < conv.Prec {
			digits = "0" + digits
		}
	}
	// A precision switches zeros as padding off, as in C.
	return pad(conv, prefix, digits, conv.Zero && conv.Prec < 0)
}

// pad brings a conversion to its width. Zeros stand behind the sign or 0x, blanks before it, and
// a field to the left has no zeros.
func pad(conv value.Conv, prefix, s string, zeros bool) []byte {
	missing := max(conv.Width-len(prefix)-len(s), 0)
	switch {
	case conv.Left:
		return []byte(prefix + s + strings.Repeat(" ", missing))
	case zeros:
		return []byte(prefix + strings.Repeat("0", missing) + s)
	}
	return []byte(strings.Repeat(" ", missing) + prefix + s)
}
