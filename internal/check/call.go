package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// maxArguments is the most arguments of a variadic call.
// Each argument of printf takes a place in a record, and each of them is a value to the
// verifier.
const maxArguments = 128

// call types a call: of a builtin, or an aggregation in a place where it updates nothing. Calls of
// functions and macros of the script are no longer there: expand has put their bodies in place.
func (w *walker) call(e *syntax.Call) val {
	name := e.Func.Name
	if f, ok := builtin.Lookup(name); ok {
		if f.Deletes && w.severalDeletes(e.Args) {
			return w.deleteEach(e)
		}
		return w.use(e, e.Func, f, e.Args)
	}
	if a, ok := builtin.LookupAgg(name); ok {
		w.looseAgg(e, a)
		return val{}
	}
	for _, a := range e.Args {
		if _, isMap := a.(*syntax.Map); !isMap { // how the unknown function takes it nobody knows
			w.expr(a)
		}
	}
	if w.script.C != nil && w.script.C.FunctionMacro(name) {
		w.errorf(e.Func, "unknown-function", "Unknown function: '%s'", name).
			Hint("a C macro with parameters can not be called; define it in the language: macro %s(…) { … }", name)
		return val{}
	}
	w.unknownName(e.Func, "unknown-function", "Unknown function: '%s'")
	return val{}
}

// looseAgg reports an aggregation that updates no map.
func (w *walker) looseAgg(at syntax.Node, a *builtin.Agg) {
	call := "…"
	if len(a.Params) == 0 {
		call = ""
	}
	w.errorf(at, "agg-not-assigned", "%s() must be assigned directly to a map", a.Name).
		Hint("write @name = %s(%s)", a.Name, call)
}

// newCall is what hooks of a builtin see of a use. Diagnostics are left out but in the last walk,
// so that a hook may report without asking which walk it is in.
// Calls are made anew in each walk. The one of the last walk is kept, for lower.
func (w *walker) newCall(e syntax.Expr, name string) *builtin.Call {
	c := &builtin.Call{
		Expr: e, Name: name,
		Kind: w.probe.Kind, Points: w.probe.Points, InLoop: w.loops > 0,
		Config: w.script.Config, Machine: w.script.Options.Machine, Opts: w.script.Options,
		Literal: w.literal > 0,
	}
	if w.final {
		c.Diags = &w.ds
	}
	return c
}

// use types one use of a builtin: a call, or its bare name with no arguments. The steps are the
// same for all: may it be used here, are there as many arguments as it wants and of the right
// sorts, is its value fixed, of what type is it. Hooks of the row are asked where the row has them;
// no name is compared.
// A mistake in one step ends the use, whose value is then not known: one mistake is one
// message.
func (w *walker) use(e syntax.Expr, head *syntax.Ident, f *builtin.Func, args []syntax.Expr) val {
	if slices.Contains(f.Old, head.Name) {
		w.warnf(head, "old-name", "%s is deprecated", head.Name).Hint("use %s", f.Name)
	}
	c := w.newCall(e, head.Name)
	c.Func = f
	if f.Unsafe && !w.script.Options.Unsafe && w.unevaluated == 0 {
		w.errorf(e, "unsafe", "%s() is an unsafe function being used in safe mode", f.Name).
			Hint("allow it with --unsafe")
	}
	if f.Unstable != "" {
		w.unstable(e, f.Unstable)
	}
	legal := w.legal(e, head.Name, f)
	argsOK := w.arguments(c, f.Params, f.Min, f.Variadic, f.Words, args)
	if !w.countOK(head, f.Name, len(args), f.Min, len(f.Params), f.Variadic) || !legal || w.final && !argsOK {
		return val{}
	}
	if argsItself(e) {
		if w.probe.Args == nil {
			msg := "there is no information on arguments here"
			if w.argsErr != nil {
				msg = errno.Message(w.argsErr)
			}
			w.errorf(e, "no-args", "args can not be used: %s", msg)
			return val{}
		}
		c.Result = w.probe.Args
	}
	if w.final && w.unevaluated == 0 {
		w.noteUses(c)
	}
	// From here on the call is gone: what it stands for is typed and lowered in its place.
	if f.Stands != nil {
		return w.standIn(e, f.Stands(c))
	}
	v := val{Flex: types.Flex{Type: f.Result}}
	if f.Check != nil && argsOK {
		if t := f.Check(c); t != nil {
			v.Type = t
		}
		w.formatted(c)
	}
	if v.Type == nil {
		return val{}
	}
	c.Result = v.Type
	if f.Const != nil && argsOK {
		w.foldCall(f, c, &v)
	}
	if f.Space != nil {
		v.space = f.Space(c)
	}
	if p, ok := v.Type.(*types.Pointer); ok && p.Space != types.Unset {
		v.space = p.Space
	}
	if w.final && w.unevaluated == 0 {
		w.info.Calls[e] = c
	}
	return v
}

