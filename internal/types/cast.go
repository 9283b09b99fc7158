package types

import "fmt"

// Cast returns the type of an explicit cast, which is to with the length of an
// unsized array or the capacity of an unsized string filled in, or an error in
// words that complete "cannot cast".
func Cast(from, to Type) (Type, error) {
	fail := fmt.Errorf("Cannot cast from %q to %q", from, to)
	if Same(from, to) {
		return to, nil
	}
	if to == Bool {
		switch from.(type) {
		case *String:
			return to, nil
		}
		if IsScalar(from) {
			return to, nil
		}
		return nil, fail
	}
	if IsScalar(to) {
		if IsScalar(from) {
			return to, nil
		}
		if a, ok := from.(*Array); ok && isIntElem(a.Elem) {
			if _, ok := IsInteger(to); ok && a.Size() == to.Size() {
				return to, nil
			}
			return nil, fmt.Errorf("%w: the array has %d bytes, the integer %d", fail, a.Size(), to.Size())
		}
		return nil, fail
	}
	switch to := to.(type) {
	case *Array:
		return castToArray(from, to, fail)
	case *Deferred:
		if _, ok := IsInteger(from); ok && to.Int {
			return to, nil
		}
	case *String:
		s, ok := from.(*String)
		switch {
		case !ok:
			return nil, fail
		case to.Cap == 0:
			return s, nil
		case to.Cap < s.Cap:
			return nil, fmt.Errorf("%w: the string would be shortened", fail)
		}
		return to, nil
	}
	return nil, fail
}

func isIntElem(t Type) bool {
	_, ok := IsInteger(t)
	return ok || t == Bool
}

// castToArray is the type of a cast to an array of integers, from text, an array or a number of as
// many bytes.
func castToArray(from Type, to *Array, fail error) (Type, error) {
	if !isIntElem(to.Elem) {
		return nil, fail
	}
	size, widen := 0, false
	switch f := from.(type) {
	case *String:
		if to.Elem.Size() != 1 || to.Elem == Bool {
			return nil, fail
		}
		size = f.Cap
	case *Array:
		if !isIntElem(f.Elem) {
			return nil, fail
		}
		size = f.Size()
	default:
		if _, ok := IsInteger(from); !ok && from != Bool {
			return nil, fail
		}
		size, widen = from.Size(), true
	}
	if to.Len < 0 {
		if size%to.Elem.Size() != 0 {
			return nil, fmt.Errorf("%w: %d bytes are no whole number of elements", fail, size)
		}
		return &Array{Elem: to.Elem, Len: size / to.Elem.Size()}, nil
	}
	if n := to.Size(); n == size || widen && n > size && n <= 8 {
		return to, nil
	}
	return nil, fmt.Errorf("%w: the sizes are %d and %d bytes", fail, size, to.Size())
}
