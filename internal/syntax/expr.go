package syntax

import "strings"

// Precedence levels of binary operators; a larger one binds tighter.
const (
	lowest         = 1  // ||
	additive       = 9  // + -
	multiplicative = 10 // * / %
	prefix         = 11
	postfix        = 12
)

// precedence is the level of a binary operator, 0 for any other token.
func precedence(t Token) int {
	switch t {
	case Mul, Div, Mod:
		return multiplicative
	case Add, Sub:
		return additive
	case Shl, Shr:
		return 8
	case Lt, Gt, Le, Ge:
		return 7
	case Eq, Ne:
		return 6
	case And:
		return 5
	case Xor:
		return 4
	case Or:
		return 3
	case LAnd:
		return 2
	case LOr:
		return lowest
	}
	return 0
}

// expr reads a conditional expression or anything tighter.
// The else side of a conditional is read in the same depth: a chain of them is flat to who
// writes it.
func (p *parser) expr() Expr {
	c := p.binary(lowest)
	if p.at() != Question {
		return c
	}
	p.enter()
	p.advance()
	x := &Cond{Cond: c}
	if !p.accept(Colon) {
		x.Then = p.expr()
		p.expect(Colon)
	}
	p.depth--
	x.Else = p.expr() // a chain, too
	x.Pos = p.since(c.Span().Start)
	return x
}

// binary reads operators of at least the given level.
// It climbs precedences: the right operand takes what binds more tightly, so that equals lean
// left.
func (p *parser) binary(level int) Expr {
	x := p.unary()
	for {
		op := p.at()
		prec := precedence(op)
		if prec < level || prec == 0 || op == Div && p.endsPredicate() {
			return x
		}
		at := p.here()
		p.advance()
		y := p.binary(prec + 1)
		x = &Binary{p.since(x.Span().Start), op, at, x, y}
	}
}

// endsPredicate reports whether the current '/' is the end of a predicate: a '{' comes next, with
// which no operand begins.
func (p *parser) endsPredicate() bool { return p.peek() == LBrace }

// unary reads prefix operators and what they are applied to. Each one counts as nesting, since - -
// - x recurses.
// -1 is a minus and a literal here; check folds it, and so knows that -9223372036854775808 is
// in range.
func (p *parser) unary() Expr {
	p.enter()
	defer p.leave()
	l := p.cur()
	start := l.Start
	switch op := l.Token; op {
	case Inc, Dec:
		p.advance()
		x := p.unary()
		p.checkLvalue(op, x)
		return &IncDec{p.since(start), op, x, true}
	case Mul, Sub, Not, Tilde:
		p.advance()
		x := p.unary()
		return &Unary{p.since(start), op, x}
	case And:
		p.advance()
		x := p.unary()
		switch x.(type) {
		case *Var, *Map:
		default:
			hint := ""
			if p.scan.text[max(start-1, 0)] == '&' {
				hint = "the logical and is written &&"
			} else if entity := webEntity(p.scan.text[start:]); entity != "" {
				hint = "this is text from the source of a web page, where " + entity
			}
			p.errorf("invalid-address", x.Span(), "'&' takes a variable or a whole map").Advise(hint)
		}
		return &Unary{p.since(start), op, x}
	}
	return p.postfix(p.primary())
}

// leave undoes enter. Unwinding restores depth anyway, so that running it then
// does no harm.
func (p *parser) leave() { p.depth-- }

// checkLvalue checks the operand of ++ and --.
func (p *parser) checkLvalue(op Token, x Expr) {
	switch x.(type) {
	case *Var, *Map, *MapIndex, *Bad:
	default:
		p.errorf("invalid-target", x.Span(), "'%s' takes a variable or a map", op).Advise(notAssignable(x))
	}
}

// postfix reads what follows an operand: fields, elements, ++ and --. They nest to the left and are
// read in a loop, of any length; checkHeight bounds the tree.
func (p *parser) postfix(x Expr) Expr {
	start := x.Span().Start
	for {
		switch op := p.at(); op {
		case Dot, Arrow:
			p.advance()
			if op == Dot && p.at() == Integer {
				index := p.intLit()
				if _, ok := x.(*IntLit); ok {
					p.errorf("floating-point", p.since(start).At, "floating-point numbers are not supported")
				}
				x = &TupleIndex{p.since(start), x, index}
				continue
			}
			if p.at() != Name {
				hint := ""
				if p.at() == String {
					hint = "two literals are joined by '+'; to print texts together, use printf(\"%s%s\", …)"
				}
				p.failWith(hint, "syntax", p.here(), "expected a field name")
			}
			name := p.ident()
			x = &Field{p.since(start), x, name, op == Arrow}
		case LBracket:
			p.advance()
			m, isMap := x.(*Map)
			if !isMap {
				i := p.expr()
				p.expect(RBracket)
				x = &Index{p.since(start), x, i}
				continue
			}
			keys := p.exprList(RBracket)
			p.expect(RBracket)
			x = &MapIndex{p.since(start), m, keys}
		case Inc, Dec:
			p.checkLvalue(op, x)
			p.advance()
			x = &IncDec{p.since(start), op, x, false}
		default:
			return x
		}
	}
}

