package expand

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/operator"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Some predicates are known before there is a probe: those that ask for options, for
// the machine or for other probes. They are decided before attach points are resolved,
// so that a block which is not wanted need not find what it is about.

// decide settles the predicate of a probe. The result is nil if it is false, and has
// no predicate if it is true. One of literals alone is left to the program: it asks
// for nothing, and such a probe counts as one that is attached. With comptime it asks for that.
// Tools choose between variants of a probe by it, of which this kernel may have one.
func (e *expander) decide(p *syntax.Probe) *syntax.Probe {
	if p.Predicate == nil || !asks(p.Predicate) {
		return p
	}
	k, ok := e.constant(p.Predicate)
	if !ok {
		return p
	}
	if !truth(k) {
		return nil
	}
	out := *p
	out.Predicate = nil
	return &out
}

// asks reports whether an expression asks for anything that decides early.
func asks(x syntax.Expr) bool {
	found := false
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comptime:
			found = true
		case *syntax.Ident:
			f, known := builtin.Lookup(n.Name)
			found = found || known && f.Early
		}
		return !found
	})
	return found
}

// onlyFrames reports whether nothing is left but what runs when hawk begins and ends.
// Such a run would wait for nothing, and end only by a signal.
func onlyFrames(probes []*Probe) bool {
	for _, p := range probes {
		for _, a := range p.Attach {
			if a.Kind.Ours != probe.AtBegin && a.Kind.Ours != probe.AtEnd {
				return false
			}
		}
	}
	return true
}

// isFrame reports whether all attach points of a probe are begin or end. The probe was left out, so
// that they are not resolved.
func isFrame(p *syntax.Probe) bool {
	for _, at := range p.Attach {
		word, _, _ := strings.Cut(at.Text, ":")
		kind, ok := probe.Lookup(strings.ToLower(word))
		if !ok || kind.Ours != probe.AtBegin && kind.Ours != probe.AtEnd {
			return false
		}
	}
	return true
}

// truth is what a constant is worth as a condition.
func truth(k builtin.Const) bool { return k.Int != 0 || k.Str != "" }

// constant evaluates an expression that is known before probes are resolved; ok is
// false for others. Mistakes in it are for check to report.
func (e *expander) constant(x syntax.Expr) (k builtin.Const, ok bool) {
	switch x := x.(type) {
	case *syntax.IntLit:
		return builtin.Const{Kind: builtin.IntConst, Int: x.Value}, true
	case *syntax.StringLit:
		return builtin.Const{Kind: builtin.StrConst, Str: x.Value}, true
	case *syntax.BoolLit:
		return boolConst(x.Value), true
	case *syntax.Paren:
		return e.constant(x.X)
	case *syntax.Comptime:
		return e.constant(x.X)
	case *syntax.Cast: // as the settings are written
		return e.cast(x)
	case *syntax.Block: // of a macro
		if len(x.Stmts) == 0 && x.Result != nil {
			return e.constant(x.Result)
		}
	case *syntax.Unary:
		return e.unary(x)
	case *syntax.Binary:
		return e.binary(x)
	case *syntax.Ident:
		return e.early(x, x.Name, nil)
	case *syntax.Call:
		return e.early(x, x.Func.Name, x.Args)
	case *syntax.Field:
		return e.member(x)
	}
	return k, false
}

// cast converts to a number or a boolean as a program does; to other types nothing is known.
func (e *expander) cast(x *syntax.Cast) (builtin.Const, bool) {
	k, ok := e.constant(x.X)
	t, named := types.Named(x.Type.Name)
	if !ok || !named || x.Type.Tag != "" || len(x.Type.Suffixes) > 0 {
		return builtin.Const{}, false
	}
	if t == types.Bool {
		return boolConst(truth(k)), true
	}
	i, isInt := t.(*types.Int)
	if !isInt || k.Kind == builtin.StrConst {
		return builtin.Const{}, false
	}
	n := operator.Convert(k.Int, i)
	return builtin.Const{Kind: builtin.IntConst, Int: n, Neg: i.Signed && int64(n) < 0}, true
}

// unary evaluates ! and -; of others ok is false. Only a literal is negated: what has a type keeps
// its sign, and -getopt("n", 5) is a large number.
func (e *expander) unary(x *syntax.Unary) (builtin.Const, bool) {
	k, ok := e.constant(x.X)
	switch {
	case !ok:
	case x.Op == syntax.Not:
		return boolConst(!truth(k)), true
	case x.Op == syntax.Sub && isLiteral(x.X):
		k.Int = -k.Int
		k.Neg = int64(k.Int) < 0
		return k, true
	}
	return k, false
}

// isLiteral reports whether an expression is a number as written, with parentheses or not.
func isLiteral(x syntax.Expr) bool {
	_, ok := syntax.Unparen(x).(*syntax.IntLit)
	return ok
}

// binary evaluates && and ||, for which one side may be enough, and comparisons. What the left side decides
// asks nothing of the machine by the right one.
func (e *expander) binary(x *syntax.Binary) (builtin.Const, bool) {
	a, known := e.constant(x.X)
	if known && (x.Op == syntax.LAnd && !truth(a) || x.Op == syntax.LOr && truth(a)) {
		return boolConst(x.Op == syntax.LOr), true
	}
	b, also := e.constant(x.Y)
	switch x.Op {
	case syntax.LAnd: // what is false on one side is so whatever the other is
		if also && !truth(b) {
			return boolConst(false), true
		}
		return boolConst(true), known && also
	case syntax.LOr:
		if also && truth(b) {
			return boolConst(true), true
		}
		return boolConst(false), known && also
	}
	if !known || !also || (a.Kind == builtin.StrConst) != (b.Kind == builtin.StrConst) || wide(a) || wide(b) {
		return builtin.Const{}, false
	}
	c := order(a, b)
	switch x.Op {
	case syntax.Eq:
		return boolConst(c == 0), true
	case syntax.Ne:
		return boolConst(c != 0), true
	case syntax.Lt:
		return boolConst(c < 0), true
	case syntax.Le:
		return boolConst(c <= 0), true
	case syntax.Gt:
		return boolConst(c > 0), true
	case syntax.Ge:
		return boolConst(c >= 0), true
	}
	return builtin.Const{}, false
}

