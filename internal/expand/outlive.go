package expand

import "github.com/hawktrace/hawk/internal/syntax"

// A scoper looks variables up as the checker will, and finds those that are
// used outside of the block in which they are first assigned. In scripts
// written when a variable lived as long as its probe that is what is meant.
type scoper struct {
	open     []map[string]bool      // declared in the blocks around, outermost first
	assigned map[string]*syntax.Var // where each is assigned first, without let
	declared map[string]bool        // by let, or by a loop
	outside  []*syntax.Var          // the first use of each outside of its block
}

// outlive gives the variables that are used outside of their block a
// declaration at the start of the probe, with a warning.
// The reference has forgotten the old rule, and refuses such scripts.
func (e *expander) outlive(p *syntax.Probe) *syntax.Probe {
	s := &scoper{assigned: map[string]*syntax.Var{}, declared: map[string]bool{}}
	s.enter()
	if p.Predicate != nil {
		s.node(p.Predicate)
	}
	s.children(p.Body)
	var lets []syntax.Stmt
	for _, v := range s.outside {
		if s.declared[v.Name] {
			continue // the script knows about blocks
		}
		first := s.assigned[v.Name]
		lets = append(lets, &syntax.LetStmt{Pos: first.Pos, Var: &syntax.Var{Pos: first.Pos, Name: v.Name}})
		e.ds.Warnf("outlives-block", v.At, "$%s is used outside of the block in which it is first assigned", v.Shown()).
			Hint("declare it before that block: let $%s;", v.Shown())
	}
	if lets == nil {
		return p
	}
	out, body := *p, *p.Body
	body.Stmts = append(lets, body.Stmts...)
	out.Body = &body
	return &out
}

// enter and leave begin and end a block.
func (s *scoper) enter() { s.open = append(s.open, map[string]bool{}) }
func (s *scoper) leave() { s.open = s.open[:len(s.open)-1] }

// declare enters a variable into the innermost block.
func (s *scoper) declare(v *syntax.Var) { s.open[len(s.open)-1][v.Name] = true }

// known reports whether a block around has declared a variable.
// Blocks are few and small: a map for each is simpler than one that is undone.
func (s *scoper) known(v *syntax.Var) bool {
	for _, block := range s.open {
		if block[v.Name] {
			return true
		}
	}
	return false
}

// node looks at what is under n in the order in which it is evaluated.
func (s *scoper) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Var:
		if !s.known(n) && s.assigned[n.Name] != nil {
			s.outside = append(s.outside, n)
			// From here on it is one of the probe, and reported once.
			s.open[0][n.Name] = true
		}
	case *syntax.AssignStmt:
		v, ok := n.LHS.(*syntax.Var)
		if !ok || n.Op != syntax.Assign {
			s.children(n)
			return
		}
		s.node(n.RHS)
		if !s.known(v) {
			s.declare(v)
			if s.assigned[v.Name] == nil {
				s.assigned[v.Name] = v
			}
		}
	case *syntax.LetStmt:
		if n.Init != nil {
			s.node(n.Init)
		}
		s.explicit(n.Var)
	case *syntax.LetTupleStmt:
		s.node(n.Init)
		s.explicit(n.Vars...)
	case *syntax.ForStmt:
		for _, end := range []syntax.Expr{n.From, n.To} {
			if end != nil {
				s.node(end)
			}
		}
		s.enter()
		s.explicit(n.Var)
		s.children(n.Body)
		s.leave()
	case *syntax.Inlined: // its body sees none of these variables
		for _, a := range n.Args {
			s.node(a)
		}
	case *syntax.Block:
		s.enter()
		s.children(n)
		s.leave()
	default:
		s.children(n)
	}
}

// explicit enters variables that have a declaration of their own.
func (s *scoper) explicit(vars ...*syntax.Var) {
	for _, v := range vars {
		s.declare(v)
		s.declared[v.Name] = true
	}
}

// children looks at what is right under n, each of which looks further itself.
func (s *scoper) children(n syntax.Node) {
	syntax.Walk(n, func(c syntax.Node) bool {
		if c == n {
			return true
		}
		s.node(c)
		return false
	})
}
