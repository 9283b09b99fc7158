package value

import (
	"bytes"
	"cmp"
	"strings"
)

// Compare orders the keys of a map: integers by value, strings by bytes,
// sequences element by element, everything else by its text. Values of
// different kinds, which one map never has, are ordered by kind.
func Compare(a, b Value) int {
	switch a := a.(type) {
	case Int:
		if b, ok := b.(Int); ok {
			return cmp.Compare(a, b)
		}
	case Uint:
		if b, ok := b.(Uint); ok {
			return cmp.Compare(a, b)
		}
	case Str:
		if b, ok := b.(Str); ok {
			return bytes.Compare(a, b)
		}
	case Chars:
		if b, ok := b.(Chars); ok {
			return cmp.Or(bytes.Compare(a.Shown, b.Shown), bytes.Compare(a.All, b.All))
		}
	case Tuple:
		if b, ok := b.(Tuple); ok {
			return compareAll(a, b)
		}
	case Array:
		if b, ok := b.(Array); ok {
			return compareAll(a, b)
		}
	case Record:
		if b, ok := b.(Record); ok {
			return compareAll(a.Values, b.Values)
		}
	case Enum:
		if b, ok := b.(Enum); ok {
			return cmp.Compare(a.Value, b.Value)
		}
	case Pointer:
		if b, ok := b.(Pointer); ok {
			return cmp.Compare(a, b)
		}
	case Bool:
		if b, ok := b.(Bool); ok && a != b {
			if b {
				return -1
			}
			return 1
		}
	case Buffer:
		if b, ok := b.(Buffer); ok {
			return bytes.Compare(a, b)
		}
	case Text:
		if b, ok := b.(Text); ok {
			return strings.Compare(string(a), string(b))
		}
	case Formatted:
		if b, ok := b.(Formatted); ok {
			return strings.Compare(string(a), string(b))
		}
	case Symbol: // those of one name are one after the other, as their texts are
		if b, ok := b.(Symbol); ok {
			return strings.Compare(a.Name, b.Name)
		}
	case Moment:
		if b, ok := b.(Moment); ok {
			return strings.Compare(a.Text, b.Text)
		}
	case *Stack:
		if b, ok := b.(*Stack); ok {
			return compareStacks(a, b)
		}
	}
	return cmp.Compare(rank(a), rank(b))
}

// compareAll orders sequences by the first element that differs; a shorter one comes first.
func compareAll(a, b []Value) int {
	for i := range min(len(a), len(b)) {
		if c := Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// rank orders values of different kinds.
func rank(v Value) int {
	switch v.(type) {
	case Int, Uint, Unread:
		return 1
	case Str, Chars:
		return 2
	case Text, Formatted, Symbol, Moment:
		return 3
	case Tuple:
		return 4
	case nil, Null:
		return 0
	}
	return 5
}
