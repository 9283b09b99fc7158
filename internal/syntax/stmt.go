package syntax

// block reads { … }. A trailing expression without ';' becomes its Result.
func (p *parser) block() *Block {
	start := p.expect(LBrace).Start
	p.enter()
	b := &Block{}
	for p.at() != RBrace {
		if p.at() == EOF {
			if p.diags.HasErrors() {
				panic(stop{}) // what is wrong was said: a brace may be lost by that
			}
			p.expected("'}'", start)
		}
		if p.accept(Semicolon) { // empty statement
			continue
		}
		var s Stmt
		var result Expr
		at, do := p.cur().Start, p.cur().Token == Name && p.cur().Str == "do"
		if p.recovering(func() { s, result = p.stmt() }) {
			p.skipStatement(do)
			bad := p.since(at)
			s, result = &ExprStmt{Pos: bad, X: &Bad{bad}}, nil
		}
		if s != nil {
			b.Stmts = append(b.Stmts, s)
		}
		b.Result = result
	}
	p.advance()
	p.depth--
	b.Pos = p.since(start)
	return b
}

// stmt reads one statement with its ';', or the result of the block, which is
// an expression before '}'. Spans of statements leave out the ';'.
func (p *parser) stmt() (s Stmt, result Expr) {
	l := p.cur()
	if l.Token == LBrace {
		return p.blockStmt(p.blockExpr())
	}
	if l.Token == Name {
		switch l.Str {
		case "let":
			s = p.let()
		case "for":
			return p.forStmt(), nil
		case "while", "unroll":
			return p.loop(l.Str), nil
		case "if":
			return p.blockStmt(p.ifExpr())
		case "break", "continue", "return":
			s = p.jump(l.Str)
		case "import":
			start := p.advance().Start
			return p.importPath(start), nil
		case "_":
			if p.peek() == Assign {
				start := p.advance().Start
				p.advance()
				x := p.expr()
				s = &DiscardStmt{p.since(start), x}
			}
		}
	}
	var started Expr // what a statement without keyword starts with
	if s == nil {
		x := p.expr()
		started = x
		switch t := p.at(); {
		case t == Assign || t.Binary() != Invalid:
			s = p.assign(x)
		case t == RBrace:
			return nil, x
		default:
			s = &ExprStmt{Pos: Pos{x.Span()}, X: x}
		}
	}
	if t := p.at(); t != RBrace && t != EOF { // at the end of the file the '}' is what is missed
		p.expectOr(Semicolon, func() string { return p.afterStatement(started) })
	}
	return s, nil
}

// blockStmt ends a statement that is an if or a block: its ';' is optional, and
// before '}' it is the result.
func (p *parser) blockStmt(x Expr) (Stmt, Expr) {
	if p.at() == RBrace {
		return nil, x
	}
	ended := false
	for p.accept(Semicolon) {
		ended = true
	}
	settleValue(x)
	return &ExprStmt{Pos{x.Span()}, x, ended && p.at() == RBrace}, nil
}

// blockExpr reads a block as an expression.
func (p *parser) blockExpr() Expr { return p.block() }

// let parses a declaration, of a variable or of those for a tuple.
func (p *parser) let() Stmt {
	start := p.advance().Start
	if p.at() == LParen {
		return p.letTuple(start)
	}
	if p.at() != VarName {
		hint := "write let $name = …"
		if p.at() == MapName {
			hint = "a map needs no declaration; with its size it is declared outside probes: let @" + p.cur().Str +
				" = hash(1000);"
		}
		p.failWith(hint, "syntax", p.here(), "expected a variable after let")
	}
	s := &LetStmt{Var: p.variable()}
	if p.accept(Colon) {
		s.Type = p.annotation()
	}
	if p.accept(Assign) {
		s.Init = p.expr()
	}
	s.Pos = p.since(start)
	return s
}

// letTuple reads let ($a, $b) = x behind the let.
func (p *parser) letTuple(start int) Stmt {
	const form = "write let ($a, $b) = (1, 2);"
	p.advance()
	s := &LetTupleStmt{}
	for {
		if p.at() != VarName {
			p.failWith(form, "syntax", p.here(), "expected a variable: let declares one for each element of a tuple")
		}
		s.Vars = append(s.Vars, p.variable())
		if !p.accept(Comma) || p.at() == RParen {
			break
		}
	}
	p.expect(RParen)
	p.expectOr(Assign, func() string { return form })
	s.Init = p.expr()
	s.Pos = p.since(start)
	return s
}

