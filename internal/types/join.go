package types

// A Flex is a type with its flexibility: the type of a non-negative integer
// literal, and of what was only ever given such literals, takes the sign of
// the integer it meets.
type Flex struct {
	Type  Type // nil: unknown
	Flex  bool
	Elems []Flex // of a tuple or record, if any of them is flexible
}

// FlexOf is the Flex of a tuple or record type made of elements.
func FlexOf(t Type, elems []Flex) Flex {
	for _, e := range elems {
		if e.Flex || e.Elems != nil {
			return Flex{Type: t, Elems: elems}
		}
	}
	return Flex{Type: t}
}

// elem is element i of a tuple or record.
func (f Flex) elem(i int, t *Tuple) Flex {
	if f.Elems != nil {
		return f.Elems[i]
	}
	return Flex{Type: t.Elems[i]}
}

// Join returns the smallest type that holds the values of both; ok is false if
// there is none. An unknown type joins
// with anything. Aggregations join with themselves only: a caller that reads
// one has made it an integer first.
func Join(a, b Flex) (j Flex, ok bool) {
	switch {
	case a.Type == nil:
		return b, true
	case b.Type == nil:
		return a, true
	}
	x, xok := IsInteger(a.Type)
	y, yok := IsInteger(b.Type)
	if xok && yok {
		if !Same(a.Type, b.Type) {
			return joinInts(x, a.Flex, y, b.Flex), true
		}
		if y.Clock != "" {
			a.Type = b.Type
		}
		return Flex{Type: a.Type, Flex: a.Flex && b.Flex}, true
	}
	switch x := a.Type.(type) {
	case *Record:
		if y, ok := b.Type.(*Record); ok {
			return joinRecords(a, x, b, y)
		}
	case *Tuple:
		if y, ok := b.Type.(*Tuple); ok && len(x.Elems) == len(y.Elems) {
			elems, ok := joinAll(len(x.Elems), func(i int) (Flex, Flex) { return a.elem(i, x), b.elem(i, y) })
			return FlexOf(NewTuple(typesOf(elems)...), elems), ok
		}
	}
	t := joinOther(a.Type, b.Type)
	return Flex{Type: t}, t != nil
}

func typesOf(elems []Flex) []Type {
	out := make([]Type, len(elems))
	for i, e := range elems {
		out[i] = e.Type
	}
	return out
}

// joinAll joins n pairs; ok is false if one has no join.
func joinAll(n int, pair func(i int) (x, y Flex)) ([]Flex, bool) {
	out := make([]Flex, n)
	for i := range out {
		j, ok := Join(pair(i))
		if !ok {
			return nil, false
		}
		out[i] = j
	}
	return out, true
}

// joinRecords joins by name; the fields keep the order of x.
func joinRecords(a Flex, x *Record, b Flex, y *Record) (Flex, bool) {
	if len(x.Names) != len(y.Names) {
		return Flex{}, false
	}
	order := make([]int, len(x.Names))
	for i, n := range x.Names {
		j, _, ok := y.lookup(i, n)
		if !ok {
			return Flex{}, false
		}
		order[i] = j
	}
	elems, ok := joinAll(len(x.Names), func(i int) (Flex, Flex) {
		return a.elem(i, &x.Tuple),
			b.elem(order[i], &y.Tuple)
	})
	if !ok {
		return Flex{}, false
	}
	return FlexOf(NewRecord(x.Names, typesOf(elems)), elems), true
}

// joinInts is the type that holds the integers of two; a literal (flex) takes on the sign of what
// it meets.
func joinInts(x *Int, xflex bool, y *Int, yflex bool) Flex {
	bytes := max(x.Bytes, y.Bytes)
	switch {
	case xflex && yflex:
		return Flex{Type: IntOf(bytes, x.Signed || y.Signed), Flex: true}
	case x.Signed == y.Signed, xflex:
		return Flex{Type: IntOf(bytes, y.Signed)}
	case yflex:
		return Flex{Type: IntOf(bytes, x.Signed)}
	}
	signed, unsigned := x, y
	if y.Signed {
		signed, unsigned = y, x
	}
	if signed.Bytes > unsigned.Bytes {
		return Flex{Type: IntOf(signed.Bytes, true)}
	}
	return Flex{Type: IntOf(min(2*bytes, 8), true)}
}

