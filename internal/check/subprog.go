package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/expand"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A function of the script is checked where it is called, as part of the
// caller's copy, and once by itself: with parameters of the declared types and
// nothing that only probes have.

// aFunction stands for the kind of probe in the check of a function by itself.
var aFunction = &probe.Kind{Name: "fn"}

// inFunction is what a walker knows of the function whose body it is in.
// Functions are put in place of their calls, so that there is one for each call under way.
type inFunction struct {
	call   *syntax.Inlined
	result slot // fixed to the declared type; nil type: nothing is returned or it is unknown
	void   bool
}

// function makes the walker that checks a function by itself.
func (c *checker) function(f *expand.Fn) *walker {
	body := &syntax.Block{Pos: syntax.Pos{At: f.Tree.Body.At}, Stmts: []syntax.Stmt{&syntax.DiscardStmt{X: f.Call}}}
	tree := &syntax.Probe{Pos: f.Tree.Pos, Body: body}
	w := c.newWalker(&expand.Probe{Tree: tree}, &expand.Attach{At: f.Tree.Name.At, Kind: aFunction}, nil, nil, nil)
	w.alone = true
	return w
}

// inlined is a call with the body of the function in its place.
func (w *walker) inlined(e *syntax.Inlined) val {
	args := make([]val, len(e.Args))
	waits := make([][]*slot, len(e.Args))
	for i, a := range e.Args {
		waits[i] = w.waiting(func() { args[i] = w.expr(a) })
	}
	// The body sees none of the caller's variables and is in none of its loops; what is known of
	// the caller is put back behind it.
	scope, loops, returns, declared, in := w.scope, w.loops, w.returns, w.declared, w.in
	w.scope, w.loops, w.returns, w.declared = nil, 0, nil, map[string]source.Span{}
	w.in = &inFunction{call: e}
	w.push(false)
	for i, p := range e.Params {
		if w.lookup(p.Var.Name) != nil {
			continue // two of one name are reported where the function is defined
		}
		v := w.fresh(p.Var)
		if t := w.paramType(p.Type); t != nil {
			v.fixed, v.cur = true, types.Flex{Type: t}
		} else {
			v.broken = true
		}
		if i < len(args) {
			w.assign(v, args[i], waits[i], e.Args[i], e.Args[i])
		}
		v.assigned = true
	}
	if t := w.typeExpr(e.Result); t == types.Void {
		w.in.void = true
	} else if t = w.resultType(e.Result, t); t != nil {
		w.in.result.fixed, w.in.result.cur = true, types.Flex{Type: t}
	}
	w.statements(e.Body.Stmts)
	if !w.in.void && !w.jumpsAtEnd(e.Body) {
		w.errorf(e.Name, "missing-return", "Not all paths of function '%s' return a value", e.Name.Name)
	}
	w.pop()
	v := val{Flex: w.in.result.cur, space: w.in.result.nextSpace}
	if w.in.void {
		v.Type = types.Void
	}
	w.scope, w.loops, w.returns, w.declared, w.in = scope, loops, returns, declared, in
	return v
}

// jumpsAtEnd reports whether a body returns on all of its paths.
func (w *walker) jumpsAtEnd(b *syntax.Block) bool {
	for _, s := range b.Stmts {
		if w.jumps(s) {
			return true
		}
	}
	return false
}

// paramType is the type of a parameter: a number or a pointer.
// Larger things can be passed by their address.
func (w *walker) paramType(e *syntax.TypeExpr) types.Type {
	t := w.typeExpr(e)
	if t == nil {
		return nil
	}
	if !types.IsScalar(t) {
		w.errorf(e, "fn-type", "The parameter of a function must be a number or a pointer, not '%s'", t)
		return nil
	}
	return t
}

// resultType is the type of a result, as written t: whatever a variable may
// hold. A string of no capacity has that of other strings.
func (w *walker) resultType(e *syntax.TypeExpr, t types.Type) types.Type {
	switch s := t.(type) {
	case nil:
		return nil
	case *types.String:
		if s.Cap == 0 {
			return &types.String{Cap: builtin.WholeText(w.script.Config).Cap}
		}
	case *types.Agg:
		w.errorf(e, "fn-type", "A function can not return '%s'", t)
		return nil
	}
	if t.Size() <= 0 {
		w.errorf(e, "fn-type", "A function can not return '%s', which has no size", t)
		return nil
	}
	return t
}

// returnFrom is a return statement inside a function.
// The declared type is fixed, so that results convert to it like values of a declared variable.
func (w *walker) returnFrom(s *syntax.JumpStmt) {
	name := w.in.call.Name.Name
	if s.Value == nil {
		if !w.in.void {
			w.errorf(s, "bad-return", "Function '%s' must return a value", name)
		}
		return
	}
	v := w.expr(s.Value)
	if w.in.void {
		w.errorf(s.Value, "bad-return", "Function '%s' returns nothing", name)
		return
	}
	if v.Type == nil || w.in.result.cur.Type == nil {
		return
	}
	if agg, ok := v.Type.(*types.Agg); ok {
		i, ok := w.castable(agg)
		if !ok {
			w.errorf(s.Value, "bad-return", "Function '%s' can not return '%s'", name, agg)
			return
		}
		v.Flex = types.Flex{Type: i}
	}
	if v.space != types.Unset {
		w.in.result.nextSpace = v.space
	}
	w.storeSlot(&w.in.result, v, s.Value, s.Value, "the result of "+name, "result", w.in.call.Result.Span())
}
