package aot

import (
	"slices"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

// Bounds of types, in bytes and in elements: above what the compiler allows.
const (
	maxBytes    = 1 << 24
	maxElements = 1 << 20
	maxAlign    = 1 << 16
)

// kind is what a type is written as.
// The order is part of the format: new kinds come at the end, in front of numKinds.
type kind uint8

const (
	noType kind = iota
	boolType
	voidType
	noneType
	intType
	stringType
	bufferType
	pointerType
	arrayType
	enumType
	structType
	tupleType
	recordType
	stackType
	deferredType
	aggType

	numKinds
)

// kindOf is the number that stands for the kind of a type in the file.
func kindOf(t types.Type) kind {
	switch t {
	case nil:
		return noType
	case types.Bool:
		return boolType
	case types.Void:
		return voidType
	case types.None:
		return noneType
	}
	switch t.(type) {
	case *types.Int:
		return intType
	case *types.String:
		return stringType
	case *types.Buffer:
		return bufferType
	case *types.Pointer:
		return pointerType
	case *types.Array:
		return arrayType
	case *types.Enum:
		return enumType
	case *types.Struct:
		return structType
	case *types.Tuple:
		return tupleType
	case *types.Record:
		return recordType
	case *types.Stack:
		return stackType
	case *types.Deferred:
		return deferredType
	case *types.Agg:
		return aggType
	}
	return numKinds
}

// typ is a type of a value that programs leave in maps or send. Of what
// pointers lead to it keeps the name alone.
// Structs hold one another by pointers alone, and a pointer ends the description: it always
// comes to an end.
func (c *codec) typ(p *types.Type) {
	k := kindOf(*p)
	if k == numKinds {
		c.fail("a value of type %s can not be kept", *p)
		return
	}
	within(c, &k, 0, int64(numKinds)-1)
	if c.err != nil {
		*p = types.None
		return
	}
	t := *p
	c.nested(func() { c.typeOf(k, &t) })
	if !c.reading {
		return
	}
	if c.err == nil && t != nil && (t.Size() < 0 || t.Size() > maxBytes) {
		c.fail("a type of %d bytes", t.Size())
	}
	if *p = t; c.err != nil {
		*p = types.None
	}
}

// typeAs is the type that p is known to be, or a new one.
// Reading begins with an empty one, writing with what is there.
func typeAs[T any](p types.Type) *T {
	if t, ok := any(p).(*T); ok {
		return t
	}
	return new(T)
}

// typeOf writes or reads what a kind of type consists of. What is read comes from a file and is
// checked: sizes that later code divides or indexes by.
func (c *codec) typeOf(k kind, p *types.Type) {
	switch k {
	case noType:
		*p = nil
	case boolType:
		*p = types.Bool
	case voidType:
		*p = types.Void
	case noneType:
		*p = types.None
	case intType:
		t := *typeAs[types.Int](*p)
		within(c, &t.Bytes, 1, 8)
		c.bool(&t.Signed)
		if t.Bytes&(t.Bytes-1) != 0 {
			c.fail("an integer of %d bytes", t.Bytes)
			t.Bytes = 8
		}
		*p = types.IntOf(t.Bytes, t.Signed)
	case stringType:
		t := typeAs[types.String](*p)
		within(c, &t.Cap, 0, maxBytes)
		c.flags(&t.Trunc, &t.Marked)
		*p = t
	case bufferType:
		t := typeAs[types.Buffer](*p)
		within(c, &t.Cap, 0, maxBytes)
		*p = t
	case pointerType:
		t := typeAs[types.Pointer](*p)
		elem := t.Elem
		if s, ok := elem.(*types.Struct); ok {
			elem = types.NewStruct(s.Kind, s.Name, 0, 1, nil)
		}
		c.typ(&elem)
		within(c, &t.Space, 0, int64(types.User))
		text(c, &t.Tag)
		if c.reading {
			t.Elem = elem
		}
		if t.Elem == nil {
			t.Elem = types.Void
		}
		*p = t
	case arrayType:
		t := typeAs[types.Array](*p)
		within(c, &t.Len, -1, maxElements)
		c.bool(&t.Text)
		c.elem(&t.Elem)
		*p = t
	case enumType:
		t := typeAs[types.Enum](*p)
		text(c, &t.Name)
		within(c, &t.Bytes, 1, 8)
		c.bool(&t.Signed)
		list(c, &t.Values, func(v *types.EnumValue) {
			text(c, &v.Name)
			number(c, &v.Value)
		})
		if c.reading {
			c.enums = append(c.enums, t)
		}
		*p = t
	case structType:
		c.structOf(p)
	case tupleType:
		t := *typeAs[types.Tuple](*p)
		c.elems(&t.Elems)
		*p = types.NewTuple(t.Elems...)
	case recordType:
		t := *typeAs[types.Record](*p)
		c.elems(&t.Elems)
		list(c, &t.Names, func(s *string) { text(c, s) })
		if len(t.Names) != len(t.Elems) {
			c.fail("a record of %d names and %d values", len(t.Names), len(t.Elems))
			return
		}
		*p = types.NewRecord(t.Names, t.Elems)
	case stackType:
		t := typeAs[types.Stack](*p)
		c.bool(&t.User)
		within(c, &t.Mode, 0, int64(types.StackBuildID))
		within(c, &t.Limit, 0, maxElements)
		*p = t
	case deferredType:
		t := typeAs[types.Deferred](*p)
		text(c, &t.Name)
		within(c, &t.By, 1, builtin.MaxRenderer)
		text(c, &t.Arg)
		within(c, &t.Bytes, 0, maxBytes)
		within(c, &t.Algn, 1, 8)
		c.flags(&t.Open, &t.Int)
		if c.reading && c.err == nil && builtin.RendererOf(t) == nil {
			c.fail("values of type %s, which nothing shows", t.Name)
		}
		*p = t
	case aggType:
		t := typeAs[types.Agg](*p)
		text(c, &t.Kind)
		c.bool(&t.Signed)
		list(c, &t.Params, func(n *int64) { number(c, n) })
		c.bool(&t.Sum)
		*p = t
	}
}

// elem is a type that has to be there.
func (c *codec) elem(p *types.Type) {
	c.typ(p)
	if *p == nil {
		c.fail("a type is missing")
		*p = types.None
	}
}

// elems is a list of types that all have to be there.
func (c *codec) elems(p *[]types.Type) { list(c, p, c.elem) }

// structOf is a struct with all of its members.
// Members are resolved when it is written, since the kernel's types are not there to be asked
// later.
func (c *codec) structOf(p *types.Type) {
	t := typeAs[types.Struct](*p)
	size, align := 0, 0
	var fields []types.Field
	if !c.reading {
		size, align, fields = t.Size(), t.Align(), slices.Clone(t.Fields())
	}
	within(c, &t.Kind, 0, int64(types.ContextKind))
	text(c, &t.Name)
	within(c, &size, 0, maxBytes)
	within(c, &align, 0, maxAlign)
	c.bool(&t.C)
	list(c, &fields, func(f *types.Field) {
		text(c, &f.Name)
		c.elem(&f.Type)
		within(c, &f.Offset, 0, maxBytes)
		within(c, &f.BitOffset, 0, 63)
		within(c, &f.BitSize, 0, 64)
		within(c, &f.DataLoc, 0, int64(types.DataLocRel))
		within(c, &f.Arg, 0, maxElements)
		if c.err == nil && size > 0 && f.Offset > size-f.Type.Size() && f.Type.Size() > 0 {
			c.fail("the member %s lies outside of its struct", f.Name)
		}
	})
	if align&(align-1) != 0 {
		c.fail("an alignment of %d bytes", align)
		align = 0
	}
	if c.reading {
		s := types.NewStruct(t.Kind, t.Name, size, align, fields)
		s.C = t.C
		*p = s
	}
}

// refresh gives the enums that were read the names that this kernel has for
// their values.
// Enumerators are renumbered from kernel to kernel, and programs compare by those of the
// compiler's: only names that are shown change.
func (c *codec) refresh(t *machine.Machine) {
	for _, e := range c.enums {
		if e.Name == "" {
			continue
		}
		if typ, err := t.TypeByName("enum", e.Name); err == nil {
			if here, ok := typ.(*types.Enum); ok && here.Bytes == e.Bytes {
				e.Values = here.Values
			}
		}
	}
}
