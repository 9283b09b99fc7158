package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/types"
)

// ErrNone says that a file has no debug information.
type ErrNone struct{ Path string }

func (e *ErrNone) Error() string { return "no debuginfo found for " + e.Path }

// ErrNotFound is returned for what the debug information does not have.
var ErrNotFound = errors.New("not in the debug information")

// A File is the debug information of one program. Neither its methods nor the
// types it returns may be used from several goroutines at once.
type File struct {
	Path string

	data  *dwarf.Data
	order binary.ByteOrder
	info  []byte                  // .debug_info
	strs  []byte                  // .debug_str
	strx  []byte                  // .debug_str_offsets
	units []unit                  // in the order of the section
	sigs  map[uint64]dwarf.Offset // types that have units of their own, by signature
	alt   *File                   // what dwz moved to a file of its own, nil if nothing

	ranges []codeRange // of the units, sorted; nil until asked for
	funcs  map[int]map[uint64]dwarf.Offset
	types  map[dwarf.Offset]types.Type
	named  map[question]types.Type // nil: there is none
	depth  int                     // of typeAt calling itself
	steps  int                     // of text calling itself
	held   []*exe.File
}

// A unit is one contribution to .debug_info.
type unit struct {
	base, end dwarf.Offset // with its header
	first     dwarf.Offset // of its first entry
}

// maxUnits bounds the units of one file: a kernel has some ten thousand.
const maxUnits = 1 << 20

// Open reads the debug information of a program: its own, or that of its
// separate debug file. root is put in front of absolute paths: "" or
// /proc/PID/root.
func Open(path, root string) (*File, error) {
	program, err := exe.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := open(program, root)
	if err != nil || f.held[0] != program {
		defer program.Close()
	}
	if err != nil {
		return nil, err
	}
	f.Path = path
	return f, nil
}

func open(program *exe.File, root string) (*File, error) {
	f, err := load(program)
	if none := (*ErrNone)(nil); errors.As(err, &none) {
		if debug := program.DebugFile(root); debug != nil {
			if f, err = load(debug); err != nil {
				debug.Close()
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if err := f.openAlt(root); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close unmaps the files. Types that came from them must not be used any more.
func (f *File) Close() {
	for _, e := range f.held {
		e.Close()
	}
	if f.alt != nil {
		f.alt.Close()
	}
}

// load reads the sections of one file.
func load(e *exe.File) (*File, error) {
	if !e.Is64() {
		return nil, fmt.Errorf("%s: hawk reads debug information of 64-bit programs only", e.Path)
	}
	names := [...]string{"abbrev", "aranges", "frame", "info", "line", "pubnames", "ranges", "str",
		"addr", "line_str", "str_offsets", "rnglists", "loclists"}
	section := map[string][]byte{}
	for _, name := range names {
		if name == "frame" || name == "pubnames" || name == "aranges" {
			continue // not asked
		}
		b, err := e.DebugSection(".debug_" + name)
		if err != nil {
			return nil, err
		}
		section[name] = b
	}
	if len(section["info"]) == 0 || len(section["abbrev"]) == 0 {
		return nil, &ErrNone{e.Path}
	}
	data, err := dwarf.New(section["abbrev"], nil, nil, section["info"], section["line"], nil, section["ranges"], section["str"])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	for _, name := range names[8:] {
		if b := section[name]; b != nil {
			if err := data.AddSection(".debug_"+name, b); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Path, err)
			}
		}
	}
	f := &File{
		Path: e.Path, data: data, order: binary.LittleEndian, held: []*exe.File{e},
		info: section["info"], strs: section["str"], strx: section["str_offsets"],
		funcs: map[int]map[uint64]dwarf.Offset{}, types: map[dwarf.Offset]types.Type{}, named: map[question]types.Type{}, sigs: map[uint64]dwarf.Offset{},
	}
	if e.BigEndian() {
		f.order = binary.BigEndian
	}
	return f, f.readUnits()
}

// openAlt opens the file that dwz moved shared entries to.
func (f *File) openAlt(root string) error {
	name, id := f.held[0].AltLink()
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(f.held[0].Path), name)
	} else {
		name = root + name
	}
	e, err := exe.Open(name)
	if err != nil {
		return fmt.Errorf("%s refers to debug information that is missing: %w", f.held[0].Path, err)
	}
	if !slices.Equal(e.BuildID(), id) {
		e.Close()
		return fmt.Errorf("%s refers to debug information in %s, which is of another build", f.held[0].Path, name)
	}
	f.alt, err = load(e)
	if err != nil {
		e.Close()
	}
	return err
}

// readUnits walks the headers. The package that decodes entries checks them as
// well but does not tell where units are.
func (f *File) readUnits() error {
	for at := uint64(0); at+12 < uint64(len(f.info)); {
		b := f.info[at:]
		size, word := uint64(f.order.Uint32(b)), 4
		header := uint64(4)
		if size == 0xffffffff {
			size, word, header = f.order.Uint64(b[4:]), 8, 12
		}
		end := at + header + size
		if size > uint64(len(f.info)) || end > uint64(len(f.info)) || len(f.units) == maxUnits {
			return fmt.Errorf("%s: .debug_info: the unit at %#x is malformed", f.Path, at)
		}
		if size == 0 {
			at = end
			continue
		}
		u := unit{base: dwarf.Offset(at), end: dwarf.Offset(end)}
		r := cursor.Cursor{Data: b[:header+size], At: int(header), Big: f.order == binary.BigEndian}
		version := r.Uint(2)
		kind := uint64(0)
		if version >= 5 {
			kind = r.Uint(1)
			r.Uint(1)    // size of addresses
			r.Uint(word) // abbreviations
		} else {
			r.Uint(word)
			r.Uint(1)
		}
		switch kind {
		case 2, 6: // types
			sig := r.Uint(8)
			f.sigs[sig] = u.base + dwarf.Offset(r.Uint(word))
		case 4, 5: // skeletons and what they stand for
			r.Uint(8)
		}
		u.first = u.base + dwarf.Offset(r.At)
		if u.first < u.end {
			f.units = append(f.units, u)
		}
		at = end
	}
	return nil
}

// unitAt is the index of the unit that an offset lies in, -1 if in none.
func (f *File) unitAt(off dwarf.Offset) int {
	i, found := slices.BinarySearchFunc(f.units, off, func(u unit, off dwarf.Offset) int { return int(int64(u.base) - int64(off)) })
	if !found {
		i--
	}
	if i < 0 || off >= f.units[i].end {
		return -1
	}
	return i
}
