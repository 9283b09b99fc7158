package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// expr evaluates an expression and records what is known of it. An unknown
// type means that it is not known yet or that an error was reported.
func (w *walker) expr(e syntax.Expr) val {
	v := w.eval(e)
	w.record(e, v)
	return v
}

// record enters an expression into the tables, in the last walk.
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
		return w.mapValue(m, e)
	case *syntax.MapIndex:
		m := w.mapNamed(e.Map)
		if w.sortIs(m, keyed, e) {
			w.keys(m, e.Keys, e)
		}
		return w.mapValue(m, e.Map)
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

func (w *walker) stringLit(e *syntax.StringLit) val {
	if limit := w.script.Config.MaxStrlen; len(e.Value) > limit-1 && !w.longText {
		w.errorf(e, "string-too-long", "String is too long: %d bytes, the limit is %d", len(e.Value), limit-1).
			Hint("raise max_strlen in the config block or the environment")
	}
	return literal(strConst(e.Value))
}

// param is a positional parameter: a number if it looks like one, else text.
// Its text stays with the constant for functions that want that.
func (w *walker) param(e *syntax.PosParam) val {
	if e.Index == 0 {
		return literal(builtin.Const{Kind: builtin.IntConst, Int: uint64(len(w.script.Params))})
	}
	text := w.paramText(e)
	if text == "" {
		if w.wantText == 0 {
			w.warnf(e, "missing-parameter", "Positional parameter $%d is empty or not provided", e.Index)
		}
		return literal(builtin.Const{Kind: builtin.IntConst})
	}
	n, neg, err := syntax.ParseSigned(text)
	if err != nil {
		return literal(strConst(text))
	}
	return literal(number{neg, n}.konst())
}

func (w *walker) paramText(e *syntax.PosParam) string {
	if e.Index < 1 || e.Index > len(w.script.Params) {
		return ""
	}
	return w.script.Params[e.Index-1]
}

// rawText is the text of $1, or of $1 without the first n bytes for $1 + n.
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

