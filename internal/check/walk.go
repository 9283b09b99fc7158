package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A walker checks one copy of a probe. What it knows of variables outlives a
// walk, the rest does not.
type walker struct {
	*checker
	probe    *Probe
	info     *Info
	tree     *syntax.Probe
	retval   types.Type // of the copy's points, nil if not asked for
	argsErr  error      // why args has no type
	expanded bool       // there are other copies of the same text
	alone    bool       // a function by itself: no probe

	vars map[*syntax.Var]*varState // by the occurrence that declares

	arms map[syntax.Expr]arm                        // conditionals that comptime decided
	lets map[*syntax.LetTupleStmt][]*syntax.LetStmt // what they are short for

	texts map[syntax.Expr]syntax.Expr // calls of str() that stand for strings of the traced program

	scope       *scope
	in          *inFunction            // whose body this is, nil: the probe's
	declared    map[string]source.Span // every variable of the probe by name, for hints
	loops       int                    // enclosing loops
	unrolled    int                    // how often enclosing unroll statements repeat, 0: once
	returns     *syntax.JumpStmt       // first return in the outermost loop
	literal     int                    // inside what has to be known while the script is compiled
	unevaluated int                    // inside sizeof and the like
	waits       []*slot                // what was read and has no type yet
	longText    bool                   // a string literal may exceed max_strlen
	stepping    bool                   // the variable looked at is changed, not set
	wantText    int                    // a missing positional parameter is an empty text
	textName    *syntax.Ident          // a name that is compared with a text
}

// val is the type of an expression and what else is known of its value.
// It is small and copied freely; the zero value says that nothing is known.
type val struct {
	types.Flex
	// Where the address that the value is, or the memory that it was read from, lies.
	space types.Space
	// The value itself if it is known, else of kind NoConst.
	k     builtin.Const
	free  bool  // an integer of literals and operators alone, which has no type but the smallest that holds it
	parts []val // of a tuple or record of literals, not nil even if there are none
}

// isLiteral reports whether the value is known when the script is compiled.
func (v val) isLiteral() bool { return v.k.Kind != builtin.NoConst || v.parts != nil }

// A varState is what is known of a variable; the slot has its type.
type varState struct {
	slot
	out      *Var
	assigned bool // in the text so far
	untyped  bool // declared with a type that there is none of
	used     bool
}

// A scope is one pair of braces.
// Scopes are made anew in each walk, variables are found again by their node.
type scope struct {
	outer *scope
	vars  map[string]*varState
	loop  bool // body of a for statement
}

// newWalker makes the walker of a copy. args and ret are the types of args and retval at its
// points, err says why args has none.
// Its tables are filled in the last walk.
func (c *checker) newWalker(p *expand.Probe, a *expand.Attach, args *types.Struct, ret types.Type, err error) *walker {
	return &walker{
		checker: c, tree: p.Tree, retval: ret, argsErr: err,
		probe: &Probe{Kind: a.Kind, Predicate: p.Tree.Predicate, Body: p.Tree.Body, Args: args},
		info:  newInfo(), vars: map[*syntax.Var]*varState{},
	}
}

// walk goes over the probe once.
func (w *walker) walk() {
	w.declared = map[string]source.Span{}
	w.scope, w.loops, w.returns, w.waits = nil, 0, nil, nil
	for _, v := range w.vars {
		v.assigned, v.used = false, false
		v.out.Assigns = 0
	}
	w.probe.Info = w.info
	w.push(false)
	if w.tree.Predicate != nil {
		w.condition(w.tree.Predicate)
	}
	w.statements(w.tree.Body.Stmts)
	if w.tree.Body.Result != nil {
		w.statement(&syntax.ExprStmt{Pos: syntax.Pos{At: w.tree.Body.Result.Span()}, X: w.tree.Body.Result})
	}
	w.pop()
}

// push opens a scope; loop says that it is the body of a for statement.
func (w *walker) push(loop bool) { w.scope = &scope{outer: w.scope, loop: loop} }

// pop closes a scope and reports variables that never got a value.
func (w *walker) pop() {
	if w.final {
		byPlace := func(a, b *varState) int { return cmp.Compare(a.out.Decl.Start, b.out.Decl.Start) }
		for _, v := range order.Sorted(maps.Values(w.scope.vars), byPlace) {
			v.out.Type = v.cur.Type
			if !v.assigned && !v.broken && w.unevaluated == 0 {
				w.ds.Warnf("never-assigned", v.out.Decl, "Variable $%s was never assigned to.", v.out.Name)
			}
		}
	}
	w.scope = w.scope.outer
}

