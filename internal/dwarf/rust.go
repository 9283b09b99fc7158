package dwarf

import (
	"debug/dwarf"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// Tags that the package of the standard library has no names for.
const (
	tagVariantPart = dwarf.Tag(0x33)
	tagVariant     = dwarf.Tag(0x19)
	tagTypeParam   = dwarf.Tag(0x2f)
)

// variantTag is the field that tells which variant of a Rust enum a value is.
const variantTag = "tag"

// variants are the fields of a Rust enum with data: what tells the variants apart and each variant,
// a struct with the fields __0, __1, … or those that have names. They share their bytes. Scripts
// read the field of the variant that the tag says; hawk does not stop them from reading another.
func (f *File) variants(part entry, size int) []types.Field {
	var out []types.Field
	add := func(m entry, name string) {
		t, err := m.target()
		bit, ok := memberBit(m, f)
		if err == nil && ok && bit >= 0 && int(bit/8)+t.Size() <= size {
			out = append(out, types.Field{Name: name, Type: t, Offset: int(bit / 8)})
		}
	}
	part.children(func(c entry) bool {
		switch c.Tag {
		case dwarf.TagMember:
			add(c, variantTag)
		case tagVariant:
			c.children(func(m entry) bool {
				if m.Tag == dwarf.TagMember && m.name() != "" {
					add(m, m.name())
				}
				return false
			})
		}
		return len(out) < maxMembers
	})
	return out
}

// optimized reports whether a function may have been compiled so that its
// arguments follow no convention: some left out, or what they point to in their
// place. Without optimisation all that are not passed by their address are kept on
// the stack, in one place.
func optimized(fn entry) bool {
	const opFbreg, opBreg0, opBreg31 = 0x91, 0x70, 0x8f
	declared := 0
	fn.whole(func(e entry) bool {
		declared = max(declared, len(parameters(e)))
		return true
	})
	own := parameters(fn)
	kept := 0
	for _, p := range own {
		where, _ := p.Val(dwarf.AttrLocation).([]byte)
		// A place relative to the frame is one on the stack.
		if len(where) > 0 && (where[0] == opFbreg || where[0] >= opBreg0 && where[0] <= opBreg31) {
			kept++
			continue
		}
		if in, off, ok := p.refOffset(dwarf.AttrType); ok {
			if shape := in.shapeAt(off); shape.Bytes > 0 && (!shape.Composite || shape.Bytes <= 8) {
				return true
			}
		}
	}
	return len(own) < declared || kept == 0 && declared > 0
}

// The fields that a Vec of Rust has for scripts, whatever its library's version
// calls them and however deep they lie.
const (
	vecPtr = "ptr"
	vecCap = "cap"
	vecLen = "len"
)

// vec are the fields of a struct if that is a Vec of Rust.
func vec(e entry, fields []types.Field) ([]types.Field, bool) {
	if !strings.HasPrefix(e.name(), "Vec<") || !e.plainTypes() {
		return nil, false
	}
	var elem types.Type = types.Void
	e.children(func(c entry) bool {
		if c.Tag != tagTypeParam || c.name() != "T" {
			return true
		}
		if t, err := c.target(); err == nil {
			elem = t
		}
		return false
	})
	whole := types.NewStruct(types.StructKind, "", 0, 8, fields)
	ptr, ok1 := within(whole, 0, func(f types.Field) bool { _, ok := f.Type.(*types.Pointer); return ok })
	capacity, ok2 := within(whole, 0, func(f types.Field) bool { return f.Name == vecCap })
	length, ok3 := whole.Field(vecLen)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	return []types.Field{
		{Name: vecPtr, Type: &types.Pointer{Elem: elem, Space: types.User}, Offset: ptr},
		{Name: vecCap, Type: types.Uint64, Offset: capacity},
		length,
	}, true
}

// within finds the offset of a field of a struct, or of one of its fields. The library wraps the
// pointer in Unique, NonNull and RawVec, differently in each version.
func within(s *types.Struct, depth int, is func(types.Field) bool) (int, bool) {
	const deepest = 8 // five in the library of 2025
	if depth > deepest {
		return 0, false
	}
	for _, f := range s.Fields() {
		if is(f) {
			return f.Offset, true
		}
		if inner, ok := f.Type.(*types.Struct); ok {
			if at, ok := within(inner, depth+1, is); ok {
				return f.Offset + at, true
			}
		}
	}
	return 0, false
}
