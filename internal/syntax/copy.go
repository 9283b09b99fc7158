package syntax

// A Copier copies trees. All nodes of a copy are new, so that side tables keyed
// by node tell the copy from the original. Each hook may be nil.
// Macros and functions are put in place by copying, once for each use.
type Copier struct {
	// Expr may give what stands in the copy in place of an expression; that is
	// taken as it is. nil: the expression is copied.
	//
	// Where the tree has a *Var or *Map and nothing else, such as the variable
	// of a loop, a replacement of another type is ignored.
	Expr func(Expr) Expr
	// Type likewise replaces a type as written. For an operand, which may be
	// either as in sizeof(x), x may be given instead of the type.
	Type func(t *TypeExpr, operand bool) (*TypeExpr, Expr)
	// Path replaces the members of an offsetof.
	Path func([]*Ident) []*Ident
	// Pos changes the place of every copied node.
	Pos func(Pos) Pos
}

// pos is where a copied node stands: the hook may move the body of a macro to the place of its use.
func (c *Copier) pos(p Pos) Pos {
	if c.Pos == nil {
		return p
	}
	return c.Pos(p)
}

// Probe copies a probe.
func (c *Copier) Probe(p *Probe) *Probe {
	out := &Probe{Pos: c.pos(p.Pos), Predicate: c.Copy(p.Predicate), Body: c.Block(p.Body)}
	for _, a := range p.Attach {
		out.Attach = append(out.Attach, &AttachPoint{c.pos(a.Pos), a.Text})
	}
	return out
}

// Block copies a block.
func (c *Copier) Block(b *Block) *Block {
	if b == nil {
		return nil
	}
	out := &Block{Pos: c.pos(b.Pos), Stmts: make([]Stmt, 0, len(b.Stmts))}
	for _, s := range b.Stmts {
		out.Stmts = append(out.Stmts, c.stmt(s))
	}
	out.Result = c.Copy(b.Result)
	return out
}

// stmt copies a statement. The kinds are closed: another one is a mistake in this package.
func (c *Copier) stmt(s Stmt) Stmt {
	switch s := s.(type) {
	case *ExprStmt:
		x := c.Copy(s.X)
		settleValue(x) // a replacement may be a block with a result
		return &ExprStmt{c.pos(s.Pos), x, s.Ended}
	case *LetStmt:
		return &LetStmt{c.pos(s.Pos), c.variable(s.Var), c.TypeExpr(s.Type), c.Copy(s.Init)}
	case *LetTupleStmt:
		out := &LetTupleStmt{Pos: c.pos(s.Pos)}
		for _, v := range s.Vars {
			out.Vars = append(out.Vars, c.variable(v))
		}
		out.Init = c.Copy(s.Init)
		return out
	case *AssignStmt:
		return &AssignStmt{c.pos(s.Pos), c.Copy(s.LHS), s.Op, c.Copy(s.RHS)}
	case *JumpStmt:
		return &JumpStmt{c.pos(s.Pos), s.Kind, c.Copy(s.Value)}
	case *DiscardStmt:
		return &DiscardStmt{c.pos(s.Pos), c.Copy(s.X)}
	case *ForStmt:
		return &ForStmt{c.pos(s.Pos), c.variable(s.Var), c.wholeMap(s.Over), c.Copy(s.From),
			c.Copy(s.To), c.Block(s.Body)}
	case *WhileStmt:
		return &WhileStmt{c.pos(s.Pos), c.Copy(s.Cond), c.Block(s.Body)}
	case *UnrollStmt:
		return &UnrollStmt{c.pos(s.Pos), c.Copy(s.Count), c.Block(s.Body)}
	case *Import:
		return &Import{c.pos(s.Pos), &StringLit{c.pos(s.Path.Pos), s.Path.Text, s.Path.Value}}
	}
	panic("syntax: statement of unknown kind")
}

// Copy copies an expression, which may be nil.
func (c *Copier) Copy(e Expr) Expr {
	if e == nil {
		return nil
	}
	if c.Expr != nil {
		if x := c.Expr(e); x != nil {
			return x
		}
	}
	return c.expr(e)
}