// foldCall computes a call whose value is fixed. A function that makes text of text sees positional
// parameters as they were written. str($1) of the parameter "007" is "007", though $1 alone is the
// number 7: so the text is tried first, and the constant put back if the function makes no text of
// it.
func (w *walker) foldCall(f *builtin.Func, c *builtin.Call, v *val) {
	if len(c.Args) > 0 {
		if raw, ok := w.rawText(c.Args[0]); ok {
			number := c.Consts[0]
			c.Consts[0] = strConst(raw)
			if k, ok := f.Const(c); ok && k.Kind == builtin.StrConst {
				c.Consts[0] = number
				*v = literal(k)
				return
			}
			c.Consts[0] = number
		}
	}
	k, ok := f.Const(c)
	if !ok {
		return
	}
	if _, isInt := v.Type.(*types.Int); isInt && k.Kind == builtin.IntConst {
		v.k = k // of the declared type
		return
	}
	*v = literal(k)
}

// noteUses collects what the program needs of its context. Attaching and lowering go by it: a
// program that reads no arguments needs no registers saved at a function's entry.
func (w *walker) noteUses(c *builtin.Call) {
	u, f := &w.probe.Uses, c.Func
	u.Probe = u.Probe || f.Uses.Probe
	u.Stack = u.Stack || f.Uses.Stack
	u.Kernel = u.Kernel || f.Uses.Kernel
	u.Kfunc = u.Kfunc || f.Kfunc != "" && len(c.Args) > 0
	u.Args = u.Args || f.Probes&hasArgs != 0
	u.Retval = u.Retval || f.Probes&hasRetval != 0
	u.Func = u.Func || f.Probes&hasFunc != 0
	u.Regs = u.Regs || f.Probes&hasRegs != 0
	u.Ctx = u.Ctx || f.Probes&hasCtx != 0
	if f.Probes&hasArgN != 0 {
		// How many arguments are worked out for a point depends on the highest one that is read.
		u.ArgN = max(u.ArgN, builtin.ArgNumber(c.Name)+1)
	}
}

// countOK checks the number of arguments. The words of the message are the reference's; a test of
// its may look for them.
func (w *walker) countOK(at syntax.Node, name string, got, least, most int, variadic bool) bool {
	if variadic {
		most = maxArguments
	}
	if got >= least && got <= most {
		return true
	}
	want := "requires " + plural(least)
	switch {
	case least == most && least == 0:
		want = "requires no arguments"
	case least == most:
	case got < least:
		want = "requires at least " + plural(least)
	default:
		want = "takes up to " + plural(most)
	}
	d := w.errorf(at, "argument-count", "%s() %s (%d provided)", name, want, got)
	if a, ok := builtin.LookupAgg(name); ok {
		d.Advise(a.Instead)
	}
	return false
}

// plural says how many arguments there are to be.
func plural(n int) string {
	switch n {
	case 1:
		return "one argument"
	case 2:
		return "two arguments"
	}
	return fmt.Sprintf("%d arguments", n)
}

