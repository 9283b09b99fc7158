package dwarf

import (
	"debug/dwarf"
	"fmt"
	"runtime"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/types"
)

const (
	// maxDepth bounds chains of typedefs, pointers and arrays, which a malformed
	// file can make endless.
	maxDepth = 64
	maxSize  = 1 << 30 // bytes of a type
	// maxAnonymous bounds the members reached through anonymous structs and base
	// classes, all of which a look-up by name visits.
	maxAnonymous = 1 << 14
	maxMembers   = 1 << 16
)

// typeAt converts the type at an offset. Typedefs and qualifiers are resolved
// away, char arrays become strings, functions void, floating-point types
// arrays of bytes. Structs get their fields on first use.
func (f *File) typeAt(off dwarf.Offset) (types.Type, error) {
	if t, ok := f.types[off]; ok {
		return t, nil
	}
	if f.depth > maxDepth {
		return nil, fmt.Errorf("%s: the type at %#x of .debug_info is nested too deeply", f.Path, off)
	}
	f.depth++
	defer func() { f.depth-- }()
	e, err := f.at(off)
	if err != nil {
		return nil, err
	}
	t, err := f.convert(e)
	if err != nil {
		return nil, err
	}
	f.types[off] = t
	return t, nil
}

// target is the type that an entry refers to, void if none.
func (e entry) target() (types.Type, error) {
	in, off, ok := e.refOffset(dwarf.AttrType)
	if !ok {
		return types.Void, nil
	}
	if in != e.in {
		in.depth = e.in.depth // chains go from file to file
		defer func() { in.depth = 0 }()
	}
	return in.typeAt(off)
}

// convert makes a type of an entry.
func (f *File) convert(e entry) (types.Type, error) {
	size, _ := e.number(dwarf.AttrByteSize)
	if size < 0 || size > maxSize {
		return nil, fmt.Errorf("%s: the type at %#x of .debug_info has %d bytes", f.Path, e.Offset, size)
	}
	switch e.Tag {
	case dwarf.TagBaseType:
		return baseType(e, int(size)), nil
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		elem, err := e.target()
		return &types.Pointer{Elem: elem, Space: types.User}, err
	case dwarf.TagPtrToMemberType:
		if to, ok := e.ref(dwarf.AttrType); ok && to.Tag == dwarf.TagSubroutineType {
			return &types.Array{Elem: types.Uint64, Len: 2}, nil // address and adjustment of this
		}
		return types.Int64, nil
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return e.target()
	case dwarf.TagArrayType:
		return f.array(e)
	case dwarf.TagEnumerationType:
		return enum(e, int(size)), nil
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return f.structType(e, int(size)), nil
	}
	return types.Void, nil // functions, and whatever has no values
}

// baseType converts the types that languages begin with.
func baseType(e entry, size int) types.Type {
	encoding, _ := e.number(dwarf.AttrEncoding)
	signed := false
	switch encoding {
	case encodingFloat, encodingComplexFloat:
		return &types.Array{Elem: types.Uint8, Len: size}
	case 0x02: // boolean
		if size == 1 {
			return types.Bool
		}
	case 0x05, 0x06: // signed, signed char
		signed = true
	}
	switch size {
	case 1, 2, 4, 8:
		return types.IntOf(size, signed)
	case 16:
		return &types.Array{Elem: types.Uint64, Len: 2}
	}
	return types.Void
}

// dimensions lists how many elements an array has in each; -1 if unknown.
func dimensions(e entry) []int64 {
	var out []int64
	e.children(func(c entry) bool {
		if c.Tag != dwarf.TagSubrangeType && c.Tag != dwarf.TagEnumerationType {
			return true
		}
		n := int64(-1)
		if count, ok := c.number(dwarf.AttrCount); ok {
			n = count
		} else if upper, ok := c.number(dwarf.AttrUpperBound); ok && upper < maxSize {
			lower, _ := c.number(dwarf.AttrLowerBound)
			n = upper - lower + 1
		}
		out = append(out, n)
		return len(out) < 16
	})
	if len(out) == 0 {
		out = []int64{-1}
	}
	return out
}

