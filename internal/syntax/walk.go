package syntax

// Walk calls f for n and everything under it, parents before children and
// children in source order. Where f returns false the children are left out.
// It recurses as deep as the tree, which maxHeight bounds.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	children(n, func(c Node) { Walk(c, f) })
}

// children calls f for the direct children of n in source order. A new kind of node belongs here,
// or whatever walks trees overlooks what is under it.
func children(n Node, f func(Node)) {
	switch n := n.(type) {
	case *Script:
		each(n.Items, f)
	case *Config:
		each(n.Settings, f)
	case *Setting:
		f(n.Key)
		f(n.Value)
	case *Import:
		f(n.Path)
	case *Probe:
		each(n.Attach, f)
		expr(n.Predicate, f)
		f(n.Body)
	case *Macro:
		f(n.Name)
		each(n.Params, f)
		f(n.Body)
	case *Subprog:
		f(n.Name)
		each(n.Params, f)
		f(n.Result)
		f(n.Body)
	case *Param:
		f(n.Var)
		f(n.Type)
	case *MapDecl:
		f(n.Map)
		f(n.Kind)
		f(n.Entries)

	case *ExprStmt:
		f(n.X)
	case *LetStmt:
		f(n.Var)
		typeChild(n.Type, f)
		expr(n.Init, f)
	case *LetTupleStmt:
		for _, v := range n.Vars {
			f(v)
		}
		f(n.Init)
	case *AssignStmt:
		f(n.LHS)
		f(n.RHS)
	case *JumpStmt:
		expr(n.Value, f)
	case *DiscardStmt:
		f(n.X)
	case *ForStmt:
		f(n.Var)
		if n.Over != nil {
			f(n.Over)
		}
		expr(n.From, f)
		expr(n.To, f)
		f(n.Body)
	case *WhileStmt:
		f(n.Cond)
		f(n.Body)
	case *UnrollStmt:
		f(n.Count)
		f(n.Body)

	case *MapIndex:
		f(n.Map)
		each(n.Keys, f)
	case *Paren:
		f(n.X)
	case *Tuple:
		each(n.Elems, f)
	case *Record:
		each(n.Fields, f)
	case *RecordField:
		f(n.Name)
		f(n.Value)
	case *Field:
		f(n.X)
		f(n.Name)
	case *TupleIndex:
		f(n.X)
		f(n.Index)
	case *Index:
		f(n.X)
		f(n.I)
	case *Unary:
		f(n.X)
	case *IncDec:
		f(n.X)
	case *Binary:
		f(n.X)
		f(n.Y)
	case *Cond:
		f(n.Cond)
		expr(n.Then, f)
		f(n.Else)
	case *If:
		f(n.Cond)
		f(n.Then)
		expr(n.Else, f)
	case *Block:
		each(n.Stmts, f)
		expr(n.Result, f)
	case *Cast:
		f(n.Type)
		f(n.X)
	case *Call:
		f(n.Func)
		each(n.Args, f)
	case *TypeArg:
		f(n.Type)
	case *SizeOf:
		typeChild(n.Type, f)
		expr(n.X, f)
	case *TypeInfo:
		typeChild(n.Type, f)
		expr(n.X, f)
	case *OffsetOf:
		typeChild(n.Type, f)
		expr(n.X, f)
		each(n.Path, f)
	case *Comptime:
		f(n.X)
	case *Inlined:
		each(n.Args, f)
		each(n.Params, f)
		f(n.Result)
		f(n.Body)
	case *TypeExpr:
		typeChild(n.OfType, f)
		expr(n.Of, f)
	}
}

// each calls f for nodes of a list.
func each[N Node](list []N, f func(Node)) {
	for _, n := range list {
		f(n)
	}
}

// expr calls f for an expression that may be left out.
func expr(x Expr, f func(Node)) {
	if x != nil {
		f(x)
	}
}

// typeChild calls f for a type that may be left out.
func typeChild(t *TypeExpr, f func(Node)) {
	if t != nil {
		f(t)
	}
}

// Unparen is an expression without the parentheses around it.
func Unparen(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}
