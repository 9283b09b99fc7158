package expand

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// maxParams is how many parameters a function may have: what a call passes in
// registers.
const maxParams = 5

// A Fn is a function of the script with everything in its body expanded, to be
// checked on its own: no probe need call it.
type Fn struct {
	Tree *syntax.Subprog
	Call *syntax.Inlined // its body as a call would have it, without arguments
}

// defineFn enters a function.
// A name that hides it is a warning and no error: such a script loads in the reference.
func (e *expander) defineFn(f *syntax.Subprog) {
	name := f.Name.Name
	if old := e.fns[name]; old != nil {
		e.ds.Errorf("fn-redefined", f.Name.Span(), "Redefinition of function '%s'", name).
			Note(old.Name.Span(), "This is the earlier definition.")
		return
	}
	_, isFunc := builtin.Lookup(name)
	_, isAgg := builtin.LookupAgg(name)
	if isFunc || isAgg || len(e.macros[name]) > 0 {
		e.ds.Warnf("fn-hidden", f.Name.Span(),
			"Function '%s' can not be called: a builtin or macro of that name comes first", name)
	}
	if len(f.Params) > maxParams {
		e.ds.Errorf("fn-parameters", f.Params[maxParams].Span(),
			"Function '%s' has %d parameters, the most is %d", name, len(f.Params), maxParams)
	}
	for i, p := range f.Params {
		for _, q := range f.Params[:i] {
			if p.Var.Name == q.Var.Name {
				e.ds.Errorf("duplicate-parameter", p.Var.Span(), "Duplicate parameter '$%s'", p.Var.Name).
					Note(q.Var.Span(), "the first is here")
			}
		}
	}
	e.fns[name] = f
	e.fnOrder = append(e.fnOrder, f)
}

// checkedFn is a function to be checked on its own.
// Uncalled functions have their mistakes reported as well.
func (e *expander) checkedFn(f *syntax.Subprog) *Fn {
	r := e.replacer(nil, nil)
	if !r.enter(f.Name.Name, f, f.Name.Span(), "function") {
		return nil
	}
	defer r.leave()
	return &Fn{Tree: f, Call: r.body(f, f.Name, nil)}
}

// inline is a call with the body of the function in its place.
// Functions that the kernel calls would need a verifier's word for each type that they may be
// given.
func (r *replacer) inline(f *syntax.Subprog, c *syntax.Call, args []syntax.Expr) syntax.Expr {
	place := r.place(c)
	for i, a := range args {
		if _, ok := a.(*syntax.TypeArg); ok {
			r.ds.Errorf("type-argument", r.place(c.Args[i]).At,
				"A type can only be passed to a macro, and '%s' is none", f.Name.Name)
			return r.bad(c)
		}
	}
	if len(args) != len(f.Params) {
		r.ds.Errorf("argument-count", place.At, "Function '%s' takes %s (%d given)", f.Name.Name,
			countOf(len(f.Params), "argument"), len(args)).
			Note(f.Name.Span(), "it is defined here")
		return r.bad(c)
	}
	if !r.enter(f.Name.Name, f, place.At, "function") {
		return r.bad(c)
	}
	defer r.leave()
	in := r.replacer(nil, &source.Expansion{At: place.At})
	out := in.body(f, f.Name, args)
	out.Pos = place
	return out
}

// body copies a function for one call.
func (r *replacer) body(f *syntax.Subprog, name *syntax.Ident, args []syntax.Expr) *syntax.Inlined {
	out := &syntax.Inlined{Pos: r.place(f), Name: &syntax.Ident{Pos: r.place(name), Name: name.Name}, Args: args}
	for _, p := range f.Params {
		out.Params = append(out.Params, &syntax.Param{
			Pos: r.place(p), Type: r.TypeExpr(p.Type),
			Var: &syntax.Var{Pos: r.place(p.Var), Name: p.Var.Name},
		})
	}
	out.Result = r.TypeExpr(f.Result)
	out.Body = r.Block(f.Body)
	return out
}