// array converts an array of one dimension or more, the last one innermost.
func (f *File) array(e entry) (types.Type, error) {
	elem, err := e.target()
	if err != nil {
		return nil, err
	}
	dims := dimensions(e)
	for i := len(dims) - 1; i >= 0; i-- {
		n := dims[i]
		size := int64(elem.Size())
		if n < 0 || n > maxSize || size > 0 && n > maxSize/size {
			n = -1 // without bound, or of a malformed file
		}
		of, ok := e.ref(dwarf.AttrType)
		innermost := ok && i == len(dims)-1 && n > 0
		if innermost && isChar(of) {
			elem = &types.String{Cap: int(n)}
			continue
		}
		elem = &types.Array{Elem: elem, Len: int(n), Text: innermost && isSignChar(of)}
	}
	return elem, nil
}

// isChar reports whether a type is C's plain char, the element of text.
func isChar(e entry) bool { return baseName(e, true) == "char" }

// isSignChar reports whether a type is unsigned char or signed char by these names: a number of
// another name, as uint8_t, is meant as one.
func isSignChar(e entry) bool {
	name := baseName(e, false)
	return name == "unsigned char" || name == "signed char"
}

// baseName is the name of the base type that a type is, but for qualifiers, and for further names
// with named; "" if it is none.
func baseName(e entry, named bool) string {
	for range maxDepth {
		switch e.Tag {
		case dwarf.TagBaseType:
			return e.name()
		case dwarf.TagConstType, dwarf.TagVolatileType:
		default:
			if e.Tag != dwarf.TagTypedef || !named {
				return ""
			}
		}
		var ok bool
		if e, ok = e.ref(dwarf.AttrType); !ok {
			return ""
		}
	}
	return ""
}

// enum converts an enumeration; one of no known size is an int, as in C.
func enum(e entry, size int) types.Type {
	t := &types.Enum{Name: e.name(), Bytes: size}
	switch size {
	case 1, 2, 4, 8:
	default:
		t.Bytes = 4
	}
	e.children(func(c entry) bool {
		if v, ok := c.number(dwarf.AttrConstValue); ok && c.Tag == dwarf.TagEnumerator {
			t.Values = append(t.Values, types.EnumValue{Name: c.name(), Value: v})
		}
		return len(t.Values) < maxMembers
	})
	if base, ok := e.ref(dwarf.AttrType); ok {
		encoding, _ := base.number(dwarf.AttrEncoding)
		t.Signed = encoding == 0x05 || encoding == 0x06
	}
	return t
}

// structType converts a struct, class or union; its fields follow on demand.
// One that is only declared is looked for where it is defined.
func (f *File) structType(e entry, size int) types.Type {
	kind := types.StructKind
	if e.Tag == dwarf.TagUnionType {
		kind = types.UnionKind
	}
	// Fields are read when a script names one: those of one struct of C++ can lead to thousands
	// of others.
	t := types.NewStruct(kind, e.name(), size, types.GuessAlign(size), nil)
	declared := e.flag(dwarf.AttrDeclaration)
	if declared {
		t.Bytes = -1
	}
	t.Load = func() []types.Field {
		defer runtime.KeepAlive(f) // what is read are bytes of its files; see OpenLoose
		return f.load(t, e, declared)
	}
	t.Text = textOf(t, e)
	return t
}

// load finds the fields of a struct, when a script asks for one.
func (f *File) load(t *types.Struct, e entry, declared bool) []types.Field {
	if declared {
		t.Bytes = 0
		full, ok := f.definition(e)
		if !ok {
			return nil // opaque in this program
		}
		size, _ := full.number(dwarf.AttrByteSize)
		if size < 0 || size > maxSize {
			return nil
		}
		e, t.Bytes, t.Algn = full, int(size), types.GuessAlign(int(size))
	}
	// A look-up by name goes into anonymous members without a bound of its own.
	budget := maxAnonymous
	if !finite(e, &budget, 0) {
		return nil
	}
	var out []types.Field
	e.children(func(m entry) bool {
		if m.Tag == tagVariantPart {
			out = append(out, e.in.variants(m, t.Bytes)...)
		} else if field, ok := e.in.field(m, t.Bytes); ok {
			out = append(out, field)
		}
		return len(out) < maxMembers
	})
	if v, ok := vec(e, out); ok {
		return v
	}
	return out
}

