package probe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/syntax"
)

// WrongCount is the error for a wrong number of parts.
func WrongCount(p *Point, want string, parts []Part) error {
	return fmt.Errorf("%s probe type requires %s arguments, found %d", p.Kind.Name, want, len(parts))
}

// Hinted is an error of an attach point with advice on it.
type Hinted struct {
	Err  error
	Hint string
}

// Hint adds advice to an error.
func Hint(err error, hint string) Hinted { return Hinted{err, hint} }

func (h Hinted) Error() string { return h.Err.Error() }
func (h Hinted) Unwrap() error { return h.Err }

// ParseInt reads an integer part: any integer literal of the language.
func ParseInt(text string) (uint64, error) {
	n, err := syntax.ParseInt(text)
	if err != nil {
		return 0, fmt.Errorf("invalid integer: %s", text)
	}
	return n, nil
}

// StartsNumber tells an address from a name.
func StartsNumber(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// ErrNoOffset is the error of return probes: a function returns as a whole.
var ErrNoOffset = errors.New("Offset not allowed")

var errTwoOffsets = errors.New("Cannot take more than one offset")

// ParseFuncOffset splits "func+offset" into p.Func and p.Offset.
func ParseFuncOffset(p *Point, part Part) error {
	name, off, has := part.Text, "", false
	if !part.Literal {
		name, off, has = strings.Cut(part.Text, "+")
	} else if i := strings.LastIndexByte(part.Text, '+'); i >= 0 && StartsNumber(part.Text[i+1:]) {
		// A quoted name may hold '+' ("operator+"); only a number makes it an
		// offset.
		name, off, has = part.Text[:i], part.Text[i+1:], true
	}
	p.Func = name
	if !has {
		return nil
	}
	if strings.Contains(off, "+") {
		return errTwoOffsets
	}
	n, err := ParseInt(off)
	if err != nil {
		return fmt.Errorf("Invalid offset: %w", err)
	}
	p.Offset = n
	return nil
}

// canonicalName joins the fields that are set, in the order of the reference:
// provider, target, language or namespace, function with offset, address.
func canonicalName(p *Point) string {
	var b strings.Builder
	b.WriteString(p.Kind.Name)
	add := func(s string) {
		if s != "" {
			b.WriteByte(':')
			b.WriteString(s)
		}
	}
	if p.Later != Here {
		add(p.Pattern.Target.Text)
	} else {
		add(cmp.Or(p.Memory, p.Target))
	}
	add(p.Provider)
	if p.Offset != 0 {
		add(p.Func + "+" + strconv.FormatUint(p.Offset, 10))
	} else {
		add(p.Func)
	}
	if p.Address != 0 {
		add(strconv.FormatUint(p.Address, 10))
	}
	return b.String()
}

// MulPeriod is n units of scale nanoseconds.
func MulPeriod(n, scale uint64) (uint64, error) {
	if n > math.MaxInt64/scale {
		return 0, fmt.Errorf("a period of %d is too long", n)
	}
	return n * scale, nil
}

// MatchSelf is Match for kinds whose points stand for themselves.
func MatchSelf(p *Point, _ *Options) ([]*Point, error) { return []*Point{p}, nil }