// arguments evaluates the arguments of a call by what the parameters want and fills the call; false
// after an error that leaves a check nothing to look at. Each argument is evaluated once, also one
// too many, so that mistakes inside of it are reported.
func (w *walker) arguments(c *builtin.Call, params []builtin.Param, least int, variadic bool,
	words []string, args []syntax.Expr) bool {
	c.Args = args
	n := len(args)
	c.Types, c.Consts = make([]types.Type, n), make([]builtin.Const, n)
	c.Spaces, c.Words = make([]types.Space, n), make([]string, n)
	c.Maps = make([]builtin.MapArg, n)
	ok := true
	for i, a := range args {
		kind := builtin.AnyValue
		known := true
		switch {
		case i < len(params):
			kind = params[i].Kind
		case variadic && len(params) > 0:
			kind = params[len(params)-1].Kind
		default:
			known = false // too many: the count is reported
		}
		if known {
			ok = w.argument(c, i, kind, words, a) && ok
		} else if _, isMap := a.(*syntax.Map); !isMap {
			w.expr(a)
		}
	}
	// A map's key may not be left out, nor given for a scalar.
	if n == 1 && least == 1 && len(params) == 2 && params[1].Kind == builtin.Key && c.MapName != "" && c.MapKeyed {
		w.errorf(c.Args[0], "map-sort", "call to %s() expects a map without explicit keys (scalar map)", c.Name).
			Hint("name the element: %s(%s, key)", c.Name, c.MapName)
		return false
	}
	return ok
}

// argument handles argument i; false if its value is not known or wrong. The kinds are those of
// builtin.ParamKind. Words and maps are no expressions and are handled first; what is left is
// evaluated and its type compared with the kind.
func (w *walker) argument(c *builtin.Call, i int, kind builtin.ParamKind, words []string, a syntax.Expr) bool {
	switch kind {
	case builtin.Word, builtin.WordOrIntLit, builtin.IntBehindWord:
		if id, ok := a.(*syntax.Ident); ok {
			if slices.Contains(words, id.Name) {
				c.Words[i] = id.Name
				return true
			}
			if _, known := builtin.Lookup(id.Name); !known {
				d := w.errorf(a, "bad-word", "Invalid argument '%s' of %s()", id.Name, c.Name)
				if near := spell.Nearest(id.Name, words); near != "" {
					d.Hint("did you mean %s?", near)
				} else {
					d.Hint("it may be %s", strings.Join(words, ", "))
				}
				return false
			}
		}
		if kind == builtin.Word {
			w.expr(a)
			w.errorf(a, "bad-word", "%s() expects one of %s", c.Name, strings.Join(words, ", "))
			return false
		}
	case builtin.WholeMap, builtin.MapOrValue:
		if m, ok := a.(*syntax.Map); ok {
			return w.wholeMap(c, i, m)
		}
		if kind == builtin.WholeMap {
			w.expr(a)
			w.errorf(a, "argument-type", "%s() expects a map argument", c.Name)
			return false
		}
		if mi, ok := a.(*syntax.MapIndex); ok && c.Func != nil && c.Func.Deletes {
			w.mapNamed(mi.Map).deleted = true
		}
	case builtin.Key:
		return w.keyArgument(c, i, a)
	case builtin.VarRef:
		return w.variableArgument(c, i, a)
	}
	v := w.argValue(kind, a)
	if v.Type != nil && argsItself(a) {
		if rec := w.textRecord(a); rec != nil {
			v = w.standIn(a, rec)
		} else {
			v.Type = w.argsRecord()
		}
		w.record(a, v)
	}
	if v.Type != nil {
		if addr, ok := w.addressFor(kind, a, v); ok {
			v = addr
		}
	}
	c.Types[i], c.Consts[i], c.Spaces[i] = v.Type, v.k, v.space
	if agg, ok := v.Type.(*types.Agg); ok && kind.Reads() {
		if t, ok := w.castable(agg); ok {
			c.Types[i] = t
		}
	}
	return v.Type != nil && w.argKind(c, i, kind, a, v)
}

