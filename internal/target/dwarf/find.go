package dwarf

import (
	"bytes"
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

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
	return []dwarf.Tag{dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagBaseType}
}

// TypeByName finds a type that the program defines. keyword is "struct",
// "union", "enum", "typedef" or "" for any type. A plain name finds types in
// namespaces and classes too, those of the outermost scope first.
func (f *File) TypeByName(keyword, name string) (types.Type, error) {
	key := question{keyword, name}
	t, asked := f.named[key]
	if !asked {
		if e, ok := f.find(name, tagsOf(keyword)); ok {
			var err error
			if t, err = e.in.typeAt(e.Offset); err != nil {
				return nil, err
			}
		}
		f.named[key] = t
	}
	if t == nil {
		return nil, fmt.Errorf("%s %s: %w", keyword, name, ErrNotFound)
	}
	return t, nil
}

// A question is what TypeByName was asked; scripts ask again in every pass over
// them.
type question struct{ keyword, name string }

// Enumerator finds the enum that has an enumerator of a name, and its value.
func (f *File) Enumerator(name string) (*types.Enum, int64, error) {
	key := question{"enumerator", name}
	t, asked := f.named[key]
	if !asked {
		if e, ok := f.find(name, []dwarf.Tag{dwarf.TagEnumerator}); ok {
			var err error
			if t, err = e.in.enumOf(e); err != nil {
				return nil, 0, err
			}
		}
		f.named[key] = t
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
	return f.find(name, tags)
}

// maxTried bounds how many units are walked for one name.
const maxTried = 256

// find looks for the definition of a name: in the units where its bytes, or
// what refers to them, occur.
func (f *File) find(name string, tags []dwarf.Tag) (entry, bool) {
	var best entry
	files := []*File{f}
	if f.alt != nil {
		files = append(files, f.alt)
	}
	for _, in := range files {
		for _, u := range in.unitsNaming(name, f.alt, tags) {
			found, outer := in.inUnit(u, name, tags)
			if outer {
				return found, true
			}
			if best.Entry == nil {
				best = found
			}
		}
	}
	return best, best.Entry != nil
}

// inUnit walks a unit for a definition; outer says that it is in no namespace
// or class.
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

// unitsNaming lists units that may define a name, the likely ones first.
func (f *File) unitsNaming(name string, alt *File, tags []dwarf.Tag) []int {
	text := append([]byte(name), 0)
	offsets := occurrences(f.strs, text)
	likely := map[int]bool{}
	var order []int
	note := func(at int, exact bool) bool {
		u := f.unitAt(dwarf.Offset(at))
		if u >= 0 && !likely[u] && (!exact || f.defines(at, name, tags)) {
			likely[u] = true
			order = append(order, u)
		}
		return len(order) < maxTried
	}
	// A name is a reference to .debug_str, or if it is short in place.
	f.references(offsets, func(at int) bool { return note(at, true) })
	for _, at := range occurrences(f.info, text) {
		if !note(int(at), true) {
			break
		}
	}
	if alt != nil && alt != f {
		f.references(occurrences(alt.strs, text), func(at int) bool { return note(at, true) })
	}
	f.indexed(offsets, func(u int) bool { return note(int(f.units[u].first), false) })
	return order
}

// defines reports whether an entry that seems to have its name at a place of
// .debug_info is a definition. An entry begins with the number of its
// abbreviation, one to three bytes, and mostly the name follows.
func (f *File) defines(at int, name string, tags []dwarf.Tag) bool {
	const furthest = 12 // a few other attributes may come first
	for back := 1; back <= furthest && back <= at; back++ {
		e, err := f.at(dwarf.Offset(at - back))
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
func occurrences(in, text []byte) []uint64 {
	var out []uint64
	for at := 0; len(out) < maxOccurrences; {
		i := bytes.Index(in[at:], text)
		if i < 0 {
			break
		}
		out = append(out, uint64(at+i))
		at += i + 1
	}
	return out
}

// references calls visit with each place of .debug_info where one of the
// offsets stands, until it returns false.
func (f *File) references(offsets []uint64, visit func(at int) bool) {
	const few = 4
	if len(offsets) <= few {
		for _, off := range offsets {
			word := make([]byte, 4)
			f.order.PutUint32(word, uint32(off))
			for at := 0; ; {
				i := bytes.Index(f.info[at:], word)
				if i < 0 {
					break
				}
				if !visit(at + i) {
					return
				}
				at += i + 1
			}
		}
		return
	}
	// One pass with a bit for each offset.
	set := make([]uint64, offsets[len(offsets)-1]/64+1)
	for _, off := range offsets {
		set[off/64] |= 1 << (off % 64)
	}
	most := uint32(offsets[len(offsets)-1])
	for at := 0; at+4 <= len(f.info); at++ {
		v := f.order.Uint32(f.info[at:])
		if v <= most && set[v/64]&(1<<(v%64)) != 0 && !visit(at) {
			return
		}
	}
}

// indexed calls visit with each unit that refers to one of the offsets through
// .debug_str_offsets.
func (f *File) indexed(offsets []uint64, visit func(unit int) bool) {
	if len(f.strx) == 0 || len(offsets) == 0 {
		return
	}
	want := map[uint32]bool{}
	for _, off := range offsets {
		want[uint32(off)] = true
	}
	type table struct {
		base int64
		unit int
	}
	var tables []table
	for i := range f.units {
		if e, err := f.at(f.units[i].first); err == nil {
			if base, ok := e.number(dwarf.AttrStrOffsetsBase); ok {
				tables = append(tables, table{base, i})
			}
		}
	}
	slices.SortStableFunc(tables, func(a, b table) int { return int(a.base - b.base) })
	for i, t := range tables {
		end := int64(len(f.strx))
		for _, next := range tables[i+1:] {
			if next.base > t.base {
				end = min(end, next.base)
				break
			}
		}
		for at := max(t.base, 0); at+4 <= end; at += 4 {
			if want[f.order.Uint32(f.strx[at:])] {
				if !visit(t.unit) {
					return
				}
				break
			}
		}
	}
}

// TypeNames calls yield with the names of the types of the unit that an
// address belongs to, for suggestions.
func (f *File) TypeNames(addr uint64, keyword string, yield func(string) bool) {
	unit, ok := f.unitOf(addr)
	if !ok {
		return
	}
	tags := tagsOf(keyword)
	f.walk(unit, f.units[unit].first, func(e entry, _ int) (bool, bool) {
		if slices.Contains(tags, e.Tag) && e.Tag != dwarf.TagBaseType {
			if name := e.name(); name != "" && !strings.HasPrefix(name, "_") && !yield(name) {
				return false, true
			}
		}
		return e.Tag == dwarf.TagCompileUnit || e.Tag == dwarf.TagNamespace, false
	})
}
