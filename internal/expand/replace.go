package expand

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/stdlib"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Bounds on what macros and functions may grow to.
const (
	maxNodes = 50_000 // copied nodes in all, of which each is half a kilobyte to the checker
	maxDepth = 100    // uses inside each other's bodies
)

// A replacer makes one copy of a piece of the script with the uses of macros
// and functions in it replaced.
// There is one for each use, whose Copier asks it about every node.
type replacer struct {
	*expander
	syntax.Copier
	macro *macro           // whose body is copied; nil: text of the script itself
	bind  map[string]*bind // arguments by parameter with its sigil
	mark  string           // ends the names of the macro's own variables
	from  *source.Expansion
}

// A bind is what stands for a parameter.
type bind struct {
	raw  syntax.Expr // as written
	done syntax.Expr // with the uses in it replaced
}

// A use is a macro or function whose body is being copied.
type use struct {
	name string
	node syntax.Node // its definition
}

// replacer makes one for the body of a macro, or for text of the script if m is nil.
func (e *expander) replacer(m *macro, from *source.Expansion) *replacer {
	r := &replacer{expander: e, macro: m, from: from}
	r.Copier = syntax.Copier{Expr: r.expr, Type: r.typeExpr, Path: r.path, Pos: r.pos}
	return r
}

// replace is a probe with everything expanded, the probe itself if there is
// nothing to do.
// Most probes use no macro, and are not copied.
func (e *expander) replace(p *syntax.Probe) *syntax.Probe {
	if !e.usesMacros(p) {
		return p
	}
	out := e.replacer(nil, nil).Probe(p)
	if at := syntax.TooHigh(out); at != nil && !e.tooLarge {
		e.stop(at.Span())
	}
	if e.tooLarge {
		e.out.Incomplete = true
		return &syntax.Probe{Pos: p.Pos, Attach: p.Attach, Body: &syntax.Block{Pos: p.Body.Pos}}
	}
	return out
}

// usesMacros reports whether a tree holds anything to be replaced.
func (e *expander) usesMacros(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TypeArg, *syntax.Import:
			found = true
		case *syntax.Ident:
			found = found || e.isReplaced(n.Name)
		case *syntax.TypeExpr:
			found = found || n.Tag == "" && (e.bareMacro(n.Name, false) != nil || e.isCMacro(n.Name))
		}
		return !found
	})
	return found
}

// isReplaced reports whether a name may be one of a macro or function.
func (e *expander) isReplaced(name string) bool {
	return len(e.macros[name]) > 0 || e.fns[name] != nil || e.isCMacro(name) || len(e.libraryMacros(name)) > 0
}

// libraryMacros are the library's definitions of a name. The library has only
// names that no builtin has.
func (e *expander) libraryMacros(name string) []*macro {
	if _, known := e.library[name]; known {
		return e.library[name]
	}
	e.library[name] = nil
	if _, ok := builtin.Lookup(name); ok {
		return nil
	}
	if _, ok := builtin.LookupAgg(name); ok {
		return nil
	}
	if pkg := stdlib.Find(name); pkg != "" {
		e.loadPackage(pkg)
	}
	return e.library[name]
}

// loadPackage defines the macros of a package of the library.
func (e *expander) loadPackage(name string) {
	f, ok := stdlib.Open(name)
	if !ok || e.loaded[name] {
		return
	}
	e.loaded[name] = true
	tree, ds := syntax.Parse(f)
	e.ds.Merge(ds)
	for _, item := range tree.Items {
		if m, ok := item.(*syntax.Macro); ok {
			e.defineMacro(m, true)
		}
	}
}

// bareMacro is the macro that a name without parentheses stands for.
func (e *expander) bareMacro(name string, fromLibrary bool) *macro {
	if name == "" || syntax.IsParserBuiltin(name) {
		return nil
	}
	return e.match(name, nil, fromLibrary)
}

// pos is the place of a copied node. Every node counts.
func (r *replacer) pos(p syntax.Pos) syntax.Pos {
	r.nodes++
	if r.nodes > maxNodes && !r.tooLarge {
		r.stop(p.At)
	}
	if r.from != nil {
		p.At.From = r.from
	}
	return p
}

// stop gives up expanding.
func (e *expander) stop(at source.Span) {
	e.tooLarge = true
	e.ds.Errorf("expansion-too-large", at, "The script becomes too large when its macros and functions are expanded")
}

// place is the span of a node of the text being copied, as part of the copy.
func (r *replacer) place(n syntax.Node) syntax.Pos {
	return r.pos(syntax.Pos{At: n.Span()})
}