// argsRecord is the type of args as a value of its own, as print has it: what
// lies in several places is gathered into a record.
// Members without a name or a size have no place in a record, and nobody would miss them.
func (w *walker) argsRecord() *types.Record {
	var names []string
	var elems []types.Type
	for _, f := range w.probe.Args.Fields() {
		t := w.fieldType(f)
		if t.Size() > 0 && f.Name != "" {
			names, elems = append(names, f.Name), append(elems, t)
		}
	}
	return types.NewRecord(names, elems)
}

// gathered is a value that is stored: of args its record.
// A copy of args would be the registers of the moment, and no struct.
func (w *walker) gathered(x val, rhs syntax.Node) val {
	e, ok := rhs.(syntax.Expr)
	if s, isStruct := x.Type.(*types.Struct); ok && isStruct && s.Kind == types.ContextKind && argsItself(e) {
		x.Type = w.argsRecord()
		w.record(e, x)
	}
	return x
}

// argValue evaluates an argument. Formats may be longer than other strings,
// and a positional parameter that is only wanted as text need not be there.
// Both exceptions hold for what is inside of the argument as well, and end with it.
func (w *walker) argValue(kind builtin.ParamKind, a syntax.Expr) val {
	if kind == builtin.StringLit {
		was := w.longText
		w.longText = true
		defer func() { w.longText = was }()
	}
	// Inside a literal, builtins that are constant for one attach point may be used.
	if kind == builtin.IntLit || kind == builtin.WordOrIntLit || kind == builtin.IntBehindWord {
		w.literal++
		defer func() { w.literal-- }()
	}
	if _, ok := w.rawText(a); ok && kind == builtin.Bytes {
		w.wantText++
		defer func() { w.wantText-- }()
	}
	return w.expr(a)
}

// formatted warns of a format that shows the address of a text as if it were the text.
func (w *walker) formatted(c *builtin.Call) {
	if c.Found.Format == nil || w.unevaluated > 0 {
		return
	}
	for i, conv := range c.Found.Format.Convs {
		if a := c.Args[1+i]; conv.Verb == value.Default && isTextAddress(a, c.Types[1+i]) {
			w.warnf(a, "address-text", "This prints the address of a text, not the text").
				Hint("str(%s)?", a.Span().Text())
		}
	}
}

// argKind checks an argument against what the parameter wants.
// A builtin whose wishes are more particular has a Check of its own, which runs after this.
func (w *walker) argKind(c *builtin.Call, i int, kind builtin.ParamKind, a syntax.Expr, v val) bool {
	_, isInt := w.intLike(v.Type)
	bad := func(want string) bool {
		w.errorf(a, "argument-type", "%s() only supports %s arguments (%s provided)", c.Name, want, v.Type)
		return false
	}
	switch kind {
	case builtin.Integer, builtin.WordOrIntLit, builtin.IntBehindWord:
		if !isInt {
			return bad("integer")
		}
	case builtin.Address:
		if !isInt && !isPointer(v.Type) {
			return bad("integer or pointer")
		}
	case builtin.StringLit:
		if v.k.Kind == builtin.StrConst {
			return true
		}
		d := w.errorf(a, "literal-required", "%s() expects a string literal (%s provided)", c.Name, v.Type)
		if p, ok := a.(*syntax.PosParam); ok {
			d.Hint("use str($%d) to pass a positional parameter as text", p.Index)
		}
		return false
	case builtin.IntLit:
		if v.k.Kind != builtin.IntConst {
			w.errorf(a, "literal-required", "%s() expects an integer literal (%s provided)", c.Name, v.Type)
			return false
		}
	case builtin.StringLike:
		switch t := v.Type.(type) {
		case *types.String:
			return true
		case *types.Array:
			if isByte(t.Elem) {
				return true
			}
		case *types.Pointer:
			if isByte(t.Elem) {
				return true
			}
		}
		return bad("string")
	case builtin.AnyValue, builtin.MapOrValue, builtin.VarRef, builtin.Bytes:
		if isNothing(v.Type) {
			w.errorf(a, "no-value", "%s() can not take an expression without value", c.Name)
			return false
		}
		if s, ok := v.Type.(*types.Tuple); ok && len(s.Elems) == 0 {
			w.errorf(a, "no-value", "%s() can not take an empty tuple", c.Name)
			return false
		}
	}
	return true
}

