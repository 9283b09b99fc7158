package symbolize

import (
	"path"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/target/proc"
)

// A Frame is what an address of a process resolves to.
type Frame struct {
	Name   string // demangled if asked for; "" if only the file is known
	Off    uint64 // from the start of the symbol, or the address in the file
	Module string // path of the file as the process has it, "[vdso]", "[jit]"; "" if unknown
}

// User names addresses of processes. Its methods may be called from several
// goroutines.
type User struct {
	// Demangle makes names of C++ and Rust readable. Set it before use.
	Demangle bool

	mu        sync.Mutex
	procs     map[int]*process
	files     map[fileID]*file
	fallbacks []*file // programs named by probes, for processes never seen
}

// NewUser returns a symbolizer for processes.
func NewUser() *User { return &User{Demangle: true} }

// fileID is a file on disk at one point in time.
type fileID struct {
	dev, ino uint64
	mtime    unix.Timespec
}

// A file is a symbol table, filled when first used.
type file struct {
	elf   *exe.File
	debug *exe.File // nil if there is none or it is not needed
	root  string    // prefix for its debug file
	table *exe.Table
	names map[string]string // demangled
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

// A process is what is known of a PID.
type process struct {
	pid     int
	start   uint64 // start time, tells processes that share a PID apart
	exe     fileID // tells that it has called exec
	ended   bool
	checked time.Time
	read    time.Time
	maps    []proc.Mapping // by address
	files   map[int]*file  // by index of maps; nil values: not an ELF file
	jit     *jitMap
	cache   map[uint64]cached
	prev    *process // before its last exec
}

type cached struct {
	Frame
	ok bool
}

// The shortest times between looks at a process: for whether it is still the
// same program, and for new mappings when an address is in none.
const (
	checkEvery  = 20 * time.Millisecond
	rereadEvery = 50 * time.Millisecond
)

// Close forgets everything and closes the files.
func (u *User) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.files {
		f.close()
	}
	for _, f := range u.fallbacks {
		f.close()
	}
	u.procs, u.files, u.fallbacks = nil, nil, nil
}

// Remember records the mappings of a process that may end before its
// addresses are looked up. It is cheap for those already known.
func (u *User) Remember(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.procs[pid]; !ok {
		u.process(pid)
	}
}

// Forget drops a process, for those known to have ended and been printed.
func (u *User) Forget(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.procs, pid)
}

// AddProgram names a program whose symbols stand in for processes that ended
// before anything was known of them. It helps for programs with fixed
// addresses only.
func (u *User) AddProgram(path string) error {
	e, err := exe.Open(path)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fallbacks = append(u.fallbacks, &file{elf: e})
	return nil
}

// Lookup names an address of a process. ok is false if there is no symbol;
// the frame then still says the file and the address in it if known.
func (u *User) Lookup(pid int, addr uint64) (Frame, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.process(pid)
	if p == nil {
		return u.fallback(addr)
	}
	if c, ok := p.cache[addr]; ok {
		return c.Frame, c.ok
	}
	f, ok, known := u.find(p, addr)
	if !known && !p.ended && time.Since(p.read) > rereadEvery {
		p.reread() // a library loaded since
		f, ok, known = u.find(p, addr)
	}
	if !known && p.prev != nil {
		return u.findKnown(p.prev, addr)
	}
	if known {
		if len(p.cache) >= maxCached {
			p.cache = nil
		}
		if p.cache == nil {
			p.cache = make(map[uint64]cached)
		}
		p.cache[addr] = cached{f, ok}
	}
	return f, ok
}

// process returns what is known of a PID, up to date; nil if nothing is and
// there is no such process.
func (u *User) process(pid int) *process {
	p := u.procs[pid]
	now := time.Now()
	if p != nil && now.Sub(p.checked) < checkEvery {
		return p
	}
	start, alive := proc.StartTime(pid)
	exeID, _ := fileIDOf(proc.Dir(pid) + "/exe")
	if p != nil {
		p.checked, p.ended = now, !alive
		if !alive || p.start == start && p.exe == exeID {
			return p
		}
	} else if !alive {
		return nil
	}
	next := &process{pid: pid, start: start, exe: exeID, checked: now}
	if p != nil && p.start == start {
		p.prev = nil
		next.prev = p // samples from before the exec may still come
	}
	next.reread()
	if len(next.maps) == 0 {
		return p // ended meanwhile, or a kernel thread
	}
	if u.procs == nil {
		u.procs = make(map[int]*process)
	}
	u.procs[pid] = next
	return next
}

func fileIDOf(name string) (fileID, bool) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return fileID{}, false
	}
	return fileID{st.Dev, st.Ino, st.Mtim}, true
}

