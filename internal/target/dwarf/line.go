package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Line finds the first instruction of a source line, and with a column other
// than 0 of a place in it. file is the end of a path: one component of it or
// more. Only the code of a unit's own source file counts, not that of headers.
func (f *File) Line(file string, line, column int) (uint64, error) {
	matched := "" // the source file that was meant
	var units []entry
	for i := range f.units {
		if f.units[i].kind.isTypes() {
			continue
		}
		root, err := f.at(f.units[i].first)
		if err != nil || root.Tag != dwarf.TagCompileUnit && root.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		source := f.sourceOf(root, i)
		if !endsIn(source, file) {
			continue
		}
		if matched != "" && matched != source {
			return 0, errors.New("Ambiguous source path, matches multiple files")
		}
		matched = source
		units = append(units, root)
	}
	if matched == "" {
		return 0, fmt.Errorf("DWARF error: No compilation unit matches %s", file)
	}
	for _, root := range units {
		if addr, ok := f.lineIn(root, matched, line, column); ok {
			return addr, nil
		}
	}
	at := fmt.Sprintf("%s:%d", file, line)
	if column != 0 {
		at += fmt.Sprintf(":%d", column)
	}
	return 0, fmt.Errorf("DWARF error: Unable to map '%s' to address", at)
}

// sourceOf is the path of the source file of unit i, whose first entry is root.
// A skeleton has no name: it is where the other entries are, or else the first
// file of the line table.
func (f *File) sourceOf(root entry, i int) string {
	name := root.name()
	if name == "" {
		if in, unit, err := f.full(i); err == nil {
			if full, err := in.at(in.units[unit].first); err == nil {
				name = full.name()
			}
		} else if r, err := f.lineReader(root); err == nil && r != nil {
			for _, file := range r.Files() {
				if file != nil {
					name = file.Name
					break
				}
			}
		}
	}
	if dir, ok := root.Val(dwarf.AttrCompDir).(string); ok && !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	return path.Clean(name)
}

// lineReader reads the line table of a unit; nil if it has none.
func (f *File) lineReader(root entry) (*dwarf.LineReader, error) {
	if f.lines == nil {
		// The package of the standard library wants to know the unit, but all that
		// it takes from there is the size of addresses.
		info, order := make([]byte, 12), f.order()
		order.PutUint32(info, uint32(len(info)-4))
		order.PutUint16(info[4:], 4) // DWARF 4
		info[10] = 8                 // bytes of an address
		data, err := dwarf.New([]byte{0}, nil, nil, info, f.line, nil, nil, f.str)
		if err == nil {
			err = data.AddSection(".debug_line_str", f.lineStr)
		}
		if err != nil {
			return nil, err
		}
		f.lines = data
	}
	const behindHeader = 11
	return f.lines.LineReader(&dwarf.Entry{Offset: behindHeader, Field: root.Field})
}

// endsIn reports whether the last components of a path are those of file.
func endsIn(full, file string) bool {
	file = path.Clean(file)
	return full == file || strings.HasSuffix(full, "/"+strings.TrimPrefix(file, "/")) && !path.IsAbs(file)
}

// maxRows bounds the rows of one line table.
const maxRows = 1 << 26

// lineIn looks a line up in the table of a unit: the first row that has it.
func (f *File) lineIn(root entry, source string, line, column int) (uint64, bool) {
	dir, _ := root.Val(dwarf.AttrCompDir).(string)
	r, err := f.lineReader(root)
	if err != nil || r == nil {
		return 0, false
	}
	var row dwarf.LineEntry
	for range maxRows {
		if err := r.Next(&row); err != nil {
			if !errors.Is(err, io.EOF) {
				return 0, false
			}
			break
		}
		if row.EndSequence || row.File == nil || row.Line != line || column != 0 && row.Column != column {
			continue
		}
		name := row.File.Name
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		if path.Clean(name) == source {
			return row.Address, true
		}
	}
	return 0, false
}
