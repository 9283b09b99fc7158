package check

import (
	"slices"
	"strconv"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// expr evaluates an expression and records what is known of it. An unknown type means that it is
// not known yet or that an error was reported. w.text puts a string of the traced program in place
// of the struct that it is.
// Everything comes through here: what holds for any expression is done here and in own.
func (w *walker) expr(e syntax.Expr) val {
	v := w.text(e, w.own(w.eval(e)))
	w.record(e, v)
	return v
}

// base evaluates what a member is taken of. It is expr without text: a member of a string's struct
// is meant, not the string.
func (w *walker) base(e syntax.Expr) val {
	var v val
	if p, ok := e.(*syntax.Paren); ok {
		v = w.base(p.X)
	} else {
		v = w.own(w.eval(e))
	}
	w.record(e, v)
	return v
}

// record enters an expression into the tables, in the last walk.
// Expressions are entered in the last walk alone: types of earlier ones were guesses.
func (w *walker) record(e syntax.Expr, v val) {
	if !w.final || w.unevaluated > 0 || v.Type == nil {
		return
	}
	w.info.Types[e] = v.Type
	if v.k.Kind != builtin.NoConst {
		w.info.Consts[e] = v.k
	}
	if v.space != types.Unset {
		w.info.Spaces[e] = v.space
	}
}

// eval types an expression by its sort, from the types of its parts.
func (w *walker) eval(e syntax.Expr) val {
	switch e := e.(type) {
	case *syntax.IntLit:
		return literal(builtin.Const{Kind: builtin.IntConst, Int: e.Value})
	case *syntax.StringLit:
		return w.stringLit(e)
	case *syntax.BoolLit:
		return literal(boolConst(e.Value))
	case *syntax.PosParam:
		return w.param(e)
	case *syntax.Ident:
		return w.ident(e)
	case *syntax.Var:
		return w.variable(e)
	case *syntax.Map:
		m := w.mapNamed(e)
		w.sortIs(m, scalar, e)
		return w.readMap(m, e)
	case *syntax.MapIndex:
		m := w.mapNamed(e.Map)
		if w.sortIs(m, keyed, e) {
			w.keys(m, e.Keys, e)
		}
		return w.readMap(m, e.Map)
	case *syntax.Paren:
		return w.expr(e.X)
	case *syntax.Tuple:
		return w.tuple(e)
	case *syntax.Record:
		return w.recordLit(e)
	case *syntax.Field:
		return w.field(e)
	case *syntax.TupleIndex:
		return w.tupleIndex(e, w.expr(e.X), e.Index.Value)
	case *syntax.Index:
		return w.index(e)
	case *syntax.Unary:
		return w.unary(e)
	case *syntax.IncDec:
		return w.incDec(e)
	case *syntax.Binary:
		x := w.expr(e.X)
		return w.operate(e, e.Op, e.X, x, e.Y, w.besideText(e, x))
	case *syntax.Cond:
		return w.cond(e)
	case *syntax.If:
		return w.ifExpr(e)
	case *syntax.Block:
		v := w.block(e)
		if len(e.Stmts) > 0 {
			v.k, v.parts = builtin.Const{}, nil // its statements must run
		}
		return v
	case *syntax.Cast:
		return w.cast(e)
	case *syntax.Call:
		return w.call(e)
	case *syntax.SizeOf:
		return w.sizeOf(e)
	case *syntax.OffsetOf:
		return w.offsetOf(e)
	case *syntax.Comptime:
		return w.comptime(e)
	case *syntax.TypeInfo:
		return w.typeInfo(e)
	case *syntax.Inlined:
		return w.inlined(e)
	}
	return val{} // Bad, and what the expansion refused
}

// isNothing tells the types of expressions without value.
func isNothing(t types.Type) bool { return t == types.None || t == types.Void }

// stringLit is a string, no longer than strings may be but for a format.
func (w *walker) stringLit(e *syntax.StringLit) val {
	if limit := w.script.Config.MaxStrlen; len(e.Value) > limit-1 && !w.longText {
		w.errorf(e, "string-too-long", "String is too long (over %d bytes)", limit).
			Hint("raise max_strlen in the config block or the environment")
	}
	return literal(strConst(e.Value))
}

// param is a positional parameter: a number if it looks like one, else text.
// Its text stays with the constant for functions that want that.
// Ahead of time the words are those of whoever compiles, and not of who runs it.
func (w *walker) param(e *syntax.PosParam) val {
	if w.script.Options.Machine.Portable() {
		w.errorf(e, "positional-aot", "positional parameters can not be used in what is compiled ahead of time").
			Hint("declare an option: getopt(\"name\", default)")
		return literal(builtin.Const{Kind: builtin.IntConst})
	}
	if e.Index == 0 {
		return literal(builtin.Const{Kind: builtin.IntConst, Int: uint64(len(w.script.Params))})
	}
	text := w.paramText(e)
	if text == "" {
		if w.wantText == 0 {
			w.warnf(e, "missing-parameter", "Positional parameter $%d is empty or not provided.", e.Index)
		}
		return literal(builtin.Const{Kind: builtin.IntConst})
	}
	n, neg, err := syntax.ParseSigned(text)
	if err != nil {
		return literal(strConst(text))
	}
	return literal(number{neg, n}.konst())
}

// paramText is a parameter as it was given, "" for one that was not.
func (w *walker) paramText(e *syntax.PosParam) string {
	if e.Index < 1 || e.Index > len(w.script.Params) {
		return ""
	}
	return w.script.Params[e.Index-1]
}

// rawText is the text of $1, or of $1 without the first n bytes for $1 + n.
// Only this shape counts: $1 + $2 is a sum.
func (w *walker) rawText(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.Paren:
		return w.rawText(e.X)
	case *syntax.PosParam:
		return w.paramText(e), e.Index > 0
	case *syntax.Binary:
		text, ok := w.rawText(e.X)
		n, isLit := e.Y.(*syntax.IntLit)
		if ok && isLit && e.Op == syntax.Add {
			return text[min(n.Value, uint64(len(text))):], true
		}
	}
	return "", false
}

