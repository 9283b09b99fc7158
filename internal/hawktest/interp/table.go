package interp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// less is < on 64 bits. Values are extended by their signs already, so that one bit decides the
// order.
func less(x, y uint64, signed bool) bool {
	if signed {
		return int64(x) < int64(y)
	}
	return x < y
}

// A table is a map of the script.
type table struct {
	decl    *check.Map
	entries map[string]*entry
	printed bool // as a whole, by an event
}

// change notes that an element changes. After a print of the whole map nobody knows whether hawk
// reads it before or after the change.
func (t *table) change() {
	if t.printed {
		fail("the time when a map is printed")
	}
}

// An entry uses v or cell, by what the map's value is.
type entry struct {
	key  mapKey
	v    val
	cell cell
}

// A mapKey is a key in the type of the map's keys. The text is the converted value in Go's
// syntax, in which different values differ.
type mapKey struct {
	text string // tells keys apart
	v    val    // nil of a scalar map
}

// key evaluates a key, left to right. Each part is converted to the type that all uses of the
// map have joined to: -1 of an int8 and of an int64 are one key.
func (m *machine) key(t *table, keys []syntax.Expr) mapKey {
	switch {
	case len(keys) == 0:
		return mapKey{}
	case len(keys) == 1:
		v := convert(m.eval(keys[0]), m.typeOf(keys[0]), t.decl.Key)
		return mapKey{fmt.Sprintf("%#v", v), v}
	}
	to := t.decl.Key.(*types.Tuple)
	parts := make([]val, len(keys))
	for i, k := range keys {
		parts[i] = convert(m.eval(k), m.typeOf(k), to.Elems[i])
	}
	return mapKey{fmt.Sprintf("%#v", val(parts)), parts}
}

// make finds or inserts an element in order to change it. An aggregation's cell of a new element
// is the empty one.
func (t *table) make(key mapKey) *entry {
	t.change()
	e := t.entries[key.text]
	if e == nil {
		e = &entry{key: key}
		t.entries[key.text] = e
	}
	return e
}

// read yields zero for an absent key and inserts nothing, unlike make.
func (t *table) read(key mapKey) val {
	e := t.entries[key.text]
	if agg, ok := t.decl.Value.(*types.Agg); ok {
		if e == nil {
			return uint64(0)
		}
		return e.cell.read(agg)
	}
	if e == nil {
		return zero(t.decl.Value)
	}
	return e.v
}

// zero is what printing an absent element shows.
func (t *table) zero() value.Value {
	if agg, ok := t.decl.Value.(*types.Agg); ok {
		return (&cell{}).shown(agg)
	}
	return shown(zero(t.decl.Value), t.decl.Value)
}

// isHistogram tells maps that print nothing when they are empty.
func (t *table) isHistogram() bool {
	agg, ok := t.decl.Value.(*types.Agg)
	return ok && (agg.Kind == "hist" || agg.Kind == "lhist")
}

// item is the map as it is printed. The order is fixed, so that two runs print the same where
// the sorting by value finds equals.
func (t *table) item() output.Map {
	item := output.Map{Name: t.decl.Name, Keyed: t.decl.Key != nil}
	var order []string
	for text := range t.entries {
		order = append(order, text)
	}
	slices.SortFunc(order, strings.Compare)
	for _, text := range order {
		e := t.entries[text]
		var out output.Entry
		if item.Keyed {
			out.Key = shown(e.key.v, t.decl.Key)
		}
		if agg, ok := t.decl.Value.(*types.Agg); ok {
			out.Value = e.cell.shown(agg)
		} else {
			out.Value = shown(e.v, t.decl.Value)
		}
		item.Entries.Add(out.Key, out.Value)
	}
	return item
}