// assign parses what follows the left side of an assignment.
func (p *parser) assign(lhs Expr) Stmt {
	switch lhs.(type) {
	case *Var, *Map, *MapIndex, *Bad:
	case *Field, *TupleIndex, *Index:
		p.errorf("immutable", lhs.Span(),
			"Tuples and records are immutable once created. Consider creating a new value and assigning it "+
				"instead.").Advise(notAssignable(lhs))
	default:
		p.errorf("invalid-target", lhs.Span(),
			"cannot assign to this: expected a variable or a map").Advise(notAssignable(lhs))
	}
	op := p.advance().Token
	s := &AssignStmt{LHS: lhs, Op: op, RHS: p.expr()}
	s.Pos = p.since(lhs.Span().Start)
	return s
}

// jump parses break, continue or return.
func (p *parser) jump(word string) Stmt {
	start := p.advance().Start
	s := &JumpStmt{Kind: Break}
	switch word {
	case "continue":
		s.Kind = Continue
	case "return":
		s.Kind = Return
		if t := p.at(); t != Semicolon && t != RBrace {
			s.Value = p.expr()
		}
	}
	s.Pos = p.since(start)
	return s
}

// forStmt parses a loop over a range or a map. Loops as other languages have them get advice.
func (p *parser) forStmt() Stmt {
	start := p.advance().Start
	paren := p.accept(LParen)
	if p.at() != VarName {
		return p.otherLoop(start, paren,
			"expected a variable: a loop goes over a range, as in for ($i : 0..10), or a map")
	}
	s := &ForStmt{Var: p.variable()}
	if !p.accept(Colon) {
		return p.otherLoop(start, paren, "expected ':': a loop goes over a range, as in for ($i : 0..10), or a map")
	}
	x := p.binary(additive)
	if p.accept(DotDot) {
		s.From, s.To = x, p.binary(additive)
	} else if m, ok := x.(*Map); ok {
		s.Over = m
	} else {
		p.fail("syntax", p.here(), "expected '..': a loop goes over a range or a map")
	}
	if paren {
		p.expect(RParen)
	}
	s.Body = p.block()
	settle(s.Body)
	s.Pos = p.since(start)
	return s
}

// otherLoop reports the head of a loop as other languages have it, and reads its
// body all the same.
func (p *parser) otherLoop(start int, paren bool, msg string) Stmt {
	p.errorf("syntax", p.here(), "%s", msg)
	if !paren {
		panic(bailout{})
	}
	for depth := 1; depth > 0; p.skip() {
		switch p.at() {
		case LParen:
			depth++
		case RParen:
			depth--
		case LBrace, RBrace, EOF:
			panic(bailout{})
		}
	}
	if p.at() == LBrace {
		p.block()
	}
	bad := p.since(start)
	return &ExprStmt{Pos: bad, X: &Bad{bad}}
}

// loop parses while and unroll, whose heads are alike.
func (p *parser) loop(word string) Stmt {
	start := p.advance().Start
	cond := p.cond()
	body := p.body(word)
	settle(body)
	if word == "while" {
		return &WhileStmt{p.since(start), cond, body}
	}
	return &UnrollStmt{p.since(start), cond, body}
}

// cond reads the condition of an if or loop. Parentheses belong to the statement;
// without them the condition is a unary expression, so that '{' opens the body.
func (p *parser) cond() Expr {
	if !p.accept(LParen) {
		x := p.unary()
		if precedence(p.at()) > 0 || p.at() == Assign || p.at() == Question {
			p.failWith("put the condition in parentheses", "syntax", p.here(), "expected '{'")
		}
		return x
	}
	x := p.expr()
	p.expectOr(RParen, func() string { return p.afterCondition() })
	for { // more than one pair says no more than one
		inner, ok := x.(*Paren)
		if !ok {
			return x
		}
		x = inner.X
	}
}

// body reads the block of an if or loop.
// C lets a single statement stand there; the grammar does not.
func (p *parser) body(word string) *Block {
	if p.at() != LBrace {
		p.failWith("the body stands in braces: "+word+" (…) { … }", "syntax", p.here(), "expected '{'")
	}
	return p.block()
}
