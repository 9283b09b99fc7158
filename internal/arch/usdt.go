package arch

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxUSDTArgs is how many arguments a USDT probe can have.
const MaxUSDTArgs = 12

// USDTKind is where an argument comes from.
type USDTKind uint8

// The kinds of argument. Addresses are computed as symbol (with the load
// bias of its file) + base + index·scale + value, as far as present.
const (
	USDTConst    USDTKind = iota // Value
	USDTReg                      // Base
	USDTMem                      // the Size bytes at the address
	USDTSymbol                   // the address itself; Base and Index are nil
	USDTFloatReg                 // in a register that programs cannot read
)

// A USDTArg is one parsed argument of a probe.
type USDTArg struct {
	Text   string // as the note has it
	Size   int    // bytes: 1, 2, 4 or 8
	Signed bool
	Sized  bool // the note gave Size and Signed
	Float  bool // a floating-point value: what is read are its bits, zero-extended

	Kind        USDTKind
	Value       int64  // constant, offset or displacement
	Base, Index *Reg   // nil if absent; narrow parts are zero-extended
	IndexSigned bool   // a narrow Index is sign-extended
	Scale       int    // of Index
	Symbol      string // name of a symbol of the file, "" if none
}

// Readable reports whether a program can compute the argument.
func (a *USDTArg) Readable() bool { return a.Kind != USDTFloatReg }

// ParseUSDTArgs parses the argument string of a USDT note. An argument that
// cannot be understood is an error that names it.
func ParseUSDTArgs(a *Arch, text string) ([]USDTArg, error) {
	var out []USDTArg
	for _, word := range splitArgs(text) {
		if len(out) == MaxUSDTArgs {
			return nil, fmt.Errorf("more than %d USDT arguments", MaxUSDTArgs)
		}
		arg, err := parseUSDTArg(a, word)
		if err != nil {
			return nil, fmt.Errorf("USDT argument %q: %w", word, err)
		}
		out = append(out, arg)
	}
	return out, nil
}

// splitArgs splits at spaces that are not inside of brackets: arm64 writes
// "[sp, 12]" and "[x0, x1, lsl 3]".
func splitArgs(text string) []string {
	var out []string
	depth, start := 0, -1
	for i := range len(text) {
		switch c := text[i]; {
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case (c == ' ' || c == '\t') && depth <= 0:
			if start >= 0 {
				out = append(out, text[start:i])
			}
			start = -1
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}

// parseUSDTArg parses one argument of a mark, SIZE@OPERAND: a negative size is that of a signed
// number, and f behind it says floating point. Without a size it is 8 bytes.
func parseUSDTArg(a *Arch, word string) (USDTArg, error) {
	size, signed, float, operand, sized := 8, false, false, word, false
	if before, after, ok := strings.Cut(word, "@"); ok && isSize(before) {
		n := before
		n, signed = strings.CutPrefix(n, "-")
		n, float = strings.CutSuffix(n, "f")
		size, _ = strconv.Atoi(n)
		operand, sized = after, true
		switch size {
		case 1, 2, 4, 8:
		default:
			return USDTArg{}, fmt.Errorf("size %q is none of 1, 2, 4 and 8", before)
		}
	}
	if operand == "" {
		return USDTArg{}, fmt.Errorf("no operand")
	}
	arg, err := a.operand(operand)
	if err != nil {
		return USDTArg{}, err
	}
	arg.Text, arg.Size, arg.Signed, arg.Sized = word, size, signed && !float, sized
	arg.Float = float || arg.Kind == USDTFloatReg
	if arg.Kind == USDTConst {
		arg.Value = truncate(arg.Value, size, signed)
	}
	return arg, nil
}

// isSize tells "4" or "-8f" in front of "@" from a symbol with a version.
func isSize(s string) bool {
	s = strings.TrimPrefix(s, "-")
	s = strings.TrimSuffix(s, "f")
	if s == "" || len(s) > 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// truncate keeps the low bytes of a constant and extends them.
func truncate(v int64, size int, signed bool) int64 {
	shift := 64 - 8*size
	if signed {
		return v << shift >> shift
	}
	return int64(uint64(v) << shift >> shift)
}

// number parses a signed or unsigned 64-bit number of the assembler.
func number(s string) (int64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseUint(s, 0, 64)
	return int64(n), err
}

// symbolPlus parses a symbol with constants around it: sym, sym+8, 8+sym,
// sym-4, 8+sym+4.
func symbolPlus(s string) (sym string, off int64, err error) {
	for rest := s; rest != ""; {
		sign := int64(1)
		if rest[0] == '+' || rest[0] == '-' {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, "+-")
		if end < 0 {
			end = len(rest)
		}
		term := rest[:end]
		rest = rest[end:]
		if n, err := number(term); err == nil {
			off += sign * n
		} else if sym == "" && sign > 0 && isSymbol(term) {
			sym = term
		} else {
			return "", 0, fmt.Errorf("cannot understand operand %q", s)
		}
	}
	if sym == "" {
		return "", 0, fmt.Errorf("cannot understand operand %q", s)
	}
	return sym, off, nil
}

func isSymbol(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '.' || c == '$' || c == '@' || c >= 0x80
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// cutParen splits "disp(inner)".
func cutParen(s string) (disp, inner string, ok bool) {
	if !strings.HasSuffix(s, ")") {
		return s, "", false
	}
	i := strings.IndexByte(s, '(')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1 : len(s)-1], true
}
