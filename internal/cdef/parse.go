package cdef

// A parser reads declarations.
// It looks two tokens ahead at most. Tokens come from the preprocessor one by one, since
// typedefs change how the next ones read.
type parser struct {
	*preprocessor
	unit *Unit
	cur  token
	have bool
	more []token // tokens after cur that were looked at
	// brackets is the number of open braces and parentheses.
	brackets int
	nested   int
	closed   bool // nothing comes after more
}

// peek is the current token.
func (p *parser) peek() token {
	if !p.have {
		if len(p.more) > 0 {
			p.cur, p.more = p.more[0], p.more[1:]
		} else if p.closed {
			p.cur = token{kind: eof}
		} else {
			p.cur = p.preprocessor.next()
		}
		p.have = true
	}
	return p.cur
}

// second is the token after the current one.
// The token is read by then: a directive behind it has been obeyed.
func (p *parser) second() token {
	p.peek()
	if len(p.more) == 0 {
		if p.closed {
			return token{kind: eof}
		}
		p.more = append(p.more, p.preprocessor.next())
	}
	return p.more[0]
}

// take consumes the current token.
// Brackets are counted here, for whoever has to find the end of what cannot be read.
func (p *parser) take() token {
	t := p.peek()
	if t.kind == punct {
		switch t.text {
		case "{", "(", "[":
			p.brackets++
		case "}", ")", "]":
			p.brackets--
		}
	}
	p.have = false
	return t
}

// accept consumes a token of some text, if it is next.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.take()
		return true
	}
	return false
}

// acceptWord consumes one of some keywords, if it is next.
func (p *parser) acceptWord(words ...string) bool {
	t := p.peek()
	for _, w := range words {
		if t.kind == name && t.text == w {
			p.take()
			return true
		}
	}
	return false
}

// expect consumes a token of some text, or gives up the declaration.
func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.unexpected("expected '" + text + "'")
	}
}

// unexpected gives up the declaration.
func (p *parser) unexpected(msg string) {
	t := p.peek()
	switch t.kind {
	case eof, end:
		msg += " before the end"
	default:
		msg += ", found '" + t.text + "'"
	}
	panic(syntaxError{t, msg})
}

// enter counts a level of nesting: hostile text must end in a message and not in the stack's end.
func (p *parser) enter() {
	if p.nested++; p.nested > maxNesting {
		panic(syntaxError{p.peek(), "the declaration is nested too deeply"})
	}
}

// declarations reads everything there is.
// It returns at the end of a piece as well, whose token it takes.
func (p *parser) declarations() {
	for {
		switch t := p.peek(); {
		case t.kind == eof:
			return
		case t.kind == end || t.is(";"):
			p.take()
		default:
			p.guarded(t)
		}
	}
}

// guarded reads a declaration, or skips it after a fault.
// One declaration that cannot be read costs that declaration: headers use extensions of
// compilers that nobody has heard of.
func (p *parser) guarded(start token) {
	p.brackets, p.nested = 0, 0
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		e, ok := r.(syntaxError)
		if !ok {
			panic(r)
		}
		if e.at.file == nil {
			e.at = start
		}
		if e.at.file != nil && !e.at.file.script {
			// A header of the system is nothing that the user could cure.
			p.ds.Warnf("c-skipped", e.at.span(), "A declaration is left out that can not be read: %s", e.msg)
		} else {
			p.errorf("c-syntax", e.at, "C: %s", e.msg)
		}
		p.skipDeclaration()
	}()
	p.external()
}

// skipDeclaration moves to the end of the declaration.
// The body of a function ends a declaration without a semicolon, that of a struct does not.
func (p *parser) skipDeclaration() {
	for {
		t := p.peek()
		switch {
		case t.kind == eof || t.kind == end:
			return
		case p.brackets <= 0 && t.is(";"):
			p.take()
			return
		}
		p.take()
		if p.brackets > 0 || !t.is("}") {
			continue
		}
		// Attributes or a declarator follow the body of a type.
		if next := p.peek(); next.text == "__attribute__" ||
			next.kind == name && (p.second().is(";") || p.second().is(",")) {
			continue
		}
		p.accept(";")
		return
	}
}

// skipBalanced skips from an opening bracket to the one that closes it.
func (p *parser) skipBalanced() {
	outside := p.brackets
	for {
		t := p.take()
		if t.kind == eof || t.kind == end {
			panic(syntaxError{t, "a bracket is not closed"})
		}
		if p.brackets <= outside {
			return
		}
	}
}

