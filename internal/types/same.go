package types

// Same reports whether two types are the same type of the language. Pointers
// compare by element, structs by kind and tag (or identity when anonymous);
// address spaces do not count.
func Same(a, b Type) bool {
	if a == b {
		return true
	}
	switch a := a.(type) {
	case *Int:
		b, ok := b.(*Int)
		return ok && a.Bytes == b.Bytes && a.Signed == b.Signed
	case *String:
		b, ok := b.(*String)
		return ok && a.Cap == b.Cap
	case *Buffer:
		b, ok := b.(*Buffer)
		return ok && *a == *b
	case *Pointer:
		b, ok := b.(*Pointer)
		return ok && Same(a.Elem, b.Elem)
	case *Array:
		b, ok := b.(*Array)
		return ok && a.Len == b.Len && Same(a.Elem, b.Elem)
	case *Enum:
		b, ok := b.(*Enum)
		return ok && a.Name != "" && a.Name == b.Name
	case *Struct:
		b, ok := b.(*Struct)
		return ok && a.Name != "" && a.Kind == b.Kind && a.Name == b.Name
	case *Record:
		b, ok := b.(*Record)
		return ok && sameNames(a.Names, b.Names) && sameAll(a.Elems, b.Elems)
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && sameAll(a.Elems, b.Elems)
	case *Stack:
		b, ok := b.(*Stack)
		return ok && *a == *b
	case *Deferred:
		b, ok := b.(*Deferred)
		return ok && *a == *b
	case *Agg:
		b, ok := b.(*Agg)
		if !ok || a.Kind != b.Kind || a.Signed != b.Signed || len(a.Params) != len(b.Params) {
			return false
		}
		for i := range a.Params {
			if a.Params[i] != b.Params[i] {
				return false
			}
		}
		return true
	}
	return false
}

func sameAll(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// IsInteger reports whether t is an integer or an enum, and returns it as an
// integer type.
func IsInteger(t Type) (*Int, bool) {
	switch t := t.(type) {
	case *Int:
		return t, true
	case *Enum:
		return IntOf(t.Bytes, t.Signed), true
	}
	return nil, false
}

// IsScalar reports whether values of t live in a register: integers, enums,
// booleans and pointers.
func IsScalar(t Type) bool {
	if t == Bool {
		return true
	}
	if _, ok := t.(*Pointer); ok {
		return true
	}
	_, ok := IsInteger(t)
	return ok
}