// errorf reports an error in the last walk. The result takes hints and notes
// either way.
func (w *walker) errorf(at syntax.Node, code source.Code, format string, args ...any) *source.Diagnostic {
	if !w.final {
		return w.unsaid()
	}
	return w.trail(w.ds.Errorf(code, at.Span(), format, args...))
}

// warnf is errorf for a warning.
func (w *walker) warnf(at syntax.Node, code source.Code, format string, args ...any) *source.Diagnostic {
	if !w.final {
		return w.unsaid()
	}
	return w.trail(w.ds.Warnf(code, at.Span(), format, args...))
}

// unsaid takes the hints and notes of messages that are not for this walk. All
// of a script share one: there are as many as expressions, in each walk.
func (w *walker) unsaid() *source.Diagnostic {
	w.dropped = source.Diagnostic{Hints: w.dropped.Hints[:0], Notes: w.dropped.Notes[:0]}
	return &w.dropped
}

// trail says for which of several copies a message is.
// The same message for several copies is one, with all of their places.
func (w *walker) trail(d *source.Diagnostic) *source.Diagnostic {
	if w.expanded && !slices.Contains(d.Trail, w.probe.At) {
		d.Trail = append(d.Trail, w.probe.At)
	}
	return d
}

// lookup finds a variable. Crossing the border of a for body marks it as
// captured.
func (w *walker) lookup(name string) *varState {
	crossed := false
	for s := w.scope; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil {
			if crossed && w.unevaluated == 0 {
				v.out.Captured = true
			}
			return v
		}
		crossed = crossed || s.loop
	}
	return nil
}

// declare makes a variable in the innermost scope. There is no shadowing: after
// the error the result is the variable that exists, and ok is false.
// Going on with the old variable spares the messages about all of its later uses.
func (w *walker) declare(at *syntax.Var) (v *varState, ok bool) {
	if old := w.lookup(at.Name); old != nil {
		w.errorf(at, "redeclared", "Variable $%s was already declared. Variable shadowing is not allowed.", at.Shown()).
			Note(old.out.Decl, "This is the initial declaration.")
		w.bind(at, old)
		old.assigned = true
		return old, false
	}
	return w.fresh(at), true
}

// fresh makes the variable that an occurrence declares, or finds that of an earlier walk.
// The slot of an earlier walk has the type that reads of this one see.
func (w *walker) fresh(at *syntax.Var) *varState {
	v := w.vars[at]
	if v == nil {
		v = &varState{out: &Var{Name: at.Shown(), Decl: at.Span()}}
		w.vars[at] = v
	}
	if w.scope.vars == nil {
		w.scope.vars = map[string]*varState{}
	}
	w.scope.vars[at.Name] = v
	w.declared[at.Name] = at.Span()
	w.bind(at, v)
	return v
}

// bind enters into the tables which variable an occurrence means.
func (w *walker) bind(at *syntax.Var, v *varState) {
	if w.final && w.unevaluated == 0 {
		w.info.Vars[at] = v.out
	}
}

// undeclared reports a variable that does not exist here.
func (w *walker) undeclared(at *syntax.Var) {
	d := w.errorf(at, "undeclared", "Undefined or undeclared variable: $%s", at.Shown())
	if span, ok := w.declared[at.Name]; ok {
		line, _ := span.File.Position(span.Start)
		d.Hint("the $%s of line %d lives in an inner block only; declare it before that block: let $%s;", at.Name,
			line, at.Name)
		return
	}
	var names []string
	for s := w.scope; s != nil; s = s.outer {
		for _, v := range s.vars {
			names = append(names, v.out.Name)
		}
	}
	if near := spell.Nearest(at.Name, names); near != "" {
		d.Hint("did you mean $%s?", near)
	} else if w.maps["@"+at.Name] != nil {
		d.Hint("did you mean @%s?", at.Name)
	} else if w.stepping {
		d.Hint("a variable has no value before the first assignment: $%s = 0;", at.Shown())
	}
}