// wide reports whether a number is above those of int64. How it compares depends on the type of
// the other one, which check knows.
func wide(k builtin.Const) bool { return k.Kind == builtin.IntConst && !k.Neg && int64(k.Int) < 0 }

// order compares two constants of one kind.
func order(a, b builtin.Const) int {
	switch {
	case a.Kind == builtin.StrConst:
		return cmp.Compare(a.Str, b.Str)
	case a.Neg != b.Neg:
		if a.Neg {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Int, b.Int) // of two negative numbers, too
}

// boolConst is true or false as a constant.
func boolConst(v bool) builtin.Const {
	k := builtin.Const{Kind: builtin.BoolConst}
	if v {
		k.Int = 1
	}
	return k
}

// early is the value of a builtin that does not depend on the probe.
// The row of the builtin says by Early that its value can be asked for here.
func (e *expander) early(x syntax.Expr, name string, args []syntax.Expr) (builtin.Const, bool) {
	c, ok := e.earlyCall(x, name, args)
	if !ok || c.Func.Const == nil {
		return builtin.Const{}, false
	}
	return c.Func.Const(c)
}

// earlyCall is a use of a builtin as its hooks see it, with constant arguments.
func (e *expander) earlyCall(x syntax.Expr, name string, args []syntax.Expr) (*builtin.Call, bool) {
	f, ok := builtin.Lookup(name)
	if !ok || !f.Early || len(args) < f.Min || len(args) > len(f.Params) {
		return nil, false
	}
	c := e.constantCall(f, x, name, args)
	for _, k := range c.Consts {
		if k.Kind == builtin.NoConst {
			return nil, false
		}
	}
	return c, true
}

// constantCall is a use of a builtin with those of its arguments that are constant.
// Types are not known and stay nil: Const hooks of early builtins do without.
func (e *expander) constantCall(f *builtin.Func, x syntax.Expr, name string, args []syntax.Expr) *builtin.Call {
	c := &builtin.Call{
		Func: f, Expr: x, Name: name, Args: args, Literal: true,
		Config: e.out.Config, Machine: e.opts.Machine, Opts: e.opts, Consts: make([]builtin.Const, len(args)),
	}
	for i, a := range args {
		if k, ok := e.constant(a); ok {
			c.Consts[i] = k
		}
	}
	return c
}

// member is a field of what stands for a builtin: config.max_strlen.
func (e *expander) member(x *syntax.Field) (builtin.Const, bool) {
	id, ok := x.X.(*syntax.Ident)
	if !ok {
		return builtin.Const{}, false
	}
	c, ok := e.earlyCall(id, id.Name, nil)
	if !ok || c.Func.Stands == nil {
		return builtin.Const{}, false
	}
	for _, f := range c.Func.Stands(c).Fields {
		if f.Name.Name == x.Name.Name {
			return e.constant(f.Value)
		}
	}
	return builtin.Const{}, false
}

// declare notes the options that a tree declares.
// All options are known before attach points are resolved, which may name one that stands
// further down.
func (e *expander) declare(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		call, ok := n.(*syntax.Call)
		if !ok {
			return true
		}
		f, ok := builtin.Lookup(call.Func.Name)
		if !ok || f.Options == nil || len(call.Args) < f.Min {
			return true
		}
		c := e.constantCall(f, call, call.Func.Name, call.Args)
		for _, o := range f.Options(c) {
			if e.options == nil {
				e.options = map[string]*object.Option{}
			}
			if e.options[o.Name] == nil {
				e.options[o.Name] = o
			}
			e.out.Declared = append(e.out.Declared, o)
		}
		return true
	})
}

// optionText is the text of $name in an attach point.
// The first letter of the messages is large: they are shown as they are.
func (e *expander) optionText(name string) (string, error) {
	o := e.options[name]
	if o == nil {
		return "", fmt.Errorf("The script has no option '%s': declare it by getopt(\"%s\", …)", name, name)
	}
	k, ok := builtin.OptionValue(o, e.opts.Named)
	if !ok {
		return "", fmt.Errorf("The value of option --%s is not known while the script is compiled", name)
	}
	// The attach point is resolved for each value of an option with several.
	if element, ok := e.element[name]; ok {
		return element, nil
	}
	return builtin.OptionText(k), nil
}

// sized is the declaration of a map with its size as a number.
// The tree of the script is not changed: it is printed by -d, and compiled again for other
// machines.
func (e *expander) sized(d *syntax.MapDecl) *syntax.MapDecl {
	if _, ok := d.Entries.(*syntax.IntLit); ok {
		return d
	}
	e.declare(d.Entries)
	out := *d
	pos := syntax.Pos{At: d.Entries.Span()}
	out.Entries = &syntax.IntLit{Pos: pos, Text: "1", Value: 1}
	k, ok := e.constant(d.Entries)
	if !ok || k.Kind != builtin.IntConst || k.Neg {
		e.ds.Errorf("bad-map-size", d.Entries.Span(), "The number of entries of @%s must be an integer, "+
			"or an option that is one and known while the script is compiled", d.Map.Name)
		return &out
	}
	out.Entries = &syntax.IntLit{Pos: pos, Text: strconv.FormatUint(k.Int, 10), Value: k.Int}
	return &out
}