// isStatic reports whether a member belongs to the class, not to each object.
func isStatic(m entry) bool {
	return m.flag(dwarf.AttrExternal) || m.flag(dwarf.AttrDeclaration) || m.Val(dwarf.AttrConstValue) != nil
}

// field converts a member or a base class of a struct of size bytes, as far as it lies inside of
// it. A bit field is placed in the integer that has it.
func (f *File) field(m entry, size int) (types.Field, bool) {
	none := types.Field{}
	if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance || isStatic(m) {
		return none, false
	}
	t, err := m.target()
	if err != nil {
		return none, false
	}
	out := types.Field{Name: m.name(), Type: t}
	if m.Tag == dwarf.TagInheritance {
		out.Name = ""
	} else if _, isStruct := t.(*types.Struct); out.Name == "" && !isStruct {
		return none, false // padding
	}
	bit, ok := memberBit(m, f)
	if !ok || bit < 0 || bit > 8*maxSize {
		return none, false
	}
	out.Offset = int(bit / 8)
	if n, ok := m.number(dwarf.AttrBitSize); ok && n > 0 && n <= 64 {
		types.PlaceBits(&out, int(bit), int(n), size)
	}
	if _, record := t.(*types.Struct); !record && out.Offset+out.Type.Size() > size {
		return none, false
	}
	return out, true
}

// memberBit is how many bits from the start of its struct a member lies; false
// if that is not fixed, as with virtual base classes.
func memberBit(m entry, f *File) (int64, bool) {
	if bit, ok := m.number(dwarf.AttrDataBitOffset); ok {
		return bit, true
	}
	at := int64(0) // members of unions have no location
	switch v := m.Val(dwarf.AttrDataMemberLoc).(type) {
	case int64:
		at = v
	case []byte:
		const plusUconst = 0x23
		n, ok := operand(v, plusUconst)
		if !ok {
			return 0, false
		}
		at = n
	}
	if at < 0 || at > maxSize {
		return 0, false
	}
	off, has := m.number(dwarf.AttrBitOffset)
	bits, isBits := m.number(dwarf.AttrBitSize)
	if !has || !isBits {
		return at * 8, true
	}
	// Up to DWARF 3, bits are counted from the most significant of the storage.
	storage, ok := m.number(dwarf.AttrByteSize)
	if !ok {
		t, err := m.target()
		if err != nil {
			return 0, false
		}
		storage = int64(t.Size())
	}
	if storage < 0 || storage > 16 {
		return 0, false
	}
	return at*8 + storage*8 - off - bits, true
}

// operand is that of an expression which is one operation with a number.
func operand(b []byte, op byte) (int64, bool) {
	c := cursor.Cursor{Data: b}
	if c.Byte() != op {
		return 0, false
	}
	n := c.ULEB()
	return int64(n), !c.Bad && !c.More() && n <= maxSize
}

// finite reports whether the anonymous members and base classes of a struct
// end, which a malformed file need not grant.
func finite(e entry, budget *int, depth int) bool {
	fine := true
	e.children(func(m entry) bool {
		if *budget--; *budget <= 0 || depth > maxDepth {
			fine = false
			return false
		}
		if m.Tag != dwarf.TagInheritance && (m.Tag != dwarf.TagMember || m.name() != "") {
			return true
		}
		inner, ok := m.ref(dwarf.AttrType)
		for ok && (inner.Tag == dwarf.TagTypedef || inner.Tag == dwarf.TagConstType ||
			inner.Tag == dwarf.TagVolatileType) && *budget > 0 {
			*budget--
			inner, ok = inner.ref(dwarf.AttrType)
		}
		fine = !ok || finite(inner, budget, depth+1)
		return fine
	})
	return fine && *budget > 0
}
