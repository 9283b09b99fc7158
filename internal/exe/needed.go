package exe

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what one program may name.
const (
	maxNeeded     = 512  // libraries
	maxSearchDirs = 64   // in one file
	maxPath       = 4096 // bytes
)

// Libraries lists the files that will be mapped with a program: its dynamic
// linker, the libraries it needs and those that they need, as far as the
// linker's cache and the files' own search paths tell. What cannot be found is
// left out.
func Libraries(path string) []string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole // the files may say where libraries are relative to it
	}
	var out []string
	queue := []string{path}
	seen := map[string]bool{}
	for len(queue) > 0 && len(seen) < maxNeeded {
		f, err := Open(queue[0])
		queue = queue[1:]
		if err != nil {
			continue
		}
		names, dirs := f.dynamic()
		if interp := f.interpreter(); interp != "" {
			names = append(names, interp)
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if found, ok := f.neededFile(name, dirs); ok && !slices.Contains(out, found) {
				out = append(out, found)
				queue = append(queue, found)
			}
		}
		f.Close()
	}
	return out
}

// neededFile finds a needed library: in the directories that the file names, else
// where the linker looks.
func (f *File) neededFile(name string, dirs []string) (string, bool) {
	if strings.Contains(name, "/") {
		return name, Check(name) == nil
	}
	for _, dir := range dirs {
		dir = strings.NewReplacer("$ORIGIN", filepath.Dir(f.Path), "${ORIGIN}", filepath.Dir(f.Path)).Replace(dir)
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && Check(path) == nil {
			return path, true
		}
	}
	path, _ := findLibrary("", name, f.Machine)
	return path, path != ""
}

// interpreter is the path of the dynamic linker, "" if there is none.
func (f *File) interpreter() string { return string(cstring(f.Section(".interp"), 0)) }

// dynamic reads what libraries a file needs, by name, and the directories that
// it says they are in.
func (f *File) dynamic() (names, dirs []string) {
	s := f.sectionNamed(".dynamic")
	if s == nil || int(s.link) >= len(f.sections) {
		return nil, nil
	}
	strs := f.bytes(&f.sections[s.link])
	text := func(off uint64) string {
		off = min(off, uint64(len(strs)))
		return string(cstring(strs[off:min(off+maxPath, uint64(len(strs)))], 0))
	}
	size := f.wordSize()
	for b := f.bytes(s); len(b) >= 2*size && len(names) < maxNeeded; b = b[2*size:] {
		switch value := f.word(b[size:]); elf.DynTag(f.word(b)) {
		case elf.DT_NULL:
			return names, dirs
		case elf.DT_NEEDED:
			if name := text(value); name != "" {
				names = append(names, name)
			}
		case elf.DT_RPATH, elf.DT_RUNPATH:
			if len(dirs) < maxSearchDirs {
				dirs = append(dirs, strings.SplitN(text(value), ":", maxSearchDirs)...)
			}
		}
	}
	return names, dirs
}
