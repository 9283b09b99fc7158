package syntax

import "strings"

// section says how far the file's fixed order has come.
type section uint8

const (
	definitions section = iota // C definitions
	settings                   // config and imports
	items                      // macros, subprograms, maps
	probes
)

// script reads the items of a file. One that is faulty is skipped, so that mistakes in several are
// reported in one go.
// Items are told apart by their first word, at positions where no lexeme has been looked at.
func (p *parser) script(s *Script) {
	if start := p.rawPos(); strings.HasPrefix(p.scan.text[start:], "#!") {
		end := lineEnd(p.scan.text, start)
		s.Shebang = strings.TrimRight(p.scan.text[start:end], "\r")
		p.rawAt(end)
	}
	sec, configured := definitions, false
	for p.rawPos() < len(p.scan.text) {
		var item Item
		if p.recovering(func() { item = p.item() }) {
			p.skipItem()
			continue
		}
		if p.inOrder(item, &sec, &configured) {
			s.Items = append(s.Items, item)
		}
	}
	if span, ok := p.openComment(); ok && !p.diags.HasErrors() {
		p.diags.Warnf("unterminated-comment", span, "unterminated block comment")
	}
}

// inOrder checks the position of a well-formed item and reports whether it is
// to be kept.
// An item out of order is left out with an error, and what follows it is looked at all the
// same.
func (p *parser) inOrder(item Item, sec *section, configured *bool) bool {
	head := item.Span()
	switch item.(type) {
	case *CDef:
		switch *sec {
		// The reference accepts these only in front; a warning keeps old scripts running.
		case settings, items:
			p.diags.Warnf("late-definition", head, "C definitions should come first in the script")
		case probes:
			p.errorf("out-of-order", head, "C definitions must come before the first probe").
				Advise(lateLine(head.Text()))
			return false
		}
	case *Config:
		head.End = head.Start + len("config")
		switch {
		case *configured:
			p.errorf("duplicate-config", head, "duplicate config block")
			return false
		case *sec > settings:
			p.errorf("out-of-order", head, "config must appear before probes and functions")
			return false
		}
		*configured = true
		*sec = settings
	case *Import:
		if *sec > settings {
			p.errorf("out-of-order", head, "imports must appear before probes and functions")
			return false
		}
		*sec = settings
	case *Probe:
		*sec = probes
	default:
		*sec = max(*sec, items)
	}
	return true
}

// skipItem moves past what could not be parsed: a braced group or a ';'. It
// always makes progress.
// Strings and comments are skipped as lexemes, so that braces inside of them do not count.
func (p *parser) skipItem() {
	for depth := 0; ; p.skip() {
		switch p.at() {
		case EOF:
			p.rawAt(len(p.scan.text))
			return
		case LBrace:
			depth++
			continue
		case RBrace:
			depth--
		case Semicolon:
		default:
			continue
		}
		if depth <= 0 {
			p.skip()
			return
		}
	}
}

// beginsItem reports whether text that stands first would not be taken for an
// attach point, but for the start of a definition or declaration.
// A probe may have a provider called config one day: only the formatter needs to know the
// difference.
func beginsItem(text string) bool {
	n := 0
	for n < len(text) && isNamePart(text[n]) {
		n++
	}
	switch text[:n] {
	case "struct", "union", "enum":
		return true
	case "typedef", "config", "import", "macro", "fn", "let":
		return n == len(text) || !continuesAttachPoint(text[n])
	}
	return false
}

// continuesAttachPoint reports whether a word in front of b is the start of an
// attach point, whatever it is otherwise.
func continuesAttachPoint(b byte) bool { return strings.IndexByte(":*?[.-+$", b) >= 0 }

