package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// cType finds a type that the script's C text defines. It hides a type of the
// kernel with the same name, of which the script is told.
func (w *walker) cType(tag, name string) (types.Type, bool) {
	unit := w.script.C
	if unit == nil {
		return nil, false
	}
	t, ok := unit.Type(tag, name)
	if !ok || !w.final {
		return t, ok
	}
	if at, own := unit.Defined(tag, name); own {
		if _, err := w.script.Options.Machine.TypeByName(tag, name); err == nil {
			what := name
			if tag != "" {
				what = tag + " " + name
			}
			w.ds.Warnf("type-hides-kernel", at, "The definition of %s in the script hides the kernel's own", what).
				Hint("leave it out, or choose another name if the kernel's type is wanted elsewhere")
		}
	}
	return t, ok
}

// own is a value whose type is, or points to, a struct that the script defines
// itself: the script's definition stands for the kernel's wherever that comes
// from, a builtin, a member or an argument. A struct that is declared and
// nothing else is the one that the probe's module or program defines.
func (w *walker) own(v val) val {
	if v.Type != nil {
		v.Type = w.ownType(v.Type)
	}
	return v
}

// ownType replaces a struct behind any number of pointers. Pointers are copied, since the types of
// the kernel are shared by all scripts.
// A type in which nothing changes is yielded as it is: it may be shared by all scripts.
func (w *walker) ownType(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Pointer:
		if elem := w.ownType(t.Elem); elem != t.Elem {
			p := *t
			p.Elem = elem
			return &p
		}
	case *types.Struct:
		tag, ok := structTags[t.Kind]
		if !ok || t.Name == "" {
			return t
		}
		if mine, ok := w.cType(tag, t.Name); ok {
			return mine
		}
		if pts := w.probe.Points; t.Bytes == 0 && len(t.Fields()) == 0 && len(pts) > 0 && pts[0].Kind.Types != nil {
			if defined, ok := pts[0].Kind.Types(pts[0], w.script.Options, tag, t.Name); ok {
				return defined
			}
		}
	}
	return t
}

// structTags are the words by which C names the kinds of struct that a script can define.
var structTags = map[types.Kind]string{types.StructKind: "struct", types.UnionKind: "union"}

// cValue is an enumerator of C text.
func (w *walker) cValue(name string) (val, bool) {
	if w.script.C == nil {
		return val{}, false
	}
	enum, n, ok := w.script.C.Enumerator(name)
	if !ok {
		return val{}, false
	}
	return enumerator(enum, n), true
}

// enumerator is the value of an enumerator: a constant of the type of its enum.
// It is not free, having a type of its own: an operation on it is computed as a program does.
func enumerator(enum *types.Enum, n int64) val {
	k := builtin.Const{Kind: builtin.IntConst, Int: uint64(n), Neg: n < 0 && enum.Signed}
	return val{Flex: types.Flex{Type: enum}, k: k}
}

// cConstant is a constant of well-known headers. Scripts need not include them.
// It is asked last, so that the kernel's own value wins where the two differ.
func (w *walker) cConstant(name string) (val, bool) {
	n, ok := cdef.Constant(name, w.script.Options.Machine.Arch().Name)
	if !ok {
		return val{}, false
	}
	// No constant has its highest bit set but the largest of all and those that
	// are negative.
	neg := int64(n) < 0 && n != 1<<64-1
	return literal(builtin.Const{Kind: builtin.IntConst, Int: n, Neg: neg}), true
}

// isValue reports whether a bare name is an enumerator or a constant, for
// where it is read as a type first.
func (w *walker) isValue(name string) bool {
	// The order is that of ident: a builtin hides an enumerator of its name.
	if f, ok := builtin.Lookup(name); ok {
		return f.Bare
	}
	if _, ok := w.cValue(name); ok {
		return true
	}
	if _, _, err := w.script.Options.Machine.EnumeratorByName(name); err == nil {
		return true
	}
	_, ok := w.cConstant(name)
	return ok
}

// wasReported reports whether an unknown type is one that an error about the
// script's C text has been about.
// One mistake in a struct is told once, and not again in each cast to it.
func (w *walker) wasReported(e *syntax.TypeExpr) bool {
	if w.script.C == nil {
		return false
	}
	_, script, lost := w.script.C.Lost(e.Tag, e.Name)
	return lost && script
}

// explainC adds what C text has to do with an unknown type and reports whether
// it has.
func (w *walker) explainC(d *source.Diagnostic, e *syntax.TypeExpr) bool {
	unit := w.script.C
	if unit == nil {
		return false
	}
	if at, _, ok := unit.Lost(e.Tag, e.Name); ok {
		d.Note(at, "its definition could not be read")
		return true
	}
	if near := spell.Nearest(e.Name, unit.TypeNames(e.Tag)); near != "" {
		if e.Tag != "" {
			near = e.Tag + " " + near
		}
		d.Hint("did you mean %s?", near)
		return true
	}
	return false
}
