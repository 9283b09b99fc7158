package dwarf

import (
	"debug/dwarf"
	"fmt"
	"path"
	"strings"
)

// Line finds the first instruction of a source line, and with a column other than 0 of a place in
// it. file is the end of a path: one component of it or more. The code of a unit's own source file
// comes first. Other files of a unit are headers, modules of Rust and what is in a package of Go.
func (f *File) Line(file string, line, column int) (uint64, error) {
	matched := "" // the source file that was meant
	var own []entry
	for i := range f.units {
		root, ok := f.lineUnit(i)
		if !ok {
			continue
		}
		source := f.sourceOf(root, i)
		if !endsIn(source, file) {
			continue
		}
		// Units of one source, as templates and codegen units have, are one file.
		if matched != "" && matched != source {
			return 0, ambiguous(matched, source)
		}
		matched = source
		own = append(own, root)
	}
	for _, root := range own {
		if addrs := f.lineIn(root, matched, line, column); len(addrs) > 0 {
			return addrs[0], nil
		}
	}
	addr, found, err := f.lineOfAny(&matched, file, line, column)
	if found || err != nil {
		return addr, err
	}
	if matched == "" {
		return 0, fmt.Errorf("DWARF error: No compilation unit matches %s", file)
	}
	at := fmt.Sprintf("%s:%d", file, line)
	if column != 0 {
		at += fmt.Sprintf(":%d", column)
	}
	return 0, fmt.Errorf("DWARF error: Unable to map '%s' to address", at)
}

// lineUnit is the first entry of unit i; ok is false if it can have no line table.
func (f *File) lineUnit(i int) (root entry, ok bool) {
	if f.units[i].kind.isTypes() {
		return root, false
	}
	root, err := f.at(f.units[i].first)
	return root, err == nil && (root.Tag == dwarf.TagCompileUnit || root.Tag == dwarf.TagSkeletonUnit)
}

func ambiguous(one, other string) error {
	return fmt.Errorf("DWARF error: Ambiguous source path, matches multiple files: %s, %s", min(one, other),
		max(one, other))
}

// maxPlaces bounds how many places of a line are looked at.
const maxPlaces = 4096

// lineOfAny looks for a line of a file that is any of those of a unit, and sets matched to the
// file's path if that is not known. The function that has the line may be inlined in many places.
// Its own code comes first.
func (f *File) lineOfAny(matched *string, file string, line, column int) (addr uint64, found bool, err error) {
	units, err := f.unitsOf(matched, file)
	places := 0
	for _, root := range units {
		for _, a := range f.lineIn(root, *matched, line, column) {
			if inlined, _, err := f.Source(a); err == nil && len(inlined) == 0 {
				return a, true, nil
			}
			if !found {
				addr, found = a, true
			}
			if places++; places == maxPlaces {
				return addr, true, nil
			}
		}
	}
	return addr, found, err
}

// unitsOf are the units whose line tables have the file matched, or the one file that ends in file,
// which is then matched.
func (f *File) unitsOf(matched *string, file string) (units []entry, err error) {
	known := *matched != ""
	left := f.line.Len() // tables do not overlap
	for i := range f.units {
		root, ok := f.lineUnit(i)
		if !ok || left < 0 {
			continue
		}
		at, has := f.lineAt(root)
		if !has {
			continue
		}
		p, _ := f.lineHeader(root, at)
		left -= p.c.At - int(at)
		has = false
		for _, name := range p.t.files {
			switch {
			case name == *matched:
				has = known || name != ""
			case !known && endsIn(name, file):
				if *matched != "" {
					return nil, ambiguous(*matched, name)
				}
				*matched, has = name, true
			}
		}
		if has {
			units = append(units, root)
		}
	}
	return units, nil
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

// lineIn looks a line up in the table of a unit: the rows that have it.
func (f *File) lineIn(root entry, source string, line, column int) (addrs []uint64) {
	t := f.lineTable(root)
	if t == nil {
		return nil
	}
	for _, r := range t.rows {
		if int64(r.line) == int64(line) && (column == 0 || int(r.column) == column) && t.file(int64(r.file)) == source {
			if addrs = append(addrs, r.addr); len(addrs) == maxPlaces {
				break
			}
		}
	}
	return addrs
}
