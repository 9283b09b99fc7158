package cdef

import (
	"github.com/hawktrace/hawk/internal/types"
)

// record reads what follows struct or union. Attributes around the body belong
// to the record, those of the declaration are left alone.
// The name is entered before the body is read, in which a pointer may lead to it.
func (p *parser) record(word token, outer *attributes) *ctype {
	var attrs attributes
	for p.attributes(&attrs) {
	}
	kind := types.StructKind
	if word.text == "union" {
		kind = types.UnionKind
	}
	tag := token{at: word.at, file: word.file}
	if p.peek().kind == name {
		tag = p.take()
	}
	for p.attributes(&attrs) {
	}
	var r *record
	if tag.text == "" {
		if !p.peek().is("{") {
			p.unexpected("expected a tag or '{' after " + word.text)
		}
		r = &record{kind: kind, at: word}
	} else {
		r = p.unit.recordNamed(kind, tag)
	}
	t := &ctype{kind: recordKind, rec: r}
	if !p.peek().is("{") {
		outer.align = max(outer.align, attrs.align)
		return t
	}
	if r.defined && overrides(tag, r.at) {
		r = &record{kind: kind, tag: tag.text}
		p.unit.records[tag.text] = r
		t.rec = r
	}
	if r.defined {
		d := p.errorf("c-redefined", tag, "%s %s is defined twice", word.text, tag.text)
		d.Note(r.at.span(), "the first definition is here")
		r = &record{kind: kind, tag: tag.text} // read and forgotten
	}
	r.at = tag
	if tag.text == "" {
		r.at = word
	}
	r.broken = true
	fields := p.members(kind)
	for p.attributes(&attrs) {
	}
	p.lay(r, fields, attrs)
	r.broken, r.defined = false, true
	return t
}

// A memberDecl is a member before it has a place.
// Bit-fields can only be placed when the one in front has its place, which is why members are
// collected first.
type memberDecl struct {
	name   token
	typ    *ctype
	bits   int // -1: no bit-field
	align  int // 0: that of the type
	packed bool
}

// members reads the body of a struct or union.
func (p *parser) members(kind types.Kind) []memberDecl {
	p.enter()
	defer func() { p.nested-- }()
	p.expect("{")
	var out []memberDecl
	for !p.accept("}") {
		if p.accept(";") {
			continue
		}
		if p.acceptWord("_Static_assert", "static_assert") {
			p.skipBalanced()
			p.expect(";")
			continue
		}
		s := p.specifiers()
		if p.memberEnds() {
			if s.body && s.typ.rec.tag == "" {
				out = append(out, memberDecl{typ: s.typ, bits: -1, align: s.attrs.align, packed: s.attrs.packed})
			}
			continue
		}
		for {
			m := memberDecl{bits: -1}
			t := s.typ
			if !p.peek().is(":") {
				d := p.declared(s)
				m.name, t = d.name, d.apply(p, s.typ)
				if m.name.text == "" {
					p.unexpected("expected the name of a member")
				}
			}
			at := p.peek()
			if p.accept(":") {
				v := p.constant(",", "}", "__attribute__")
				if !t.isInteger() && t.kind != unknownKind && t.kind != foreignKind {
					panic(syntaxError{at, "a bit-field must have an integer type"})
				}
				size, _ := p.layoutOf(t)
				if int64(v.v) < 0 || v.v > uint64(size*8) || v.v == 0 && m.name.text != "" {
					panic(syntaxError{at, "a bit-field can not have this width"})
				}
				m.bits = int(v.v)
			}
			attrs := s.attrs
			for p.attributes(&attrs) {
			}
			m.typ, m.align, m.packed = t, attrs.align, attrs.packed
			if t.kind == funcKind {
				panic(syntaxError{at, "a member can not be a function"})
			}
			out = append(out, m)
			if !p.accept(",") {
				break
			}
		}
		if !p.memberEnds() {
			p.unexpected("expected ';'")
		}
	}
	return out
}

// memberEnds takes the end of a member declaration. Compilers let the last one
// go without ';'.
func (p *parser) memberEnds() bool { return p.accept(";") || p.peek().is("}") }

