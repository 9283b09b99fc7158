package dwarf

import (
	"debug/dwarf"
	"fmt"
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
	if sig, ok := e.Val(dwarf.AttrSignature).(uint64); ok {
		if typ, ok := f.sigs[sig]; ok {
			return f.decode(typ)
		}
	}
	return e, nil
}

func (f *File) decode(off dwarf.Offset) (entry, error) {
	r := f.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil {
		return entry{}, fmt.Errorf("%s: %w", f.Path, err)
	}
	if e == nil || e.Tag == 0 || e.Offset != off {
		return entry{}, fmt.Errorf("%s: no entry at %#x of .debug_info", f.Path, off)
	}
	return entry{e, f}, nil
}

// walk calls visit for the entries of a unit in order, and for those below
// them if it returns true. depth is 0 for the unit itself. It ends early if
// visit returns stop.
func (f *File) walk(unit int, from dwarf.Offset, visit func(e entry, depth int) (descend, stop bool)) error {
	r := f.data.Reader()
	r.Seek(from)
	end := f.units[unit].end
	depth, skipping := 0, -1 // skipping: entries deeper than that are passed over
	for {
		e, err := r.Next()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if e == nil || e.Tag == 0 {
			depth--
			if e == nil || depth <= 0 {
				return nil
			}
			if depth <= skipping {
				skipping = -1
			}
			continue
		}
		if e.Offset >= end {
			return nil
		}
		descend := false
		if skipping < 0 {
			var stop bool
			if descend, stop = visit(entry{e, f}, depth); stop {
				return nil
			}
		}
		if !e.Children {
			if depth == 0 {
				return nil
			}
			continue
		}
		if !descend && skipping < 0 {
			if next, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok && next > e.Offset && next < end && depth > 0 {
				r.Seek(next)
				continue
			}
			skipping = depth
		}
		depth++
	}
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
		if field.Class == dwarf.ClassReferenceAlt && e.in.alt != nil && v > 0 {
			return e.in.alt, dwarf.Offset(v), true
		}
	case uint64:
		if field.Class == dwarf.ClassReferenceSig {
			typ, ok := e.in.sigs[v]
			return e.in, typ, ok
		}
	}
	return nil, 0, false
}

// name is the name of an entry, "" if it has none.
func (e entry) name() string {
	field := e.AttrField(dwarf.AttrName)
	if field == nil {
		return ""
	}
	switch v := field.Val.(type) {
	case string:
		return v
	case int64:
		if field.Class == dwarf.ClassStringAlt && e.in.alt != nil {
			return cstring(e.in.alt.strs, v)
		}
	}
	return ""
}

func cstring(b []byte, at int64) string {
	if at < 0 || at >= int64(len(b)) {
		return ""
	}
	for end := at; end < int64(len(b)); end++ {
		if b[end] == 0 {
			return string(b[at:end])
		}
	}
	return ""
}

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
