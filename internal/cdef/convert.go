package cdef

import "github.com/hawktrace/hawk/internal/types"

// convert makes a type of hawk of a C type. It never fails: what is not known
// is void, or a struct without members.
// Conversion waits until a script asks: headers of the kernel have thousands of types, of which
// it uses two.
func (u *Unit) convert(t *ctype) types.Type {
	if t.out == nil {
		t.out = u.converted(t)
	}
	return t.out
}

// converted makes the type for convert, which keeps it: types that refer to each other are made
// once.
func (u *Unit) converted(t *ctype) types.Type {
	switch t.kind {
	case intKind:
		return types.IntOf(t.size, t.signed)
	case boolKind:
		return types.Bool
	case floatKind:
		// There are no floating-point numbers in the language.
		return &types.Array{Elem: types.Uint8, Len: t.size}
	case pointerKind:
		if t.elem == nil {
			return &types.Pointer{Elem: types.Void}
		}
		p := &types.Pointer{Elem: u.convert(t.elem)}
		if t.user {
			p.Space = types.User
		}
		return p
	case arrayKind:
		if t.elem.kind == intKind && t.elem.plain && t.len > 0 {
			return &types.String{Cap: t.len}
		}
		// int x[0] and int x[] at the end of a struct have as many elements as there are.
		n := t.len
		if n == 0 {
			n = -1
		}
		return &types.Array{Elem: u.convert(t.elem), Len: n}
	case recordKind:
		return u.structType(t.rec)
	case unknownKind:
		if found, ok := u.kernelType("", t.name.text); ok {
			return found
		}
	}
	return types.Void
}

// structType is the one type of a record. Its fields are converted when they
// are asked for, since structs refer to each other.
// One record is one type: structs without a tag are compared by identity.
func (u *Unit) structType(r *record) types.Type {
	if !r.defined {
		if found, ok := u.kernelType(keyword(r), r.tag); ok {
			return found
		}
		return types.NewStruct(r.kind, r.tag, 0, 1, nil)
	}
	if r.typ == nil {
		r.typ = types.NewStruct(r.kind, r.tag, r.size, r.align, nil)
		// The flag tells check that arrays of char may be full to their end.
		r.typ.C = true
		r.typ.Load = func() []types.Field {
			out := make([]types.Field, len(r.fields))
			for i, f := range r.fields {
				out[i] = types.Field{Name: f.name, Type: u.convert(f.typ), Offset: f.offset,
					BitOffset: f.bitOffset, BitSize: f.bits}
			}
			return out
		}
	}
	return r.typ
}