func (p *process) reread() {
	p.read = time.Now()
	maps, err := proc.Maps(p.pid)
	if err != nil || len(maps) == 0 {
		return // keep what we have
	}
	sort.Slice(maps, func(i, j int) bool { return maps[i].Start < maps[j].Start })
	p.maps, p.files, p.cache = maps, nil, nil
}

func (u *User) findKnown(p *process, addr uint64) (Frame, bool) {
	f, ok, _ := u.find(p, addr)
	return f, ok
}

// find looks an address up in the mappings as they are known. known is false
// if it may be found after reading them again.
func (u *User) find(p *process, addr uint64) (f Frame, ok, known bool) {
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].End > addr })
	if i == len(p.maps) || addr < p.maps[i].Start {
		return Frame{}, false, false
	}
	m := &p.maps[i]
	if !m.IsFile() && m.Path != "[vdso]" {
		if m.Path == "" || m.Path[0] != '[' {
			if p.jit == nil {
				p.jit = openJIT(p.pid)
			}
			f, ok = p.jit.lookup(addr)
			return f, ok, ok
		}
		return Frame{Off: addr - m.Start, Module: m.Path}, false, true
	}
	file := u.fileOf(p, i)
	if file == nil {
		return Frame{Off: addr - m.Start + m.Offset, Module: m.Path}, false, true
	}
	at, inFile := file.elf.Address(addr - m.Start + m.Offset)
	if !inFile {
		return Frame{Off: addr - m.Start + m.Offset, Module: m.Path}, false, true
	}
	name, off, ok := file.lookup(at, u.Demangle)
	return Frame{name, off, m.Path}, ok, true
}

// fileOf opens the file behind a mapping, each file once for all processes.
func (u *User) fileOf(p *process, i int) *file {
	if f, ok := p.files[i]; ok {
		return f
	}
	if p.files == nil {
		p.files = make(map[int]*file)
	}
	m := &p.maps[i]
	var f *file
	if m.Path == "[vdso]" {
		f = u.vdso(p, m)
	} else {
		f = u.open(p, m)
	}
	p.files[i] = f
	return f
}

// vdsoID stands for the code that the kernel maps into every process.
var vdsoID = fileID{ino: ^uint64(0)}

func (u *User) vdso(p *process, m *proc.Mapping) *file {
	if f, ok := u.files[vdsoID]; ok {
		return f
	}
	data, err := proc.ReadMemory(p.pid, m.Start, int(min(m.End-m.Start, 1<<20)))
	if err != nil {
		return nil // another process may let us
	}
	e, err := exe.New("[vdso]", data)
	if err != nil {
		return nil
	}
	return u.keep(vdsoID, &file{elf: e})
}

func (u *User) keep(id fileID, f *file) *file {
	if u.files == nil {
		u.files = make(map[fileID]*file)
	}
	u.files[id] = f
	return f
}

// open finds the very file that is mapped: by the mapping itself, which works
// for deleted files and other mount namespaces but needs privileges and the
// process, else by its path.
func (u *User) open(p *process, m *proc.Mapping) *file {
	root := proc.Root(p.pid)
	for _, name := range [...]string{proc.MapFile(p.pid, m), root + m.Path} {
		id, ok := fileIDOf(name)
		if !ok {
			continue
		}
		if f, ok := u.files[id]; ok {
			return f
		}
		e, err := exe.Open(name)
		if err != nil {
			return u.keep(id, nil)
		}
		if m.Path != "" {
			e.Path = root + m.Path // where its debug file is looked for
		}
		return u.keep(id, &file{elf: e, root: root})
	}
	return nil
}

func (f *file) lookup(addr uint64, demangle bool) (name string, off uint64, ok bool) {
	if f.table == nil {
		files := []*exe.File{f.elf}
		if !f.elf.HasSymbols() {
			if f.debug = f.elf.DebugFile(f.root); f.debug != nil {
				files = append(files, f.debug)
			}
		}
		f.table = exe.NewTable(files...)
	}
	s, ok := f.table.Lookup(addr)
	if !ok {
		return "", addr, false
	}
	return f.display(s.Name, demangle), addr - s.Addr, true
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

// fallback looks an address of an unknown process up in the programs that
// probes name, if they run at fixed addresses.
func (u *User) fallback(addr uint64) (Frame, bool) {
	for _, f := range u.fallbacks {
		if !f.elf.Fixed() {
			continue
		}
		if _, code := f.elf.CodeOffset(addr); !code {
			continue
		}
		if name, off, ok := f.lookup(addr, u.Demangle); ok {
			return Frame{name, off, f.elf.Path}, true
		}
	}
	return Frame{}, false
}

// Base is the last component of the frame's module, for messages.
func (f Frame) Base() string { return path.Base(f.Module) }
