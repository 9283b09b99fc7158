package symbolize

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/proc"
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
	// Demangle makes names of C++ and Rust readable. Forgetful drops what is
	// known of processes that have ended. Set them before use.
	Demangle  bool
	Forgetful bool
	// Changed, if not nil, is told of processes that begin, begin another program
	// or map something executable, as Watch sees them. Who has set it is woken for
	// each, rather than when there is much. It and Most are set before Watch.
	Changed func(pid int, maps []Mapping)
	// Most is how many mappings Changed is told of, those at the lowest addresses.
	Most int
	// Enough, if not nil, yields what ends a look-up's wait for a file, when it
	// is closed: the look-up then goes by what is known.
	Enough func() <-chan struct{}

	mu       sync.Mutex
	recorder *recorder // nil if not watching
	gaps     int       // how often the recorder lost something
	missing  *errand   // that the look-up under way lacks the result of
	looks    uint64    // look-ups so far
	looked   time.Time // when the last of them began
	errands  int       // under way
	credit   time.Duration
	credited time.Time
	closed   bool
	settled  bool // by Settle
	left     Left
	procs    map[int]*process
	clock    uint64 // orders uses of processes
	unread   []int  // processes that ran before watching began, to be read
	changed  []int  // processes to tell Changed of
	maxFiles int    // that are open
	images   map[imageKey]*image
	numbered uint64   // images so far
	held     []*image // that have descriptors, oldest first
	files    map[fileID]*file
	own      []byte     // the vDSO of hawk itself, once it was asked for
	programs []*program // named by probes
	jitBytes int64      // of all that is kept of map files
	infos    infos
}

// NewUser returns a symbolizer for processes.
func NewUser() *User {
	return &User{Demangle: true, credit: credit, credited: time.Now(), maxFiles: filesFor(descriptors())}
}

// The shortest times between looks at a process: for whether it is still the
// same program, and for new mappings when an address is in none.
const (
	checkEvery  = 20 * time.Millisecond
	rereadEvery = 50 * time.Millisecond
)

// rereadShare is how many times longer than a look for new mappings takes the next one has to wait.
const rereadShare = 20

// readAtOnce is how many processes that ran before are read in one Update.
const readAtOnce = 16

// Watch begins to record what processes map, on the given CPUs, so that
// processes resolve that have ended when they are looked up. With all set,
// those that run already are read little by little. It takes privileges:
// CAP_PERFMON, or a low kernel.perf_event_paranoid.
func (u *User) Watch(cpus []int, all bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder != nil {
		return nil
	}
	r, err := newRecorder(cpus, u.Changed != nil)
	if err != nil {
		return err
	}
	u.recorder = r
	u.gaps++ // what is known from before was not followed
	if all {
		u.unread, _ = proc.All()
		slices.Reverse(u.unread) // the youngest may end first
	}
	return nil
}

// Unwatch ends what Watch began: what is known of processes stays.
func (u *User) Unwatch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder != nil {
		u.takeIn()
		u.recorder.close()
		u.recorder = nil
	}
}

// Descriptors become readable when much is recorded and Update is due; they
// belong to u.
func (u *User) Descriptors() []int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder == nil {
		return nil
	}
	return u.recorder.descriptors()
}

// Update takes in what was recorded. Without news it costs next to nothing.
// more says that it should be called again soon: not all of the processes that
// ran before are read.
func (u *User) Update() (more bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder == nil {
		return false
	}
	u.takeIn()
	n := min(readAtOnce, len(u.unread))
	for _, pid := range u.unread[:n] {
		if len(u.procs) < maxProcesses/2 {
			u.process(pid)
		}
	}
	u.unread = u.unread[n:]
	return len(u.unread) > 0
}

// takeIn applies what was recorded.
func (u *User) takeIn() {
	u.recorder.read(u.apply)
	if u.Changed == nil {
		return
	}
	for _, pid := range u.changed {
		if p := u.procs[pid]; p != nil && len(p.maps) > 0 {
			u.Changed(pid, p.mappings(u.Most))
		}
	}
	u.changed = u.changed[:0]
}

