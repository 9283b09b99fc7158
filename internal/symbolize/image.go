package symbolize

import (
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/proc"
)

// maxBuildID is the longest build ID that the kernel reports, in bytes.
const maxBuildID = 20

// An imageKey says which file is mapped: by its build ID, or, where the file
// has none or the kernel does not tell, by its inode.
type imageKey struct {
	path          string // as the process's mount namespace has it; "[vdso]"
	build         [maxBuildID]byte
	dev, ino, gen uint64 // gen is 0 if it came from /proc
}

// An image is a mapped file. Processes that map the same share it.
type image struct {
	imageKey
	number uint64 // of its own
	held   int    // a descriptor of the file, -1 if there is none
	file   *file  // once it was opened

	opening *errand
	opened  time.Time // when that was done
	final   bool      // there will be no better luck another time
}

// Bounds of what is kept.
const (
	maxImages = 1 << 14
	maxHeld   = 256 // descriptors
)

func (i *image) hasBuildID() bool { return i.build != [maxBuildID]byte{} }

func (i *image) isFile() bool { return strings.HasPrefix(i.path, "/") }

// image finds or makes the image of a key.
func (u *User) image(key imageKey) *image {
	if i, ok := u.images[key]; ok {
		return i
	}
	if u.images == nil || len(u.images) >= maxImages {
		u.images = make(map[imageKey]*image)
	}
	u.numbered++
	i := &image{imageKey: key, number: u.numbered, held: -1}
	u.images[key] = i
	return i
}

// hold keeps a descriptor of the file of a mapping, as it may be gone, or out of
// reach with its mount namespace, when it is needed. It only refers to the file
// (O_PATH): opening devices has effects. Paths are followed as far as the kernel
// knows them: file systems that others serve may not answer.
func (i *image) hold(u *User, pid int, m *mapping) {
	if i.held >= 0 || i.file != nil || !i.isFile() {
		return
	}
	for _, refer := range [...]func() (int, error){
		func() (int, error) {
			return foreign.Refer(proc.MapFile(pid, &proc.Mapping{Start: m.start, End: m.end}))
		},
		func() (int, error) { return foreign.ReferCached(proc.Dir(pid) + "/root" + i.path) },
		func() (int, error) { return foreign.ReferCached("/proc/self/root" + i.path) },
	} {
		fd, err := refer()
		if err == unix.EMFILE || err == unix.ENFILE {
			return
		}
		if err != nil {
			continue
		}
		// With a build ID it is known when the file is read whether it is the one.
		st, err := foreign.Known(fd)
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || i.ino != 0 && st.Ino != i.ino {
			unix.Close(fd)
			continue
		}
		i.held = fd
		break
	}
	if i.held < 0 {
		return
	}
	if len(u.held) >= maxHeld {
		u.held[0].letGo()
		u.held = u.held[:copy(u.held, u.held[1:])]
	}
	u.held = append(u.held, i)
}

func (i *image) letGo() {
	if i.held >= 0 {
		unix.Close(i.held)
		i.held = -1
	}
}

// A file is a symbol table, filled when first used.
type file struct {
	elf       *exe.File
	debug     *exe.File // nil if there is none or it is not needed
	root      string    // prefix for its debug file
	build     [maxBuildID]byte
	table     *exe.Table
	names     map[string]string // demangled
	nameBytes int
	info      info

	making *errand   // of table
	busy   int       // errands that read it
	used   uint64    // User.clock when last used
	looked time.Time // User.looked then
	closed bool      // it has to be opened again
}

// close closes the files, or has the last errand that reads them do so.
func (f *file) close(u *User) {
	if f == nil {
		return
	}
	if f.closed = true; f.busy > 0 || f.elf == nil {
		return
	}
	u.infos.drop(&f.info)
	f.elf.Close()
	f.elf = nil // mappings may know the file for long
	if f.debug != nil {
		f.debug.Close()
		f.debug = nil
	}
	f.table, f.names = nil, nil
}

// reading has work, which reads a file, be done aside.
func (u *User) reading(f *file, work func() func()) *errand {
	f.busy++
	e := u.aside(func() func() {
		install := work()
		return func() {
			f.busy--
			install()
			if f.closed {
				f.close(u)
			}
		}
	})
	if e == nil {
		f.busy--
	}
	return e
}

