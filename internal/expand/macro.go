package expand

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/syntax"
)

// A macro is one definition.
type macro struct {
	tree    *syntax.Macro
	library bool
	own     map[string]bool // variables that the body declares or assigns
	broken  bool            // an error of the definition was reported: uses are not expanded
}

// defineMacro checks a macro definition and enters it.
// A second definition that could never be called is an error, as the reference has it: its
// author expects the contrary.
func (e *expander) defineMacro(tree *syntax.Macro, library bool) {
	m := &macro{tree: tree, library: library}
	table := e.macros
	if library {
		table = e.library
	}
	name := tree.Name.Name
	if syntax.IsParserBuiltin(name) {
		e.ds.Errorf("macro-name", tree.Name.Span(), "'%s' is a builtin of the language and cannot be redefined", name)
	}
	for i, p := range tree.Params {
		for _, q := range tree.Params[:i] {
			if paramText(p) == paramText(q) {
				e.ds.Errorf("duplicate-parameter", p.Span(),
					"Ident for macro argument has already been used: %s", paramText(p)).
					Note(q.Span(), "the first is here")
				m.broken = true
			}
		}
	}
	for _, old := range table[name] {
		if old.covers(m) {
			e.ds.Errorf("macro-redefined", tree.Name.Span(),
				"Redefinition of macro: %s", name).
				Note(old.tree.Name.Span(), "This is the earlier definition.").
				Hint("list definitions for particular arguments, $x or @x, before those for any")
			return
		}
	}
	m.own = m.assigned()
	m.broken = e.redeclared(m) || m.broken
	m.broken = e.jumps(tree.Body, false) || m.broken
	table[name] = append(table[name], m)
}

// paramText is a parameter with its sigil.
func paramText(p syntax.Expr) string {
	switch p := p.(type) {
	case *syntax.Var:
		return "$" + p.Name
	case *syntax.Map:
		return "@" + p.Name
	case *syntax.Ident:
		return p.Name
	}
	return ""
}

// covers reports whether every call that fits n fits m.
// A plain parameter takes anything, $x only variables and @x only maps.
func (m *macro) covers(n *macro) bool {
	if len(m.tree.Params) != len(n.tree.Params) {
		return false
	}
	for i, p := range m.tree.Params {
		if _, any := p.(*syntax.Ident); any {
			continue
		}
		if paramText(p)[0] != paramText(n.tree.Params[i])[0] {
			return false
		}
	}
	return true
}

// param reports whether a name with its sigil is a parameter.
func (m *macro) param(name string) bool {
	for _, p := range m.tree.Params {
		if paramText(p) == name {
			return true
		}
	}
	return false
}

// assigned collects the variables that the body declares or assigns and that
// are not its parameters. They belong to each use of the macro alone.
func (m *macro) assigned() map[string]bool {
	own := map[string]bool{}
	add := func(v *syntax.Var) {
		if !m.param("$" + v.Name) {
			own[v.Name] = true
		}
	}
	syntax.Walk(m.tree.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LetStmt:
			add(n.Var)
		case *syntax.LetTupleStmt:
			for _, v := range n.Vars {
				add(v)
			}
		case *syntax.ForStmt:
			add(n.Var)
		case *syntax.AssignStmt:
			if v, ok := n.LHS.(*syntax.Var); ok {
				add(v)
			}
		}
		return true
	})
	return own
}

// redeclared reports declarations of parameters.
// In the caller, whose variable it is, the declaration would be a second one.
func (e *expander) redeclared(m *macro) (bad bool) {
	syntax.Walk(m.tree.Body, func(n syntax.Node) bool {
		var vars []*syntax.Var
		switch n := n.(type) {
		case *syntax.LetStmt:
			vars = []*syntax.Var{n.Var}
		case *syntax.LetTupleStmt:
			vars = n.Vars
		case *syntax.ForStmt:
			vars = []*syntax.Var{n.Var}
		}
		for _, v := range vars {
			if m.param("$" + v.Name) {
				e.ds.Errorf("parameter-redeclared", v.Span(),
					"Variable $%s is a parameter of the macro and cannot be declared again", v.Name)
				bad = true
			}
		}
		return true
	})
	return bad
}

