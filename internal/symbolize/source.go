package symbolize

import (
	"errors"
	"slices"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/exe"
)

// A Source is where code comes from, by debug information.
type Source struct {
	// functions that are inlined at the address, innermost first; names are demangled if asked for
	Inlined []dwarf.Inlined
	At      dwarf.Position // in the function that they are inlined into
}

// Bounds of the debug information that is open.
const (
	maxInfos     = 16      // files
	maxUnfolded  = 1 << 30 // bytes of their sections
	maxPositions = 1 << 13 // addresses of one file
)

// infos is the debug information that is open, of files that are in use.
type infos struct {
	dirs []exe.DebugDir
	open []*info // the one used last comes last
	warn func(error)
	said int // files that were complained of
}

// An info is the debug information of one file, opened when first asked for.
type info struct {
	lines  *dwarf.File // nil if not open
	tried  bool        // whether there is any was found out
	known  map[uint64]Source
	said   bool    // what is wrong with it
	asking *errand // which uses lines
}

// maxSaid bounds the files of others whose debug information is complained of.
const maxSaid = 16

// sourceAt looks an address of a file up.
func (u *User) sourceAt(f *file, addr uint64) (src Source, ok bool) {
	i, s := &f.info, &u.infos
	if src, ok = i.known[addr]; ok {
		s.use(i)
		return src, src.known()
	}
	if u.pending(i.asking) || i.tried && i.lines == nil {
		return src, false
	}
	before := *i
	i.asking = u.reading(f, func() func() {
		found := before.ask(f.elf, f.root, s.dirs, addr)
		return func() {
			i.asking = nil
			s.take(i, addr, found, func(name string) string { return f.display(name, u.Demangle) })
		}
	})
	u.pending(i.asking)
	return src, false
}

// An answer is what debug information says of an address.
type answer struct {
	lines *dwarf.File
	src   Source
	err   error
}

// ask looks an address up, in debug information that is opened if it is not.
func (i info) ask(program *exe.File, root string, dirs []exe.DebugDir, addr uint64) (a answer) {
	if a.lines = i.lines; !i.tried {
		a.lines, a.err = dwarf.New(program, root, dirs...)
	}
	if a.lines != nil {
		a.src.Inlined, a.src.At, a.err = a.lines.Source(addr)
	}
	return a
}

// take keeps an answer. name is how functions are shown.
func (s *infos) take(i *info, addr uint64, a answer, name func(string) string) {
	i.lines, i.tried = a.lines, true
	none, split := (*dwarf.ErrNone)(nil), (*dwarf.ErrSplit)(nil)
	if a.err != nil && (a.lines == nil && !errors.As(a.err, &none) || errors.As(a.err, &split)) {
		s.complain(i, a.err)
	}
	if a.lines == nil {
		return
	}
	for n := range a.src.Inlined {
		a.src.Inlined[n].Name = name(a.src.Inlined[n].Name)
	}
	if len(i.known) >= maxPositions {
		clear(i.known)
	}
	if i.known == nil {
		i.known = map[uint64]Source{}
	}
	i.known[addr] = a.src
	s.use(i)
	s.trim()
}

// at looks an address up that nobody else asks for.
func (s *infos) at(i *info, program *exe.File, root string, addr uint64, name func(string) string) (Source, bool) {
	src, ok := i.known[addr]
	if !ok {
		s.take(i, addr, i.ask(program, root, s.dirs, addr), name)
		src = i.known[addr]
	} else {
		s.use(i)
	}
	return src, src.known()
}

func (s *Source) known() bool {
	return len(s.Inlined) > 0 || s.At.File != "" && s.At.Line != 0
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
	total := 0
	for _, i := range s.open {
		total += i.memory()
	}
	for n := 0; n < len(s.open)-1 && (len(s.open) > maxInfos || total > maxUnfolded); {
		i := s.open[n]
		if i.asking != nil {
			n++
			continue
		}
		total -= i.memory()
		s.drop(i)
	}
}

func (s *infos) close() {
	for n := len(s.open) - 1; n >= 0; n-- {
		if s.open[n].asking == nil {
			s.drop(s.open[n])
		}
	}
}

// memory is the size of the lines that are kept, in bytes; those still being read do not count.
func (i *info) memory() int {
	if i.lines == nil || i.asking != nil {
		return 0
	}
	return i.lines.Unfolded() + i.lines.Memory()
}

// drop closes the debug information of a file, if it is open.
func (s *infos) drop(i *info) {
	if at := slices.Index(s.open, i); at >= 0 {
		s.open = slices.Delete(s.open, at, at+1)
	}
	if i.lines != nil {
		i.lines.Close()
	}
	i.lines, i.known, i.tried = nil, nil, false
}

// complain says once what is wrong with the debug information of a file.
func (s *infos) complain(i *info, err error) {
	if !i.said && s.warn != nil && s.said < maxSaid {
		i.said = true
		s.said++
		s.warn(err)
	}
}

// Source says where the instruction at an address of a process comes from;
// ok is false if that is not known.
func (u *User) Source(pid int, addr uint64) (src Source, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete(func() { src, ok = u.source(pid, addr) })
	return src, ok
}

// source is Source with mu held.
func (u *User) source(pid int, addr uint64) (src Source, ok bool) {
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
	return u.sourceAt(f, at)
}

// DebugInfo has separate debug files be looked for in dirs first, and warn be
// told what is wrong with some. Call it before use.
func (u *User) DebugInfo(dirs []exe.DebugDir, warn func(error)) {
	u.infos.dirs, u.infos.warn = dirs, warn
}
