package cdef

// specs are declaration specifiers.
type specs struct {
	typ     *ctype // not nil
	typedef bool
	body    bool // the type is a struct or union as written, not a typedef of one
	attrs   attributes
}

// isBaseWord tells the keywords that base types are made of.
func isBaseWord(w string) bool {
	switch w {
	case "void", "char", "short", "int", "long", "signed", "__signed__", "__signed", "unsigned", "float", "double",
		"_Bool", "_Float16", "_Float32", "_Float64", "_Float128", "__float128", "_Float32x", "_Float64x",
		"__int128", "__int128_t", "__uint128_t", "_Complex", "__complex__", "__builtin_va_list":
		return true
	}
	return false
}

// A base counts the keywords of a base type.
type base struct {
	any                                            bool
	short, long, signed, unsigned, char, complexes int
	last                                           string // the word that says the kind, if any did
}

// specifiers reads what comes before the declarators. Keywords may come in any order: long unsigned
// int long is a type of C.
// Storage classes and qualifiers are read and forgotten: they change no layout.
func (p *parser) specifiers() specs {
	p.enter()
	// Definitions of structs recur through here.
	defer func() { p.nested-- }()
	var s specs
	var b base
	start := p.peek()
	for p.attributes(&s.attrs) || p.qualifier(&s) || p.typeWord(&s, &b) {
	}
	if s.typ == nil {
		if !b.any {
			panic(syntaxError{start, "expected a type, found '" + start.text + "'"})
		}
		s.typ = b.typ(start)
	}
	return s
}

// qualifier takes a word that may stand in front of a type or behind it. Some name the type as well.
func (p *parser) qualifier(s *specs) bool {
	t := p.peek()
	if t.kind != name {
		return false
	}
	switch t.text {
	case "typedef":
		s.typedef = true
		p.take()
	case "extern", "static", "inline", "__inline", "__inline__", "register", "auto", "const",
		"volatile", "restrict",
		"__const", "__const__", "__volatile", "__volatile__", "__restrict__", "_Noreturn", "noreturn",
		"_Thread_local", "__thread", "constexpr":
		p.take()
	case "_Atomic":
		p.take()
		if p.accept("(") {
			if t, ok := p.typeName(); ok {
				s.typ = t
			}
			p.expect(")")
		}
	case "typeof", "__typeof__", "__typeof":
		p.take()
		p.expect("(")
		t, ok := p.typeName()
		if !ok {
			p.unexpected("typeof is supported for types only")
		}
		p.expect(")")
		s.typ = t
	default:
		return false
	}
	return true
}

// typeWord takes a word that is a type, or one of several that are. Where a type is known already
// there is none: what follows is what is declared.
func (p *parser) typeWord(s *specs, b *base) bool {
	t := p.peek()
	switch {
	case t.kind != name || s.typ != nil:
		return false
	case isBaseWord(t.text):
		b.word(p.take())
		return true
	case b.any:
		return false
	}
	switch t.text {
	case "struct", "union":
		p.take()
		s.typ, s.body = p.record(t, &s.attrs), true
		return true
	case "enum":
		p.take()
		s.typ = p.enum(t, &s.attrs)
		return true
	}
	if typ, ok := p.unit.typeNamed(t.text); ok {
		p.take()
		s.typ = typ
		return true
	}
	p.unknownWord(s)
	return true
}

// unknownWord takes a name that stands for nothing known. It is a type, unless a type follows.
func (p *parser) unknownWord(s *specs) {
	next := p.second()
	t := p.take()
	if next.kind == name && (isBaseWord(next.text) || next.text == "struct" ||
		next.text == "union" || next.text == "enum") {
		return
	}
	if !(next.kind == name || next.is("*") || next.is("(") || next.is(";") || next.is(")")) {
		panic(syntaxError{t, "'" + t.text + "' is not known as a type"})
	}
	// It may be defined later, or in the kernel's type information: convert asks again.
	s.typ = &ctype{kind: unknownKind, name: t}
	if t.file != nil && t.file.script {
		p.resolve(s.typ) // in headers nobody may want it
	}
}

// word adds a keyword.
func (b *base) word(t token) {
	b.any = true
	switch t.text {
	case "short":
		b.short++
	case "long":
		b.long++
	case "signed", "__signed__", "__signed":
		b.signed++
	case "unsigned":
		b.unsigned++
	case "int":
	case "char":
		b.char++
	case "_Complex", "__complex__":
		b.complexes++
	default:
		b.last = t.text
	}
}