// ident is a builtin variable or an enumerator.
func (w *walker) ident(e *syntax.Ident) val {
	if f, ok := builtin.Lookup(e.Name); ok {
		if !f.Bare && f.Min > 0 {
			w.errorf(e, "argument-count", "%s is a function and needs arguments: %s", e.Name, builtin.Signature(f.Name, f.Params, f.Min, f.Variadic))
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
	if enum, n, err := w.script.Options.Target.EnumeratorByName(e.Name); err == nil {
		return enumerator(enum, n)
	}
	if v, ok := w.cConstant(e.Name); ok {
		return v
	}
	if w.isPlanned(e, e.Name) {
		return val{}
	}
	w.unknownName(e, "unknown-identifier", "Unknown identifier: '%s'")
	return val{}
}

// suggest names a near builtin or variable.
func (w *walker) suggest(d *source.Diagnostic, name string) {
	if !w.final {
		return
	}
	names := builtin.Names()
	slices.Sort(names)
	if near := spell.Nearest(name, names); near != "" {
		d.Hint("did you mean %s?", near)
		return
	}
	if w.lookupQuietly(name) != nil {
		d.Hint("did you mean $%s?", name)
	} else if w.maps["@"+name] != nil {
		d.Hint("did you mean @%s?", name)
	}
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
func (w *walker) element(e syntax.Expr) val {
	v := w.expr(e)
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
	if s, ok := v.Type.(*types.Struct); ok && s.Kind == types.ContextKind {
		w.errorf(e, "no-value", "args can not be part of a tuple; take its fields")
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

func (w *walker) tuple(e *syntax.Tuple) val {
	parts := make([]val, len(e.Elems))
	for i, x := range e.Elems {
		parts[i] = w.element(x)
	}
	w.sizeOK(e, parts)
	return tupleOf(parts)
}

func (w *walker) recordLit(e *syntax.Record) val {
	parts := make([]val, len(e.Fields))
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i], names[i] = w.element(f.Value), f.Name.Name
		for j, n := range names[:i] {
			if n == names[i] {
				w.errorf(f.Name, "duplicate-field", "Record field %s is given twice", n).Note(e.Fields[j].Name.Span(), "the first is here")
				return val{}
			}
		}
	}
	w.sizeOK(e, parts)
	t := tupleOf(parts)
	if t.Type == nil {
		return val{}
	}
	t.Type = types.NewRecord(names, t.Type.(*types.Tuple).Elems)
	return t
}

// field is x.name: of a struct behind any number of pointers, or a record.
func (w *walker) field(e *syntax.Field) val {
	x := w.expr(e.X)
	t, derefs := x.Type, 0
	for {
		p, ok := t.(*types.Pointer)
		if !ok {
			break
		}
		if p.Space != types.Unset {
			x.space = p.Space
		}
		if !w.readable(e.X, p) {
			return val{}
		}
		t = p.Elem
		derefs++
	}
	switch t := t.(type) {
	case nil:
		return val{}
	case *types.Record:
		if i, f, ok := t.Lookup(e.Name.Name); ok {
			if x.parts != nil {
				return x.parts[i]
			}
			w.follows(e, derefs)
			return val{Flex: types.Flex{Type: f}, space: x.space}
		}
		w.noField(e, t.String(), t.Names)
		return val{}
	case *types.Struct:
		f, ok := t.Field(e.Name.Name)
		if !ok && t.Absent != nil && t.Absent(e.Name.Name) != "" {
			w.errorf(e.Name, "unreadable-field", "%s", t.Absent(e.Name.Name))
			return val{}
		}
		if !ok {
			f, ok = w.oldDataLoc(e, t)
		}
		if !ok {
			w.noField(e, t.String(), t.FieldNames())
			return val{}
		}
		w.follows(e, derefs)
		return w.member(e, t, f, x)
	case *types.Agg:
		w.errorf(e, "not-a-struct", "Can not access field '%s' on %s", e.Name.Name, t)
		return val{}
	}
	if t == types.Void && derefs > 0 {
		w.errorf(e, "not-a-struct", "Can not access field '%s' through an untyped pointer", e.Name.Name).
			Hint("cast it first: ((struct name *)%s).%s", e.X.Span().Text(), e.Name.Name)
		return val{}
	}
	w.errorf(e, "not-a-struct", "Can not access field '%s' on expression of type '%s'", e.Name.Name, x.Type)
	return val{}
}

// oldDataLoc finds the field x that older scripts call data_loc_x.
func (w *walker) oldDataLoc(e *syntax.Field, t *types.Struct) (types.Field, bool) {
	name, old := strings.CutPrefix(e.Name.Name, "data_loc_")
	if !old || !argsItself(e.X) {
		return types.Field{}, false
	}
	f, ok := t.Field(name)
	if !ok || f.DataLoc == types.NoDataLoc {
		return types.Field{}, false
	}
	w.warnf(e.Name, "old-name", "%s is deprecated", e.Name.Name).Hint("use %s", name)
	return f, true
}

// member is a resolved member of a struct.
func (w *walker) member(e *syntax.Field, t *types.Struct, f types.Field, x val) val {
	v := val{Flex: types.Flex{Type: f.Type}, space: x.space}
	if _, ok := types.IsInteger(f.Type); ok && f.Type.Size() < 8 {
		v.space = types.Unset // no address
	}
	if p, ok := f.Type.(*types.Pointer); ok && p.Space != types.Unset {
		v.space = p.Space
	}
	if f.DataLoc != types.NoDataLoc {
		v.space = types.Kernel // the record is the kernel's
		v.Type = w.fieldType(f)
	}
	if s, ok := f.Type.(*types.String); ok && t.C {
		v.Type = &types.String{Cap: s.Cap + 1} // with room for a NUL behind it
	}
	if w.final && w.unevaluated == 0 {
		w.info.Fields[e] = f
	}
	return v
}

// follows notes through how many pointers the base of a field is followed.
func (w *walker) follows(e *syntax.Field, derefs int) {
	if derefs > 1 && w.final && w.unevaluated == 0 {
		w.info.Derefs[e.X] = derefs - 1
	}
}

// readable reports whether memory can be read through a pointer, by its tag.
func (w *walker) readable(at syntax.Node, p *types.Pointer) bool {
	if p.Tag != "" {
		w.errorf(at, "pointer-tag", "This pointer is tagged %s by the kernel and can not be followed as it is", p.Tag).
			Hint("cast it, if that is meant: (%s)…", p)
	}
	return p.Tag == ""
}

// fieldType is the type of a member as a value: data that the record only
// refers to is text, or the pointer to it.
func (w *walker) fieldType(f types.Field) types.Type {
	if f.DataLoc == types.NoDataLoc {
		return f.Type
	}
	if s, ok := f.Type.(*types.String); ok && s.Cap == 0 {
		return builtin.WholeText(w.script.Config)
	}
	return &types.Pointer{Elem: types.Void, Space: types.Kernel}
}

func (w *walker) noField(e *syntax.Field, of string, names []string) {
	if !w.final {
		return
	}
	name := e.Name.Name
	if w.script.Lacking && !argsItself(e.X) && spell.Nearest(name, names) == "" {
		return // its definition may be what could not be read
	}
	d := w.errorf(e.Name, "unknown-field", "Struct/union of type '%s' does not contain a field named '%s'", of, name)
	if argsItself(e.X) && w.probe.Kind.Space == types.User {
		d.Msg = "Can't find function parameter " + name
	}
	if near := spell.Nearest(name, names); near != "" {
		d.Hint("did you mean %s?", near)
	} else if argsItself(e.X) {
		if end := nameEnding(name, names); end != "" {
			d.Hint("did you mean %s?", end)
			return
		}
		// Every tracepoint has the common fields and hardly a script wants them.
		own := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasPrefix(n, "common_") })
		d.Hint("fields are: %s", strings.Join(own, ", "))
	}
}

// nameEnding finds a name that is an end or a start of a longer one, or the
// reverse: ret for retval.
func nameEnding(name string, names []string) string {
	for _, n := range names {
		if len(n) >= 3 && (strings.HasPrefix(name, n) || strings.HasSuffix(name, n)) {
			return n
		}
	}
	return ""
}

func (w *walker) tupleIndex(e syntax.Expr, x val, i uint64) val {
	var elems []types.Type
	switch t := x.Type.(type) {
	case nil:
		return val{}
	case *types.Tuple:
		elems = t.Elems
	case *types.Record:
		elems = t.Elems
	default:
		w.errorf(e, "not-a-tuple", "Can not access index %d on expression of type '%s'", i, x.Type)
		return val{}
	}
	if i >= uint64(len(elems)) {
		w.errorf(e, "tuple-index", "Invalid tuple index: %d. Found %d elements in tuple.", i, len(elems))
		return val{}
	}
	if x.parts != nil {
		return x.parts[i]
	}
	v := val{Flex: types.Flex{Type: elems[i]}}
	if x.Elems != nil {
		v.Flex = x.Elems[i]
	}
	return v
}

// index is x[i] on anything but a map.
func (w *walker) index(e *syntax.Index) val {
	x, i := w.expr(e.X), w.expr(e.I)
	if x.Type == nil {
		return val{}
	}
	switch x.Type.(type) {
	case *types.Tuple:
		if i.Type == nil {
			return val{}
		}
		if i.k.Kind != builtin.IntConst || i.k.Neg {
			w.errorf(e.I, "tuple-index", "The index of a tuple must be a literal that is not negative")
			return val{}
		}
		return w.tupleIndex(e, x, i.k.Int)
	}
	limit := -1 // number of elements, -1 if nobody knows
	v := val{space: x.space}
	switch t := x.Type.(type) {
	case *types.String:
		v.Type, limit = types.Int8, t.Cap
		if f, ok := bare(e.X).(*syntax.Field); ok {
			if s, ok := w.info.Fields[f].Type.(*types.String); ok && s.Cap > 0 {
				limit = min(limit, s.Cap)
			}
		}
	case *types.Array:
		v.Type, limit = t.Elem, t.Len
	case *types.Pointer:
		if t.Elem.Size() == 0 {
			w.errorf(e, "bad-index", "The array index operator [] can not be used on a pointer to %s, which has no size", t.Elem)
			return val{}
		}
		if !w.readable(e.X, t) {
			return val{}
		}
		if t.Space != types.Unset {
			v.space = t.Space
		}
		v.Type = t.Elem
	default:
		w.errorf(e, "bad-index", "The array index operator [] can only be used on arrays, pointers, strings and tuples, found %s.", x.Type)
		return val{}
	}
	if p, ok := v.Type.(*types.Pointer); ok && p.Space != types.Unset {
		v.space = p.Space
	}
	if i.Type == nil {
		return v
	}
	it, ok := w.intLike(i.Type)
	switch {
	case !ok:
		w.errorf(e.I, "bad-index", "The array index operator [] only accepts integer indices, found %s", i.Type)
	case i.k.Kind == builtin.IntConst && i.k.Neg && limit >= 0:
		w.errorf(e.I, "index-range", "the index %d is negative", int64(i.k.Int))
	case i.k.Kind == builtin.IntConst && limit >= 0 && i.k.Int >= uint64(limit):
		w.errorf(e.I, "index-range", "the index %d is out of bounds for array of size %d", i.k.Int, limit)
	case i.k.Kind == builtin.NoConst && it.Signed && !i.Flex.Flex && limit >= 0:
		w.warnf(e.I, "signed-index", "the index is signed; a negative one reads nothing useful")
	}
	if s, ok := x.Type.(*types.String); ok && x.k.Kind == builtin.StrConst && i.k.Kind == builtin.IntConst && !i.k.Neg && i.k.Int < uint64(s.Cap) {
		b := byte(0)
		if i.k.Int < uint64(len(x.k.Str)) {
			b = x.k.Str[i.k.Int]
		}
		v.k = fromBits(uint64(int8(b)), int8(b) < 0).konst()
	}
	return v
}

// ifExpr is if as a value.
func (w *walker) ifExpr(e *syntax.If) val {
	switch w.arm(e, e.Cond) {
	case thenArm:
		return w.only(e, e.Then)
	case elseArm:
		return w.only(e, e.Else)
	case noArm:
		return val{}
	}
	cond := w.condition(e.Cond)
	then := w.expr(e.Then)
	if e.Else == nil {
		if isNothing(then.Type) {
			return then
		}
		if then.Type != nil {
			w.errorf(e, "no-else", "An if without else has no value")
		}
		return val{}
	}
	return w.joinArms(e, cond, then, w.expr(e.Else), e.Then, e.Else)
}

func (w *walker) cond(e *syntax.Cond) val {
	switch w.arm(e, e.Cond) {
	case thenArm:
		if e.Then == nil {
			return w.only(e, e.Cond)
		}
		return w.only(e, e.Then)
	case elseArm:
		return w.only(e, e.Else)
	case noArm:
		return val{}
	}
	cond := w.condition(e.Cond)
	then, thenExpr := cond, e.Cond
	if e.Then != nil {
		then, thenExpr = w.expr(e.Then), e.Then
	}
	return w.joinArms(e, cond, then, w.expr(e.Else), thenExpr, e.Else)
}

// joinArms types a conditional. A literal condition with literal arms is
// decided here, whatever the arms' types.
func (w *walker) joinArms(e syntax.Expr, cond, x, y val, xe, ye syntax.Expr) val {
	if cond.k.Kind != builtin.NoConst && x.isLiteral() && y.isLiteral() {
		if truth(cond.k) {
			return x
		}
		return y
	}
	if x.Type == nil || y.Type == nil {
		return val{}
	}
	if isNothing(x.Type) && isNothing(y.Type) {
		return val{Flex: types.Flex{Type: types.None}}
	}
	for _, v := range []*val{&x, &y} {
		if agg, ok := v.Type.(*types.Agg); ok {
			if i, ok := w.castable(agg); ok {
				v.Flex = types.Flex{Type: i}
			}
		}
	}
	j, ok := types.Join(x.Flex, y.Flex)
	if _, agg := j.Type.(*types.Agg); !ok || agg || isNothing(x.Type) != isNothing(y.Type) {
		w.errorf(e, "arms-mismatch", "Branches must return the same type or compatible types: have '%s' and '%s'", x.Type, y.Type).
			Note(xe.Span(), "this has type '%s'", x.Type).Note(ye.Span(), "this has type '%s'", y.Type)
		return val{}
	}
	v := val{Flex: j, space: x.space}
	switch {
	case v.space == types.Unset:
		v.space = y.space
	case y.space != types.Unset && y.space != v.space:
		v.space = types.Unset
	}
	w.lossy(xe, x.Flex, j.Type)
	w.lossy(ye, y.Flex, j.Type)
	return v
}

// condition is an expression that decides.
func (w *walker) condition(e syntax.Expr) val {
	v := w.expr(e)
	if v.Type == nil || v.k.Kind != builtin.NoConst {
		return v
	}
	if _, ok := v.Type.(*types.Pointer); ok {
		return v
	}
	if _, ok := w.intLike(v.Type); ok {
		return v
	}
	w.errorf(e, "bad-condition", "Invalid condition: %s", baseName(v.Type))
	return val{}
}

// castable is the integer that a read of an aggregation yields.
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
