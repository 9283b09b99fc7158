package cdef

import (
	"github.com/hawktrace/hawk/internal/types"
)

// ckind is the kind of a C type.
type ckind uint8

const (
	voidKind ckind = iota
	intKind
	boolKind
	floatKind
	pointerKind
	arrayKind
	recordKind
	enumKind
	funcKind
	foreignKind // of the kernel, or one of the language's own names
	unknownKind // a name that stands for no type yet
)

// A ctype is a C type. A record's size is asked of the record.
// One ctype may be shared by many declarations. What changes its alignment makes a copy, see
// attributed.
type ctype struct {
	kind   ckind
	size   int // bytes
	align  int
	signed bool
	plain  bool   // plain char, the element of text
	user   bool   // a pointer marked __user
	elem   *ctype // of pointers and arrays
	len    int    // of an array, -1: []
	rec    *record
	enum   *types.Enum
	depth  int        // of pointers and arrays
	out    types.Type // the result of conversion, nil until then; of foreignKind from the start
	name   token      // of unknownKind
}

// A record is a struct or union, defined or not.
// A struct that is only named stays undefined until its definition comes, in this text or from
// the kernel.
type record struct {
	kind    types.Kind
	tag     string
	at      token // where it is defined, or first named
	defined bool
	broken  bool // its definition could not be read
	fields  []field
	size    int
	align   int
	flex    bool // ends in an array without size
	typ     *types.Struct
}

// A field is a member of a record with its place.
type field struct {
	name      string
	typ       *ctype
	offset    int
	bitOffset int
	bits      int // of a bit-field, else 0
}

var (
	// The sizes are those of LP64. Types that the language has no use for (floating point, 128
	// bits) only take room.
	voidType   = &ctype{kind: voidKind, size: 1, align: 1, out: types.Void}
	boolType   = &ctype{kind: boolKind, size: 1, align: 1, out: types.Bool}
	charType   = &ctype{kind: intKind, size: 1, align: 1, signed: true, plain: true}
	funcType   = &ctype{kind: funcKind, size: 1, align: 1, out: types.Void}
	floatType  = &ctype{kind: floatKind, size: 4, align: 4}
	doubleType = &ctype{kind: floatKind, size: 8, align: 8}
	quadType   = &ctype{kind: floatKind, size: 16, align: 16}
	int128Type = &ctype{kind: floatKind, size: 16, align: 16}
	vaListType = &ctype{kind: floatKind, size: 24, align: 8}
)

// intType is an integer of some bytes, aligned to its size as LP64 has them.
func intType(bytes int, signed bool) *ctype {
	return &ctype{kind: intKind, size: bytes, align: bytes, signed: signed}
}

// pointerTo is a pointer to a type; user says that the memory is a process's.
// All pointers have 8 bytes, whatever they lead to, so that the element need not be known.
func pointerTo(t *ctype, user bool) *ctype {
	return &ctype{kind: pointerKind, size: 8, align: 8, elem: t, user: user, depth: t.depth + 1}
}

// foreign makes a type of the kernel, or of the language, one of C.
// Layout needs size and alignment only; out keeps what it really is.
func foreign(t types.Type) *ctype {
	c := &ctype{kind: foreignKind, size: t.Size(), align: max(t.Align(), 1), out: t}
	switch t := t.(type) {
	case *types.Int:
		c.kind, c.signed = intKind, t.Signed
	case *types.Enum:
		c.kind, c.signed, c.enum = enumKind, t.Signed, t
	case *types.Pointer:
		c.kind, c.elem = pointerKind, nil
	}
	if t == types.Bool {
		return boolType
	}
	if t == types.Void {
		return voidType
	}
	return c
}

// isInteger reports whether a bit-field can have type t.
func (t *ctype) isInteger() bool {
	return t.kind == intKind || t.kind == boolKind || t.kind == enumKind
}

// maxSize bounds the size of types, in bytes.
// The product of two such sizes fits an int.
const maxSize = 1 << 30
