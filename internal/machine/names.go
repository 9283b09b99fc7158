package machine

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// ErrNoNames is returned for a field that a tracepoint's format has no names for.
var ErrNoNames = errors.New("the format of the tracepoint has no names for the field")

// FieldNames are the names that the format of a tracepoint gives to values of a field, or
// to bits of it, in the order in which the kernel looks for them.
func (t *Machine) FieldNames(category, event, field string) ([]types.EnumValue, error) {
	data, err := t.eventFile(category, event, "format")
	if err != nil {
		return nil, err
	}
	_, format, _ := strings.Cut(string(data), printPrefix)
	names := formatNames(format, field)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s:%s:%s: %w", category, event, field, ErrNoNames)
	}
	return names, nil
}

// A row of a table is {VALUE, "NAME"}; behind the table of flags there may be the name of
// none: REC->x ? __print_flags(REC->x, "|", …) : "none".
var (
	tableRow  = regexp.MustCompile(`^,? *\{([^"}]*), *"([^"]*)" *\}`)
	noneNamed = regexp.MustCompile(`^ *\) *: *"([^"]*)"`)
)

// formatNames finds the table of a field in what a tracepoint's format prints.
func formatNames(format, field string) []types.EnumValue {
	for _, call := range []string{"__print_symbolic(", "__print_flags("} {
		for rest := format; ; {
			_, after, found := strings.Cut(rest, call)
			if !found {
				break
			}
			rest = after
			table := strings.Index(rest, "{")
			if table < 0 {
				break
			}
			if !regexp.MustCompile(`REC->` + regexp.QuoteMeta(field) + `\b`).MatchString(rest[:table]) {
				continue
			}
			return tableNames(rest[table:])
		}
	}
	return nil
}

func tableNames(text string) []types.EnumValue {
	var out []types.EnumValue
	for {
		m := tableRow.FindStringSubmatch(text)
		if m == nil {
			break
		}
		text = text[len(m[0]):]
		if v, ok := constantOf(m[1]); ok {
			out = append(out, types.EnumValue{Name: m[2], Value: v})
		}
	}
	if m := noneNamed.FindStringSubmatch(text); m != nil {
		out = append(out, types.EnumValue{Name: m[1]})
	}
	return out
}

var (
	castTo  = regexp.MustCompile(`\( *[a-z_][a-z_0-9 ]*\)`)
	operand = regexp.MustCompile(`^ *(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*`)
)

// constantOf computes an expression of numbers as the preprocessor leaves it in formats;
// casts change nothing.
func constantOf(text string) (int64, bool) {
	e := &numberExpr{castTo.ReplaceAllString(text, " "), true}
	v := e.binary(0)
	return v, e.ok && strings.TrimSpace(e.rest) == ""
}

// A numberExpr is what is left of an expression.
type numberExpr struct {
	rest string
	ok   bool
}

// The operators, those that bind least first.
var numberOps = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*"}}

func (e *numberExpr) accept(op string) bool {
	rest := strings.TrimLeft(e.rest, " ")
	if !strings.HasPrefix(rest, op) {
		return false
	}
	e.rest = rest[len(op):]
	return true
}

func (e *numberExpr) binary(level int) int64 {
	if level == len(numberOps) {
		return e.unary()
	}
	x := e.binary(level + 1)
next:
	for e.ok {
		for _, op := range numberOps[level] {
			if e.accept(op) {
				x = apply(op, x, e.binary(level+1))
				continue next
			}
		}
		break
	}
	return x
}

func apply(op string, x, y int64) int64 {
	switch op {
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "&":
		return x & y
	case "<<":
		return x << (uint64(y) % 64)
	case ">>":
		return x >> (uint64(y) % 64)
	case "+":
		return x + y
	case "-":
		return x - y
	}
	return x * y
}

func (e *numberExpr) unary() int64 {
	switch {
	case e.accept("-"):
		return -e.unary()
	case e.accept("~"):
		return ^e.unary()
	case e.accept("("):
		x := e.binary(0)
		e.ok = e.ok && e.accept(")")
		return x
	}
	m := operand.FindStringSubmatch(e.rest)
	if m == nil {
		e.ok = false
		return 0
	}
	e.rest = e.rest[len(m[0]):]
	n, err := strconv.ParseUint(m[1], 0, 64)
	e.ok = e.ok && err == nil
	return int64(n)
}