// bad stands where an error was reported; check says nothing about it.
func (r *replacer) bad(n syntax.Node) syntax.Expr {
	r.out.Incomplete = true
	return &syntax.Bad{Pos: r.place(n)}
}

// library reports whether the text being copied is the library's.
func (r *replacer) inLibrary() bool { return r.macro != nil && r.macro.library }

// expr replaces what stands at an expression: a parameter, or a use of a macro or function.
func (r *replacer) expr(e syntax.Expr) syntax.Expr {
	if r.tooLarge {
		return &syntax.Bad{Pos: syntax.Pos{At: e.Span()}}
	}
	switch e := e.(type) {
	case *syntax.Ident:
		if b := r.bind[e.Name]; b != nil {
			return r.argument(e, b)
		}
		if m := r.bareMacro(e.Name, r.inLibrary()); m != nil {
			return r.expand(m, e, nil)
		}
		return r.cMacro(e)
	case *syntax.Var:
		return r.variable(e)
	case *syntax.Map:
		return r.mapName(e)
	case *syntax.Call:
		return r.call(e)
	case *syntax.TypeArg:
		r.ds.Errorf("type-argument", r.place(e).At, "A type can only be passed to a macro")
		return r.bad(e)
	}
	return nil
}

// argument is what stands for a plain parameter in an expression. A variable or
// map comes in a block, so that the macro cannot assign to it.
func (r *replacer) argument(at *syntax.Ident, b *bind) syntax.Expr {
	dup := func() syntax.Expr {
		c := syntax.Copier{Pos: func(p syntax.Pos) syntax.Pos {
			if r.nodes++; r.nodes > maxNodes && !r.tooLarge {
				r.stop(p.At)
			}
			return p
		}}
		return c.Copy(b.done)
	}
	switch b.done.(type) {
	case *syntax.TypeArg:
		r.ds.Errorf("type-argument", r.place(at).At, "'%s' is a type here and cannot be used as a value", at.Name)
		return r.bad(at)
	case *syntax.Var, *syntax.Map:
		x := dup()
		return &syntax.Block{Pos: syntax.Pos{At: x.Span()}, Result: x}
	}
	return dup()
}

// variable is a variable in the body of a macro: a parameter, one of its own, or one of the code
// around, which is warned of.
func (r *replacer) variable(v *syntax.Var) syntax.Expr {
	switch b := r.bind["$"+v.Name]; {
	case b != nil:
		return &syntax.Var{Pos: r.place(v), Name: b.done.(*syntax.Var).Name}
	case r.macro == nil:
	case r.macro.own[v.Name]:
		return &syntax.Var{Pos: r.place(v), Name: v.Name + r.mark}
	default:
		r.ds.Warnf("unhygienic", r.place(v).At, "$%s is a variable of the code that uses macro '%s'",
			v.Name, r.macro.tree.Name.Name).
			Hint("pass it to the macro as an argument")
	}
	return nil
}

// mapName is a map in the body of a macro. It has to be one of its parameters, as maps have no
// scopes to be renamed in.
func (r *replacer) mapName(m *syntax.Map) syntax.Expr {
	switch b := r.bind["@"+m.Name]; {
	case b != nil:
		return &syntax.Map{Pos: r.place(m), Name: b.done.(*syntax.Map).Name}
	case r.macro != nil:
		r.ds.Errorf("macro-map", r.place(m).At,
			"Unhygienic access to map: @%s. Maps must be passed into the macro as arguments.", m.Name).
			Hint("make it a parameter: macro %s(@%s)", r.macro.tree.Name.Name, cmp.Or(m.Name, "m"))
		r.out.Incomplete = true
	}
	return nil
}