// fileID is a file on disk at one point in time.
type fileID struct {
	dev, ino uint64
	mtime    unix.Timespec
}

func fileIDOf(name string) (fileID, bool) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return fileID{}, false
	}
	return idOf(&st), true
}

func idOf(st *unix.Stat_t) fileID { return fileID{st.Dev, st.Ino, st.Mtim} }

// stale is how long what was found of a file counts for other mappings of it, if
// there is no build ID by which it is known.
const stale = time.Second

// fileOf opens the file behind a mapping, each file once for all processes;
// nil if there is none, it is not known yet or it has no symbols to offer.
func (u *User) fileOf(p *process, m *mapping) *file {
	if m.file != nil && m.file.closed {
		m.file, m.opened = nil, false
	}
	if i := m.image; !m.opened {
		switch {
		case i.path == "[vdso]":
			m.file, m.opened = u.vdso(p, m)
		case u.pending(i.opening):
			return nil
		case i.opening != nil && (i.hasBuildID() && i.final || time.Since(i.opened) < stale) &&
			(i.file == nil || !i.file.closed):
			m.file, m.opened = i.file, i.final
		default:
			i.opening = u.open(p, m)
			u.pending(i.opening)
			return nil
		}
	}
	if m.file != nil {
		u.clock++
		m.file.used, m.file.looked = u.clock, u.looked
	}
	return m.file
}

// vdsoID stands for the code that the kernel maps into every process, and narrowID for that of 32-bit
// programs.
var (
	vdsoID   = fileID{ino: ^uint64(0)}
	narrowID = fileID{ino: ^uint64(0) - 1}
)

// vdso opens the code that the kernel maps into every process. It is the same in all, so that hawk's own
// tells it: what a process has mapped there by the time that its memory is read may be something else,
// and may never answer. 32-bit programs have another one, which is read from the memory of one.
func (u *User) vdso(p *process, m *mapping) (f *file, final bool) {
	if u.own == nil {
		u.own = proc.VDSO()
	}
	size, id, data := m.end-m.start, vdsoID, u.own
	if uint64(len(data)) != size {
		id = narrowID
	}
	if f, ok := u.files[id]; ok && (f == nil || !f.closed) {
		return f, true
	}
	if id == narrowID {
		var err error
		if data, err = proc.ReadMemory(p.pid, m.start, int(min(size, 1<<20))); err != nil {
			return nil, false // another process may let us
		}
	}
	e, err := exe.New("[vdso]", data)
	if err != nil {
		return nil, true
	}
	return u.add(id, &file{elf: e}), true
}

func (u *User) add(id fileID, f *file) *file {
	if u.files == nil || len(u.files) >= maxFileIDs {
		u.forgetFiles()
	}
	u.files[id] = f
	return f
}

// A candidate is where the file of an image may be.
type candidate struct {
	name  string
	exact bool // it need not be checked
}

// open has the very file that is mapped be found: by the mapping itself, which
// works for deleted files and other mount namespaces but needs privileges and the
// process, by what was kept of it, by its path, else among the programs. It is
// not final if there may be better luck another time.
//
// Inodes are compared without the device: of btrfs and overlayfs, stat and
// mappings tell different ones.
func (u *User) open(p *process, m *mapping) *errand {
	i := m.image
	root := proc.Root(p.pid)
	var held []int // descriptors of our own, as those of others may be closed meanwhile
	hold := func(fd int, exact bool) candidate {
		again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return candidate{}
		}
		held = append(held, again)
		return candidate{descriptorPath(again), exact}
	}
	var candidates []candidate
	if i.held >= 0 {
		candidates = append(candidates, hold(i.held, !i.hasBuildID()))
	}
	if !p.ended {
		candidates = append(candidates, candidate{proc.MapFile(p.pid, &proc.Mapping{Start: m.start, End: m.end}),
			!i.hasBuildID()})
	}
	candidates = append(candidates, candidate{root + i.path, false})
	if root != "" {
		candidates = append(candidates, candidate{i.path, false})
	}
	for _, p := range u.programs {
		if path.Base(p.path) == path.Base(i.path) {
			candidates = append(candidates, hold(p.held, false))
		}
	}
	key, ended := i.imageKey, p.ended
	e := u.aside(func() func() {
		f, found := u.choose(key, root, candidates)
		for _, fd := range held {
			unix.Close(fd)
		}
		return func() {
			if !found && i.file != nil {
				u.left.Lost++
			}
			i.file, i.final, i.opened = f, found || ended, time.Now()
			if found {
				i.letGo()
			}
		}
	})
	if e == nil {
		for _, fd := range held {
			unix.Close(fd)
		}
	}
	return e
}