// item reads one top-level construct.
func (p *parser) item() Item {
	start := p.rawPos()
	text := p.scan.text[start:]
	if text[0] == '#' {
		return p.preprocessor(start)
	}
	n := 0
	for n < len(text) && isNamePart(text[n]) {
		n++
	}
	switch word := text[:n]; word {
	case "struct", "union", "enum":
		if open := definitionBody(p.scan.text, start+n); open >= 0 {
			return p.definition(start, open)
		}
	case "typedef", "config", "import", "macro", "fn", "let":
		if n < len(text) && continuesAttachPoint(text[n]) {
			break
		}
		if word == "typedef" {
			return p.typedef(start)
		}
		p.advance()
		switch word {
		case "config":
			return p.config(start)
		case "import":
			return p.importPath(start)
		case "macro":
			return p.macro(start)
		case "fn":
			return p.subprog(start)
		}
		return p.mapDecl(start)
	}
	return p.probe(start)
}

// config reads the block of settings. A faulty setting is skipped like an item.
// A name is not checked here: package config knows them.
func (p *parser) config(start int) Item {
	c := &Config{}
	form := func() string { return "settings are written config = { name = value; name = value }" }
	p.expectOr(Assign, form)
	p.expectOr(LBrace, form)
	for p.at() != RBrace {
		failed := p.recovering(func() {
			c.Settings = append(c.Settings, p.setting())
			if p.at() != RBrace {
				p.expectOr(Semicolon, form)
			}
		})
		if failed {
			p.skipSetting()
		}
		if p.at() == EOF && failed {
			panic(stop{}) // what is wrong was said
		}
		if p.at() == EOF {
			p.failWith(form(), "syntax", p.here(), "expected '}'")
		}
	}
	p.advance()
	c.Pos = p.since(start)
	return c
}

// skipSetting moves past the next ';' of a config block, or up to its end.
func (p *parser) skipSetting() {
	for p.at() != RBrace && p.at() != EOF {
		end := p.at() == Semicolon
		if p.skip(); end {
			return
		}
	}
}

// setting reads name = value. A word is a value, too: missing_probes = warn.
func (p *parser) setting() *Setting {
	key := p.ident()
	p.expectOr(Assign, func() string { return "a setting is written name = value" })
	s := &Setting{Key: key}
	switch p.at() {
	case String:
		s.Value = p.stringLit()
	case Integer:
		s.Value = p.intLit()
	case Name:
		id := p.ident()
		s.Value = id
		if id.Name == "true" || id.Name == "false" {
			s.Value = &BoolLit{id.Pos, id.Name == "true"}
		}
	default:
		p.fail("syntax", p.here(), "expected a string, an integer, true, false or a word")
	}
	s.Pos = p.since(key.At.Start)
	return s
}

// importPath reads the rest of an import up to and including the path's ';',
// which is not part of the node.
func (p *parser) importPath(start int) *Import {
	if p.at() != String {
		p.failWith("write import \"path\";", "syntax", p.here(), "expected a string after import")
	}
	i := &Import{Path: p.stringLit()}
	i.Pos = p.since(start)
	p.expectOr(Semicolon, func() string { return "write import \"path\";" })
	return i
}

// macro reads a macro without its keyword. Parameters are names by which the body calls what it is
// given: $x, @m or x.
func (p *parser) macro(start int) Item {
	m := &Macro{Name: p.ident()}
	if p.accept(LParen) {
		for p.at() != RParen {
			m.Params = append(m.Params, p.macroParam())
			if p.at() != RParen {
				p.expect(Comma)
				if p.at() == RParen {
					p.fail("syntax", p.here(), "expected a parameter")
				}
			}
		}
		p.advance()
	}
	m.Body = p.block()
	m.Pos = p.since(start)
	return m
}

// macroParam reads a parameter of a macro.
func (p *parser) macroParam() Expr {
	switch l := p.cur(); l.Token {
	case VarName:
		return p.variable()
	case MapName:
		return p.mapName()
	case Name:
		if IsParserBuiltin(l.Str) {
			p.errorf("builtin-parameter", p.here(), "builtin '%s' cannot be a macro parameter", l.Str)
		}
		return p.ident()
	}
	p.fail("syntax", p.here(), "expected a parameter")
	return nil
}

