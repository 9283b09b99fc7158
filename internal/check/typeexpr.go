package check

import (
	"cmp"
	"errors"
	"slices"

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// typeExpr resolves a type as written; nil after an error.
func (w *walker) typeExpr(e *syntax.TypeExpr) types.Type {
	t, ok := w.lookupType(e)
	if !ok {
		w.unknownType(e)
		return nil
	}
	return w.suffixes(e, t)
}

// maxArray bounds the size of array types, in bytes.
// It keeps sums of sizes far from overflow, and types that a script can afford are much
// smaller.
const maxArray = 1 << 24

// suffixes applies pointers and dimensions.
// They are read from left to right: int8*[4] is four pointers.
func (w *walker) suffixes(e *syntax.TypeExpr, t types.Type) types.Type {
	for i, s := range e.Suffixes {
		if t == nil {
			return nil
		}
		if s.Pointer {
			t = &types.Pointer{Elem: t}
			continue
		}
		if i == 0 && s.Len >= 0 {
			// The first brackets of string and buffer are their capacity.
			switch b := t.(type) {
			case *types.String:
				if b.Cap == 0 && s.Len <= maxArray {
					t = &types.String{Cap: int(s.Len)}
					continue
				}
			case *types.Buffer:
				if b.Cap == 0 && s.Len <= maxArray {
					t = &types.Buffer{Cap: int(s.Len)}
					continue
				}
			case *types.Deferred:
				if builtin.IsInet(b) && s.Len <= maxArray {
					t = builtin.InetOf(int(s.Len))
					continue
				}
			}
		}
		if t.Size() == 0 || s.Len > maxArray/int64(t.Size()) {
			w.errorf(e, "bad-type", "Invalid size or type of array: %s", e.Span().Text())
			return nil
		}
		t = &types.Array{Elem: t, Len: int(s.Len)}
	}
	return t
}

// lookupType finds the base. First come the language's own names, then those
// of C text, then those of the kernel.
func (w *walker) lookupType(e *syntax.TypeExpr) (types.Type, bool) {
	switch {
	case e.OfType != nil:
		t := w.typeExpr(e.OfType)
		return t, true
	case e.Of != nil:
		return w.typeOf(e.Of), true
	case e.Tag == "":
		if t, ok := types.Named(e.Name); ok {
			return t, true
		}
		if t, ok := types.NamedAgg(e.Name); ok {
			return t, true
		}
		if t, ok := builtin.NamedType(e.Name); ok {
			return t, true
		}
	}
	if t, ok := w.cType(e.Tag, e.Name); ok {
		return t, true
	}
	if pts := w.probe.Points; len(pts) > 0 && pts[0].Kind.Types != nil {
		if t, ok := pts[0].Kind.Types(pts[0], w.script.Options, e.Tag, e.Name); ok {
			return t, true
		}
	}
	t, err := w.script.Options.Machine.TypeByName(e.Tag, e.Name)
	return t, err == nil
}

// typeNames are the types of the language that scripts name.
var typeNames = []string{
	"bool", "void", "string", "buffer", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
	"int64_t", "int32_t", "int16_t", "int8_t", "uint64_t", "uint32_t", "uint16_t", "uint8_t", "size_t",
	"ssize_t", "pid_t",
	"char", "short", "int", "long",
}

// unknownType reports a type that nothing defines, once, with the one that was probably meant.
func (w *walker) unknownType(e *syntax.TypeExpr) {
	if !w.final || w.wasReported(e) {
		return
	}
	name := e.Name
	if e.Tag != "" {
		name = e.Tag + " " + name
	}
	d := w.errorf(e, "unknown-type", "Cannot resolve unknown type \"%s\"", name)
	if w.explainC(d, e) {
		return
	}
	if e.Tag == "" {
		if near := spell.Nearest(e.Name, typeNames); near != "" {
			d.Hint("did you mean %s?", near)
			return
		}
	}
	spec, err := w.script.Options.Machine.BTF()
	if err != nil {
		if errors.Is(err, machine.ErrNoBTF) {
			d.Hint("the kernel offers no type information (BTF)")
		}
		return
	}
	kinds := btf.Set(btf.Struct, btf.Union, btf.Enum, btf.Enum64, btf.Typedef)
	switch e.Tag {
	case "struct":
		kinds = btf.Set(btf.Struct)
	case "union":
		kinds = btf.Set(btf.Union)
	case "enum":
		kinds = btf.Set(btf.Enum, btf.Enum64)
	}
	near := spell.NearestSeq(e.Name, func(yield func(string) bool) {
		spec.Each(kinds, func(_ uint32, _ btf.Kind, n []byte) bool { return yield(string(n)) })
	})
	if near != "" {
		if e.Tag != "" {
			near = e.Tag + " " + near
		}
		d.Hint("did you mean %s?", near)
	}
}

// typeOf is the type of an expression that is not evaluated. A keyed map
// stands for its key.
// Maps and variables in it are locked to that type once a comptime condition has seen it.
func (w *walker) typeOf(e syntax.Expr) types.Type {
	w.unevaluated++
	defer func() { w.unevaluated-- }()
	if m, ok := e.(*syntax.Map); ok {
		switch s := w.mapNamed(m); {
		case s.sort == keyed:
			s.key.asked = true
			return s.key.read().Type
		case s.sort == unused && !w.final:
			w.waits = append(w.waits, later) // what follows tells whether it has keys
			return nil
		}
	}
	return w.expr(e).Type
}

// operandType is the type named by sizeof(x) and offsetof(x, …), where a bare
// name that is no type may be a builtin.
func (w *walker) operandType(t *syntax.TypeExpr, x syntax.Expr) types.Type {
	if t == nil {
		w.unevaluated++
		defer func() { w.unevaluated-- }()
		v := w.expr(x)
		return v.Type
	}
	if t.Tag == "" && t.Of == nil && t.OfType == nil && len(t.Suffixes) == 0 {
		if _, ok := w.lookupType(t); !ok {
			if w.isValue(t.Name) {
				return w.operandType(nil, &syntax.Ident{Pos: t.Pos, Name: t.Name})
			}
		}
	}
	return w.typeExpr(t)
}

// sizeOf is the size of a type or of what an expression yields, as a literal.
// A portable program needs the type to have this size on the machine that it runs on, which Fix
// notes.
func (w *walker) sizeOf(e *syntax.SizeOf) val {
	t := w.operandType(e.Type, e.X)
	if t == nil {
		// Unknown yet: a literal all the same, so that sizes of variables that
		// depend on it settle.
		return val{}
	}
	if agg, ok := t.(*types.Agg); ok {
		if i, ok := w.castable(agg); ok {
			t = i
		}
	}
	w.script.Options.Machine.Fix(t, false)
	size := t.Size()
	if s, ok := t.(*types.Stack); ok {
		size = s.Stored()
	}
	return literal(builtin.Const{Kind: builtin.IntConst, Int: uint64(size)})
}

// offsetOf is the distance of a member, or of a member of a member, from the start of a struct. A
// portable program cannot have it relocated, so that the struct has to be the same.
func (w *walker) offsetOf(e *syntax.OffsetOf) val {
	t := w.operandType(e.Type, e.X)
	if t == nil {
		return val{}
	}
	offset := 0
	for _, step := range e.Path {
		if p, ok := t.(*types.Pointer); ok && e.X != nil {
			t = p.Elem
		}
		s, ok := t.(*types.Struct)
		if !ok {
			w.errorf(step, "not-a-struct", "'%s' is not a c_struct type.", t)
			return val{}
		}
		f, ok := s.Field(step.Name)
		if !ok {
			d := w.errorf(step, "unknown-field", "'%s' has no field named '%s'", s, step.Name)
			if w.final {
				hintNear(d, step.Name, s.FieldNames())
			}
			return val{}
		}
		if f.BitSize != 0 {
			w.errorf(step, "bit-field", "offsetof can not be used on the bit-field '%s'", step.Name)
			return val{}
		}
		w.script.Options.Machine.Fix(s, true)
		offset += f.Offset
		t = f.Type
	}
	return literal(builtin.Const{Kind: builtin.IntConst, Int: uint64(offset)})
}

// hintNear suggests one of several names.
func hintNear(d *source.Diagnostic, name string, names []string) {
	names = slices.Clone(names)
	slices.Sort(names)
	if near := spell.Nearest(name, names); near != "" {
		d.Hint("did you mean %s?", near)
	}
}

// cast is (type)x.
func (w *walker) cast(e *syntax.Cast) val {
	to := w.typeExpr(e.Type)
	x := w.expr(e.X)
	if to == nil || x.Type == nil {
		return val{}
	}
	from := x.Type
	if agg, ok := from.(*types.Agg); ok {
		i, ok := w.castable(agg)
		if _, toInt := asInteger(to); !ok || !toInt && !isPointer(to) {
			w.errorf(e, "bad-cast", "Cannot cast from \"%s\" to \"%s\"", agg, to)
			return val{}
		}
		from = i
		x.k = builtin.Const{}
	} else if types.Same(from, to) && !isText(from) && x.k.Kind == builtin.NoConst && !x.Flex.Flex {
		w.warnf(e, "unnecessary-cast", "Unnecessary cast: the expression has type '%s' already", to)
	}
	if f, ok := w.addressOf(e.X, x); ok {
		from, x = f.Type, f
	}
	t, err := types.Cast(from, to)
	if err != nil {
		if space, ok := w.arrayAt(e.X, x); ok && isPointer(to) {
			return val{Flex: types.Flex{Type: to}, space: space}
		}
		w.errorf(e, "bad-cast", "%v", err)
		return val{}
	}
	v := val{Flex: types.Flex{Type: t}, space: x.space}
	if v.space == types.Unset && (isPointer(t) || t.Size() == 8) {
		if _, isInt := types.IsInteger(t); isPointer(t) || !isInt {
			v.space = w.probe.Kind.Space
		}
	}
	if x.k.Kind != builtin.NoConst {
		w.castConst(e, &v, x.k)
	}
	return v
}

// castConst folds a cast of a literal.
// The result has a type, and is no longer a free literal.
func (w *walker) castConst(e *syntax.Cast, v *val, k builtin.Const) {
	if v.Type == types.Bool {
		v.k = boolConst(truth(k))
		return
	}
	if k.Kind == builtin.StrConst {
		if _, ok := v.Type.(*types.String); ok {
			v.k = k
		}
		return
	}
	switch t := v.Type.(type) {
	case *types.Int:
		v.k = typed(k.Int, t)
	case *types.Enum:
		v.k = typed(k.Int, types.IntOf(t.Bytes, t.Signed))
		if t.NameOf(int64(v.k.Int)) == "" {
			w.errorf(e, "bad-enumerator", "Enum: %s doesn't contain a variant value of %s", t.Name, constText(k))
		}
	}
}

// arrayAt reports whether e is an array, or a string, that lies somewhere: as a
// pointer it is its address, as in C. That of a value that was computed, or of
// one that travels in registers, would lead nowhere.
// Only then a cast to a pointer has a meaning.
func (w *walker) arrayAt(e syntax.Expr, v val) (types.Space, bool) {
	switch v.Type.(type) {
	case *types.Array, *types.String:
	default:
		return types.Unset, false
	}
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Var:
		if x := w.lookup(e.Name); x != nil {
			return types.Kernel, true // the program's own memory
		}
	case *syntax.Field, *syntax.Index:
		return w.memberAt(e)
	}
	return types.Unset, false
}