// assign stores a value in a variable. rhs is nil for ++ and --.
func (w *walker) assign(v *varState, x val, waits []*slot, at, rhs syntax.Node) {
	v.assigned = true
	if w.unevaluated == 0 {
		v.out.Assigns++
	}
	if v.untyped {
		v.broken = true
		return
	}
	if x.Type == nil {
		v.unknown(waits)
		return
	}
	if agg, ok := x.Type.(*types.Agg); ok {
		i, ok := w.castable(agg)
		if !ok {
			w.errorf(at, "aggregation-copy", "Map value '%s' cannot be assigned to a scratch variable.", agg)
			v.broken = true
			return
		}
		x.Flex = types.Flex{Type: i}
	}
	x = w.gathered(x, rhs)
	if !w.storableValue(x.Type, at, "variable $"+v.out.Name) {
		v.broken = true
		return
	}
	w.storeSlot(&v.slot, x, at, rhs, "$"+v.out.Name, "variable", v.out.Decl)
}

// storableValue refuses what no variable or map can hold.
func (w *walker) storableValue(t types.Type, at syntax.Node, what string) bool {
	if isNothing(t) {
		w.errorf(at, "no-value", "Value '%s' cannot be assigned to %s", t, what)
		return false
	}
	if s, ok := t.(*types.Struct); ok && s.Kind == types.ContextKind {
		w.errorf(at, "no-value", "args can not be stored; assign its fields instead")
		return false
	}
	if t.Size() == 0 {
		if s, ok := t.(*types.String); !ok || s.Cap != 0 {
			w.errorf(at, "no-value", "Value '%s' has no size and cannot be assigned to %s", t, what)
			return false
		}
	}
	return true
}

// storeSlot joins a value into a variable or a map, or in the last walk checks
// that it goes in.
// Variables and maps share it, so that both convert by the same rules.
func (w *walker) storeSlot(s *slot, x val, at, rhs syntax.Node, name, what string, first source.Span) {
	if !w.final {
		s.join(x.Flex, x.space)
		return
	}
	cur := s.cur.Type
	if cur == nil || w.lockedAgainst(s, x, at, name) {
		return
	}
	ok := false
	if s.fixed {
		ok = storable(x.Flex, cur)
	} else {
		j, joins := types.Join(s.cur, asIntegerFor(cur, x.Flex))
		ok = joins && types.Same(j.Type, cur)
	}
	if !ok {
		d := w.errorf(at, code(what, "mismatch"),
			"Type mismatch for %s: trying to assign value of type '%s' when %s already has a type '%s'",
			name, x.Type, what, cur)
		if first.Valid() && first.Start != at.Span().Start {
			d.Note(first, "it has that type since here")
		}
		return
	}
	if rhs != nil {
		if x.Type == types.Bool && cur != types.Bool {
			w.warnf(rhs, "bool-as-integer", "A bool is stored as 0 or 1 in %s, which has type '%s'", name, cur)
			return
		}
		if i, ok := types.IsInteger(cur); ok && s.fixed && x.k.Kind == builtin.IntConst {
			fits := holds(i, numberOf(x.k))
			if !fits && x.free {
				w.errorf(at, "literal-range",
					"Type mismatch for %s: trying to assign value '%s' when %s already has a type '%s'",
					name, constText(x.k), what, cur).Hint("the value does not fit: %s", rangeOf(i))
			}
			if fits || x.free {
				return
			}
		}
		w.lossy(rhs, x.Flex, cur)
	}
}

// code is the code of a diagnostic about a variable or a map: variable-mismatch, map-mismatch.
// Codes are stable: programs that embed hawk compare them.
func code(what, rest string) source.Code { return source.Code(what + "-" + rest) }

// lossy warns of a conversion that can change the value.
// Types of the same size say nothing about a difference, whose sign is a rule of the language.
func (w *walker) lossy(at syntax.Node, from types.Flex, to types.Type) {
	if !w.final || from.Type == nil || from.Type == types.Bool || types.Fits(from, to) {
		return
	}
	x, ok := types.IsInteger(from.Type)
	y, ok2 := types.IsInteger(to)
	if !ok || !ok2 || x.Bytes == y.Bytes && isDifference(at) {
		return
	}
	w.warnf(at, "lossy-cast", "Expression of type: %s being cast to type: %s. This may cause unexpected results. "+
		"Use an explicit cast to suppress this warning.", from.Type, to).
		Hint("cast it to say that this is meant: (%s)…", to)
}

// isDifference tells a subtraction, whose result is signed by rule: the
// typical time delta deserves no warning.
func isDifference(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Paren:
		return isDifference(n.X)
	case *syntax.Binary:
		return n.Op == syntax.Sub || isDifference(n.X)
	}
	return false
}