// external reads one declaration outside of all others.
// Typedefs are kept, and structs and enums by whoever reads them; variables and functions are
// not.
func (p *parser) external() {
	if p.acceptWord("asm", "__asm__", "__asm", "_Static_assert", "static_assert") {
		for p.acceptWord("volatile", "__volatile__", "goto") {
		}
		if p.peek().is("(") {
			p.skipBalanced()
		}
		return
	}
	s := p.specifiers()
	if p.accept(";") {
		return
	}
	if p.peek().kind == end && s.typ != nil {
		return // the ';' after a definition may be left out
	}
	for {
		d := p.declared(s)
		attrs := s.attrs
		for p.attributes(&attrs) {
		}
		t := d.apply(p, s.typ)
		if p.peek().is("{") {
			p.skipBalanced() // a function's body
			return
		}
		if s.typedef && d.name.text != "" {
			p.unit.typedefs[d.name.text] = &typedef{p.attributed(t, attrs), d.name}
		}
		if p.accept("=") {
			p.skipInitializer()
		}
		if p.accept(",") {
			continue
		}
		if p.peek().kind == name && !s.typedef {
			// The parameters of a function in the oldest style, or a macro of
			// a header that is not there.
			p.skipDeclaration()
			return
		}
		p.expect(";")
		return
	}
}

// skipInitializer skips the value of a variable, up to the comma or semicolon behind it.
func (p *parser) skipInitializer() {
	for {
		t := p.peek()
		switch {
		case t.is(",") || t.is(";") || t.kind == eof || t.kind == end:
			return
		case t.is("{") || t.is("(") || t.is("["):
			p.skipBalanced()
		default:
			p.take()
		}
	}
}

// attributes are those that matter for the layout.
type attributes struct {
	packed bool
	align  int // 0: not given
	user   bool
	mode   string
}

// attributed is t with the alignment of a typedef's attributes.
// mode is how the C library's headers write integers of exact width for compilers of old.
func (p *parser) attributed(t *ctype, a attributes) *ctype {
	if a.mode != "" && t.kind == intKind {
		if n := map[string]int{"QI": 1, "HI": 2, "SI": 4, "DI": 8, "word": 8, "pointer": 8}[a.mode]; n > 0 {
			t = intType(n, t.signed)
		}
	}
	if a.align == 0 || t.kind == unknownKind {
		return t
	}
	c := *t
	if t.kind == recordKind && t.rec.defined {
		c.size = t.rec.size
	}
	c.align = a.align
	return &c
}

// attributes reads one attribute, if there is one.
// Sparse marks such as __rcu are macros in the kernel, defined in a header that a script seldom
// includes.
func (p *parser) attributes(a *attributes) bool {
	t := p.peek()
	if t.is("[") && p.second().is("[") {
		p.skipBalanced()
		return true
	}
	if t.kind != name {
		return false
	}
	switch t.text {
	case "__attribute__", "__attribute":
		p.take()
		p.expect("(")
		p.expect("(")
		for !p.peek().is(")") {
			if !p.accept(",") {
				p.attribute(a)
			}
		}
		p.expect(")")
		p.expect(")")
	case "_Alignas", "alignas":
		p.take()
		p.expect("(")
		if t, ok := p.typeName(); ok {
			_, align := p.layoutOf(t)
			a.align = max(a.align, align)
		} else {
			a.align = max(a.align, p.alignment(p.constant(")")))
		}
		p.expect(")")
	case "asm", "__asm__", "__asm":
		p.take()
		if p.peek().is("(") {
			p.skipBalanced()
		}
	case "__user":
		p.take()
		a.user = true
	case "__extension__", "__rcu", "__percpu", "__iomem", "__force", "__kernel", "__bitwise", "__restrict",
		"__randomize_layout", "__no_randomize_layout", "____cacheline_aligned", "____cacheline_aligned_in_smp":
		p.take()
	default:
		return false
	}
	return true
}

// attribute reads one of a list.
// An attribute that would change the layout in a way that is not known here is an error rather
// than a wrong offset.
func (p *parser) attribute(a *attributes) {
	t := p.take()
	if t.kind != name {
		panic(syntaxError{t, "expected the name of an attribute"})
	}
	switch trimUnderscores(t.text) {
	case "packed":
		a.packed = true
	case "aligned":
		n := 16 // the largest alignment any type needs
		if p.accept("(") {
			n = p.alignment(p.constant(")"))
			p.expect(")")
		}
		a.align = max(a.align, n)
		return
	case "mode":
		if p.accept("(") {
			a.mode = trimUnderscores(p.take().text)
			p.expect(")")
		}
		return
	case "vector_size", "ms_struct":
		panic(syntaxError{t, "attribute " + t.text + " is not supported"})
	}
	if p.peek().is("(") {
		p.skipBalanced()
	}
}