// expr copies an expression whatever the hook says.
func (c *Copier) expr(e Expr) Expr {
	switch e := e.(type) {
	case *IntLit:
		return c.intLit(e)
	case *StringLit:
		return &StringLit{c.pos(e.Pos), e.Text, e.Value}
	case *BoolLit:
		return &BoolLit{c.pos(e.Pos), e.Value}
	case *Ident:
		return c.ident(e)
	case *Var:
		return &Var{c.pos(e.Pos), e.Name}
	case *Map:
		return &Map{c.pos(e.Pos), e.Name}
	case *MapIndex:
		return &MapIndex{c.pos(e.Pos), c.wholeMap(e.Map), c.exprs(e.Keys)}
	case *PosParam:
		return &PosParam{c.pos(e.Pos), e.Index}
	case *Paren:
		return &Paren{c.pos(e.Pos), c.Copy(e.X)}
	case *Tuple:
		return &Tuple{c.pos(e.Pos), c.exprs(e.Elems)}
	case *Record:
		out := &Record{Pos: c.pos(e.Pos)}
		for _, f := range e.Fields {
			out.Fields = append(out.Fields, &RecordField{c.pos(f.Pos), c.ident(f.Name), c.Copy(f.Value)})
		}
		return out
	case *Field:
		return &Field{c.pos(e.Pos), c.Copy(e.X), c.ident(e.Name), e.Arrow}
	case *TupleIndex:
		return &TupleIndex{c.pos(e.Pos), c.Copy(e.X), c.intLit(e.Index)}
	case *Index:
		return &Index{c.pos(e.Pos), c.Copy(e.X), c.Copy(e.I)}
	case *Unary:
		return &Unary{c.pos(e.Pos), e.Op, c.Copy(e.X)}
	case *IncDec:
		return &IncDec{c.pos(e.Pos), e.Op, c.Copy(e.X), e.Prefix}
	case *Binary:
		return &Binary{c.pos(e.Pos), e.Op, c.pos(Pos{e.OpPos}).At, c.Copy(e.X), c.Copy(e.Y)}
	case *Cond:
		return &Cond{c.pos(e.Pos), c.Copy(e.Cond), c.Copy(e.Then), c.Copy(e.Else)}
	case *If:
		return &If{c.pos(e.Pos), c.Copy(e.Cond), c.Block(e.Then), c.Copy(e.Else)}
	case *Block:
		return c.Block(e)
	case *Cast:
		return &Cast{c.pos(e.Pos), c.TypeExpr(e.Type), c.Copy(e.X)}
	case *Call:
		return &Call{c.pos(e.Pos), c.ident(e.Func), c.exprs(e.Args)}
	case *TypeArg:
		return &TypeArg{c.pos(e.Pos), c.TypeExpr(e.Type)}
	case *SizeOf:
		t, x := c.operand(e.Type, e.X)
		return &SizeOf{c.pos(e.Pos), t, x}
	case *TypeInfo:
		t, x := c.operand(e.Type, e.X)
		return &TypeInfo{c.pos(e.Pos), t, x}
	case *OffsetOf:
		t, x := c.operand(e.Type, e.X)
		return &OffsetOf{c.pos(e.Pos), t, x, c.path(e.Path)}
	case *Comptime:
		return &Comptime{c.pos(e.Pos), c.Copy(e.X)}
	case *Inlined:
		out := &Inlined{Pos: c.pos(e.Pos), Name: c.ident(e.Name), Args: c.exprs(e.Args), Result: c.TypeExpr(e.Result)}
		for _, p := range e.Params {
			out.Params = append(out.Params, &Param{c.pos(p.Pos), c.variable(p.Var), c.TypeExpr(p.Type)})
		}
		out.Body = c.Block(e.Body)
		return out
	case *Bad:
		return &Bad{c.pos(e.Pos)}
	}
	panic("syntax: expression of unknown kind")
}

// exprs copies a list; none stays nil.
func (c *Copier) exprs(list []Expr) []Expr {
	var out []Expr
	for _, e := range list {
		out = append(out, c.Copy(e))
	}
	return out
}

// ident copies a name of which the hook is not asked, as that of a member.
func (c *Copier) ident(i *Ident) *Ident { return &Ident{c.pos(i.Pos), i.Name} }

// intLit copies a literal where nothing else may stand.
func (c *Copier) intLit(i *IntLit) *IntLit { return &IntLit{c.pos(i.Pos), i.Text, i.Value} }

// variable copies a variable, or yields the one that the hook has put in its place.
// A macro's own variables get other names by it, also where they are declared.
func (c *Copier) variable(v *Var) *Var {
	if out, ok := c.Copy(v).(*Var); ok {
		return out
	}
	return c.expr(v).(*Var)
}

// wholeMap does the same for a map.
func (c *Copier) wholeMap(m *Map) *Map {
	if m == nil {
		return nil
	}
	if out, ok := c.Copy(m).(*Map); ok {
		return out
	}
	return c.expr(m).(*Map)
}

// path copies the members of an offsetof.
func (c *Copier) path(path []*Ident) []*Ident {
	if c.Path != nil {
		if out := c.Path(path); out != nil {
			return out
		}
	}
	var out []*Ident
	for _, p := range path {
		out = append(out, c.ident(p))
	}
	return out
}

// TypeExpr copies a type, which may be nil.
func (c *Copier) TypeExpr(t *TypeExpr) *TypeExpr {
	if t == nil {
		return nil
	}
	if c.Type != nil {
		if out, _ := c.Type(t, false); out != nil {
			return out
		}
	}
	return c.typeExpr(t)
}

// typeExpr copies a type whatever the hook says.
func (c *Copier) typeExpr(t *TypeExpr) *TypeExpr {
	out := &TypeExpr{Pos: c.pos(t.Pos), Tag: t.Tag, Name: t.Name, Suffixes: t.Suffixes}
	out.OfType, out.Of = c.operand(t.OfType, t.Of)
	return out
}

// operand copies what is a type or an expression.
// A name in sizeof() may turn out to be a macro, which makes a value of the type.
func (c *Copier) operand(t *TypeExpr, x Expr) (*TypeExpr, Expr) {
	if t == nil {
		return nil, c.Copy(x)
	}
	if c.Type != nil {
		if out, x := c.Type(t, true); out != nil || x != nil {
			return out, x
		}
	}
	return c.typeExpr(t), nil
}
