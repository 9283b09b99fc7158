package dwarf

import (
	"debug/dwarf"

	"github.com/hawktrace/hawk/internal/cursor"
)

// An abbrev is the layout of entries.
type abbrev struct {
	code     uint64
	tag      dwarf.Tag
	children bool
	fields   []abbrevField
}

// An abbrevField is an attribute that entries of a layout have, and how it is written.
type abbrevField struct {
	attr     dwarf.Attr
	form     form
	implicit int64 // the value, if the form has it here
}

// An abbrevTable is the layouts of one or more units. It is read as far as was
// needed: of most units nothing but the first entry is ever wanted.
type abbrevTable struct {
	c      cursor.Cursor
	list   []abbrev
	odd    map[uint64]int // where in list those are that are not numbered in turn
	fields int
}

const (
	maxAbbrevs = 1 << 16 // of a table
	maxFields  = 1 << 20 // of the tables in memory, with a layout as one
	// of a layout: compilers have some twenty. Those that take no bytes of entries could be many at
	// no cost, and each entry would have them all.
	maxOfLayout = 1 << 8
)

// find reads on until it has the layout of a number. Compilers number them 1, 2, 3, so that nearly
// all are found by their index; odd has the others.
func (t *abbrevTable) find(code uint64) (abbrev, bool) {
	if i := code - 1; i < uint64(len(t.list)) && t.list[i].code == code {
		return t.list[i], true
	}
	if i, ok := t.odd[code]; ok {
		return t.list[i], true
	}
	for t.c.More() && len(t.list) < maxAbbrevs && t.fields < maxFields {
		a, ok := t.next()
		if !ok {
			// Nothing can be found behind what is malformed: later calls do not try again.
			t.c.At = len(t.c.Data)
			break
		}
		t.list = append(t.list, a)
		t.fields += 1 + len(a.fields)
		if a.code != uint64(len(t.list)) {
			if t.odd == nil {
				t.odd = map[uint64]int{}
			}
			t.odd[a.code] = len(t.list) - 1
		}
		if a.code == code {
			return a, true
		}
	}
	return abbrev{}, false
}

// next reads a layout; ok is false at the end of the table, whose number is 0.
func (t *abbrevTable) next() (a abbrev, ok bool) {
	c := &t.c
	if a.code = c.ULEB(); a.code == 0 {
		return a, false
	}
	a.tag, a.children = dwarf.Tag(c.ULEB()), c.Byte() != 0
	for !c.Bad && len(a.fields) <= maxOfLayout {
		fd := abbrevField{attr: dwarf.Attr(c.ULEB()), form: form(c.ULEB())}
		if fd.attr == 0 && fd.form == 0 {
			return a, !c.Bad
		}
		if fd.form == formImplicitConst {
			// DW_FORM_implicit_const has its value in the layout, and takes no bytes of entries.
			fd.implicit = c.SLEB()
		}
		a.fields = append(a.fields, fd)
	}
	return a, false
}

// abbrevs is the table at an offset of .debug_abbrev. What was read of others is forgotten when it
// is too much: units refer to tables in turn.
func (f *File) abbrevs(off uint64) *abbrevTable {
	if t, ok := f.tables[off]; ok {
		return t
	}
	total := 0
	for _, t := range f.tables {
		total += t.fields
	}
	const most = 1 << 10
	if total > maxFields || len(f.tables) > most {
		clear(f.tables)
	}
	// An offset outside of the section has a table without layouts.
	t := &abbrevTable{}
	if off < uint64(f.abbrev.Len()) {
		t.c = f.abbrev.Cursor(int(off), f.abbrev.Len(), f.big)
	}
	f.tables[off] = t
	return t
}
