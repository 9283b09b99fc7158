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
	for _, u := range f.units {
		root, err := f.at(u.first)
		if err != nil || root.Tag != dwarf.TagCompileUnit {
			continue
		}
		source := sourceOf(root)
		if !endsIn(source, file) {
			continue
		}
		if matched != "" && matched != source {
			return 0, errors.New("Ambiguous source path, matches multiple files")
		}
		matched = source
	}
	if matched == "" {
		return 0, fmt.Errorf("DWARF error: No compilation unit matches %s", file)
	}
	for _, u := range f.units {
		root, err := f.at(u.first)
		if err != nil || root.Tag != dwarf.TagCompileUnit || sourceOf(root) != matched {
			continue
		}
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

// sourceOf is the path of a unit's source file.
func sourceOf(root entry) string {
	name := root.name()
	if dir, ok := root.Val(dwarf.AttrCompDir).(string); ok && !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	return path.Clean(name)
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
	r, err := f.data.LineReader(root.Entry)
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
