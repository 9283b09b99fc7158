package view

import (
	"slices"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// Flatten takes a value of a type apart in the way in which Keys, Columns and the
// arguments of print are: tuples and records in it to the ground, structs of the outside
// world into their fields. The parts are not to be changed.
func Flatten(t types.Type, v value.Value) []value.Value {
	if of, ok := t.(*types.Tuple); ok && flat(of.Elems) {
		if parts, ok := v.(value.Tuple); ok && len(parts) == len(of.Elems) {
			return slices.Clip(parts) // most keys of several parts: nothing is copied
		}
	}
	return flatten(nil, t, v)
}

// flat reports whether none of some types has parts.
func flat(types_ []types.Type) bool {
	for _, t := range types_ {
		if _, ok := t.(*types.Struct); ok || members(t) != nil {
			return false
		}
	}
	return true
}

// members are the types of what a tuple or a record of the script is made of, nil of others.
func members(t types.Type) []types.Type {
	switch t := t.(type) {
	case *types.Tuple:
		return t.Elems
	case *types.Record:
		return t.Elems
	}
	return nil
}

// flatten appends the parts of a value, and the parts of those that have some.
func flatten(out []value.Value, t types.Type, v value.Value) []value.Value {
	if _, ok := t.(*types.Struct); ok {
		if r, ok := v.(value.Record); ok {
			return append(out, r.Values...)
		}
	}
	elems := members(t)
	var parts []value.Value
	switch v := v.(type) {
	case value.Tuple:
		parts = v
	case value.Record:
		parts = v.Values
	}
	if len(elems) == 0 || len(parts) != len(elems) {
		return append(out, v)
	}
	for i, e := range elems {
		out = flatten(out, e, parts[i])
	}
	return out
}

// A Part is a column of a record or, where its member has members itself, those of that one.
type Part struct {
	*Element // nil: Parts are meant
	Parts    []Part
}

// Nested are the columns of a record, nested as its values are.
func (m *Map) Nested() []Part {
	columns := m.Columns
	return nested(m.Type, &columns).Parts
}

// nested takes the first columns, as many as a type has.
func nested(t types.Type, columns *[]Element) Part {
	elems := members(t)
	if s, ok := t.(*types.Struct); ok { // its fields are not taken apart
		elems = make([]types.Type, len(s.Fields()))
	}
	if len(elems) == 0 {
		if len(*columns) == 0 {
			return Part{Element: &Element{}}
		}
		one := &(*columns)[0]
		*columns = (*columns)[1:]
		return Part{Element: one}
	}
	var out Part
	for _, e := range elems {
		out.Parts = append(out.Parts, nested(e, columns))
	}
	return out
}
