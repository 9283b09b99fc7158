package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hawktrace/hawk/internal/cursor"
)

// With -gsplit-dwarf a program has skeletons of units only: what addresses
// they cover, the line tables and the tables of addresses. The rest is in a
// .dwo file for each unit, or in one .dwp file that was made of all of them.

// splits is what a file knows of units that are elsewhere.
type splits struct {
	main   *File            // of a part: the file with the skeletons
	stands map[int]stand    // by skeleton
	parts  map[string]*File // by path
	pack   *File            // the .dwp file, nil if there is none
	looked bool             // for pack
	ids    map[uint64]int   // of a part: its units by what their skeletons have in common with them
}

// A stand is the unit that a skeleton stands for.
type stand struct {
	in   *File
	unit int
	err  error
}

// ErrSplit says that debug information was split off and is not there.
type ErrSplit struct {
	Path string // the program
	Name string // the file that is missing or wrong
	Err  error
}

// Error names both files: it is the second that can be brought to where it is looked for.
func (e *ErrSplit) Error() string {
	return fmt.Sprintf("the debug information of %s is in %s, which cannot be read: %v", e.Path, e.Name, reason(e.Err))
}

func (e *ErrSplit) Unwrap() error { return e.Err }

// reason leaves out what messages say anyway.
func reason(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// full is the unit that has the entries of a unit: itself, or the one that it is
// the skeleton of.
func (f *File) full(i int) (*File, int, error) {
	if s, ok := f.stands[i]; ok {
		return s.in, s.unit, s.err
	}
	u := &f.units[i]
	if f.main != nil || u.kind.isTypes() {
		return f, i, nil
	}
	root, err := f.at(u.first)
	if err != nil {
		return f, i, err
	}
	name, ok := root.Val(attrDwoName).(string)
	if !ok {
		name, ok = root.Val(attrGNUDwoName).(string)
	}
	if !ok {
		return f, i, nil
	}
	dir, _ := root.Val(dwarf.AttrCompDir).(string)
	var s stand
	s.in, s.unit, s.err = f.open(u, name, dir)
	if f.stands == nil {
		f.stands = map[int]stand{}
	}
	// Failures are kept, too: a file that is missing is not looked for at each address.
	f.stands[i] = s
	return s.in, s.unit, s.err
}

// open finds what a skeleton stands for.
func (f *File) open(skeleton *unit, name, dir string) (*File, int, error) {
	bases := f.bases(skeleton)
	// One .dwp file is looked for first: where there is one, the others are mostly gone.
	in := f.packed()
	i, ok := 0, false
	if in != nil {
		i, ok = in.ids[skeleton.id]
	}
	if !ok {
		var err error
		if in, err = f.part(name, dir); err != nil {
			return nil, 0, &ErrSplit{f.Path, name, err}
		}
		if i, ok = in.ids[skeleton.id]; !ok {
			return nil, 0, &ErrSplit{f.Path, name, errors.New("it is of another build")}
		}
	}
	// Addresses are in the program only: the linker does not touch the other file.
	known := in.bases(&in.units[i])
	known.addr, known.low, known.oldRanges = bases.addr, bases.low, bases.oldRanges
	return in, i, nil
}

// part opens a .dwo file: where the compiler wrote it, or beside the program.
func (f *File) part(name, dir string) (*File, error) {
	written := name
	if !filepath.IsAbs(written) {
		written = filepath.Join(dir, written)
	}
	var first error
	for _, path := range [...]string{f.root + written, filepath.Join(filepath.Dir(f.Path), filepath.Base(name))} {
		in, ok := f.parts[path]
		if ok {
			return in, nil
		}
		in, err := f.openPart(path)
		if err == nil {
			return in, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// maxParts bounds the files of one program that are open.
const maxParts = 1 << 14

// openPart opens a .dwo or .dwp file as a part of f, once.
func (f *File) openPart(path string) (*File, error) {
	if len(f.parts) >= maxParts {
		return nil, errors.New("there are too many such files")
	}
	e, err := f.held[0].OpenNamed(path)
	if err != nil {
		return nil, err
	}
	in, err := loadSections(e, ".dwo")
	if err == nil {
		err = in.adopt(f)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	if f.parts == nil {
		f.parts = map[string]*File{}
	}
	f.parts[path] = in
	if f.loose {
		in.letGo()
	}
	return in, nil
}

// packed is the .dwp file of the program, nil if there is none. The program may have its debug
// information in a separate file, which both may stand beside.
func (f *File) packed() *File {
	if !f.looked {
		f.looked = true
		for _, path := range [...]string{f.Path, f.held[0].Path} {
			if in, err := f.openPart(path + ".dwp"); err == nil {
				f.pack = in
				break
			}
		}
	}
	return f.pack
}

// adopt makes f a part of main: it uses the sections that only the program has,
// and its units begin their tables where nothing else is said.
func (f *File) adopt(main *File) error {
	f.main, f.addr, f.rangesOld = main, main.addr, main.rangesOld
	f.ids = map[uint64]int{}
	at := map[dwarf.Offset]*unit{}
	for i := range f.units {
		u := &f.units[i]
		at[u.base] = u
		u.known = &unitBases{}
		if u.version >= 5 {
			u.known.str, u.known.ranges = 8, 12 // behind the headers
			if u.wide {
				u.known.str, u.known.ranges = 16, 20
			}
		}
	}
	for _, name := range [...]string{".debug_cu_index", ".debug_tu_index"} {
		index, err := f.held[0].DebugSection(name)
		if err != nil {
			return err
		}
		if index.Len() > 0 && !f.readIndex(index.All(), at) {
			return fmt.Errorf("%s: %s is malformed", f.Path, name)
		}
	}
	for i := range f.units {
		u := &f.units[i]
		if u.kind.isTypes() {
			continue
		}
		if u.version < 5 {
			root, err := f.at(u.first)
			if err != nil {
				return err
			}
			id, _ := root.number(attrGNUDwoID)
			u.id = uint64(id)
		}
		f.ids[u.id] = i
	}
	return nil
}

// Columns of the indices (DWARF 5, section 7.3.5; the form that came before it
// has column 2 in addition).
const (
	columnInfo       = 1
	columnTypes      = 2
	columnAbbrev     = 3
	columnStrOffsets = 6
	columnRnglists   = 8
)

// readIndex tells the units of a .dwp file where their tables are. A .dwp file is .dwo files one
// behind the other; the index says where the contribution of each unit to a section begins.
func (f *File) readIndex(data []byte, at map[dwarf.Offset]*unit) bool {
	c := cursor.Cursor{Data: data, Big: f.big}
	version := max(c.Uint(2), c.Uint(2)) // of 32 bits in the old form
	columns, units, slots := int(c.Uint(4)), int(c.Uint(4)), c.Uint(4)
	if c.Bad || version != 2 && version != 5 || columns > 16 || columns == 0 && units > 0 || slots > uint64(len(data)) {
		return false
	}
	c.Bytes(12 * slots) // the hash table: rows are looked at in turn
	ids := make([]uint64, columns)
	for i := range ids {
		ids[i] = c.Uint(4)
	}
	for range units {
		var offset [9]uint64
		var has [9]bool
		for _, id := range ids {
			v := c.Uint(4)
			if id < uint64(len(offset)) {
				offset[id], has[id] = v, true
			}
		}
		if c.Bad {
			return false
		}
		u := at[dwarf.Offset(offset[columnInfo])]
		if has[columnTypes] {
			u = at[dwarf.Offset(uint64(f.info.Len())+offset[columnTypes])]
		}
		if u == nil {
			return false
		}
		u.abbrev += offset[columnAbbrev]
		u.known.str += offset[columnStrOffsets]
		if version == 5 {
			u.known.ranges += offset[columnRnglists]
		}
	}
	return true
}

// eachPart calls visit with the files that the skeletons of f stand for, each
// once, until it returns false.
func (f *File) eachPart(visit func(*File) bool) {
	// All units of a .dwp file are in one File.
	seen := map[*File]bool{f: true}
	for i := range f.units {
		in, _, err := f.full(i)
		if err != nil || seen[in] {
			continue
		}
		seen[in] = true
		if !visit(in) {
			return
		}
	}
}
