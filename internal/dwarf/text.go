package dwarf

import (
	"debug/dwarf"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// Go's own attribute for what kind a type is, by the numbers of package
// reflect.
const (
	attrGoKind   = dwarf.Attr(0x2900)
	goKindString = 24
)

// textOf tells how the strings of languages refer to their text; nil for other structs. Languages
// have no attribute for this but Go; the others are known by the names of their libraries' types.
func textOf(t *types.Struct, e entry) func() (types.Text, bool) {
	if kind, ok := e.number(attrGoKind); ok {
		if kind != goKindString {
			return nil
		}
		return textAt(t, types.Text{Addr: []string{"str"}, Len: []string{"len"}})
	}
	// Names of templates are cut before their further arguments, which allocators are.
	switch name := e.name(); {
	case name == "&str" || name == "&mut str" || strings.HasPrefix(name, "alloc::boxed::Box<str,"):
		return textAt(t, types.Text{Addr: []string{"data_ptr"}, Len: []string{"length"}})
	case name == "String" && e.plainTypes():
		return textAt(t, types.Text{Addr: []string{"vec", vecPtr}, Len: []string{"vec", vecLen}})
	case strings.HasPrefix(name, "basic_string<char,"): // of libstdc++
		return textAt(t, types.Text{Addr: []string{"_M_dataplus", "_M_p"}, Len: []string{"_M_string_length"}})
	case strings.HasPrefix(name, "basic_string_view<char,"):
		return textAt(t, types.Text{Addr: []string{"_M_str"}, Len: []string{"_M_len"}})
	}
	return nil
}

// textAt is text with an address and a length in members of t, if it has them. It is asked when the
// fields are needed: these are read on demand.
func textAt(t *types.Struct, at types.Text) func() (types.Text, bool) {
	return func() (types.Text, bool) {
		addr, ok1 := member(t, at.Addr)
		length, ok2 := member(t, at.Len)
		if !ok1 || !ok2 {
			return types.Text{}, false
		}
		// A library of another version may have members of these names for something else.
		_, pointer := addr.(*types.Pointer)
		_, integer := types.IsInteger(length)
		return at, pointer && integer
	}
}

// member is the type of a member of a member.
func member(t types.Type, path []string) (types.Type, bool) {
	for _, name := range path {
		s, ok := t.(*types.Struct)
		if !ok {
			return nil, false
		}
		f, ok := s.Field(name)
		if !ok {
			return nil, false
		}
		t = f.Type
	}
	return t, true
}
