package dwarf

import (
	"debug/dwarf"
	"fmt"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/exe"
)

// An entry of the debug information, and the file it is in.
type entry struct {
	*dwarf.Entry
	in *File
}

// at decodes the entry at an offset, and for one that stands for a type in a
// unit of its own, that type.
func (f *File) at(off dwarf.Offset) (entry, error) {
	e, err := f.decode(off)
	if err != nil {
		return e, err
	}
	// A declaration with a signature stands for the whole type, which may be in no unit of this
	// file.
	if sig, ok := e.Val(dwarf.AttrSignature).(uint64); ok {
		if typ, ok := f.typeUnit(sig); ok {
			return f.decode(typ)
		}
	}
	return e, nil
}

// decode is at without the last: the entry that stands there.
func (f *File) decode(off dwarf.Offset) (entry, error) {
	if i := f.unitAt(off); i >= 0 && off >= f.units[i].first {
		u := &f.units[i]
		c, from := f.cursor(u, off)
		e, err := f.next(u, &c, from)
		if err != nil || e.Tag != 0 {
			return e, err
		}
	}
	return entry{}, fmt.Errorf("%s: no entry at %#x of .debug_info", f.Path, off)
}

// next decodes the entry at a cursor, whose Data begins at offset from. The end
// of a list of children has tag 0.
func (f *File) next(u *unit, c *cursor.Cursor, from dwarf.Offset) (entry, error) {
	e := entry{&dwarf.Entry{Offset: from + dwarf.Offset(c.At)}, f}
	ab, err := f.layout(u, c)
	if err != nil || ab.tag == 0 {
		return e, err
	}
	e.Tag, e.Children = ab.tag, ab.children
	e.Field = make([]dwarf.Field, 0, len(ab.fields))
	for _, fd := range ab.fields {
		v, ok := u.raw(c, fd)
		if !ok {
			return e, fmt.Errorf("%s: the entry at %#x of .debug_info is malformed", f.Path, e.Offset)
		}
		val, class := f.value(u, v)
		e.Field = append(e.Field, dwarf.Field{Attr: fd.attr, Val: val, Class: class})
	}
	return e, nil
}

// layout takes the number that an entry begins with.
func (f *File) layout(u *unit, c *cursor.Cursor) (abbrev, error) {
	at := c.At
	code := c.ULEB()
	if code == 0 && !c.Bad {
		return abbrev{}, nil
	}
	ab, ok := f.abbrevs(u.abbrev).find(code)
	if !ok || ab.tag == 0 || c.Bad {
		return ab, fmt.Errorf("%s: the entry at %d bytes into .debug_info has layout %d, which is not described",
			f.Path, at, code)
	}
	return ab, nil
}

// pass moves a cursor behind an entry and says how many lists of children end
// or begin with it: -1, 0 or 1.
func (f *File) pass(u *unit, c *cursor.Cursor) (levels int, err error) {
	ab, err := f.layout(u, c)
	switch {
	case err != nil:
		return 0, err
	case ab.tag == 0:
		return -1, nil
	case ab.children:
		levels = 1
	}
	for _, fd := range ab.fields {
		if _, ok := u.raw(c, fd); !ok {
			return 0, fmt.Errorf("%s: an entry of .debug_info is malformed", f.Path)
		}
	}
	return levels, nil
}

// walk calls visit for the entries of a unit in order, and for those below
// them if it returns true. depth is 0 for the one to begin with. It ends early
// if visit returns stop.
func (f *File) walk(unit int, begin dwarf.Offset, visit func(e entry, depth int) (descend, stop bool)) error {
	u := &f.units[unit]
	c, from := f.cursor(u, begin)
	for depth := 0; c.More(); {
		e, err := f.next(u, &c, from)
		if err != nil {
			return err
		}
		if e.Tag == 0 {
			if depth--; depth <= 0 {
				return nil
			}
			continue
		}
		descend, stop := visit(e, depth)
		switch {
		case stop || !e.Children && depth == 0:
			return nil
		case !e.Children:
		case descend:
			depth++
		case depth == 0:
			return nil
		default:
			// The sibling saves decoding what is below. It counts only if it leads forwards and
			// stays in the unit: a malformed file would make this loop endless.
			if next, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok && next > e.Offset &&
				next < u.end && next-from >= dwarf.Offset(c.At) {
				c.At = int(next - from)
				continue
			}
			for below := 1; below > 0 && c.More(); {
				levels, err := f.pass(u, &c)
				if err != nil {
					return err
				}
				below += levels
			}
		}
	}
	return nil
}

// children calls visit for the entries right below one, until it returns
// false.
func (e entry) children(visit func(entry) bool) error {
	i := e.in.unitAt(e.Offset)
	if i < 0 || !e.Children {
		return nil
	}
	return e.in.walk(i, e.Offset, func(c entry, depth int) (bool, bool) {
		if depth == 0 {
			return true, false
		}
		return false, !visit(c)
	})
}

// ref follows an attribute that refers to another entry.
func (e entry) ref(attr dwarf.Attr) (entry, bool) {
	f, off, ok := e.refOffset(attr)
	if !ok {
		return entry{}, false
	}
	to, err := f.at(off)
	return to, err == nil
}

// refOffset is where an attribute refers to.
func (e entry) refOffset(attr dwarf.Attr) (*File, dwarf.Offset, bool) {
	field := e.AttrField(attr)
	if field == nil {
		return nil, 0, false
	}
	switch v := field.Val.(type) {
	case dwarf.Offset:
		return e.in, v, true
	case int64:
		// An offset in the file of dwz.
		if field.Class == dwarf.ClassReferenceAlt && e.in.alt != nil && v > 0 {
			return e.in.alt, dwarf.Offset(v), true
		}
	case uint64:
		// A signature: the type has a unit of its own.
		if field.Class == dwarf.ClassReferenceSig {
			typ, ok := e.in.typeUnit(v)
			return e.in, typ, ok
		}
	}
	return nil, 0, false
}

// name is the name of an entry, "" if it has none.
func (e entry) name() string { return e.text(dwarf.AttrName) }

// text is an attribute that is a string, "" if there is none.
func (e entry) text(attr dwarf.Attr) string {
	field := e.AttrField(attr)
	if field == nil {
		return ""
	}
	switch v := field.Val.(type) {
	case string:
		return v
	case int64:
		if field.Class == dwarf.ClassStringAlt && e.in.alt != nil {
			return text(e.in.alt.str, uint64(v))
		}
	}
	return ""
}

// text is the string at an offset, "" if there is none, or one that is longer
// than any name.
func text(b exe.Bytes, at uint64) string { return string(b.Text(at)) }

// flag reports whether an attribute is there and true.
func (e entry) flag(attr dwarf.Attr) bool {
	v, _ := e.Val(attr).(bool)
	return v
}

// number is an attribute that is a constant.
func (e entry) number(attr dwarf.Attr) (int64, bool) {
	v, ok := e.Val(attr).(int64)
	return v, ok
}

// whole follows an entry of a function or type to the entries that complete
// it: what it specifies and what it is an instance of.
func (e entry) whole(visit func(entry) bool) {
	const most = 8 // hops; real chains have two
	for range most {
		if !visit(e) {
			return
		}
		next, ok := e.ref(dwarf.AttrAbstractOrigin)
		if !ok {
			if next, ok = e.ref(dwarf.AttrSpecification); !ok {
				return
			}
		}
		e = next
	}
}