// lay gives every member its place, by the rules of the System V ABI.
// It is compared with compilers by tests. A member that is larger than its struct would be read
// from what lies behind it.
func (p *parser) lay(r *record, members []memberDecl, attrs attributes) {
	pos := 0 // bits from the start
	r.align = 1
	size := 0 // bytes, of a union
	pack := p.packed()
	for i, m := range members {
		bytes, align := p.memberLayout(m, i == len(members)-1)
		if m.typ.kind == recordKind && m.typ.rec.flex {
			r.flex = true
		}
		packed := attrs.packed || m.packed
		natural := align
		if packed {
			align = 1
		}
		if pack > 0 {
			align = min(align, pack)
		}
		align = max(align, m.align)
		if r.kind == types.UnionKind {
			pos = 0
		}
		f := field{name: m.name.text, typ: m.typ}
		switch {
		case m.bits == 0:
			pos = roundUp(pos, natural*8)
			size = max(size, pos/8)
			if p.unnamedAlign() {
				r.align = max(r.align, align)
			}
			continue
		case m.bits > 0:
			if m.align > 0 {
				pos = roundUp(pos, m.align*8)
			}
			if !packed && (pack == 0 || pack >= natural) && pos/(natural*8) != (pos+m.bits-1)/(natural*8) {
				pos = roundUp(pos, natural*8)
			}
			p.placeBits(&f, pos, m.bits, bytes)
			pos += m.bits
			if f.name == "" && !p.unnamedAlign() {
				align = 1
			}
		default:
			pos = roundUp(pos, align*8)
			f.offset = pos / 8
			pos += bytes * 8
		}
		r.align = max(r.align, align)
		if pos > maxSize*8 {
			panic(syntaxError{r.at, "the type is too large"})
		}
		size = max(size, (pos+7)/8)
		if f.bits == 0 || f.name != "" {
			r.fields = append(r.fields, f)
		}
	}
	r.align = max(r.align, attrs.align)
	r.size = roundUp(size, r.align)
	for i := range r.fields {
		keepInside(&r.fields[i], r.size)
	}
}

// memberLayout is the size and alignment of a member. An array without length
// has no size and must come last; GNU C allows it in unions, too.
// A struct that only the kernel defines is taken from there, so that scripts can embed it.
func (p *parser) memberLayout(m memberDecl, last bool) (size, align int) {
	if m.typ.kind == unknownKind && m.typ.out == nil {
		p.resolve(m.typ)
	}
	if m.typ.kind == recordKind && !m.typ.rec.defined && !p.unit.fromKernel(m.typ) {
		at := m.name
		if at.file == nil {
			at = m.typ.rec.at
		}
		panic(syntaxError{at, "member " + m.name.text + " has the incomplete type " + keyword(m.typ.rec) +
			" " + m.typ.rec.tag})
	}
	if m.typ.kind == voidKind {
		panic(syntaxError{m.name, "member " + m.name.text + " is void"})
	}
	return p.layoutOf(m.typ)
}

// keyword is the word of C for a record. The kernel's types are looked up by it as well.
func keyword(r *record) string {
	if r.kind == types.UnionKind {
		return "union"
	}
	return "struct"
}

// placeBits says where a bit-field lies: in the storage of its declared type.
func (p *parser) placeBits(f *field, pos, bits, width int) {
	f.bits = bits
	f.offset = pos / (width * 8) * width
	f.bitOffset = pos - f.offset*8
}

// keepInside moves a bit-field whose storage reaches beyond the struct, or
// which straddles its storage as those of packed structs may, to the narrowest
// integer that covers it and lies inside.
func keepInside(f *field, size int) {
	if f.bits == 0 {
		return
	}
	width := f.typ.size
	if f.bitOffset+f.bits <= width*8 && f.offset+width <= size {
		return
	}
	pos := f.offset*8 + f.bitOffset
	width = 1
	for width < 8 && pos%8+f.bits > width*8 {
		width *= 2
	}
	f.offset = min(pos/8, max(0, size-width))
	f.bitOffset = pos - f.offset*8
	if f.typ.kind != boolKind || width != 1 {
		f.typ = intType(width, f.typ.signed)
	}
}

// member finds a member of a struct or union, which may be the kernel's, through
// its anonymous members.
// offsetof asks, inside of constant expressions.
func (u *Unit) member(t *ctype, name string) (field, bool) {
	if t.kind == recordKind && t.rec.defined {
		for _, f := range t.rec.fields {
			if f.name == name {
				return f, true
			}
			if f.name == "" {
				if in, ok := u.member(f.typ, name); ok {
					in.offset += f.offset
					return in, true
				}
			}
		}
		return field{}, false
	}
	if t.kind == recordKind {
		u.fromKernel(t)
	}
	if s, ok := t.out.(*types.Struct); ok {
		if f, ok := s.Field(name); ok {
			return field{typ: foreign(f.Type), offset: f.Offset, bits: f.BitSize}, true
		}
	}
	return field{}, false
}