// isByte reports whether a type is a char, of either sign.
func isByte(t types.Type) bool {
	i, ok := t.(*types.Int)
	return ok && i.Bytes == 1
}

// wholeMap is an argument that names a map without a key.
// No key is evaluated and nothing is read: print(@x) of a map that is never written is a
// mistake, not a zero.
func (w *walker) wholeMap(c *builtin.Call, i int, e *syntax.Map) bool {
	m := w.mapNamed(e)
	if w.final && !m.defined() {
		w.undefinedMap(m, e)
		return false
	}
	if c.Func != nil && c.Func.Deletes {
		m.deleted = true
	}
	t := m.value.read().Type
	if m.agg != nil {
		t = m.aggType()
	}
	c.Types[i] = t
	arg := &c.Maps[i]
	*arg = builtin.MapArg{Name: m.name, Keyed: m.sort == keyed, Value: t}
	if arg.Keyed {
		arg.Key = m.key.read().Type
	}
	if i == 0 {
		c.MapName, c.MapKeyed, c.MapKey, c.MapValue = arg.Name, arg.Keyed, arg.Key, arg.Value
	}
	if t != nil {
		w.record(e, val{Flex: types.Flex{Type: t}})
	}
	return true
}

// keyArgument is a key of the map in argument 0.
// The key joins the type of the map's keys, as in @m[key]: a wider one widens them all.
func (w *walker) keyArgument(c *builtin.Call, i int, a syntax.Expr) bool {
	e, ok := c.Args[0].(*syntax.Map)
	if !ok {
		w.expr(a)
		if _, isIndex := c.Args[0].(*syntax.MapIndex); isIndex {
			w.errorf(a, "argument-count", "%s() takes either an element of a map or a map and a key", c.Name)
		} else if c.Types[0] != nil {
			w.errorf(c.Args[0], "argument-type", "%s() expects a map argument", c.Name)
		}
		return false
	}
	m := w.mapNamed(e)
	if m.sort == scalar {
		w.expr(a)
		w.errorf(c.Args[0], "map-sort", "call to %s() expects a map with explicit keys (non-scalar map)", c.Name).
			Note(m.sortAt, "it was first used here")
		return false
	}
	v := w.keyValue(a)
	c.Types[i], c.Consts[i], c.Spaces[i] = v.Type, v.k, v.space
	w.joinKey(m, v, []syntax.Expr{a}, a)
	return v.Type != nil
}

// variableArgument is a variable that the call gives the value of an element of the map in argument
// 0. The variable may keep its old value, if the map has no such element: it is joined, not
// replaced.
func (w *walker) variableArgument(c *builtin.Call, i int, a syntax.Expr) bool {
	e, ok := a.(*syntax.Var)
	if !ok {
		w.expr(a)
		w.errorf(a, "argument-type", "%s() expects a scratch variable", c.Name)
		return false
	}
	v := w.lookup(e.Name)
	if v == nil {
		w.undeclared(e)
		return false
	}
	w.bind(e, v)
	m, ok := c.Args[0].(*syntax.Map)
	if !ok {
		return false
	}
	var x val
	waits := w.waiting(func() { x = w.mapValue(w.mapNamed(m), m) })
	w.assign(v, x, waits, a, a)
	if w.unevaluated == 0 {
		v.out.Assigns++ // perhaps: what it was before still counts
	}
	c.Types[i] = x.Type
	return x.Type != nil
}
