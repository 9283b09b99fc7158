package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Line finds the first instruction of a source line, and with a column other than 0 of a place in
// it. file is the end of a path: one component of it or more. Only the code of a unit's own source
// file counts, not that of headers. Inlined functions of headers would otherwise give one line many
// addresses.
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
		// Units of one source, as templates and codegen units have, are one file.
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
		} else if t := f.lineTable(root); t != nil {
			for _, name = range t.files {
				if name != "" {
					break
				}
			}
		}
	}
	// rustc splits a crate into units (codegen units), all of which have the same source.
	name, _, _ = strings.Cut(name, "/@/") // Rust adds the part of the crate
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

// lineIn looks a line up in the table of a unit: the first row that has it.
func (f *File) lineIn(root entry, source string, line, column int) (uint64, bool) {
	t := f.lineTable(root)
	if t == nil {
		return 0, false
	}
	for _, r := range t.rows {
		if int64(r.line) == int64(line) && (column == 0 || int(r.column) == column) && t.file(int64(r.file)) == source {
			return r.addr, true
		}
	}
	return 0, false
}