// variable is the value of a scratch variable.
func (w *walker) variable(e *syntax.Var) val {
	v := w.lookup(e.Name)
	if v == nil {
		w.undeclared(e)
		return val{}
	}
	w.bind(e, v)
	if w.unevaluated > 0 {
		v.asked = true
	}
	return w.readVar(v, e)
}

// ident is a builtin variable or an enumerator. The first that knows the name wins: a builtin, C
// text of the script, the program that a probe is on, the kernel, headers. What the script says
// itself hides what the machine has.
func (w *walker) ident(e *syntax.Ident) val {
	if f, ok := builtin.Lookup(e.Name); ok {
		if !f.Bare && f.Min > 0 {
			w.errorf(e, "argument-count", "%s is a function and needs arguments: %s", e.Name,
				builtin.Signature(f.Name, f.Params, f.Min, f.Variadic))
			return val{}
		}
		return w.use(e, e, f, nil)
	}
	if a, ok := builtin.LookupAgg(e.Name); ok {
		w.looseAgg(e, a)
		return val{}
	}
	if v, ok := w.cValue(e.Name); ok {
		return v
	}
	if pts := w.probe.Points; len(pts) > 0 && pts[0].Kind.Enumerator != nil {
		if enum, n, err := pts[0].Kind.Enumerator(pts[0], w.script.Options, e.Name); err == nil {
			return enumerator(enum, n)
		}
	}
	if enum, n, err := w.script.Options.Machine.EnumeratorByName(e.Name); err == nil {
		return enumerator(enum, n)
	}
	if v, ok := w.cConstant(e.Name); ok {
		return v
	}
	w.unknownName(e, "unknown-identifier", "Unknown identifier: '%s'")
	return val{}
}

// suggest names a near builtin or variable.
func (w *walker) suggest(d *source.Diagnostic, name string) {
	if !w.final {
		return
	}
	if near := w.nearBuiltin(name); near != "" {
		d.Hint("did you mean %s?", near)
		return
	}
	if w.lookupQuietly(name) != nil {
		d.Hint("did you mean $%s?", name)
	} else if w.maps["@"+name] != nil {
		d.Hint("did you mean @%s?", name)
	}
}

// nearBuiltin is the builtin whose name is most like a name, "" if none is. A
// macro that misspells one asks for it in each of its uses.
// Names are sorted, so that of two that are as near the same one is always named.
func (w *walker) nearBuiltin(name string) string {
	near, known := w.near[name]
	if !known {
		names := builtin.Names()
		slices.Sort(names)
		near = spell.Nearest(name, names)
		w.near[name] = near
	}
	return near
}

// maxTuple is the largest size of a tuple, in bytes. Without a limit, tuples of
// tuples grow beyond all bounds in a few lines.
const maxTuple = 1 << 15

