package dwarf

import (
	"debug/dwarf"
	"strconv"
	"strings"
)

// maxText bounds what is written of a function type.
const maxText = 1 << 12 // bytes of a list of parameters

// declare is the declaration of a name with the type at an offset: "struct pt*
// p".
func (f *File) declare(off dwarf.Offset, name string) string {
	f.steps = 0
	base, suffix := f.text(off, 0)
	switch {
	case name == "":
		return base + suffix
	case strings.HasSuffix(base, "(*"): // a pointer to a function or array
		return base + name + suffix
	}
	return base + " " + name + suffix
}

// text is how a type is written, in front of a name and behind it. It is C's order: an array or
// function stands behind the name, and a pointer to one needs parentheses around it, which is why
// text in front can end in "(*".
func (f *File) text(off dwarf.Offset, depth int) (before, after string) {
	e, err := f.at(off)
	if f.steps++; err != nil || depth > maxDepth || f.steps > maxSteps {
		return "?", ""
	}
	inner := func() (string, string) {
		in, to, ok := e.refOffset(dwarf.AttrType)
		if !ok {
			return "void", ""
		}
		return in.text(to, depth+1)
	}
	name := e.name()
	// Compilers of Go and Rust give every type its name as the source has it: []int, &str.
	if name != "" && e.plainTypes() {
		return name, ""
	}
	switch e.Tag {
	case dwarf.TagStructType:
		return tagged("struct", name), ""
	case dwarf.TagClassType:
		return tagged("class", name), ""
	case dwarf.TagUnionType:
		return tagged("union", name), ""
	case dwarf.TagEnumerationType:
		return tagged("enum", name), ""
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		// The type that a pointer leads to decides whether it needs parentheses.
		star := map[dwarf.Tag]string{dwarf.TagPointerType: "*", dwarf.TagReferenceType: "&",
			dwarf.TagRvalueReferenceType: "&&"}[e.Tag]
		before, after = inner()
		switch {
		case after == "":
			return before + star, ""
		case strings.HasSuffix(before, "(*"):
			return before + star, after
		}
		return before + " (" + star, ")" + after
	case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType:
		word := map[dwarf.Tag]string{dwarf.TagConstType: "const", dwarf.TagVolatileType: "volatile",
			dwarf.TagRestrictType: "restrict"}[e.Tag]
		before, after = inner()
		if strings.HasSuffix(before, "*") || strings.HasSuffix(before, "&") {
			return before + " " + word, after
		}
		return word + " " + before, after
	case dwarf.TagArrayType:
		before, after = inner()
		for _, n := range dimensions(e) {
			if n < 0 {
				after += "[]"
			} else {
				after += "[" + strconv.FormatInt(n, 10) + "]"
			}
		}
		return before, after
	case dwarf.TagSubroutineType:
		before, after = inner()
		return before, "(" + f.parameters(e, depth) + ")" + after
	}
	if name == "" {
		return inner()
	}
	return name, ""
}

// tagged is a type with a keyword.
func tagged(word, name string) string {
	if name == "" {
		return word
	}
	return word + " " + name
}

// parameters are the types of a function type's parameters.
func (f *File) parameters(e entry, depth int) string {
	var list []string
	size := 0
	e.children(func(c entry) bool {
		switch c.Tag {
		case dwarf.TagFormalParameter:
			if in, to, ok := c.refOffset(dwarf.AttrType); ok {
				before, after := in.text(to, depth+1)
				list = append(list, before+after)
				size += len(before) + len(after)
			}
		case dwarf.TagUnspecifiedParameters:
			list = append(list, "...")
		}
		return size < maxText
	})
	if len(list) == 0 {
		return "void"
	}
	return strings.Join(list, ", ")
}
