package machine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// ErrNoNames is returned for a field that a tracepoint's format has no names for.
var ErrNoNames = errors.New("the format of the tracepoint has no names for the field")

// FieldNames are the names that the format of a tracepoint gives to values of a field, or
// to bits of it, in the order in which the kernel looks for them. A format may have several tables for a field.
func (t *Machine) FieldNames(category, event, field string, table int) ([]types.EnumValue, error) {
	data, err := t.eventFile(category, event, "format")
	if err != nil {
		return nil, err
	}
	_, format, _ := strings.Cut(string(data), printPrefix)
	names := formatNames(format, field, table)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s:%s:%s: %w", category, event, field, ErrNoNames)
	}
	return names, nil
}

// formatNames finds the table of a field in what a tracepoint's format prints: the first, or one behind it.
func formatNames(format, field string, which int) []types.EnumValue {
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
			if !readsField(rest[:table], field) {
				continue
			}
			if which--; which > 0 {
				continue
			}
			return tableNames(rest[table:])
		}
	}
	return nil
}

// readsField reports whether an expression of a format reads a field of the record.
func readsField(text, field string) bool {
	for {
		_, rest, found := strings.Cut(text, "REC->"+field)
		if !found {
			return false
		}
		if rest == "" || !isWord(rest[0]) {
			return true
		}
		text = rest
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func tableNames(text string) []types.EnumValue {
	var out []types.EnumValue
	for {
		value, name, rest, ok := tableRow(text)
		if !ok {
			break
		}
		text = rest
		if v, ok := constantOf(value); ok {
			out = append(out, types.EnumValue{Name: name, Value: v})
		}
	}
	if name, ok := noneNamed(text); ok {
		out = append(out, types.EnumValue{Name: name})
	}
	return out
}

// tableRow splits a row off a table: {VALUE, "NAME"}, behind a comma but for the first.
func tableRow(text string) (value, name, rest string, ok bool) {
	text, opened := behind(strings.TrimPrefix(text, ","), "{")
	quote := strings.IndexAny(text, `"}`)
	if !opened || quote < 0 || text[quote] != '"' {
		return "", "", "", false
	}
	value, comma := strings.CutSuffix(strings.TrimRight(text[:quote], " "), ",")
	name, rest, quoted := strings.Cut(text[quote+1:], `"`)
	for { // literals side by side are one
		more, another := behind(rest, `"`)
		if !another {
			break
		}
		var part string
		part, rest, quoted = strings.Cut(more, `"`)
		name += part
	}
	rest, closed := behind(rest, "}")
	return value, name, rest, comma && quoted && closed
}

// noneNamed is the name of none, which may stand behind a table of flags:
// REC->x ? __print_flags(REC->x, "|", …) : "none".
func noneNamed(text string) (name string, ok bool) {
	for _, sign := range []string{")", ":", `"`} {
		if text, ok = behind(text, sign); !ok {
			return "", false
		}
	}
	name, _, ok = strings.Cut(text, `"`)
	return name, ok
}

// behind is what follows a sign that text begins with, or spaces and the sign.
func behind(text, sign string) (rest string, ok bool) {
	return strings.CutPrefix(strings.TrimLeft(text, " "), sign)
}

// constantOf computes an expression of numbers as the preprocessor leaves it in formats;
// casts change nothing.
func constantOf(text string) (int64, bool) {
	e := &numberExpr{withoutCasts(text), true}
	v := e.binary(0)
	return v, e.ok && strings.TrimSpace(e.rest) == ""
}

// withoutCasts puts a space in place of each name of a type in parentheses.
func withoutCasts(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "(")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := strings.TrimLeft(rest, " ")
		after := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz_0123456789 ")
		if name == "" || '0' <= name[0] && name[0] <= '9' || len(after) == len(name) || !strings.HasPrefix(after, ")") {
			b.WriteByte('(')
			text = rest
			continue
		}
		b.WriteByte(' ')
		text = after[1:]
	}
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

// unary evaluates a number with its signs, or an expression in parentheses.
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
	text := strings.TrimLeft(e.rest, " ")
	after := strings.TrimLeft(text, "0123456789")
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		digits := text[2:]
		if end := strings.TrimLeft(digits, "0123456789abcdefABCDEF"); len(end) < len(digits) {
			after = end
		}
	}
	if len(after) == len(text) {
		e.ok = false
		return 0
	}
	n, err := strconv.ParseUint(text[:len(text)-len(after)], 0, 64)
	e.rest = strings.TrimLeft(after, "uUlL")
	e.ok = e.ok && err == nil
	return int64(n)
}
