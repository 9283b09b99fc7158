package unpack

import (
	"bytes"
	"math"
	"reflect"
	"slices"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// Text is the text of a string of the script, without what is printed behind one
// that was cut, and what became of it.
func Text(t types.Type, v value.Value) (text []byte, cut, unread, ok bool) {
	switch v := v.(type) {
	case value.Str:
		// A string that fills its room was cut, or just fits: programs do not tell the two apart.
		if s, ok := t.(*types.String); ok && s.Cap > 0 {
			room := s.Cap
			if s.Trunc {
				room--
			}
			if len(v) >= room {
				return v[:room], true, false, true
			}
		}
		return v, false, false, true
	case value.Chars:
		text, _, _ := bytes.Cut(v.All, []byte{0})
		return text, false, false, true
	case value.Unread:
		return nil, false, true, true
	case value.Buffer:
		return v, false, false, true
	}
	return nil, false, false, false
}

// Integer is value.Integer, and of a symbol its address.
func Integer(v value.Value) (n uint64, negative, ok bool) {
	if s, symbol := v.(value.Symbol); symbol {
		return s.Addr, false, true
	}
	return value.Integer(v)
}

// A class is what types of the script have in common that go into the same types of Go.
type class int

const (
	unsure class = iota // seen by the value
	number
	boolean
	named // an enumerator: a number or a name
	text
	parts
	stack
	cell // of an aggregation
)

// classOf sorts by the type alone. Deferred types, whose values are made when they are shown, are
// unsure.
func classOf(t types.Type) class {
	switch t := t.(type) {
	case *types.Int, *types.Pointer:
		return number
	case *types.Enum:
		return named
	case *types.String, *types.Buffer:
		return text
	case *types.Array:
		if t.Text {
			return text
		}
		return parts
	case *types.Tuple, *types.Record, *types.Struct:
		return parts
	case *types.Stack:
		return stack
	case *types.Agg:
		return cell
	}
	if t == types.Bool {
		return boolean
	}
	return unsure
}

// among reports whether values of a type may go where those of some classes do.
func among(t types.Type, some ...class) bool {
	c := classOf(t)
	return c == unsure || slices.Contains(some, c)
}

// scalar plans for integers, booleans and strings of Go.
func (pl *planner) scalar(from types.Type, to reflect.Type, field string) step {
	// The error is made when it happens: it holds the value.
	no := func(v value.Value) error { return &Error{Field: field, Value: v, From: from, Type: to} }
	switch to.Kind() {
	case reflect.Bool:
		if !among(from, boolean) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			b, ok := v.(value.Bool)
			if !ok {
				return no(v)
			}
			dst.SetBool(bool(b))
			return nil
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if !among(from, number, boolean, named, cell) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			n, negative, ok := Integer(v)
			// n has 64 bits in two's complement, so that the sign has to be known besides.
			if !ok || !negative && n > math.MaxInt64 || dst.OverflowInt(int64(n)) {
				return no(v)
			}
			dst.SetInt(int64(n))
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if !among(from, number, boolean, named, cell) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			n, negative, ok := Integer(v)
			if !ok || negative || dst.OverflowUint(n) {
				return no(v)
			}
			dst.SetUint(n)
			return nil
		}
	case reflect.String:
		if !among(from, named, text, stack) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			if text, _, _, ok := Text(from, v); ok {
				dst.SetString(string(text))
				return nil
			}
			dst.SetString(string(value.AppendText(nil, v)))
			return nil
		}
	}
	return pl.unfit(from, to, field)
}

// sequence plans for slices and arrays of Go.
func (pl *planner) sequence(from types.Type, to reflect.Type, field string) step {
	if isBytes(to) && !isByteArray(from) && classOf(from) != parts {
		if !among(from, text) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			text, _, _, ok := Text(from, v)
			if !ok {
				return &Error{Field: field, Value: v, From: from, Type: to}
			}
			// The record that the text lies in is used again for the next event.
			dst.SetBytes(bytes.Clone(text))
			return nil
		}
	}
	var steps []step // of the elements; one for all of an array
	switch t := from.(type) {
	case *types.Array:
		steps = []step{pl.plan(t.Elem, to.Elem(), field)}
	default:
		names, elems, several := members(from)
		if !several {
			return pl.unfit(from, to, field)
		}
		_, steps = pl.each(names, elems, to.Elem(), field)
	}
	return func(dst reflect.Value, v value.Value) error {
		values := Parts(v)
		switch {
		case to.Kind() == reflect.Slice:
			dst.Set(reflect.MakeSlice(to, len(values), len(values)))
		// An array of Go has its length in its type: to leave elements as they were would mix two
		// values.
		case to.Len() != len(values):
			return &Error{Field: field, Value: v, From: from, Type: to, Why: "it has another length"}
		}
		for i, part := range values {
			if err := steps[min(i, len(steps)-1)](dst.Index(i), part); err != nil {
				return err
			}
		}
		return nil
	}
}
