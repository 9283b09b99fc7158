package dwarf

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
)

// tagsOf are the entries that a C keyword admits; "" is any type.
func tagsOf(keyword string) []dwarf.Tag {
	switch keyword {
	case "struct":
		return []dwarf.Tag{dwarf.TagStructType, dwarf.TagClassType}
	case "union":
		return []dwarf.Tag{dwarf.TagUnionType}
	case "enum":
		return []dwarf.Tag{dwarf.TagEnumerationType}
	case "typedef":
		return []dwarf.Tag{dwarf.TagTypedef}
	}
	return []dwarf.Tag{dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType,
		dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagBaseType}
}

// TypeByName finds a type that the program defines. keyword is "struct",
// "union", "enum", "typedef" or "" for any type. A plain name finds types in
// namespaces and classes too, those of the outermost scope first, and those of
// the source file first that the code at an address was compiled from; 0: none.
func (f *File) TypeByName(keyword, name string, near uint64) (types.Type, error) {
	t, err := f.ask(question{keyword: keyword, name: name}, near, tagsOf(keyword),
		func(e entry) (types.Type, error) { return e.in.typeAt(e.Offset) })
	if err == nil && t == nil {
		err = fmt.Errorf("%s %s: %w", keyword, name, ErrNotFound)
	}
	return t, err
}

// A question is what was asked; scripts ask again in every pass over them.
type question struct {
	keyword, name string
	in            *File // of the unit to look in first, nil if there is none
	unit          int
}

// ask remembers the answer to a question, which convert makes of a definition;
// nil: there is none.
func (f *File) ask(q question, near uint64, tags []dwarf.Tag,
	convert func(entry) (types.Type, error)) (types.Type, error) {
	if in, unit, err := f.unitOf(near); err == nil {
		q.in, q.unit = in, unit
	}
	t, asked := f.named[q]
	if !asked {
		if e, ok := f.findFrom(q, tags); ok {
			var err error
			if t, err = convert(e); err != nil {
				return nil, err
			}
		}
		f.named[q] = t
	}
	return t, nil
}

// findFrom is find that looks in one unit first. A program can define several types of one name;
// the one that the traced code was compiled with counts. One that is nested there yields to one at
// the top of another unit.
func (f *File) findFrom(q question, tags []dwarf.Tag) (entry, bool) {
	var best entry
	if q.in != nil {
		outer := false
		if best, outer = q.in.inUnit(q.unit, q.name, tags); outer {
			return best, true
		}
	}
	if e, ok := f.find(q.name, tags); ok {
		return e, true
	}
	return best, best.Entry != nil
}

// Enumerator finds the enum that has an enumerator of a name, and its value.
// near is as in TypeByName.
func (f *File) Enumerator(name string, near uint64) (*types.Enum, int64, error) {
	t, err := f.ask(question{keyword: "enumerator", name: name}, near, []dwarf.Tag{dwarf.TagEnumerator},
		func(e entry) (types.Type, error) { return e.in.enumOf(e) })
	if err != nil {
		return nil, 0, err
	}
	if enum, ok := t.(*types.Enum); ok {
		for _, v := range enum.Values {
			if v.Name == name {
				return enum, v.Value, nil
			}
		}
	}
	return nil, 0, fmt.Errorf("enumerator %s: %w", name, ErrNotFound)
}

// enumOf is the type that an enumerator belongs to.
func (f *File) enumOf(e entry) (types.Type, error) {
	u := f.unitAt(e.Offset)
	at := dwarf.Offset(0)
	f.walk(u, f.units[u].first, func(c entry, _ int) (bool, bool) {
		if c.Tag == dwarf.TagEnumerationType {
			at = c.Offset
		}
		return isScope(c.Tag) || c.Tag == dwarf.TagEnumerationType, c.Offset >= e.Offset
	})
	return f.typeAt(at)
}

// isScope reports whether types are defined inside of such entries.
func isScope(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagNamespace, dwarf.TagModule,
		dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return true
	}
	return false
}