// joinOther joins types that are not both integers; nil if they do not.
func joinOther(a, b Type) Type {
	switch x := a.(type) {
	case *String:
		if y, ok := b.(*Array); ok && y.IsText() {
			return textOf(x, y)
		}
		if y, ok := b.(*String); ok {
			if y.Cap > x.Cap || y.Cap == x.Cap && y.Trunc {
				x, y = y, x
			}
			if y.Marked && !x.Marked {
				return &String{Cap: x.Cap, Trunc: x.Trunc, Marked: true}
			}
			return x
		}
	case *Buffer:
		if y, ok := b.(*Buffer); ok {
			return &Buffer{Cap: max(x.Cap, y.Cap)}
		}
	case *Pointer:
		if y, ok := b.(*Pointer); ok {
			return joinPointers(x, y)
		}
	case *Array:
		if y, ok := b.(*String); ok && x.IsText() {
			return textOf(y, x)
		}
		if y, ok := b.(*Array); ok && Same(x.Elem, y.Elem) {
			switch {
			case x.Len == y.Len, y.Len < 0:
				return x
			case x.Len < 0:
				return y
			}
		}
	}
	if x, ok := a.(*Deferred); ok {
		if y, ok := b.(*Deferred); ok && x.Name == y.Name && x.Bytes == y.Bytes {
			switch {
			case y.Open:
				return x
			case x.Open:
				return y
			}
		}
	}
	if Same(a, b) {
		return a
	}
	return nil
}

func joinPointers(x, y *Pointer) Type {
	if Same(x.Elem, y.Elem) {
		return x
	}
	_, xok := IsInteger(x.Elem)
	_, yok := IsInteger(y.Elem)
	if xok && yok {
		j, _ := Join(Flex{Type: x.Elem}, Flex{Type: y.Elem})
		return &Pointer{Elem: j.Type, Space: x.Space}
	}
	return nil
}

// Lookup finds a field of a record by name.
func (t *Record) Lookup(name string) (index int, typ Type, ok bool) {
	for i, n := range t.Names {
		if n == name {
			return i, t.Elems[i], true
		}
	}
	return 0, nil, false
}

// lookup is Lookup of a name that is likely that of field i: most records have the same order.
func (t *Record) lookup(i int, name string) (index int, typ Type, ok bool) {
	if i < len(t.Names) && t.Names[i] == name {
		return i, t.Elems[i], true
	}
	return t.Lookup(name)
}

// Fits reports whether every value of from is a value of to. Types other than
// integers, and what is made of them, fit when they are the same or a string
// is not shortened.
func Fits(from Flex, to Type) bool {
	if x, ok := IsInteger(from.Type); ok {
		y, ok := IsInteger(to)
		if !ok {
			return false
		}
		switch {
		case x.Signed == y.Signed, from.Flex:
			return x.Bytes <= y.Bytes
		case y.Signed:
			return x.Bytes < y.Bytes
		}
		return false
	}
	switch x := from.Type.(type) {
	case *String:
		y, ok := to.(*String)
		return ok && (y.Cap == 0 || x.Cap <= y.Cap)
	case *Record:
		y, ok := to.(*Record)
		if !ok || len(x.Names) != len(y.Names) {
			return false
		}
		for i, n := range x.Names {
			_, t, ok := y.lookup(i, n)
			if !ok || !Fits(from.elem(i, &x.Tuple), t) {
				return false
			}
		}
		return true
	case *Tuple:
		y, ok := to.(*Tuple)
		if !ok || len(x.Elems) != len(y.Elems) {
			return false
		}
		for i := range x.Elems {
			if !Fits(from.elem(i, x), y.Elems[i]) {
				return false
			}
		}
		return true
	}
	j := joinOther(from.Type, to)
	return j != nil && Same(j, to)
}

// textOf is the string that holds strings of a type and what an array begins with.
func textOf(s *String, a *Array) Type {
	if s.Cap >= a.Len {
		return s
	}
	return &String{Cap: a.Len, Trunc: s.Trunc, Marked: s.Marked}
}