// exprList reads one or more expressions; there is no trailing comma.
func (p *parser) exprList(closing Token) []Expr {
	list := []Expr{p.expr()}
	for p.accept(Comma) {
		list = append(list, p.expr())
	}
	if p.at() != closing {
		p.fail("syntax", p.here(), "expected '%s'", closing)
	}
	return list
}

// primary reads an operand without operators.
// An expression that fails unwinds to its statement, and yields nothing.
func (p *parser) primary() Expr {
	switch l := p.cur(); l.Token {
	case Integer:
		return p.intLit()
	case String:
		return p.stringLit()
	case VarName:
		return p.variable()
	case MapName:
		return p.mapName()
	case ParamNum:
		l := p.advance()
		return &PosParam{p.since(l.Start), int(l.Int)}
	case LParen:
		return p.paren()
	case LBrace:
		return p.block()
	case Name:
		return p.nameExpr(l.Str)
	}
	p.failWith(p.noExpression(), "syntax", p.here(), "expected an expression")
	return nil
}

// nameExpr reads what starts with an identifier.
func (p *parser) nameExpr(word string) Expr {
	start := p.cur().Start
	switch word {
	case "if":
		return p.ifExpr()
	case "true", "false":
		p.advance()
		return &BoolLit{p.since(start), word == "true"}
	case "comptime":
		p.advance()
		x := p.unary()
		return &Comptime{p.since(start), x}
	case "sizeof":
		p.advance()
		p.expect(LParen)
		t, x := p.typeOrExpr(RParen)
		p.expect(RParen)
		return &SizeOf{p.since(start), t, x}
	case "typeinfo":
		p.advance()
		p.expect(LParen)
		t, x := p.typeOrExpr(RParen)
		p.expect(RParen)
		return &TypeInfo{p.since(start), t, x}
	case "offsetof":
		return p.offsetOf(start)
	// typeof names a type: it is read where a type may stand, in casts, declarations and arguments.
	case "typeof":
		if p.peek() == LParen {
			p.fail("syntax", p.here(), "typeof is not a value here")
		}
	}
	name := p.ident()
	if p.at() != LParen {
		return name
	}
	p.advance()
	call := &Call{Func: name}
	if p.at() != RParen {
		call.Args = append(call.Args, p.arg())
		for p.accept(Comma) {
			call.Args = append(call.Args, p.arg())
		}
	}
	p.expectOr(RParen, func() string { return otherWords[name.Name] })
	call.Pos = p.since(start)
	return call
}

// arg reads an argument of a call, which for a macro may be a type: typeof(x), or struct s, which no
// value begins with.
// Calls of functions with a type among the arguments are refused by expand, which knows what is
// a macro.
func (p *parser) arg() Expr {
	if l := p.cur(); l.Token == Name && isTag(l.Str) && p.peek() == Name {
		if t := p.tryType(); t != nil {
			return &TypeArg{t.Pos, &TypeExpr{Pos: t.Pos, OfType: t}}
		}
	}
	if p.atName("typeof") && p.peek() == LParen {
		t := p.typeOf()
		return &TypeArg{t.Pos, t}
	}
	return p.expr()
}

// offsetOf reads offsetof(type or expression, path of members).
func (p *parser) offsetOf(start int) Expr {
	p.advance()
	p.expect(LParen)
	x := &OffsetOf{}
	x.Type, x.X = p.typeOrExpr(Comma)
	p.expect(Comma)
	x.Path = append(x.Path, p.ident())
	for p.accept(Dot) {
		x.Path = append(x.Path, p.ident())
	}
	p.expect(RParen)
	x.Pos = p.since(start)
	return x
}

// ifExpr reads an if with its else branches.
func (p *parser) ifExpr() Expr {
	start := p.advance().Start
	x := &If{Cond: p.cond()}
	x.Then = p.body("if")
	x.Pos = p.since(start)
	if !p.atName("else") {
		return x
	}
	p.advance()
	switch {
	case p.atName("if"):
		x.Else = p.ifExpr() // a chain is no nesting: it may be long
	case p.at() == LBrace:
		x.Else = p.block()
	default:
		p.failWith("the body stands in braces: else { … }", "syntax", p.here(), "expected '{' or if after else")
	}
	x.Pos = p.since(start)
	return x
}