// definition finds what a declaration declares.
func (f *File) definition(e entry) (entry, bool) {
	tags := []dwarf.Tag{dwarf.TagStructType, dwarf.TagClassType}
	if e.Tag == dwarf.TagUnionType {
		tags = []dwarf.Tag{dwarf.TagUnionType}
	}
	name := e.name()
	if name == "" {
		return entry{}, false
	}
	if found, ok := f.find(name, tags); ok || f.main == nil {
		return found, ok
	}
	return f.main.find(name, tags) // in the part of another source file
}

// maxTried bounds how many units are walked for one name.
const maxTried = 256

// find looks for the definition of a name: in the units where its bytes, or
// what refers to them, occur.
func (f *File) find(name string, tags []dwarf.Tag) (best entry, ok bool) {
	outer := false
	look := func(in *File) bool {
		for _, u := range in.unitsNaming(name, f.alt, tags) {
			var found entry
			if found, outer = in.inUnit(u, name, tags); outer {
				best = found
				return false
			}
			if best.Entry == nil {
				best = found
			}
		}
		return true
	}
	// Parts are opened last, as each is a file of its own.
	if look(f) && (f.alt == nil || look(f.alt)) && f.main == nil {
		f.eachPart(look)
	}
	return best, best.Entry != nil
}

// inUnit walks a unit for a definition; outer says that it is in no namespace or class. depth 1 is
// right below the unit.
func (f *File) inUnit(u int, name string, tags []dwarf.Tag) (best entry, outer bool) {
	inEnum := slices.Contains(tags, dwarf.TagEnumerator)
	f.walk(u, f.units[u].first, func(e entry, depth int) (bool, bool) {
		if slices.Contains(tags, e.Tag) && !e.flag(dwarf.AttrDeclaration) && e.name() == name {
			if outer = depth == 1 || inEnum && depth == 2; outer || best.Entry == nil {
				best = e
			}
			if outer {
				return false, true
			}
		}
		return isScope(e.Tag) || inEnum && e.Tag == dwarf.TagEnumerationType, false
	})
	return best, outer
}

// unitsNaming lists units that may define a name, the likely ones first. Bytes that look like a
// reference may be anything else, so that what they would be an entry's name of is decoded; only of
// units that use an index that is not possible.
func (f *File) unitsNaming(name string, alt *File, tags []dwarf.Tag) []int {
	text := append([]byte(name), 0)
	// A name that others end with is found as well: linkers merge them, so that its bytes may
	// stand inside of another.
	offsets := occurrences(f.str, text)
	likely := map[int]bool{}
	var order []int
	note := func(at dwarf.Offset, exact bool) bool {
		u := f.unitAt(at)
		if u >= 0 && !likely[u] && (!exact || f.defines(at, name, tags)) {
			likely[u] = true
			order = append(order, u)
		}
		return len(order) < maxTried
	}
	exactly := func(at dwarf.Offset) bool { return note(at, true) }
	// A name is a reference to .debug_str, or if it is short in place.
	f.references(offsets, exactly)
	for from, data := range f.bodies() {
		for _, at := range occurrences(data, text) {
			if !exactly(from + dwarf.Offset(at)) {
				break
			}
		}
	}
	if alt != nil && alt != f {
		f.references(occurrences(alt.str, text), exactly)
	}
	f.indexed(offsets, func(u int) bool { return note(f.units[u].first, false) })
	return order
}

// bodies yields the sections that have units, with the offset they begin at.
func (f *File) bodies() iter.Seq2[dwarf.Offset, exe.Bytes] {
	return func(yield func(dwarf.Offset, exe.Bytes) bool) {
		if yield(0, f.info) && f.typeUnits.Len() > 0 {
			yield(dwarf.Offset(f.info.Len()), f.typeUnits)
		}
	}
}

// defines reports whether an entry that seems to have its name at a place of
// .debug_info is a definition. An entry begins with the number of its
// abbreviation, one to three bytes, and mostly the name follows.
func (f *File) defines(at dwarf.Offset, name string, tags []dwarf.Tag) bool {
	const furthest = 12 // a few other attributes may come first
	for back := dwarf.Offset(1); back <= furthest && back <= at; back++ {
		e, err := f.at(at - back)
		if err == nil && slices.Contains(tags, e.Tag) && !e.flag(dwarf.AttrDeclaration) && e.name() == name {
			return true
		}
	}
	return false
}

