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

// change notes that an element changes.
func (t *table) change() {
	if t.printed {
		fail("the time when a map is printed")
	}
}

type entry struct {
	key  mapKey
	v    val
	cell cell
}

// A mapKey is a key in the type of the map's keys.
type mapKey struct {
	text string // tells keys apart
	v    val    // nil of a scalar map
}

// key evaluates a key, left to right.
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

// make finds or inserts an element in order to change it.
func (t *table) make(key mapKey) *entry {
	t.change()
	e := t.entries[key.text]
	if e == nil {
		e = &entry{key: key}
		t.entries[key.text] = e
	}
	return e
}

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

// item is the map as it is printed.
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
