package symbolize

import (
	"errors"
	"slices"

	"github.com/hawktrace/hawk/internal/target/dwarf"
	"github.com/hawktrace/hawk/internal/target/exe"
)

// A Source is where code comes from, by debug information.
type Source struct {
	Inlined []dwarf.Inlined // functions that are inlined at the address, innermost first; names are demangled if asked for
	At      dwarf.Position  // in the function that they are inlined into
}

// Bounds of the debug information that is open.
const (
	maxInfos     = 16      // files
	maxUnfolded  = 1 << 30 // bytes of sections that were compressed
	maxPositions = 1 << 13 // addresses of one file
)

// infos is the debug information that is open, of files that are in use.
type infos struct {
	dirs []exe.DebugDir
	open []*info // the one used last comes last
	warn func(error)
}

// An info is the debug information of one file, opened when first asked for.
type info struct {
	lines *dwarf.File // nil if not open
	tried bool        // whether there is any was found out
	known map[uint64]Source
	said  bool // what is wrong with it
}

// at looks an address of a file up.
func (s *infos) at(i *info, program *exe.File, root string, addr uint64, name func(string) string) (src Source, ok bool) {
	if !i.tried {
		i.tried = true
		var err error
		if i.lines, err = dwarf.New(program, root, s.dirs...); err != nil {
			if none := (*dwarf.ErrNone)(nil); !errors.As(err, &none) {
				s.complain(i, err)
			}
		}
	}
	if i.lines == nil {
		return src, false
	}
	s.use(i)
	src, ok = i.known[addr]
	if !ok {
		inlined, at, err := i.lines.Source(addr)
		if split := (*dwarf.ErrSplit)(nil); errors.As(err, &split) {
			s.complain(i, err)
		}
		for n := range inlined {
			inlined[n].Name = name(inlined[n].Name)
		}
		src = Source{inlined, at}
		if len(i.known) >= maxPositions {
			clear(i.known)
		}
		if i.known == nil {
			i.known = map[uint64]Source{}
		}
		i.known[addr] = src
		s.trim()
	}
	return src, len(src.Inlined) > 0 || src.At.File != "" && src.At.Line != 0
}

// use makes i the file that was used last.
func (s *infos) use(i *info) {
	if n := len(s.open); n > 0 && s.open[n-1] == i {
		return
	}
	if at := slices.Index(s.open, i); at >= 0 {
		s.open = slices.Delete(s.open, at, at+1)
	}
	s.open = append(s.open, i)
}

// trim closes what was not used for longest while there is too much.
func (s *infos) trim() {
	unfolded := 0
	for _, i := range s.open {
		unfolded += i.lines.Unfolded()
	}
	for len(s.open) > 1 && (len(s.open) > maxInfos || unfolded > maxUnfolded) {
		unfolded -= s.open[0].lines.Unfolded()
		s.open[0].forget()
		s.open = slices.Delete(s.open, 0, 1)
	}
}

func (s *infos) close() {
	for _, i := range s.open {
		i.forget()
	}
	s.open = nil
}

func (i *info) forget() {
	i.lines.Close()
	i.lines, i.known, i.tried = nil, nil, false
}

// complain says once what is wrong with the debug information of a file.
func (s *infos) complain(i *info, err error) {
	if !i.said && s.warn != nil {
		i.said = true
		s.warn(err)
	}
}

// Source says where the instruction at an address of a process comes from;
// ok is false if that is not known.
func (u *User) Source(pid int, addr uint64) (src Source, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var f *file
	var at uint64
	if p := u.current(pid); p == nil || len(p.maps) == 0 {
		f, at = u.fallback(addr), addr
	} else {
		var m *mapping
		if m, f, at = u.code(p, addr); m == nil && p.prev != nil {
			_, f, at = u.code(p.prev, addr)
		}
	}
	if f == nil {
		return src, false
	}
	return u.infos.at(&f.info, f.elf, f.root, at, func(name string) string { return f.display(name, u.Demangle) })
}

// DebugInfo has separate debug files be looked for in dirs first, and warn be
// told what is wrong with some. Call it before use.
func (u *User) DebugInfo(dirs []exe.DebugDir, warn func(error)) {
	u.infos.dirs, u.infos.warn = dirs, warn
}