// tupleOf is the value of a tuple of values, unknown if a part is or if it
// would be too large.
func tupleOf(parts []val) val {
	size, literals := 0, true
	elems := make([]types.Flex, len(parts))
	list := make([]types.Type, len(parts))
	for i, p := range parts {
		if p.Type == nil {
			return val{}
		}
		elems[i], list[i] = p.Flex, p.Type
		size += p.Type.Size()
		literals = literals && p.isLiteral()
	}
	if size > maxTuple {
		return val{}
	}
	v := val{Flex: types.FlexOf(types.NewTuple(list...), elems)}
	if literals {
		v.parts = parts
	}
	return v
}

// element is a value inside a tuple or record.
// Tuples are bytes, which have to be of a known number.
func (w *walker) element(e syntax.Expr) val {
	v := w.gathered(w.expr(e), e)
	if agg, ok := v.Type.(*types.Agg); ok {
		i, ok := w.castable(agg)
		if !ok {
			w.errorf(e, "bad-element", "Map type %s cannot exist inside a tuple", agg)
			return val{}
		}
		v.Flex = types.Flex{Type: i}
	}
	if isNothing(v.Type) || v.Type != nil && v.Type.Size() == 0 {
		w.errorf(e, "no-value", "An expression without value or size cannot be part of a tuple")
		return val{}
	}
	return v
}

// sizeOK reports a tuple or record that is too large.
func (w *walker) sizeOK(e syntax.Expr, parts []val) {
	size := 0
	for _, p := range parts {
		if p.Type != nil {
			size += p.Type.Size()
		}
	}
	if size > maxTuple {
		w.errorf(e, "too-large", "A tuple of %d bytes is too large, the limit is %d", size, maxTuple)
	}
}

// tuple is (x, y, …).
func (w *walker) tuple(e *syntax.Tuple) val {
	parts := make([]val, len(e.Elems))
	for i, x := range e.Elems {
		parts[i] = w.element(x)
	}
	w.sizeOK(e, parts)
	return tupleOf(parts)
}

// recordLit is a record: a tuple whose elements have names, each once.
func (w *walker) recordLit(e *syntax.Record) val {
	parts := make([]val, len(e.Fields))
	names := make([]string, len(e.Fields))
	first := make(map[string]int, len(e.Fields))
	for i, f := range e.Fields {
		parts[i], names[i] = w.element(f.Value), f.Name.Name
		if j, twice := first[names[i]]; twice {
			w.errorf(f.Name, "duplicate-field", "Record field %s is given twice", names[i]).
				Note(e.Fields[j].Name.Span(), "the first is here")
			return val{}
		}
		first[names[i]] = i
	}
	w.sizeOK(e, parts)
	t := tupleOf(parts)
	if t.Type == nil {
		return val{}
	}
	t.Type = types.NewRecord(names, t.Type.(*types.Tuple).Elems)
	return t
}

// castable is the integer that a read of an aggregation yields.
// A read of it visits the cells of all CPUs.
func (w *walker) castable(t *types.Agg) (*types.Int, bool) {
	a, ok := builtin.LookupAgg(t.Kind)
	if !ok || !a.Castable {
		return nil, false
	}
	return types.IntOf(8, t.Signed), true
}

// asInteger is an integer, enum or bool as an integer type.
func asInteger(t types.Type) (*types.Int, bool) {
	if t == types.Bool {
		return types.Uint8, true
	}
	return types.IsInteger(t)
}

// intLike also reads aggregations.
func (w *walker) intLike(t types.Type) (*types.Int, bool) {
	if agg, ok := t.(*types.Agg); ok {
		return w.castable(agg)
	}
	return asInteger(t)
}

// baseName is the name of a type without sizes.
func baseName(t types.Type) string {
	switch t := t.(type) {
	case *types.String:
		return "string"
	case *types.Buffer:
		return "buffer"
	case *types.Array:
		return "array"
	case *types.Pointer:
		return "pointer"
	default:
		return t.String()
	}
}

// constText is a constant as a script would write it.
func constText(k builtin.Const) string {
	switch k.Kind {
	case builtin.StrConst:
		return strconv.Quote(k.Str)
	case builtin.BoolConst:
		return strconv.FormatBool(k.Int != 0)
	}
	if k.Neg {
		return strconv.FormatInt(int64(k.Int), 10)
	}
	return strconv.FormatUint(k.Int, 10)
}
