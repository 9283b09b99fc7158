package syntax

import (
	"math"
	"strings"
)

// tryType reads a type without ever reporting anything. If what follows does not
// have the form of a type it returns nil, and the caller goes back to its mark.
// It may stop anywhere inside of something else; the caller looks at what comes next.
func (p *parser) tryType() *TypeExpr {
	start := p.cur().Start
	for p.atQualifier() {
		p.advance()
	}
	first := p.cur()
	if first.Token != Name || IsParserBuiltin(first.Str) {
		return nil
	}
	t := &TypeExpr{Name: first.Str}
	p.advance()
	switch {
	case isTag(t.Name):
		if p.at() != Name {
			return nil
		}
		t.Tag, t.Name = t.Name, p.advance().Str
	case isCWord(t.Name):
		words := []string{t.Name}
		for {
			if p.atQualifier() {
				p.advance()
			} else if l := p.cur(); l.Token == Name && isCWord(l.Str) {
				words = append(words, p.advance().Str)
			} else {
				break
			}
		}
		t.Name = strings.Join(words, " ")
	}
	p.suffixes(t)
	t.Pos = p.since(start)
	return t
}

// atQualifier reports whether const or volatile is next, which change nothing.
func (p *parser) atQualifier() bool { return p.atName("const") || p.atName("volatile") }

// suffixes reads * and [n] as long as they come; a bracket that holds anything
// but an integer is left alone, and so are more than any type has.
func (p *parser) suffixes(t *TypeExpr) {
	for len(t.Suffixes) < maxNesting {
		switch {
		case p.atQualifier():
			p.advance()
		case p.at() == Mul:
			p.advance()
			t.Suffixes = append(t.Suffixes, TypeSuffix{Pointer: true})
		case p.at() == LBracket:
			m := p.mark()
			p.advance()
			n := int64(-1)
			if l := p.cur(); l.Token == Integer && l.Int <= math.MaxInt64 {
				n = int64(p.advance().Int)
			}
			if p.at() != RBracket {
				p.reset(m)
				return
			}
			p.advance()
			t.Suffixes = append(t.Suffixes, TypeSuffix{Len: n})
		default:
			return
		}
	}
}

// annotation reads the type after a ':'.
func (p *parser) annotation() *TypeExpr {
	if p.atName("typeof") && p.peek() == LParen {
		return p.typeOf()
	}
	if l := p.cur(); l.Token != Name || IsParserBuiltin(l.Str) {
		p.fail("syntax", p.here(), "expected a type")
	}
	t := p.tryType()
	if t == nil {
		p.fail("syntax", p.here(), "expected a type")
	}
	return t
}

// typeOf reads typeof(…) with suffixes.
func (p *parser) typeOf() *TypeExpr {
	p.enter()
	start := p.advance().Start
	p.expect(LParen)
	t := &TypeExpr{}
	t.OfType, t.Of = p.typeOrExpr(RParen)
	p.expect(RParen)
	p.suffixes(t)
	t.Pos = p.since(start)
	p.depth--
	return t
}

// typeOrExpr reads the operand of sizeof and its relatives, up to but not
// including the closing token. Exactly one result is set.
func (p *parser) typeOrExpr(closing Token) (*TypeExpr, Expr) {
	if p.atName("typeof") && p.peek() == LParen {
		return p.typeOf(), nil
	}
	if l := p.cur(); l.Token == Name && !isPrimaryKeyword(l.Str) {
		m := p.mark()
		if t := p.tryType(); t != nil && p.at() == closing && !p.isValue(t) {
			return t, nil
		}
		p.reset(m)
	}
	return nil, p.expr()
}

// isValue reports whether the base of a type is known to be a value instead.
func (p *parser) isValue(t *TypeExpr) bool {
	return p.value != nil && t.Tag == "" && p.value(t.Name)
}