// Close forgets everything and closes the files.
func (u *User) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder != nil {
		u.recorder.close()
		u.recorder = nil
	}
	for _, i := range u.held {
		i.letGo()
	}
	u.closed = true
	for _, f := range u.files {
		f.close(u)
	}
	u.infos.close()
	for _, p := range u.programs {
		unix.Close(p.held)
		p.file.close(u)
	}
	u.procs, u.images, u.held, u.files, u.programs, u.unread = nil, nil, nil, nil, nil, nil
}

// Settle says that all events have come whose addresses will be looked up: what processes
// say of code that they generate is then read once more, not for each address that it lacks.
func (u *User) Settle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.settled = true
}

// Remember records the mappings of a process that may end before its
// addresses are looked up, and keeps them whatever else is forgotten. It is
// cheap for those already known.
func (u *User) Remember(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.procs[pid]
	if p == nil {
		p = u.process(pid)
	}
	if p != nil {
		p.pinned = true
	}
}

// Meet records the mappings of a process, if it is not known yet: its
// addresses will be looked up.
func (u *User) Meet(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recorder != nil && u.procs[pid] == nil {
		u.process(pid)
	}
}

// AddProgram names a file that processes are expected to map. It is kept
// within reach, should it be deleted. If it is the only one and runs at fixed
// addresses, its symbols stand in for processes that ended before anything was
// known of them.
func (u *User) AddProgram(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.programs) >= maxHeld {
		return
	}
	if fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		u.programs = append(u.programs, &program{path: path, held: fd})
	}
}

// maxCachedName bounds the names that are kept with addresses, in bytes.
const maxCachedName = 1 << 10

// Lookup names an address of a process. ok is false if there is no symbol;
// the frame then still says the file and the address in it if known.
func (u *User) Lookup(pid int, addr uint64) (Frame, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var f Frame
	var ok bool
	u.complete(func() { f, ok = u.lookup(pid, addr) })
	return f, ok
}