// call replaces a call of a macro or function. A call of a builtin is copied,
// but for the words that it takes as they are.
// Arguments are expanded first, so that f(g(x)) finds the overload for what g yields.
func (r *replacer) call(c *syntax.Call) syntax.Expr {
	name := c.Func.Name
	// A map or variable argument counts as what it stands for: a parameter may be
	// handed on.
	args := make([]*bind, len(c.Args))
	done := make([]syntax.Expr, len(c.Args))
	f, isBuiltin := builtin.Lookup(name)
	_, isAgg := builtin.LookupAgg(name)
	for i, a := range c.Args {
		if id, ok := a.(*syntax.Ident); ok && isBuiltin && slices.Contains(f.Words, id.Name) && r.bind[id.Name] == nil {
			done[i] = &syntax.Ident{Pos: r.place(id), Name: id.Name}
		} else {
			done[i] = r.callArgument(a)
		}
		args[i] = &bind{raw: r.rawArgument(a), done: done[i]}
	}
	if m := r.match(name, done, r.inLibrary()); m != nil {
		return r.expand(m, c, args)
	}
	fn := r.fns[name]
	if !isBuiltin && !isAgg && fn != nil && !r.inLibrary() {
		return r.inline(fn, c, done)
	}
	if !isBuiltin && !isAgg && (len(r.macros[name]) > 0 || len(r.libraryMacros(name)) > 0) {
		r.noMatch(c, done)
		return r.bad(c)
	}
	for i, a := range done {
		if _, ok := a.(*syntax.TypeArg); ok {
			r.ds.Errorf("type-argument", r.place(c.Args[i]).At,
				"A type can only be passed to a macro, and '%s' is none", name)
			done[i] = r.bad(c.Args[i])
		}
	}
	return &syntax.Call{Pos: r.place(c), Func: &syntax.Ident{Pos: r.place(c.Func), Name: name}, Args: done}
}

// callArgument copies an argument; a type stays one.
// The copy is made in the caller's context: names in it mean what they mean there.
func (r *replacer) callArgument(a syntax.Expr) syntax.Expr {
	switch a := a.(type) {
	case *syntax.TypeArg:
		return &syntax.TypeArg{Pos: r.place(a), Type: r.TypeExpr(a.Type)}
	case *syntax.Ident:
		if b := r.bind[a.Name]; b != nil {
			if t, ok := b.done.(*syntax.TypeArg); ok { // handed on
				c := syntax.Copier{Pos: r.pos}
				return c.Copy(t)
			}
		}
	}
	return r.Copy(a)
}

// rawArgument is an argument as it was written by whoever wrote it first: where
// a parameter is handed on, what it stands for.
func (r *replacer) rawArgument(a syntax.Expr) syntax.Expr {
	if id, ok := a.(*syntax.Ident); ok {
		if b := r.bind[id.Name]; b != nil {
			return b.raw
		}
	}
	return a
}

// enter begins the copy of a body and reports whether that may be.
// A definition that is reported once is skipped in all of its other uses.
func (r *replacer) enter(name string, def syntax.Node, at source.Span, what string) bool {
	if r.recursive[def] {
		return false
	}
	for i, u := range r.chain {
		if u.node != def {
			continue
		}
		var names []string
		for _, u := range r.chain[i:] {
			names = append(names, u.name)
			r.recursive[u.node] = true
		}
		r.ds.Errorf(source.Code(what+"-recursion"), at, "Recursive call of %s '%s': %s", what, name,
			strings.Join(append(names, name), " > "))
		return false
	}
	if len(r.chain) >= maxDepth {
		r.stop(at)
		return false
	}
	r.chain = append(r.chain, use{name, def})
	return true
}

// leave ends the copy of a body.
func (r *replacer) leave() { r.chain = r.chain[:len(r.chain)-1] }

// expand is the block that a use of a macro becomes.
// Own variables get the number of the use behind an apostrophe, which no script can write.
func (r *replacer) expand(m *macro, at syntax.Expr, args []*bind) syntax.Expr {
	place := r.place(at)
	if m.broken || !r.enter(m.tree.Name.Name, m.tree, place.At, "macro") {
		return r.bad(at)
	}
	defer r.leave()
	r.serial++
	in := r.replacer(m, &source.Expansion{At: place.At})
	in.mark = "'" + strconv.Itoa(r.serial)
	in.bind = map[string]*bind{}
	values := map[string]bool{} // parameters that are no types
	for i, p := range m.tree.Params {
		in.bind[paramText(p)] = args[i]
		if id, ok := p.(*syntax.Ident); ok {
			_, isType := args[i].done.(*syntax.TypeArg)
			values[id.Name] = !isType
		}
	}
	body, ok := in.reread(m, values)
	if !ok {
		return r.bad(at)
	}
	out := in.Block(body)
	out.Pos = place
	return out
}