// subprog reads a function without its keyword: fn name($x: type): type { … }.
func (p *parser) subprog(start int) Item {
	f := &Subprog{Name: p.ident()}
	form := func() string {
		return "a function is written fn name($x: int64): int64 { … }, with void for no result"
	}
	p.expectOr(LParen, form)
	for p.at() != RParen {
		if p.at() != VarName {
			p.failWith(form(), "syntax", p.here(), "expected a variable")
		}
		v := p.variable()
		p.expectOr(Colon, form)
		param := &Param{Var: v, Type: p.annotation()}
		param.Pos = p.since(v.At.Start)
		f.Params = append(f.Params, param)
		if p.at() != RParen {
			p.expect(Comma)
			if p.at() == RParen {
				p.fail("syntax", p.here(), "expected a parameter")
			}
		}
	}
	p.advance()
	p.expectOr(Colon, form)
	f.Result = p.annotation()
	f.Body = p.block()
	settle(f.Body)
	f.Pos = p.since(start)
	return f
}

// mapDecl reads the declaration of a map without its let.
func (p *parser) mapDecl(start int) Item {
	if p.at() != MapName {
		p.failWith("write let @name = hash(1000);", "syntax", p.here(),
			"expected a map: only maps are declared outside probes")
	}
	d := &MapDecl{Map: p.mapName()}
	form := func() string { return "write let @" + d.Map.Name + " = hash(1000);" }
	p.expectOr(Assign, form)
	d.Kind = p.ident()
	p.expectOr(LParen, form)
	if d.Entries = p.entries(); d.Entries == nil {
		p.fail("syntax", p.here(), "expected the number of entries, an integer")
	}
	p.expect(RParen)
	d.Pos = p.since(start)
	p.accept(Semicolon)
	return d
}

// entries is the size of a map: a number, or a call that yields one.
// An option may say how large a map is, which expand works out.
func (p *parser) entries() Expr {
	switch {
	case p.at() == Integer:
		return p.intLit()
	case p.at() == Name && p.peek() == LParen:
		return p.expr()
	}
	return nil
}

// probe reads attach points, predicate and body. Between attach points there are no lexemes: the
// text is cut byte by byte.
// Attach points end where the parser turns to tokens: at '/' or '{'.
func (p *parser) probe(start int) Item {
	probe := &Probe{}
	for {
		at := p.attachPoint()
		if at != nil {
			probe.Attach = append(probe.Attach, at)
		}
		if !p.atByte(',') {
			break
		}
		p.rawAt(p.rawPos() + 1)
		if p.atByte('{') || p.atByte('/') {
			break // trailing comma
		}
	}
	if len(probe.Attach) == 0 {
		p.fail("syntax", p.here(), "expected an attach point")
	}
	if p.at() == Div {
		p.advance()
		probe.Predicate = p.expr()
		p.expectOr(Div, func() string { return p.afterPredicate(probe) })
	}
	if p.at() != LBrace {
		if p.lost {
			panic(bailout{})
		}
		p.failWith(p.afterAttach(probe), "syntax", p.here(), "expected '{'")
	}
	p.lost = false
	probe.Body = p.block()
	settle(probe.Body)
	probe.Pos = p.since(start)
	return probe
}

// atByte reports whether the next byte that is not layout is c.
func (p *parser) atByte(c byte) bool {
	pos := p.rawPos()
	return pos < len(p.scan.text) && p.scan.text[pos] == c
}

// settle makes the trailing expression of a block a statement, in blocks whose
// value nobody sees.
// A body that ends in an expression reads the same with and without a semicolon so.
func settle(b *Block) {
	if b.Result != nil {
		b.Stmts = append(b.Stmts, &ExprStmt{Pos: Pos{b.Result.Span()}, X: b.Result})
		settleValue(b.Result)
		b.Result = nil
		return
	}
	if len(b.Stmts) > 0 {
		if last, ok := b.Stmts[len(b.Stmts)-1].(*ExprStmt); ok {
			last.Ended = false
		}
	}
}

// settleValue does the same for the blocks of an expression whose value is
// discarded.
func settleValue(x Expr) {
	for {
		switch e := x.(type) {
		case *Block:
			settle(e)
		case *If:
			settle(e.Then)
			if e.Else != nil {
				x = e.Else
				continue
			}
		}
		return
	}
}

// lineEnd is the offset of the newline that ends the line at start.
func lineEnd(text string, start int) int {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i
	}
	return len(text)
}
