package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/types"
)

// ErrNone says that a file has no debug information.
type ErrNone struct{ Path string }

// Error names the file, which may be a debug file that is as empty as the program.
func (e *ErrNone) Error() string { return "no debuginfo found for " + e.Path }

// ErrNotFound is returned for what the debug information does not have.
var ErrNotFound = errors.New("not in the debug information")

// A File is the debug information of one program. Neither its methods nor the
// types it returns may be used from several goroutines at once.
type File struct {
	Path string

	sections
	big    bool // byte order
	units  []unit
	tables map[uint64]*abbrevTable // by offset in .debug_abbrev
	sigs   map[uint64]dwarf.Offset // types that have units of their own, by signature; nil until asked for
	alt    *File                   // what dwz moved to a file of its own, nil if nothing
	root   string                  // put in front of absolute paths
	splits                         // units that are in files of their own
	lines  map[uint64]*lineTable   // by offset in .debug_line

	rowsKept int // of the line tables

	code   []codeRange // of the units, sorted; nil until asked for
	funcs  map[int][]body
	listed int // in funcs
	types  map[dwarf.Offset]types.Type
	named  map[question]types.Type // nil: there is none
	depth  int                     // of typeAt calling itself
	steps  int                     // of text calling itself
	held   []*exe.File
	lent   *exe.File // of held, what is not to be closed
	loose  bool      // nobody closes it; see OpenLoose

	unfolded int // bytes of sections that were compressed
}

// sections are what debug information is made of, by the names of DWARF 5.
type sections struct {
	info, abbrev, str, lineStr, strx, addr, line, rnglists exe.Bytes
	typeUnits, rangesOld                                   exe.Bytes // of DWARF 4
}

// Open reads the debug information of a program: its own, or that of its
// separate debug file. root is put in front of absolute paths: "" or
// /proc/PID/root. Separate files are looked for in dirs first.
func Open(path, root string, dirs ...exe.DebugDir) (*File, error) {
	program, err := exe.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := New(program, root, dirs...)
	if err != nil || f.lent == nil {
		defer program.Close()
	}
	if err != nil {
		return nil, err
	}
	f.lent = nil
	return f, nil
}

// OpenLoose is Open of what nobody closes: the files are closed once nothing refers to the
// File any more, nor to the types that came from it.
func OpenLoose(path, root string, dirs ...exe.DebugDir) (*File, error) {
	f, err := Open(path, root, dirs...)
	if err == nil {
		f.letGo()
	}
	return f, err
}

// letGo has the files be closed with the last reference to f.
func (f *File) letGo() {
	f.loose = true
	for _, e := range f.held {
		runtime.AddCleanup(f, func(e *exe.File) { e.Close() }, e)
	}
	if f.alt != nil {
		f.alt.letGo()
	}
}

// New is Open of a program that is open. It must stay so until the File is
// closed, which does not close it.
func New(program *exe.File, root string, dirs ...exe.DebugDir) (*File, error) {
	f, err := load(program)
	if err == nil {
		f.lent = program
	} else if none := (*ErrNone)(nil); errors.As(err, &none) {
		if debug := program.DebugFile(root, dirs...); debug != nil {
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
	// Messages name the program, which the user knows, not the debug file.
	f.Path, f.root = program.Path, root
	return f, nil
}

// Unfolded is how many bytes of memory the sections take that were compressed
// in the files.
func (f *File) Unfolded() int {
	n := f.unfolded
	if f.alt != nil {
		n += f.alt.Unfolded()
	}
	for _, part := range f.parts {
		n += part.Unfolded()
	}
	return n
}

// Memory is how many bytes of memory hold what of the files was needed, besides
// those of Unfolded.
func (f *File) Memory() int {
	n := 0
	for _, e := range f.held {
		n += int(e.Memory())
	}
	if f.alt != nil {
		n += f.alt.Memory()
	}
	for _, part := range f.parts {
		n += part.Memory()
	}
	return n
}

// Close closes the files. Types that came from them must not be used any more.
func (f *File) Close() {
	for _, e := range f.held {
		if e != f.lent {
			e.Close()
		}
	}
	if f.alt != nil {
		f.alt.Close()
	}
	for _, part := range f.parts {
		part.Close()
	}
}

// load reads the sections of one file.
func load(e *exe.File) (*File, error) { return loadSections(e, "") }

// loadSections reads sections whose names end in suffix.
func loadSections(e *exe.File, suffix string) (*File, error) {
	if !e.Is64() {
		return nil, fmt.Errorf("%s: hawk reads debug information of 64-bit programs only", e.Path)
	}
	f := &File{
		Path: e.Path, big: e.BigEndian(), held: []*exe.File{e}, tables: map[uint64]*abbrevTable{},
		funcs: map[int][]body{}, types: map[dwarf.Offset]types.Type{}, named: map[question]types.Type{},
	}
	for name, to := range map[string]*exe.Bytes{
		"info": &f.info, "types": &f.typeUnits, "abbrev": &f.abbrev, "str": &f.str,
		"line_str": &f.lineStr, "str_offsets": &f.strx,
		"addr": &f.addr, "line": &f.line, "ranges": &f.rangesOld, "rnglists": &f.rnglists,
	} {
		var err error
		if *to, err = e.DebugSection(".debug_" + name + suffix); err != nil {
			return nil, err
		}
		if e.IsFolded(".debug_" + name + suffix) {
			f.unfolded += to.Len()
		}
	}
	if f.info.Len() == 0 || f.abbrev.Len() == 0 {
		return nil, &ErrNone{e.Path}
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
	e, err := f.held[0].OpenNamed(name)
	if err != nil {
		return fmt.Errorf("%s refers to debug information that is missing: %w", f.held[0].Path, err)
	}
	// Offsets into a file of another build would lead anywhere.
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

// order is the byte order of the file.
func (f *File) order() binary.ByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
