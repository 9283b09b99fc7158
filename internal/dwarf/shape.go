package dwarf

import (
	"debug/dwarf"
	"strings"
)

// A Shape is what of a type decides how a value of it travels as an argument
// or as a result: its size and what its words hold.
type Shape struct {
	Bytes     int
	Align     int
	Composite bool // a struct, union or array
	Several   bool // it has an array of more than one element
	ByAddress bool // a class that C++ passes by its address, whatever its size
	// Leaves are the scalars that it is made of, in order of their offsets;
	// nil if there are too many of them to matter.
	Leaves []Leaf
}

// Float reports whether the value is a floating-point number.
func (s *Shape) Float() bool { return len(s.Leaves) == 1 && s.Leaves[0].Float }

// A Leaf is a scalar inside of a value.
type Leaf struct {
	Offset, Bytes int
	Float         bool
}

// maxLeaves is more than any convention puts into registers.
const maxLeaves = 32

// Values of attributes, by the standard's section 7.
const (
	encodingFloat        = 0x04
	encodingComplexFloat = 0x03
	passByAddress        = 0x04
	passByValue          = 0x05
	defaultedInClass     = 0x01
)

// maxSteps bounds the types that one shape is made of, since those of a
// malformed file can contain themselves.
const maxSteps = 1000

// A shaper works out a shape.
type shaper struct {
	Shape
	steps int
}

// shapeAt is the shape of the type at an offset.
func (f *File) shapeAt(off dwarf.Offset) Shape {
	var s shaper
	if !f.shape(&s, off, 0, 0) || len(s.Leaves) > maxLeaves {
		s.Leaves = nil
	}
	return s.Shape
}

// shape adds the leaves of a type that lies at an offset of the value; false
// if it gives up.
func (f *File) shape(s *shaper, off dwarf.Offset, at, depth int) bool {
	e, err := f.at(off)
	// One leaf too many is enough: such a value is in memory by every convention.
	if s.steps++; err != nil || s.steps > maxSteps || depth > maxDepth || len(s.Leaves) > maxLeaves {
		return false
	}
	size, _ := e.number(dwarf.AttrByteSize)
	if size < 0 || size > maxSize {
		return false
	}
	// whole is the value itself, not a part of it.
	whole := func(composite bool) {
		if depth == 0 || s.Bytes == 0 {
			s.Bytes, s.Composite = max(s.Bytes, int(size)), s.Composite || composite
		}
	}
	leaf := func(float bool) bool {
		whole(false)
		s.Align = max(s.Align, min(int(size), 16))
		s.Leaves = append(s.Leaves, Leaf{at, int(size), float})
		return true
	}
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		in, to, ok := e.refOffset(dwarf.AttrType)
		return ok && in.shape(s, to, at, depth+1)
	case dwarf.TagBaseType:
		encoding, _ := e.number(dwarf.AttrEncoding)
		return leaf(encoding == encodingFloat || encoding == encodingComplexFloat)
	case dwarf.TagEnumerationType:
		return leaf(false)
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType,
		dwarf.TagSubroutineType, dwarf.TagUnspecifiedType:
		// Compilers leave the size of pointers out where it is that of addresses.
		size = 8
		return leaf(false)
	// To a function: its address and what is added to this (Itanium C++ ABI, section 2.3).
	case dwarf.TagPtrToMemberType:
		size = 8
		if to, ok := e.ref(dwarf.AttrType); ok && to.Tag == dwarf.TagSubroutineType {
			s.Composite = true
			if !leaf(false) {
				return false
			}
			s.Bytes, at = max(s.Bytes, 16), at+8
		}
		return leaf(false)
	case dwarf.TagArrayType:
		return f.shapeArray(s, e, at, depth)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		if e.flag(dwarf.AttrDeclaration) {
			full, ok := f.definition(e)
			if !ok {
				return false
			}
			return full.in.shape(s, full.Offset, at, depth+1)
		}
		whole(true)
		if byAddress(e) {
			s.ByAddress = true // and so is what it is part of
		}
		fine := true
		e.children(func(m entry) bool {
			fine = f.shapeMember(s, m, at, depth)
			return fine
		})
		return fine
	}
	return false
}

// shapeMember adds the leaves of what is a part of a struct: a member, or what
// tells variants apart and those.
func (f *File) shapeMember(s *shaper, m entry, at, depth int) bool {
	switch {
	case m.Tag == tagVariantPart || m.Tag == tagVariant:
		fine := depth < maxDepth
		m.children(func(c entry) bool {
			fine = fine && f.shapeMember(s, c, at, depth+1)
			return fine
		})
		return fine
	case m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance || isStatic(m):
		return true
	}
	in, to, ok := m.refOffset(dwarf.AttrType)
	where, known := memberBit(m, f)
	return ok && known && in.shape(s, to, at+int(where/8), depth+1)
}

// shapeArray adds the leaves of an array, which has few enough elements to matter or none is known.
func (f *File) shapeArray(s *shaper, e entry, at, depth int) bool {
	in, to, ok := e.refOffset(dwarf.AttrType)
	n := int64(1)
	for _, d := range dimensions(e) {
		if d < 0 || d > maxLeaves {
			return false
		}
		n *= d
	}
	if !ok || n > maxLeaves {
		return false
	}
	// The size of an element is that of its type, padding included, which the shape does not
	// tell.
	elem, err := in.typeAt(to)
	if err != nil {
		return false
	}
	size := elem.Size()
	s.Composite, s.Several, s.Bytes = true, s.Several || n > 1, max(s.Bytes, at+int(n)*size)
	for i := range int(n) {
		if !in.shape(s, to, at+i*size, depth+1) {
			return false
		}
	}
	return true
}

// Attributes that the package of the standard library has no name for.
const attrDefaulted = dwarf.Attr(0x8b)

// byAddress reports whether C++ passes objects of a class by their address:
// those with virtual functions, or with a destructor or copy constructor that
// somebody wrote. Some compilers say so.
func byAddress(e entry) bool {
	switch how, _ := e.number(dwarf.AttrCalling); {
	case how == passByAddress || e.Val(dwarf.AttrContainingType) != nil:
		return true
	case how == passByValue:
		return false
	}
	class := e.name()
	if i := strings.IndexByte(class, '<'); i > 0 {
		class = class[:i]
	}
	found := false
	e.children(func(m entry) bool {
		switch m.Tag {
		case dwarf.TagMember:
			found = strings.HasPrefix(m.name(), "_vptr")
		case dwarf.TagInheritance:
			virtual, _ := m.number(dwarf.AttrVirtuality)
			found = virtual != 0
		case dwarf.TagSubprogram:
			how, _ := m.number(attrDefaulted)
			if name := m.name(); how != defaultedInClass && !m.flag(dwarf.AttrArtificial) {
				found = strings.HasPrefix(name, "~") || name == class && class != "" && copies(m, e.Offset)
			}
		}
		return !found
	})
	return found
}

// copies reports whether a constructor takes a reference to its own class.
func copies(constructor entry, class dwarf.Offset) bool {
	params := parameters(constructor)
	if len(params) != 2 { // this, and what is copied
		return false
	}
	to, ok := params[1].ref(dwarf.AttrType)
	if !ok || to.Tag != dwarf.TagReferenceType && to.Tag != dwarf.TagRvalueReferenceType {
		return false
	}
	if to, ok = to.ref(dwarf.AttrType); ok && to.Tag == dwarf.TagConstType {
		to, ok = to.ref(dwarf.AttrType)
	}
	return ok && to.Offset == class
}
