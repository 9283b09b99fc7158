package types

// Settle resolves a type and all that values of it hold, so that nothing in it
// changes any more. What pointers lead to stays as it is: values hold
// the pointers only. seen has the types that are settled.
func Settle(t Type, seen map[Type]bool) {
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	switch t := t.(type) {
	case *Array:
		Settle(t.Elem, seen)
	case *Tuple:
		for _, e := range t.Elems {
			Settle(e, seen)
		}
	case *Record:
		for _, e := range t.Elems {
			Settle(e, seen)
		}
	case *Struct:
		t.Size()
		for _, f := range t.Fields() {
			Settle(f.Type, seen)
		}
		t.text = t.String()
	}
}
