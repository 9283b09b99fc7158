package symbolize

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/target/proc"
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
	held int   // a descriptor of the file, -1 if there is none
	file *file // once it was opened; for files with build IDs only
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
	i := &image{imageKey: key, held: -1}
	u.images[key] = i
	return i
}

// hold keeps a descriptor of the file of a mapping, as it may be gone, or out of
// reach with its mount namespace, when it is needed. It only refers to the file
// (O_PATH): opening devices has effects.
func (i *image) hold(u *User, pid int, m *mapping) {
	if i.held >= 0 || i.file != nil || !i.isFile() {
		return
	}
	dir := proc.Dir(pid)
	for n, name := range [...]string{dir + "/root" + i.path, i.path, proc.MapFile(pid, &proc.Mapping{Start: m.start, End: m.end})} {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			if n == 0 && (err == unix.EMFILE || err == unix.ENFILE) {
				return
			}
			continue
		}
		var st unix.Stat_t
		// With a build ID it is known when the file is read whether it is the one.
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || i.ino != 0 && st.Ino != i.ino {
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
	elf   *exe.File
	debug *exe.File // nil if there is none or it is not needed
	root  string    // prefix for its debug file
	table *exe.Table
	names map[string]string // demangled
	info  info
}

func (f *file) close() {
	if f == nil {
		return
	}
	f.elf.Close()
	if f.debug != nil {
		f.debug.Close()
	}
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
	return fileID{st.Dev, st.Ino, st.Mtim}, true
}

// fileOf opens the file behind a mapping, each file once for all processes;
// nil if there is none or it has no symbols to offer.
func (u *User) fileOf(p *process, m *mapping) *file {
	if m.opened {
		return m.file
	}
	if m.image.path == "[vdso]" {
		m.file, m.opened = u.vdso(p, m)
	} else if m.image.file != nil {
		m.file, m.opened = m.image.file, true
	} else {
		m.file, m.opened = u.open(p, m)
		if m.image.hasBuildID() {
			m.image.file = m.file
		}
	}
	return m.file
}

// vdsoID stands for the code that the kernel maps into every process.
var vdsoID = fileID{ino: ^uint64(0)}

func (u *User) vdso(p *process, m *mapping) (f *file, final bool) {
	if f, ok := u.files[vdsoID]; ok {
		return f, true
	}
	size := min(m.end-m.start, 1<<20)
	data, err := proc.ReadMemory(p.pid, m.start, int(size))
	if err != nil {
		// It has ended; hawk's own is the same one, unless it was a 32-bit
		// program, whose vDSO has another size.
		if data = ownVDSO(); uint64(len(data)) != size {
			return nil, false // another process may let us
		}
	}
	e, err := exe.New("[vdso]", data)
	if err != nil {
		return nil, true
	}
	return u.add(vdsoID, &file{elf: e}), true
}

func ownVDSO() []byte {
	pid := os.Getpid()
	maps, _ := proc.Maps(pid)
	for i := range maps {
		if m := &maps[i]; m.Path == "[vdso]" {
			data, _ := proc.ReadMemory(pid, m.Start, int(m.End-m.Start))
			return data
		}
	}
	return nil
}

func (u *User) add(id fileID, f *file) *file {
	if u.files == nil {
		u.files = make(map[fileID]*file)
	}
	u.files[id] = f
	return f
}

// open finds the very file that is mapped: by the mapping itself, which works
// for deleted files and other mount namespaces but needs privileges and the
// process, by what was kept of it, by its path, else among the programs. final
// is false if there may be better luck another time.
//
// Inodes are compared without the device: of btrfs and overlayfs, stat and
// mappings tell different ones.
func (u *User) open(p *process, m *mapping) (f *file, final bool) {
	i := m.image
	root := proc.Root(p.pid)
	type candidate struct {
		name  string
		exact bool // it need not be checked
	}
	candidates := make([]candidate, 0, 4)
	if i.held >= 0 {
		candidates = append(candidates, candidate{descriptorPath(i.held), !i.hasBuildID()})
	}
	if !p.ended {
		candidates = append(candidates, candidate{proc.MapFile(p.pid, &proc.Mapping{Start: m.start, End: m.end}), !i.hasBuildID()})
	}
	candidates = append(candidates, candidate{root + i.path, false})
	if root != "" {
		candidates = append(candidates, candidate{i.path, false})
	}
	for _, p := range u.programs {
		if path.Base(p.path) == path.Base(i.path) {
			candidates = append(candidates, candidate{descriptorPath(p.held), false})
		}
	}
	for _, c := range candidates {
		id, ok := fileIDOf(c.name)
		if !ok || !c.exact && i.ino != 0 && id.ino != i.ino {
			continue
		}
		f, known := u.files[id]
		if !known {
			e, err := exe.Open(c.name)
			if err != nil {
				u.add(id, nil)
				continue
			}
			e.Path = root + i.path // where its debug file is looked for
			f = u.add(id, &file{elf: e, root: root})
		}
		if !c.exact && i.hasBuildID() && (f == nil || buildID(f.elf) != i.build) {
			continue
		}
		i.letGo()
		return f, true
	}
	return nil, p.ended
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
		files := []*exe.File{f.elf}
		if !f.elf.HasSymbols() {
			if f.debug = f.elf.DebugFile(f.root, u.infos.dirs...); f.debug != nil {
				files = append(files, f.debug)
			}
		}
		f.table = exe.NewTable(files...)
	}
	s, ok := f.table.Lookup(addr)
	if !ok {
		return "", addr, false
	}
	return f.display(s.Name, u.Demangle), addr - s.Addr, true
}

func (f *file) display(name string, demangle bool) string {
	if !demangle || !exe.IsMangled(name) {
		return name
	}
	if d, ok := f.names[name]; ok {
		return d
	}
	if f.names == nil {
		f.names = make(map[string]string)
	}
	d := exe.Demangle(name)
	f.names[name] = d
	return d
}