// alignment checks what aligned and _Alignas are given, in bytes. Compilers take no more than 1
// << 16 either.
func (p *parser) alignment(v num) int {
	if v.v == 0 || v.v > 1<<16 || v.v&(v.v-1) != 0 {
		panic(syntaxError{p.peek(), "an alignment must be a power of two"})
	}
	return int(v.v)
}

// trimUnderscores makes one of the two spellings of an attribute, packed and __packed__.
func trimUnderscores(s string) string {
	if len(s) > 4 && s[:2] == "__" && s[len(s)-2:] == "__" {
		return s[2 : len(s)-2]
	}
	return s
}

// constant evaluates a constant expression up to one of the tokens, at the same
// depth of brackets.
func (p *parser) constant(stops ...string) num {
	outside := p.brackets
	var list []token
	for {
		t := p.peek()
		if t.kind == eof || t.kind == end || t.is(";") {
			break
		}
		if p.brackets == outside {
			stop := false
			for _, s := range stops {
				stop = stop || t.text == s && t.kind != str
			}
			if stop {
				break
			}
		}
		list = append(list, p.take())
	}
	if len(list) == 0 {
		p.unexpected("expected a constant expression")
	}
	return p.evaluate(list)
}

// evaluate computes a constant expression in which types may be named.
// A second parser reads types, from the list: the first one is behind it already.
func (p *parser) evaluate(list []token) num {
	e := &evaluator{list: list, last: list[0]}
	inner := &parser{preprocessor: p.preprocessor, unit: p.unit, nested: p.nested, closed: true}
	// types reads with the parser from what is left of the list.
	types := func(read func() (*ctype, bool)) (*ctype, bool) {
		inner.more, inner.have = e.list, false
		t, ok := read()
		if !ok {
			return nil, false
		}
		left := len(inner.more)
		if inner.have && inner.cur.kind != eof {
			left++
		}
		e.list = e.list[len(e.list)-left:]
		return t, true
	}
	e.typeName = func() (*ctype, bool) { return types(inner.typeName) }
	e.word = func(t token) (num, bool) {
		switch t.text {
		case "sizeof", "_Alignof", "__alignof__", "alignof":
			if !e.accept("(") {
				return num{}, false
			}
			typ, ok := e.typeName()
			if !ok {
				if e.peek().kind == str && len(e.list) > 1 && e.list[1].is(")") {
					s := e.take()
					e.expect(")")
					return num{v: uint64(len(s.text) - 1), unsigned: true}, true
				}
				return num{}, false
			}
			e.expect(")")
			size, align := p.layoutOf(typ)
			if t.text == "sizeof" {
				return num{v: uint64(size), unsigned: true}, true
			}
			return num{v: uint64(align), unsigned: true}, true
		case "__builtin_offsetof", "offsetof":
			return p.offsetOf(e)
		}
		return p.unit.constantNamed(t.text)
	}
	return e.all()
}

// offsetOf is offsetof(type, member.member).
func (p *parser) offsetOf(e *evaluator) (num, bool) {
	if !e.accept("(") {
		return num{}, false
	}
	t, ok := e.typeName()
	if !ok {
		return num{}, false
	}
	e.expect(",")
	offset := 0
	for {
		member := e.take()
		f, ok := p.unit.member(t, member.text)
		if !ok || f.bits != 0 {
			e.fail(member, "there is no member "+member.text)
		}
		offset += f.offset
		if !e.accept(".") {
			break
		}
		t = f.typ
	}
	e.expect(")")
	return num{v: uint64(offset), unsigned: true}, true
}

// typeName reads a type without a name being declared; ok is false if no type
// comes, and then nothing has been read.
func (p *parser) typeName() (*ctype, bool) {
	if !p.atType() {
		return nil, false
	}
	s := p.specifiers()
	d := p.declared(s)
	if d.name.text != "" {
		panic(syntaxError{d.name, "expected a type"})
	}
	return d.apply(p, s.typ), true
}

// atType reports whether the current token starts a type.
// An enumerator hides a type of the kernel that has its name, as everything in the C text does.
func (p *parser) atType() bool {
	t := p.peek()
	if t.kind != name {
		return false
	}
	switch t.text {
	case "struct", "union", "enum", "const", "volatile", "__const", "typeof", "__typeof__", "__typeof":
		return true
	}
	if isBaseWord(t.text) {
		return true
	}
	if _, isConst := p.unit.enumerators[t.text]; isConst {
		return false
	}
	_, ok := p.unit.typeNamed(t.text)
	return ok
}