// reread parses a body again if it reads a parameter as a type that is a value
// in this use, as in (x) - 1.
func (r *replacer) reread(m *macro, values map[string]bool) (*syntax.Block, bool) {
	body := m.tree.Body
	wrong := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if t, ok := n.(*syntax.TypeExpr); ok {
			_, param := values[t.Name]
			wrong = wrong || t.Tag == "" && (values[t.Name] || !param && r.isValue(t.Name))
		}
		return !wrong
	})
	if !wrong {
		return body, true
	}
	again, ds := syntax.ReparseBlock(body, func(name string) bool {
		if v, param := values[name]; param {
			return v
		}
		return r.isValue(name)
	})
	if !ds.HasErrors() {
		return again, true
	}
	// Most likely a cast has a value for a type.
	explained := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Cast); ok && c.Type.Tag == "" && values[c.Type.Name] {
			r.notAType(c.Type)
			explained = true
		}
		return true
	})
	if !explained {
		r.ds.Merge(ds)
	}
	return nil, false
}

// notAType reports a macro that casts to what it was given a value for.
func (r *replacer) notAType(t *syntax.TypeExpr) {
	r.ds.Errorf("invalid-type-substitution", r.place(t).At,
		"'%s' is used as a type here, but a value was passed for it", t.Name).
		Hint("pass a type with typeof(…)")
	r.out.Incomplete = true
}

// typeExpr replaces a parameter, or the name of a macro, where a type may stand.
func (r *replacer) typeExpr(t *syntax.TypeExpr, operand bool) (*syntax.TypeExpr, syntax.Expr) {
	if t.Name == "" {
		return nil, nil
	}
	bare := operand && t.Tag == "" && len(t.Suffixes) == 0
	b := r.bind[t.Name]
	if b == nil {
		if bare && r.bareValue(t.Name) {
			return nil, r.expr(&syntax.Ident{Pos: t.Pos, Name: t.Name})
		}
		return nil, nil
	}
	if arg, ok := b.done.(*syntax.TypeArg); ok {
		c := syntax.Copier{Pos: r.pos}
		out := c.TypeExpr(arg.Type)
		if t.Tag == "" {
			out.Suffixes = append(slices.Clone(out.Suffixes), t.Suffixes...)
			return out, nil
		}
		if name := out.OfType; name != nil && name.OfType == nil && name.Of == nil &&
			len(name.Suffixes) == 0 && (name.Tag == "" || name.Tag == t.Tag) {
			return &syntax.TypeExpr{Pos: r.place(t), Tag: t.Tag, Name: name.Name, Suffixes: t.Suffixes}, nil
		}
		r.ds.Errorf("invalid-type-substitution", r.place(t).At, "'%s' must stand for a name after %s", t.Name, t.Tag)
		r.out.Incomplete = true
		return r.badType(t), nil
	}
	if id, ok := b.raw.(*syntax.Ident); ok && t.Tag != "" {
		return &syntax.TypeExpr{Pos: r.place(t), Tag: t.Tag, Name: id.Name, Suffixes: t.Suffixes}, nil
	}
	if bare {
		return nil, r.argument(&syntax.Ident{Pos: t.Pos, Name: t.Name}, b)
	}
	r.notAType(t)
	return r.badType(t), nil
}

// badType stands for a type after an error.
func (r *replacer) badType(t *syntax.TypeExpr) *syntax.TypeExpr {
	return &syntax.TypeExpr{Pos: r.place(t), Of: r.bad(t)}
}

// bareValue reports whether a name that could be a type is a macro's, and no
// type has it.
func (e *expander) bareValue(name string) bool {
	if syntax.IsTypeName(name) || e.bareMacro(name, false) == nil && !e.isCMacro(name) || e.isCType(name) {
		return false
	}
	_, err := e.opts.Machine.TypeByName("", name)
	return err != nil
}

// path replaces parameters among the members of an offsetof: one may stand for
// several, a.b.
// A macro can so be given a member of a member.
func (r *replacer) path(path []*syntax.Ident) []*syntax.Ident {
	var out []*syntax.Ident
	for _, p := range path {
		b := r.bind[p.Name]
		if b == nil {
			out = append(out, &syntax.Ident{Pos: r.place(p), Name: p.Name})
			continue
		}
		names, ok := members(b.raw)
		if !ok {
			r.ds.Errorf("invalid-member", r.place(p).At, "'%s' must stand for the name of a member", p.Name)
			r.out.Incomplete = true
			return path
		}
		for _, n := range names {
			out = append(out, &syntax.Ident{Pos: n.Pos, Name: n.Name})
		}
	}
	return out
}

// members reads a.b.c as names.
func members(e syntax.Expr) ([]*syntax.Ident, bool) {
	switch e := e.(type) {
	case *syntax.Ident:
		return []*syntax.Ident{e}, true
	case *syntax.Field:
		names, ok := members(e.X)
		return append(names, e.Name), ok
	}
	return nil, false
}
