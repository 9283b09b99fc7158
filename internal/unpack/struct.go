package unpack

import (
	"encoding"
	"reflect"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A slot is a field of a struct of Go and what is stored in it.
type slot struct {
	index []int
	name  string // of the tag, else of the field
	words string // behind the name in the tag
	typ   reflect.Type
}

// required is the one word that a tag can have.
const required = "required"

// slots are the fields of a struct that something can be stored in.
func (pl *planner) slots(t reflect.Type) []slot {
	var out []slot
	var whole []int // leads to an embedded struct that is one field, or none: its own fields do not count
	for _, f := range reflect.VisibleFields(t) {
		if whole != nil && len(f.Index) > len(whole) && slices.Equal(f.Index[:len(whole)], whole) {
			continue
		}
		tag, words, _ := strings.Cut(f.Tag.Get("hawk"), ",")
		isOpen := f.Anonymous && pl.isOpen(f.Type)
		if isOpen && tag == "" {
			continue // its fields come by themselves
		}
		if f.Anonymous {
			whole = f.Index
		}
		// A struct whose type has no capital letter cannot be set, but its fields can.
		isOwn := isOpen && f.Type.Kind() == reflect.Struct
		if !f.IsExported() && !isOwn || tag == "-" || !settable(t, f.Index) {
			continue
		}
		name := f.Name
		if tag != "" {
			name = tag
		}
		out = append(out, slot{f.Index, name, words, f.Type})
	}
	return out
}

// isOpen reports whether fields of an embedded type are those of the struct around it. A type that stands for one
// value of a script is a field itself.
func (pl *planner) isOpen(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != pl.rules.Value && pl.rules.Special[t] == nil &&
		!reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// settable reports whether a field can be reached: a nil pointer on the way has to be set, which that to a type
// without a capital letter cannot be.
func settable(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if t = f.Type; t.Kind() != reflect.Pointer {
			continue
		}
		if !f.IsExported() {
			return false
		}
		t = t.Elem()
	}
	return true
}

// reach is the field that an index leads to; pointers on the way that are nil are set.
func reach(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// structure plans for a struct of Go: fields by name, of tuples by position, and a value without
// parts into the first field.
func (pl *planner) structure(from types.Type, to reflect.Type, field string) step {
	names, elems, several := members(from)
	dsts := pl.slots(to)
	for _, d := range dsts {
		if d.words != "" && d.words != required {
			return pl.fail(join(field, d.name), to, "the tag can have the word %s, not %q", required, d.words)
		}
	}
	if !several {
		if len(dsts) == 0 {
			return pl.fail(field, to, "it has no field that could be set")
		}
		for _, d := range dsts {
			if d.words == required {
				return pl.fail(join(field, d.name), to, "the value has no fields")
			}
		}
		first := pl.plan(from, dsts[0].typ, join(field, dsts[0].name))
		return func(dst reflect.Value, v value.Value) error { return first(reach(dst, dsts[0].index), v) }
	}
	type move struct {
		from  int
		field int   // of the struct; or index leads to it
		index []int // through embedded structs
		do    step
	}
	var moves []move
	byName := finderOf(names)
	for i, d := range dsts {
		at := i
		if names != nil {
			at = byName.find(d.name)
		}
		if at < 0 || at >= len(elems) {
			if d.words == required {
				return pl.fail(join(field, d.name), to, "the value has no such field")
			}
			continue
		}
		moves = append(moves, move{at, d.index[0], d.index, pl.plan(elems[at], d.typ, join(field, d.name))})
	}
	// Only the outermost struct counts: an inner one without a match is an ordinary optional
	// part.
	pl.nothing = pl.nothing || field == "" && names != nil && len(moves) == 0 && len(dsts) > 0
	return func(dst reflect.Value, v value.Value) error {
		values := Parts(v)
		for i := range moves {
			m := &moves[i]
			// A record of an older program can be shorter than its type says.
			if m.from >= len(values) {
				continue
			}
			// One index is the usual case, and reach is several times slower.
			field := dst.Field(m.field)
			if len(m.index) > 1 {
				field = reach(dst, m.index)
			}
			if err := m.do(field, values[m.from]); err != nil {
				return err
			}
		}
		return nil
	}
}

// A finder finds names, if need be without case; of several the first.
type finder struct{ exact, folded map[string]int }

func finderOf(names []string) finder {
	f := finder{make(map[string]int, len(names)), make(map[string]int, len(names))}
	for i := len(names) - 1; i >= 0; i-- {
		f.exact[names[i]], f.folded[fold(names[i])] = i, i
	}
	return f
}

func (f finder) find(name string) int {
	if i, ok := f.exact[name]; ok {
		return i
	}
	if i, ok := f.folded[fold(name)]; ok {
		return i
	}
	return -1
}

// fold makes names equal that differ in case alone. Some letters share one capital, others one small letter.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