// lookup names an address with mu held: by the mappings as they are known, else as they are now,
// else as they were before the process executed another program.
func (u *User) lookup(pid int, addr uint64) (Frame, bool) {
	p := u.current(pid)
	if p == nil {
		return u.expected(addr)
	}
	if c, ok := p.cache[addr]; ok {
		return c.Frame, c.ok
	}
	f, ok, known := u.find(p, addr)
	if !known && u.lookAgain(p) {
		f, ok, known = u.find(p, addr)
	}
	if !known && p.prev != nil {
		if f, ok, known := u.find(p.prev, addr); known {
			return f, ok
		}
	}
	if !known && !ok && len(p.maps) == 0 {
		return u.expected(addr)
	}
	if known && f.Module != jitModule && u.missing == nil && len(f.Name) <= maxCachedName {
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

// BuildID finds the file an address of a process lies in: its build ID, cut
// or padded to 20 bytes, and the offset in it. ok is false if the address is
// in no file or that has no build ID.
func (u *User) BuildID(pid int, addr uint64) (id [maxBuildID]byte, offset uint64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete(func() { id, offset, ok = u.buildIDAt(pid, addr) })
	return id, offset, ok
}

// buildIDAt is the build ID of what is mapped at an address, and the offset in the file.
func (u *User) buildIDAt(pid int, addr uint64) (id [maxBuildID]byte, offset uint64, ok bool) {
	p := u.current(pid)
	if p == nil {
		return id, 0, false
	}
	m := p.mapping(addr)
	if m == nil && u.lookAgain(p) {
		m = p.mapping(addr)
	}
	if m == nil && p.prev != nil {
		p = p.prev
		m = p.mapping(addr)
	}
	if m == nil || m.image == nil || !m.image.isFile() {
		return id, 0, false
	}
	id = m.image.build
	if f := u.fileOf(p, m); !m.image.hasBuildID() && f != nil {
		id = f.build
	}
	return id, addr - m.start + m.offset, id != [maxBuildID]byte{}
}

// A Place is where an address of a process lies.
type Place struct {
	Path  string      // of the file, as the process has it, or "[vdso]"
	Stat  unix.Stat_t // of it when it was opened
	Entry uint64      // where it says that the program in it begins
	Addr  uint64      // the address, as the file has it
}

// Place finds the file that an address of a process lies in, and where; false if
// there is none, or it cannot be read any more.
func (u *User) Place(pid int, addr uint64) (out Place, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete(func() { out, ok = u.placeOf(pid, addr) })
	return out, ok
}

// placeOf is the file that an address belongs to, and where in it.
func (u *User) placeOf(pid int, addr uint64) (Place, bool) {
	p := u.current(pid)
	if p == nil {
		return Place{}, false
	}
	m, f, at := u.code(p, addr)
	if m == nil && u.lookAgain(p) {
		m, f, at = u.code(p, addr)
	}
	if m == nil && p.prev != nil {
		m, f, at = u.code(p.prev, addr)
	}
	if f == nil {
		return Place{}, false
	}
	return Place{m.image.path, f.elf.Stat(), f.elf.Entry, at}, true
}

// InCode reports whether a process has code mapped at an address, or had before it executed another program;
// known is false where that cannot be told now: code that a process made may have been executable since its mappings
// were read.
func (u *User) InCode(pid int, addr uint64) (in, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.current(pid)
	if p == nil || len(p.maps) == 0 {
		return false, false
	}
	has := func() bool { return p.mapping(addr) != nil || p.prev != nil && p.prev.mapping(addr) != nil }
	if has() {
		return true, true
	}
	again := u.lookAgain(p)
	return again && has(), again || p.ended
}

// current is process after what was recorded has been taken in.
func (u *User) current(pid int) *process {
	if u.recorder != nil {
		u.takeIn()
	}
	return u.process(pid)
}

// lookAgain reads the mappings of a process anew if an address is in none:
// they may have moved, or a library have been loaded since.
func (u *User) lookAgain(p *process) bool {
	if p.ended || time.Since(p.read) <= p.pause {
		return false
	}
	u.reread(p)
	return true
}

// find looks an address up in the mappings as they are known. known is false
// if it may be found after reading them again.
func (u *User) find(p *process, addr uint64) (f Frame, ok, known bool) {
	m, file, at := u.code(p, addr)
	switch {
	case m == nil:
		return Frame{}, false, false
	case m.image == nil:
		f, ok = u.jitLookup(p, addr)
		return f, ok, ok
	case file == nil:
		return Frame{Off: at, Module: m.image.path}, false, true
	}
	name, off, ok := u.symbol(file, at)
	return Frame{name, off, m.image.path}, ok, true
}

// code finds the mapping that an address is in, nil if none, and the file there
// with the address in it. Without a file that has it, at is where it is in the
// file or in the mapping.
func (u *User) code(p *process, addr uint64) (m *mapping, f *file, at uint64) {
	m = p.mapping(addr)
	if m == nil || m.image == nil {
		return m, nil, 0
	}
	if at = addr - m.start; !m.image.isFile() && m.image.path != "[vdso]" {
		return m, nil, at
	}
	at += m.offset
	if f = u.fileOf(p, m); f != nil {
		if linked, ok := f.elf.Address(at); ok {
			return m, f, linked
		}
	}
	return m, nil, at
}

// A program is a file named by AddProgram.
type program struct {
	path string
	held int   // a descriptor of it
	file *file // nil if not opened by fallback, or impossible
	done bool  // whether that was tried
}

// fallback is the program that probes name, if it runs at fixed addresses and an
// address of an unknown process is in its code; else nil.
func (u *User) fallback(addr uint64) *file {
	if len(u.programs) != 1 {
		return nil
	}
	p := u.programs[0]
	if !p.done {
		p.done = true
		if e, err := exe.OpenFile(descriptorPath(p.held)); err == nil {
			e.Path = p.path
			p.file = &file{elf: e}
		}
	}
	if p.file == nil || !p.file.elf.Fixed() {
		return nil
	}
	if _, code := p.file.elf.CodeOffset(addr); !code {
		return nil
	}
	return p.file
}

// expected names an address of an unknown process by fallback.
func (u *User) expected(addr uint64) (Frame, bool) {
	f := u.fallback(addr)
	if f == nil {
		return Frame{}, false
	}
	name, off, ok := u.symbol(f, addr)
	if !ok {
		return Frame{}, false
	}
	return Frame{name, off, f.elf.Path}, true
}