// maxOccurrences bounds how often a name may occur: a short one ends many
// others, with which the linker merges it.
const maxOccurrences = 1 << 16

// occurrences lists where text occurs.
func occurrences(in exe.Bytes, text []byte) []uint64 {
	var out []uint64
	in.Scan(window, len(text)-1, func(from int, data []byte) bool {
		for at := 0; len(out) < maxOccurrences; {
			i := bytes.Index(data[at:], text)
			if i < 0 {
				return true
			}
			out = append(out, uint64(from+at+i))
			at += i + 1
		}
		return false
	})
	return out
}

// window is how much of a section is searched at a time, in bytes.
const window = 4 << 20

// references calls visit with each place of the units where one of the offsets
// stands, until it returns false.
func (f *File) references(offsets []uint64, visit func(at dwarf.Offset) bool) {
	if len(offsets) == 0 {
		return
	}
	for from, data := range f.bodies() {
		if !data.Scan(window, 3, func(begin int, part []byte) bool {
			return f.referencesIn(part, offsets, func(at int) bool { return visit(from + dwarf.Offset(begin+at)) })
		}) {
			return
		}
	}
}

// referencesIn is references in a part of a section. It looks at every byte: entries are not
// aligned.
func (f *File) referencesIn(data []byte, offsets []uint64, visit func(at int) bool) bool {
	order := f.order()
	// bytes.Index uses vector instructions; a few searches are faster than a loop in Go.
	const few = 4
	if len(offsets) <= few {
		for _, off := range offsets {
			word := make([]byte, 4)
			order.PutUint32(word, uint32(off))
			for at := 0; ; {
				i := bytes.Index(data[at:], word)
				if i < 0 {
					break
				}
				if !visit(at + i) {
					return false
				}
				at += i + 1
			}
		}
		return true
	}
	// One pass with a bit for each offset.
	set := make([]uint64, offsets[len(offsets)-1]/64+1)
	for _, off := range offsets {
		set[off/64] |= 1 << (off % 64)
	}
	most := uint32(offsets[len(offsets)-1])
	for at := 0; at+4 <= len(data); at++ {
		v := order.Uint32(data[at:])
		if v <= most && set[v/64]&(1<<(v%64)) != 0 && !visit(at) {
			return false
		}
	}
	return true
}

// indexed calls visit with each unit that refers to one of the offsets through
// .debug_str_offsets.
func (f *File) indexed(offsets []uint64, visit func(unit int) bool) {
	if f.strx.Len() == 0 || len(offsets) == 0 {
		return
	}
	// DWARF 5 can have names as numbers in a table of offsets (DW_FORM_strx), so that the offset of
	// the name stands in no unit.
	want := map[uint64]bool{}
	for _, off := range offsets {
		want[off] = true
	}
	// Units may share a table: those of types with the one they were taken from.
	tables := map[uint64][]int{}
	for i := range f.units {
		base := f.bases(&f.units[i]).str
		tables[base] = append(tables[base], i)
	}
	starts := order.Sorted(maps.Keys(tables), cmp.Compare)
	for i, base := range starts {
		end := uint64(f.strx.Len())
		if i+1 < len(starts) {
			end = min(end, starts[i+1])
		}
		size := f.units[tables[base][0]].word()
		c := f.strx.Cursor(int(min(base, end)), int(end), f.big)
		for c.Left() >= size {
			if !want[c.Uint(size)] {
				continue
			}
			for _, u := range tables[base] {
				if !visit(u) {
					return
				}
			}
			break
		}
	}
}

// TypeNames calls yield with the names of the types of the unit that an
// address belongs to, for suggestions.
func (f *File) TypeNames(addr uint64, keyword string, yield func(string) bool) {
	in, unit, err := f.unitOf(addr)
	if err != nil {
		return
	}
	tags := tagsOf(keyword)
	in.walk(unit, in.units[unit].first, func(e entry, _ int) (bool, bool) {
		if slices.Contains(tags, e.Tag) && e.Tag != dwarf.TagBaseType {
			if name := e.name(); name != "" && !strings.HasPrefix(name, "_") && !yield(name) {
				return false, true
			}
		}
		return e.Tag == dwarf.TagCompileUnit || e.Tag == dwarf.TagNamespace, false
	})
}