// complete reports whether the size of t is known without asking the kernel.
func (p *parser) complete(t *ctype) bool {
	switch t.kind {
	case arrayKind:
		return p.complete(t.elem)
	case recordKind:
		return t.rec.defined
	case unknownKind:
		return t.out != nil
	}
	return true
}

// layoutOf is the size and alignment of a type; a type that has none is a fault.
// An array's is computed once and kept in it.
func (p *parser) layoutOf(t *ctype) (size, align int) {
	switch t.kind {
	case recordKind:
		if !t.rec.defined {
			if t.out == nil && !p.unit.fromKernel(t) {
				panic(syntaxError{p.peek(), keyword(t.rec) + " " + t.rec.tag + " is not defined"})
			}
			return t.size, t.align
		}
		return t.rec.size, max(t.rec.align, t.align)
	case arrayKind:
		if t.align == 0 {
			size, align := p.layoutOf(t.elem)
			if t.len > 0 && size > maxSize/t.len {
				panic(syntaxError{p.peek(), "the array is too large"})
			}
			t.size, t.align = size*max(t.len, 0), align
		}
	case unknownKind:
		if t.out == nil {
			p.resolve(t)
		}
	}
	return t.size, t.align
}

// resolve finds a name that stood for no type when it was read.
func (p *parser) resolve(t *ctype) {
	found, ok := p.unit.kernelType("", t.name.text)
	if !ok {
		panic(syntaxError{t.name, "unknown type '" + t.name.text + "'"})
	}
	c := foreign(found)
	c.align = max(c.align, t.align)
	at := t.name
	*t = *c
	t.name = at
	if t.out == nil {
		t.out = found
	}
}

// enum reads what follows enum.
// An enum is as wide as its values need, 4 bytes at least, as compilers of Linux have it.
func (p *parser) enum(word token, outer *attributes) *ctype {
	var attrs attributes
	for p.attributes(&attrs) {
	}
	tag := token{}
	if p.peek().kind == name {
		tag = p.take()
	}
	bytes := 0
	if p.accept(":") {
		s := p.specifiers()
		bytes, _ = p.layoutOf(s.typ)
	}
	if !p.peek().is("{") {
		if tag.text == "" {
			p.unexpected("expected a tag or '{' after enum")
		}
		return p.unit.enumNamed(tag)
	}
	p.take()
	e := &types.Enum{Name: tag.text}
	next := num{}
	var lowest, highest num
	for !p.accept("}") {
		id := p.peek()
		if id.kind != name {
			p.unexpected("expected the name of an enumerator")
		}
		p.take()
		for p.attributes(&attributes{}) {
		}
		if p.accept("=") {
			next = p.constant(",", "}")
		}
		e.Values = append(e.Values, types.EnumValue{Name: id.text, Value: int64(next.v)})
		p.unit.addEnumerator(p, id, e, next)
		if int64(next.v) < 0 && !next.unsigned {
			if int64(next.v) < int64(lowest.v) {
				lowest = next
			}
		} else if next.v > highest.v {
			highest = next
		}
		next.v++
		if !p.accept(",") && !p.peek().is("}") {
			p.unexpected("expected ',' or '}' after an enumerator")
		}
	}
	for p.attributes(&attrs) {
	}
	e.Signed = int64(lowest.v) < 0
	switch {
	case bytes >= 1 && bytes <= 8:
		e.Bytes = bytes
	case attrs.packed:
		e.Bytes = enumBytes(lowest, highest, 1)
	default:
		e.Bytes = enumBytes(lowest, highest, 4)
	}
	t := &ctype{kind: enumKind, size: e.Bytes, align: e.Bytes, signed: e.Signed, enum: e, out: e}
	if tag.text != "" {
		p.unit.addEnum(p, tag, t)
	}
	return t
}

// enumBytes is the smallest width, of at least least bytes, that holds both.
func enumBytes(lowest, highest num, least int) int {
	for n := least; n < 8; n *= 2 {
		limit := uint64(1) << (8*n - 1)
		if int64(lowest.v) < 0 {
			if int64(lowest.v) >= -int64(limit) && highest.v < limit {
				return n
			}
		} else if highest.v < 2*limit {
			return n
		}
	}
	return 8
}

// roundUp is the next multiple; to need not be a power of two.
func roundUp(n, to int) int { return (n + to - 1) / to * to }

// unnamedAlign reports whether unnamed bit-fields count for the alignment of
// their struct: the ABIs differ.
func (p *parser) unnamedAlign() bool { return p.opts.Arch == "aarch64" }