// jumps reports jumps that would leave the macro. A loop of the body may be left; what is around
// the use must not be.
func (e *expander) jumps(n syntax.Node, inLoop bool) (bad bool) {
	syntax.Walk(n, func(c syntax.Node) bool {
		switch c := c.(type) {
		case *syntax.JumpStmt:
			if c.Kind == syntax.Return || !inLoop {
				e.ds.Errorf("jump-in-macro", c.Span(), "'%s' is not allowed in a macro", c.Kind).
					Hint("it would leave the code that uses the macro")
				bad = true
			}
		case *syntax.ForStmt, *syntax.WhileStmt, *syntax.UnrollStmt:
			if !inLoop {
				bad = e.loopJumps(c) || bad
				return false
			}
		}
		return true
	})
	return bad
}

// loopJumps looks into a loop: its body may use break and continue.
func (e *expander) loopJumps(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ForStmt:
		bad := false
		for _, end := range []syntax.Expr{n.From, n.To} {
			if end != nil {
				bad = e.jumps(end, false) || bad
			}
		}
		return e.jumps(n.Body, true) || bad
	case *syntax.WhileStmt:
		bad := e.jumps(n.Cond, false)
		return e.jumps(n.Body, true) || bad
	case *syntax.UnrollStmt:
		bad := e.jumps(n.Count, false)
		return e.jumps(n.Body, true) || bad
	}
	return false
}

// mismatch says why a definition does not take some arguments; "" if it does.
// arg is the index of the argument in question, or -1.
// It is asked for matching as well, where only "" or not matters.
func (m *macro) mismatch(args []syntax.Expr) (why string, arg int) {
	if got, want := len(args), len(m.tree.Params); got != want {
		return fmt.Sprintf("this definition takes %s (%d given)", countOf(want, "argument"), got), -1
	}
	for i, p := range m.tree.Params {
		switch p := p.(type) {
		case *syntax.Var:
			if _, ok := args[i].(*syntax.Var); !ok {
				return fmt.Sprintf("this definition wants a variable for $%s", p.Name), i
			}
		case *syntax.Map:
			if _, ok := args[i].(*syntax.Map); !ok {
				return fmt.Sprintf("this definition wants a map for @%s", p.Name), i
			}
		}
	}
	return "", -1
}

// countOf is a number of things in words.
func countOf(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// match finds the definition that takes a call. fromLibrary: the call stands
// in a macro of the library, which knows nothing of the script's.
// The first definition that fits wins, in the order of the text.
func (e *expander) match(name string, args []syntax.Expr, fromLibrary bool) *macro {
	if !fromLibrary {
		for _, m := range e.macros[name] {
			if why, _ := m.mismatch(args); why == "" {
				return m
			}
		}
		if e.fns[name] != nil {
			return nil // what the script defines comes before the library
		}
	}
	for _, m := range e.libraryMacros(name) {
		if why, _ := m.mismatch(args); why == "" {
			return m
		}
	}
	return nil
}

// noMatch reports a call that no definition takes; args are its arguments with
// the uses in them replaced.
// The definition with as many parameters is most likely the one that was meant.
func (r *replacer) noMatch(c *syntax.Call, args []syntax.Expr) {
	name := c.Func.Name
	defs := r.macros[name]
	if len(defs) == 0 {
		defs = r.libraryMacros(name)
	}
	closest := defs[0]
	for _, m := range defs {
		if len(m.tree.Params) == len(args) {
			closest = m
			break
		}
	}
	why, arg := closest.mismatch(args)
	at := r.place(c).At
	if arg >= 0 {
		at = r.place(c.Args[arg]).At
	}
	r.ds.Errorf("no-overload", at, "Call to %s() has arguments that do not match any definition.", name).
		Note(closest.tree.Name.Span(), "%s", why)
	r.out.Incomplete = true
}