// paren reads what starts with '(': the empty tuple, a record, a cast, a tuple
// or a grouping, tried in this order.
// (x = 1) is a record; the parentheses of a condition are read by cond and never come here.
func (p *parser) paren() Expr {
	start := p.advance().Start
	if p.accept(RParen) {
		return &Tuple{p.since(start), nil}
	}
	if l := p.cur(); l.Token == Name {
		if !IsParserBuiltin(l.Str) && p.peek() == Assign {
			return p.record(start)
		}
		if x := p.cast(start); x != nil {
			return x
		}
	}
	x := p.expr()
	if p.at() != Comma {
		p.expect(RParen)
		return &Paren{p.since(start), x}
	}
	elems := []Expr{x}
	for p.accept(Comma) {
		if p.at() == RParen {
			break
		}
		elems = append(elems, p.expr())
	}
	p.expect(RParen)
	return &Tuple{p.since(start), elems}
}

// record reads a record whose '(' is consumed.
// Names that are given twice are for check to report.
func (p *parser) record(start int) Expr {
	r := &Record{}
	for {
		name := p.ident()
		p.expect(Assign)
		f := &RecordField{Name: name, Value: p.expr()}
		f.Pos = p.since(name.At.Start)
		r.Fields = append(r.Fields, f)
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen)
	r.Pos = p.since(start)
	return r
}

// cast reads the rest of a cast whose '(' is consumed, or returns nil and consumes nothing. Whether
// (name) is a type or a value the parser cannot know: it goes by the form of what follows, and
// Reparse corrects it.
func (p *parser) cast(start int) Expr {
	m := p.mark()
	var t *TypeExpr
	if l := p.cur(); l.Str == "typeof" && p.peek() == LParen {
		t = p.typeOf()
		p.expect(RParen)
	} else {
		if isPrimaryKeyword(l.Str) {
			return nil
		}
		t = p.tryType()
		if t == nil || p.at() != RParen || p.isValue(t) {
			p.reset(m)
			return nil
		}
		p.advance()
		if !p.castOperand(t) {
			p.reset(m)
			return nil
		}
	}
	x := p.unary()
	return &Cast{p.since(start), t, x}
}

// castOperand reports whether what follows (t) can be the operand of a cast.
// It errs on the side of a cast, as the reference does; Reparse takes back what names decide.
func (p *parser) castOperand(t *TypeExpr) bool {
	switch p.at() {
	case Integer, String, VarName, MapName, ParamNum, LParen, Name, Sub, Not, Tilde, Mul:
		return true
	case And:
		// Only variables and maps have addresses, so that (MASK) & 3 with a
		// name that is not certainly a type can be nothing but a grouping.
		if t.Tag != "" || len(t.Suffixes) > 0 || IsTypeName(t.Name) || strings.Contains(t.Name, " ") {
			return true
		}
		next := p.peek()
		return next == VarName || next == MapName
	// (x)++ is an operator on x, but (type)++$y a cast.
	case Inc, Dec:
		next := p.peek()
		return next == VarName || next == MapName
	}
	return false
}

// AmbiguousCasts calls f for every cast under n that could be an operator on a
// value: (name) - 1. f returns whether to go on.
func AmbiguousCasts(n Node, f func(*Cast) bool) {
	goOn := true
	Walk(n, func(n Node) bool {
		c, ok := n.(*Cast)
		if goOn && ok && ambiguous(c) {
			goOn = f(c)
		}
		return goOn
	})
}

// ambiguous reports whether a cast could be a name in parentheses and a binary operator.
func ambiguous(c *Cast) bool {
	u, ok := c.X.(*Unary)
	return ok && (u.Op == Sub || u.Op == Mul || u.Op == And) &&
		c.Type.Tag == "" && c.Type.Name != "" && !IsTypeName(c.Type.Name)
}

// ident reads an identifier.
func (p *parser) ident() *Ident {
	l := p.expect(Name)
	return &Ident{p.since(l.Start), l.Str}
}

// variable reads $name.
func (p *parser) variable() *Var {
	l := p.expect(VarName)
	return &Var{p.since(l.Start), l.Str}
}

// mapName reads @name, or @ alone.
func (p *parser) mapName() *Map {
	l := p.expect(MapName)
	return &Map{p.since(l.Start), l.Str}
}

// intLit reads an integer and keeps its text, which the formatter prints.
func (p *parser) intLit() *IntLit {
	l := p.expect(Integer)
	return &IntLit{p.since(l.Start), p.scan.text[l.Start:l.End], l.Int}
}

// stringLit reads a string, in C text several in a row.
func (p *parser) stringLit() *StringLit {
	l := p.expect(String)
	s := &StringLit{p.since(l.Start), p.scan.text[l.Start:l.End], l.Str}
	for p.scan.cExp && p.at() == String {
		more := p.advance()
		s.Value += more.Str
		s.Pos = p.since(l.Start)
		s.Text = p.scan.text[l.Start:more.End]
	}
	return s
}