// memberAt is the address space in which a member of a struct, or an element,
// lies behind a pointer or in the record of an event.
func (w *walker) memberAt(e syntax.Expr) (types.Space, bool) {
	e = syntax.Unparen(e)
	var of syntax.Expr
	switch e := e.(type) {
	case *syntax.Field:
		of = e.X
		if argsItself(of) {
			return types.Kernel, w.probe.Kind.Space != types.User
		}
	case *syntax.Index:
		of = e.X
	case *syntax.Unary:
		if e.Op != syntax.Mul {
			return types.Unset, false
		}
		of = e.X
	default:
		return types.Unset, false
	}
	x := w.expr(of)
	if p, ok := x.Type.(*types.Pointer); ok {
		if p.Space != types.Unset {
			return p.Space, true
		}
		return cmp.Or(x.space, w.probe.Kind.Space), true
	}
	return w.memberAt(of)
}

// addressFor is the place that an argument is read from, where the parameter wants one or the value has no size.
// An array without bound, at the end of a struct, is as long as the function reads.
func (w *walker) addressFor(kind builtin.ParamKind, e syntax.Expr, v val) (val, bool) {
	switch kind {
	case builtin.Address:
		return w.addressOf(e, v)
	case builtin.StringLike, builtin.Bytes:
		a, ok := v.Type.(*types.Array)
		if !ok || a.Len >= 0 {
			return v, false
		}
		space, ok := w.arrayAt(e, v)
		if !ok {
			return v, false
		}
		at := val{Flex: types.Flex{Type: &types.Pointer{Elem: a.Elem, Space: space}}, space: space}
		w.record(e, at)
		return at, true
	}
	return v, false
}

// addressOf turns the string that a __data_loc member reads as into the place
// it is read from, where an address is wanted.
func (w *walker) addressOf(e syntax.Expr, v val) (val, bool) {
	f, ok := e.(*syntax.Field)
	if p, isParen := e.(*syntax.Paren); isParen {
		return w.addressOf(p.X, v)
	}
	if _, isString := v.Type.(*types.String); !ok || !isString {
		return v, false
	}
	s, ok := w.probe.Args, argsItself(f.X)
	if !ok || s == nil {
		return v, false
	}
	m, ok := s.Field(f.Name.Name)
	if !ok || m.DataLoc == types.NoDataLoc {
		return v, false
	}
	v.Flex = types.Flex{Type: &types.Pointer{Elem: types.Int8, Space: types.Kernel}}
	v.space = types.Kernel
	w.record(e, v)
	return v, true
}
