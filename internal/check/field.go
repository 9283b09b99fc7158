package check

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// field is x.name: of a struct behind any number of pointers, or a record.
// The dot and the arrow are one operator, as the number of pointers is known from the type.
func (w *walker) field(e *syntax.Field) val {
	x := w.base(e.X)
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
			// A record of literals is folded: the field is the literal.
			if x.parts != nil {
				return x.parts[i]
			}
			w.follows(e, derefs)
			if p, ok := f.(*types.Pointer); ok && p.Space != types.Unset {
				x.space = p.Space
			}
			return val{Flex: types.Flex{Type: f}, space: x.space}
		}
		w.noField(e, t.String(), t.Names)
		return val{}
	case *types.Struct:
		f, ok := t.Field(e.Name.Name)
		// The program has the field, but not in a place that can be read here, as a variable that
		// the compiler removed.
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
	err := w.errorf(e, "not-a-struct", "Can not access field '%s' on expression of type '%s'", e.Name.Name, x.Type)
	n, number := t.(*types.Int)
	_, named := syntax.Unparen(e.X).(*syntax.Ident)
	if unknown := w.noKernelTypes(); unknown != nil && named && number && n.Bytes == 8 { // curtask, say
		err.Hint("it may be the address of one of the kernel's structs, which are not known: %s",
			errno.Message(unknown))
	} else if number {
		err.Hint("cast it first, if it is the address of a struct: ((struct name *)%s).%s", e.X.Span().Text(),
			e.Name.Name)
	}
	return val{}
}

// noKernelTypes is why the types of the kernel are not known, nil if they are, or are not to be asked for yet.
func (w *walker) noKernelTypes() error {
	m := w.script.Options.Machine
	if m.Portable() {
		return nil
	}
	_, err := m.BTF()
	return err
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
// The address space of a member is that of the struct, unless the kernel's type information
// says otherwise.
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
	// An array of char in C may be full to its end.
	if s, ok := f.Type.(*types.String); ok && t.C {
		v.Type = &types.String{Cap: s.Cap + 1} // with room for a NUL behind it
	}
	if w.final && w.unevaluated == 0 {
		w.info.Fields[e] = f
	}
	return v
}

// follows notes through how many pointers the base of a field is followed.
// One pointer is what Field itself follows.
func (w *walker) follows(e *syntax.Field, derefs int) {
	if derefs > 1 && w.final && w.unevaluated == 0 {
		w.info.Derefs[e.X] = derefs - 1
	}
}

// readable reports whether memory can be read through a pointer, by its tag.
// A per-CPU pointer is an offset: followed as it is, it leads to memory of somebody else.
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

// noField reports a field that a struct does not have, with the one that was meant or those that
// there are. For args of a probe on a program the words are those for parameters.
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
		if w.probe.Kind.Retval != nil {
			d.Msg = "Can't find function result " + name
		}
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
		switch {
		case len(own) > 0:
			d.Hint("fields are: %s", strings.Join(own, ", "))
		case w.probe.Kind.Space == types.User:
			d.Hint("the debug information of the function has none")
		}
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

// tupleIndex is element i of a tuple or record, i counted from 0.
// The flexibility of an element is kept, so that (1, 2).0 behaves like 1.
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

// index is x[i] on anything but a map. Bounds are checked where both the length and the index are
// known; at run time nothing is checked, as in C: the read fails or yields what lies there.
// A string has room for its NUL, which may be asked for: "abc"[3] is 0.
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
		if f, ok := syntax.Unparen(e.X).(*syntax.Field); ok {
			if s, ok := w.info.Fields[f].Type.(*types.String); ok && s.Cap > 0 {
				limit = min(limit, s.Cap)
			}
		}
	case *types.Array:
		v.Type, limit = t.Elem, t.Len
	case *types.Pointer:
		if t.Elem.Size() == 0 {
			w.errorf(e, "bad-index",
				"The array index operator [] can not be used on a pointer to %s, which has no size", t.Elem)
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
		w.errorf(e, "bad-index",
			"The array index operator [] can only be used on arrays, pointers, strings and tuples, found %s.",
			x.Type)
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
	if s, ok := x.Type.(*types.String); ok && x.k.Kind == builtin.StrConst &&
		i.k.Kind == builtin.IntConst && !i.k.Neg && i.k.Int < uint64(s.Cap) {
		b := byte(0)
		if i.k.Int < uint64(len(x.k.Str)) {
			b = x.k.Str[i.k.Int]
		}
		v.k = typed(uint64(b), types.Int8)
	}
	return v
}
