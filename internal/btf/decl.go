package btf

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
)

// Bounds of one printed type: its members and parameters, of which a malformed
// blob could describe an exponential number, and how deep those without a name
// are in each other, as text is copied at each level.
const (
	maxParts   = 1 << 12
	maxNesting = 16
)

// A printer writes C text.
type printer struct {
	*Spec
	parts int // written so far
}

// text is a type in C, with typedefs and qualifiers as the source has them:
// "struct file *", "const char *", "size_t".
func (s *printer) text(id uint32) string {
	return strings.TrimRight(s.declare(id, "", 0, 0), " ")
}

// A Decl is a parameter or member in C text.
type Decl struct{ Type, Name string }

// Signature returns the parameters of a function in C text and its result,
// "void" if it has none.
func (s *Spec) Signature(funcID uint32) (params []Decl, result string, err error) {
	defer runtime.KeepAlive(s)
	r, err := s.record(funcID)
	if err != nil {
		return nil, "", err
	}
	if r.kind == Func {
		if r, err = s.record(r.arg); err != nil {
			return nil, "", err
		}
	}
	if r.kind != FuncProto {
		return nil, "", fmt.Errorf("BTF of %s: type %d is no function", s.Name, funcID)
	}
	p := printer{Spec: s}
	for b := r.tail; len(b) >= 8; b = b[8:] {
		name, typ := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if name == 0 && typ == 0 {
			params = append(params, Decl{Type: "..."})
			break
		}
		params = append(params, Decl{p.text(typ), string(s.str(name))})
	}
	return params, p.text(r.arg), nil
}

// Definition is the C definition of a struct, union or enum, ending with
// "};\n".
func (s *Spec) Definition(id uint32) (string, error) {
	defer runtime.KeepAlive(s)
	r, err := s.record(id)
	if err != nil {
		return "", err
	}
	switch r.kind {
	case Struct, Union, Enum, Enum64:
		p := printer{Spec: s}
		return p.body(&r, 0, 0) + ";\n", nil
	case Fwd:
		return s.keyword(&r) + ";\n", nil
	case Typedef:
		p := printer{Spec: s}
		return "typedef " + p.declare(r.arg, string(s.str(r.name)), 0, 0) + ";\n", nil
	}
	return "", fmt.Errorf("BTF of %s: type %d has no definition", s.Name, id)
}

// keyword is "struct tag" without a body.
func (s *Spec) keyword(r *record) string {
	word := map[Kind]string{Struct: "struct", Union: "union", Enum: "enum", Enum64: "enum", Fwd: "struct"}[r.kind]
	if r.kind == Fwd && r.flag {
		word = "union"
	}
	if name := s.str(r.name); len(name) > 0 {
		return word + " " + string(name)
	}
	return word
}

// body is a struct, union or enum with its braces, indented by tabs.
func (s *printer) body(r *record, indent, depth int) string {
	var b strings.Builder
	b.WriteString(s.keyword(r))
	b.WriteString(" {\n")
	tabs := strings.Repeat("\t", indent+1)
	if r.kind == Enum || r.kind == Enum64 {
		each := int(tail[r.kind].each)
		for e := r.tail; len(e) >= each; e = e[each:] {
			fmt.Fprintf(&b, "%s%s = ", tabs, s.str(binary.LittleEndian.Uint32(e)))
			if v := enumValue(r, e); r.flag {
				fmt.Fprintf(&b, "%d,\n", v)
			} else {
				fmt.Fprintf(&b, "%d,\n", uint64(v))
			}
		}
	} else {
		for _, m := range s.members(r) {
			if s.parts++; s.parts > maxParts {
				break
			}
			b.WriteString(tabs)
			b.WriteString(strings.TrimRight(s.declare(m.typ, string(s.str(m.name)), indent+1, depth+1), " "))
			if m.bits != 0 {
				fmt.Fprintf(&b, ": %d", m.bits)
			}
			b.WriteString(";\n")
		}
	}
	b.WriteString(strings.Repeat("\t", indent))
	b.WriteString("}")
	return b.String()
}

// declare writes a declaration of name, inside out: pointers and arrays wrap
// the declarator, the base type comes first. Anonymous structs are written
// with their bodies. Spaces are where the kernel's own dumper (libbpf) has them.
func (s *printer) declare(id uint32, name string, indent, depth int) string {
	quals := "" // qualifiers of what is declared so far
	for range maxDepth {
		r, err := s.record(id)
		if err != nil || depth > maxNesting {
			return "? " + name
		}
		switch r.kind {
		case Volatile:
			quals = "volatile " + quals
			id = r.arg
			continue
		case Const:
			quals = "const " + quals
			id = r.arg
			continue
		case Restrict:
			quals = "restrict " + quals
			id = r.arg
			continue
		case TypeTag:
			id = r.arg
			continue
		case Ptr:
			if quals != "" || strings.HasPrefix(name, "(") {
				name = " " + quals + name
			}
			name = "*" + name
			quals = ""
			id = r.arg
			continue
		case Array:
			if strings.HasPrefix(name, "*") {
				name = "(" + name + ")"
			}
			name += fmt.Sprintf("[%d]", binary.LittleEndian.Uint32(r.tail[8:]))
			id = binary.LittleEndian.Uint32(r.tail)
			continue
		case FuncProto:
			if strings.HasPrefix(name, "*") {
				name = "(" + name + ")"
			}
			name += s.params(&r, depth+1)
			id = r.arg
			continue
		}
		return quals + s.baseText(&r, indent, depth) + " " + name
	}
	return "? " + name
}

// baseText is the part of a declaration in front of the declarator.
func (s *printer) baseText(r *record, indent, depth int) string {
	switch r.kind {
	case Void:
		return "void"
	case Struct, Union, Enum, Enum64:
		if r.name == 0 {
			return s.body(r, indent, depth)
		}
		return s.keyword(r)
	case Fwd:
		return s.keyword(r)
	}
	return string(s.str(r.name))
}

// params writes the parameters of a function. A parameter without name and type stands for more.
func (s *printer) params(r *record, depth int) string {
	var parts []string
	for b := r.tail; len(b) >= 8; b = b[8:] {
		name, typ := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if name == 0 && typ == 0 {
			parts = append(parts, "...")
			break
		}
		if s.parts++; s.parts > maxParts {
			break
		}
		parts = append(parts, strings.TrimRight(s.declare(typ, string(s.str(name)), 0, depth), " "))
	}
	if parts == nil {
		return "(void)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