// typ is the type that the words make.
// int is 4 bytes and long 8. A type that the language has no use for is an array of bytes in
// the end.
func (b *base) typ(at token) *ctype {
	if b.signed > 0 && b.unsigned > 0 || b.short+b.char > 1 || b.long > 2 || b.short > 0 && b.long > 0 {
		panic(syntaxError{at, "these words do not make a type"})
	}
	t := intType(4, b.unsigned == 0)
	switch b.last {
	case "void":
		return voidType
	case "_Bool":
		return boolType
	case "float", "_Float32":
		t = floatType
	case "_Float16":
		return &ctype{kind: floatKind, size: 2, align: 2}
	case "double", "_Float64", "_Float32x":
		t = doubleType
		if b.long > 0 {
			t = quadType
		}
	case "_Float128", "__float128", "_Float64x":
		t = quadType
	case "__int128", "__int128_t", "__uint128_t":
		return int128Type
	case "__builtin_va_list":
		return vaListType
	default:
		switch {
		case b.char > 0 && b.signed+b.unsigned == 0:
			return charType
		case b.char > 0:
			return intType(1, b.unsigned == 0)
		case b.short > 0:
			return intType(2, b.unsigned == 0)
		case b.long > 0:
			return intType(8, b.unsigned == 0)
		}
		return t
	}
	if b.complexes > 0 {
		return &ctype{kind: floatKind, size: 2 * t.size, align: t.align}
	}
	return t
}

// A declarator is a name and what is around it.
// It is the tree of what was written; apply goes over it once the type at its bottom is known.
type declarator struct {
	name     token  // zero if there is none
	pointers []bool // each whether it is marked __user
	inner    *declarator
	suffixes []suffix // in the order of the text
}

// A suffix is an array's length or a function's parameters.
type suffix struct {
	function bool
	len      int // -1: []
	at       token
}

// declared reads a declarator that belongs to specifiers. __user in front of a pointer, char __user
// *p, is about the innermost one.
func (p *parser) declared(s specs) *declarator {
	d := p.declarator()
	if s.attrs.user {
		inner := d
		for inner.inner != nil && len(inner.pointers) == 0 {
			inner = inner.inner
		}
		if len(inner.pointers) > 0 {
			inner.pointers[0] = true
		}
	}
	return d
}

// declarator reads a declarator, abstract or not. C reads from the name outwards, suffixes before
// pointers; parentheses change that and become inner.
// The lengths of arrays are computed at once, since a later enumerator may have the name of an
// earlier macro.
func (p *parser) declarator() *declarator {
	p.enter()
	defer func() { p.nested-- }()
	d := &declarator{}
	attrs := attributes{}
	for {
		if p.attributes(&attrs) {
			if attrs.user && len(d.pointers) > 0 {
				d.pointers[0] = true
			}
			continue
		}
		if p.accept("*") || p.accept("^") {
			if len(d.pointers) > maxNesting {
				p.unexpected("too many levels of pointers")
			}
			d.pointers = append(d.pointers, attrs.user)
			continue
		}
		if p.acceptWord("const", "volatile", "restrict", "__const", "__volatile__", "__restrict__",
			"_Nullable", "_Nonnull", "_Atomic") {
			continue
		}
		break
	}
	switch t := p.peek(); {
	case t.kind == name:
		d.name = p.take()
	case t.is("("):
		// Parentheses around a declarator, int (*f)(int), or parameters of a function without a
		// name, int (int).
		n := p.second()
		if n.is("*") || n.is("^") || n.is("(") || n.is("[") || n.kind == name && !p.isTypeWord(n) {
			p.take()
			d.inner = p.declarator()
			p.expect(")")
			d.name = d.inner.name
		}
	}
	for {
		t := p.peek()
		switch {
		case t.is("[") && !p.second().is("["):
			p.take()
			for p.acceptWord("static", "const", "volatile", "restrict", "__restrict__") {
			}
			s := suffix{len: -1, at: t}
			if !p.peek().is("]") {
				v := p.constant("]")
				if int64(v.v) < 0 && !v.unsigned || v.v > maxSize {
					panic(syntaxError{t, "an array can not have this length"})
				}
				s.len = int(v.v)
			}
			p.expect("]")
			d.suffixes = append(d.suffixes, s)
		case t.is("("):
			p.skipBalanced()
			d.suffixes = append(d.suffixes, suffix{function: true, at: t})
		default:
			return d
		}
		if len(d.suffixes) > maxNesting {
			p.unexpected("too many dimensions")
		}
	}
}

// isTypeWord reports whether a name in parentheses starts parameters and not a
// declarator.
// int (f)(int) and int (size_t) differ in nothing else.
func (p *parser) isTypeWord(t token) bool {
	switch t.text {
	case "struct", "union", "enum", "const", "volatile", "register":
		return true
	case "__attribute__", "__user", "__extension__":
		return false
	}
	if isBaseWord(t.text) {
		return true
	}
	_, ok := p.unit.typeNamed(t.text)
	return ok
}

// apply is the type of what is declared.
// Suffixes apply from the last to the first: int x[2][3] is two arrays of three.
func (d *declarator) apply(p *parser, t *ctype) *ctype {
	for _, user := range d.pointers {
		t = pointerTo(t, user)
	}
	for i := len(d.suffixes) - 1; i >= 0; i-- {
		s := d.suffixes[i]
		if s.function {
			t = funcType
			continue
		}
		t = &ctype{kind: arrayKind, elem: t, len: s.len, depth: t.depth + 1}
		if p.complete(t) {
			p.layoutOf(t) // the size is computed where its parts are known
		}
	}
	if t.depth > maxNesting {
		p.unexpected("the type is nested too deeply")
	}
	if d.inner != nil {
		return d.inner.apply(p, t)
	}
	return t
}