// choose opens the candidate that is the file of an image; false if none is.
// Files that were opened before are not opened again.
func (u *User) choose(i imageKey, root string, candidates []candidate) (*file, bool) {
	hasBuildID := i.build != [maxBuildID]byte{}
	for _, c := range candidates {
		id, ok := fileIDOf(c.name)
		if !ok || !c.exact && i.ino != 0 && id.ino != i.ino {
			continue
		}
		u.mu.Lock()
		f, known := u.files[id]
		u.mu.Unlock()
		if known && f != nil && f.closed {
			known = false
		}
		if !known {
			f = u.openAs(id, c.name, root+i.path, root)
		}
		if !c.exact && hasBuildID && (f == nil || f.build != i.build) {
			continue
		}
		return f, true
	}
	return nil, false
}

// openAs opens a file, nil if it is none of its kind. Its debug file is looked for
// as if it were at a path.
func (u *User) openAs(id fileID, name, path, root string) *file {
	e, err := exe.OpenFile(name)
	if err == nil {
		st := e.Stat()
		id = idOf(&st)
		e.Path = path
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil || u.closed {
		if err == nil {
			e.Close()
		}
		return u.add(id, nil)
	}
	if f := u.files[id]; f != nil && !f.closed {
		e.Close()
		return f // another errand was faster
	}
	u.clock++
	return u.add(id, &file{elf: e, root: root, build: buildID(e), used: u.clock, looked: u.looked})
}

// descriptorPath is a name by which a file can be opened that a descriptor
// refers to, deleted or not.
func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// buildID is what the kernel says of a file: 20 bytes, shorter ones are
// padded with zeros.
func buildID(e *exe.File) (id [maxBuildID]byte) {
	copy(id[:], e.BuildID())
	return id
}

// symbol names an address of a file.
func (u *User) symbol(f *file, addr uint64) (name string, off uint64, ok bool) {
	if f.table == nil {
		if f.making == nil {
			f.making = u.makeTable(f)
		}
		u.pending(f.making)
		return "", addr, false
	}
	s, ok := f.table.Lookup(addr)
	if !ok {
		return "", addr, false
	}
	return f.display(s.Name, u.Demangle), addr - s.Addr, true
}

// makeTable has the table of a file be made, with the symbols of its debug file if
// it has none of its own.
func (u *User) makeTable(f *file) *errand {
	return u.reading(f, func() func() {
		files := []*exe.File{f.elf}
		var debug *exe.File
		if !f.elf.HasSymbols() {
			if debug = f.elf.DebugFile(f.root, u.infos.dirs...); debug != nil {
				files = append(files, debug)
			}
		}
		table := exe.NewTable(files...)
		return func() { f.table, f.debug, f.making = table, debug, nil }
	})
}

// Bounds of the readable names of one file that are kept.
const (
	maxNames     = 1 << 16
	maxNameBytes = 32 << 20
)

// display is the readable name of a symbol. Names are kept: to demangle one takes longer than to
// look it up.
func (f *file) display(name string, demangle bool) string {
	if !demangle || !exe.IsMangled(name) {
		return name
	}
	if d, ok := f.names[name]; ok {
		return d
	}
	if f.names == nil || len(f.names) >= maxNames || f.nameBytes >= maxNameBytes {
		f.nameBytes = 0
		f.names = make(map[string]string)
	}
	d := exe.Demangle(name)
	f.nameBytes += len(name) + len(d)
	f.names[name] = d
	return d
}
