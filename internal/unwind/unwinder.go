package unwind

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/proc"
)

// An Unwinder puts tables into the kernel maps, which it does in a goroutine of
// its own: a large program has a million rules.
type Unwinder struct {
	Maps

	mu      sync.Mutex
	asked   []int            // processes
	likely  []int            // processes that may be sampled; their turn is when nothing else is wanted
	named   []wanted         // files
	known   map[uint64]*file // by Mapped.File; nil: its table is being made
	working bool
	closed  bool
	idle    sync.Cond           // of mu: working became false
	quit    chan struct{}       // closed with closed: nobody waits for files any more
	errands int                 // files that are being read aside, with mu held
	hanging int                 // of them, those that nobody waits for any more, with mu held
	ready   map[fileID]*reading // what those have read, with mu held
	credit  time.Duration       // see aside, with mu held
	fence   sync.RWMutex        // see fenced
	gone    bool                // of fence: the maps are no longer this Unwinder's

	vdsoFile *file  // of mu, too; nil while no process was looked at
	swept    uint64 // how many spaces programs had made when they were last swept
	followed int    // how many Follow has made since it last swept, with mu held

	// Only the goroutine looks at these.
	files      map[fileID]*file
	next       uint32 // number of the next chunk
	turn       uint64 // how many processes and files were taken on
	held       int    // chunks in the kernel
	enough     int    // of them, beyond which some may be reclaimed
	generation int    // how often all was dropped
	dropped    int    // files whose tables were dropped, with mu held
	refused    int    // files whose tables the kernel did not take, with mu held
}

// Maps are descriptors of the maps that package object describes.
type Maps struct {
	Spaces, Chunks, Asked int
	Files                 int // -1 if programs do not make spaces
}

// A file has a table in the kernel.
type file struct {
	table   *Table // nil: it has no table, or there is no room for it
	index   uint32 // number of its first chunk
	chunks  uint32 // how many it has
	idle    int    // how often nobody had mapped it
	turn    uint64 // Unwinder.turn when it was last used
	name    []byte // what programs know it by
	bias    uint64 // of its code, if that is one piece
	plain   bool   // it is
	refused bool   // there is no room for its table, and frame pointers may not do
	build   [20]byte

	expected bool // its table is to be there before a process has mapped it
}

// frames reports whether the code of a file can be walked by frame pointers, as is assumed of code
// that says nothing of its frames.
func (f *file) frames() bool { return !f.refused && (f.table == nil || f.table.Frames) }

// fileID is a file on disk at one point in time.
type fileID struct {
	dev, ino uint64
	mtime    unix.Timespec
}

// New makes an Unwinder.
func New(m Maps) *Unwinder {
	u := &Unwinder{Maps: m, files: map[fileID]*file{}, known: map[uint64]*file{}, next: 1, enough: fewChunks,
		quit: make(chan struct{}), credit: credit, ready: map[fileID]*reading{}}
	u.idle.L = &u.mu
	if m.Files >= 0 {
		u.store(m.Spaces, key(0), space(0, moment{}, nil)) // what programs start from
		u.start()                                          // with the vDSO, which all processes map
	}
	return u
}

// Ask has tables be provided for a process, soon.
func (u *Unwinder) Ask(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// A process that is dropped here asks again when it is sampled next.
	if u.closed || len(u.asked) >= maxAsked || slices.Contains(u.asked, pid) {
		return
	}
	u.asked = append(u.asked, pid)
	u.start()
}

// Foresee has tables be provided for processes before anybody asks, once all that was asked for is there.
func (u *Unwinder) Foresee(pids []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.likely = append(u.likely, pids[:min(len(pids), maxAsked)]...)
		u.start()
	}
}

// Bounds of what waits to be made.
const (
	maxNamed = 4096 // files
	maxAsked = 1024 // processes
)

// Expect has tables of files be ready for the processes that will map them.
func (u *Unwinder) Expect(paths ...string) {
	list := make([]wanted, len(paths))
	for i, path := range paths {
		list[i].paths = []string{path}
	}
	u.want(list...)
}

func (u *Unwinder) want(list ...wanted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(u.named)+len(list) > maxNamed {
		return
	}
	u.named = append(u.named, list...)
	u.start()
}

// start has the goroutine run, with mu held.
func (u *Unwinder) start() {
	if !u.working {
		u.working = true
		go u.work()
	}
}

// Wait returns when all that was asked for and expected is there, or is not to be had in time.
func (u *Unwinder) Wait() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.await(startup)
}

// await waits for the goroutine, with mu held, though not for ever: it may hang in /proc, where the
// kernel waits for a process that waits for a file.
func (u *Unwinder) await(most time.Duration) {
	enough := false
	timer := time.AfterFunc(most, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		enough = true
		u.idle.Broadcast()
	})
	defer timer.Stop()
	for u.working && !enough {
		u.idle.Wait()
	}
}

// Sweep removes the spaces of processes that have ended, now and then. It may
// be called often.
func (u *Unwinder) Sweep() {
	if u.Files < 0 {
		return
	}
	v := make([]byte, object.UnwindSpace)
	if u.lookup(u.Spaces, key(0), v) != nil {
		return
	}
	made := binary.NativeEndian.Uint64(v[object.UnwindStrays:])
	if made-u.swept < object.UnwindMaxSpaces/4 {
		return
	}
	u.swept = made
	u.sweep()
}

func (u *Unwinder) sweep() {
	for _, k := range u.spaces() {
		if pid := int(binary.NativeEndian.Uint32(k)); pid != 0 && !proc.Alive(pid) {
			u.remove(u.Spaces, k)
		}
	}
}

// spaces are the keys of all that have one.
func (u *Unwinder) spaces() (pids [][]byte) {
	for k := key(-1); u.nextKey(u.Spaces, k, k) == nil && len(pids) <= object.UnwindMaxSpaces; {
		pids = append(pids, slices.Clone(k))
	}
	return pids
}

// Close ends the work; the maps are the caller's, and are not touched any more.
func (u *Unwinder) Close() {
	u.mu.Lock()
	if !u.closed {
		close(u.quit)
	}
	u.closed, u.asked, u.named, u.likely = true, nil, nil, nil
	u.await(patience)
	u.mu.Unlock()
	u.fence.Lock()
	u.gone = true
	u.fence.Unlock()
}

// work is the goroutine that makes tables for the processes that were asked for.
func (u *Unwinder) work() {
	if u.Files >= 0 && u.files[vdsoID] == nil {
		u.vdso()
	}
	for {
		u.turn++
		u.mu.Lock()
		switch {
		case len(u.asked) > 0:
			pid := u.asked[0]
			u.asked = u.asked[1:]
			u.mu.Unlock()
			u.add(pid)
		case len(u.named) > 0:
			w := u.named[0]
			u.named = u.named[1:]
			u.mu.Unlock()
			u.expect(w)
		case len(u.likely) > 0:
			pid := u.likely[0]
			u.likely = u.likely[1:]
			u.mu.Unlock()
			u.add(pid)
		default:
			u.working = false
			u.idle.Broadcast()
			u.mu.Unlock()
			return
		}
	}
}

// add makes the tables of what a process has mapped, and its space. One that
// has ended meanwhile needs none.
func (u *Unwinder) add(pid int) {
	defer u.remove(u.Asked, key(pid)) // it may ask again, unless it has a space
	var (
		before []proc.Mapping
		parts  []part
		state  int
		whole  bool
		at     moment
	)
	for look := range mostLooks {
		maps, err := proc.Code(pid, object.UnwindMost) // the others are not in the space
		if err != nil {
			return
		}
		// Programs load libraries as they start: the space is right once two looks are alike. The first
		// is for the tables alone, as many a process ends soon.
		same := whole && slices.Equal(maps, before)
		if !same {
			parts, state, whole = u.partsOf(pid, maps)
			before = maps
		}
		if whole && at.identity != 0 && len(parts) > 0 && (same || look == mostLooks-1) {
			u.put(pid, space(state, at, parts))
			return
		}
		at = now(pid)
	}
}

// Mapped is executable memory of a process.
type Mapped struct {
	Start, End, Offset uint64   // addresses, and bytes of the file
	Path               string   // as the process has it; "[vdso]", "" if no file
	BuildID            [20]byte // cut or padded; 0 if not known
	File               uint64   // the same for the same file; 0 if none
}

// maxKnown bounds the files told of by Follow.
const maxKnown = 1 << 14

// Follow makes the space of a process that begins, or has mapped something, of
// all that it has mapped. Tables that are not there yet are made, and the space
// again.
func (u *Unwinder) Follow(pid int, maps []Mapped) {
	id := identity(pid)
	if id == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	// Files are told of again as they are mapped again; what was found of them is still in files.
	if len(u.known) > maxKnown {
		clear(u.known)
	}
	frames, pending := true, false
	parts := make([]part, len(maps))
	for i := range maps {
		m := &maps[i]
		p := part{start: m.Start, end: m.End}
		f, asked := u.known[m.File]
		switch {
		case m.Path == vdsoPath:
			if asked = true; !narrow(m.Start) {
				f = u.vdsoFile
			}
		case m.Path == "" || m.Path[0] != '/':
			asked = true
		}
		if !asked {
			if f = u.made(pid, m); f != nil {
				u.known[m.File], asked = f, true
			}
		}
		if f != nil && f.plain {
			frames = frames && (f.frames() || f == u.vdsoFile)
			if f.table != nil {
				p.delta, p.index = m.Start-m.Offset-f.bias+f.table.Base, f.index
			}
		}
		pending = pending || !asked || f == nil && m.File != 0 && m.Path[0] == '/'
		if !asked && len(u.named) < maxNamed {
			u.known[m.File] = nil
			w := wanted{paths: []string{proc.Dir(pid) + "/root" + m.Path, m.Path}, key: m.File, pid: pid}
			if m.BuildID != [20]byte{} {
				w.build = m.BuildID[:]
			}
			u.named = append(u.named, w)
			u.start()
		}
		parts[i] = p
	}
	state := object.UnwindReady
	switch {
	case pending:
		state = object.UnwindWaiting
	case frames:
		state = object.UnwindFrames
	}
	v := space(state, moment{identity: id}, parts)
	binary.NativeEndian.PutUint32(v[object.UnwindUnknown:], 1) // programs that can are to make it again
	u.put(pid, v)
	if u.followed++; u.followed >= object.UnwindMaxSpaces/4 {
		u.followed = 0
		u.sweep()
	}
}

// made finds the table of a mapped file, if it was made before it was mapped.
// It is called with mu held.
func (u *Unwinder) made(pid int, m *Mapped) *file {
	for _, path := range [...]string{proc.Dir(pid) + "/root" + m.Path, "/proc/self/root" + m.Path} {
		fd, err := foreign.ReferCached(path)
		if err != nil {
			continue
		}
		// The kernel tells what it has in its caches: mu is held, and a file system may not
		// answer.
		st, err := foreign.Known(fd)
		unix.Close(fd)
		if err != nil {
			continue
		}
		f := u.files[fileID{st.Dev, st.Ino, st.Mtim}]
		if f != nil && (m.BuildID == [20]byte{} || m.BuildID == f.build) {
			return f
		}
	}
	return nil
}

func key(n int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

// mapped finds the table of a mapped file. bias is what addresses of the file
// exceed offsets in it by.
func (u *Unwinder) mapped(pid int, m *proc.Mapping) (f *file, bias uint64) {
	if m.Path == vdsoPath {
		if narrow(m.Start) {
			return nil, 0
		}
		return u.vdso(), -m.Offset
	}
	if !m.IsFile() {
		return nil, 0
	}
	again := func() { u.Ask(pid) }
	for _, name := range [...]string{proc.MapFile(pid, m), proc.Root(pid) + m.Path} {
		st, err := u.stat(name, again)
		if err == errLate {
			return nil, 0
		}
		if err != nil || st.Ino != m.Ino {
			continue
		}
		id := fileID{st.Dev, st.Ino, st.Mtim}
		f := u.files[id]
		if f == nil {
			r, err := u.read(name, id, nil, again)
			if err == errLate {
				return nil, 0
			}
			if err != nil {
				continue
			}
			f = u.enter(id, r, fileName(&st))
		}
		if !f.plain {
			bias, ok := u.biasOf(name, m, again)
			if !ok {
				return nil, 0
			}
			u.use(id, f)
			return f, bias
		}
		u.use(id, f)
		return f, f.bias
	}
	return nil, 0
}

// A wanted file is one whose table is to be made.
type wanted struct {
	paths []string // it is the first of these that it can be
	build []byte   // its build ID, cut or padded to 20 bytes; nil: not known
	key   uint64   // Mapped.File; 0 if nobody has mapped it yet
	pid   int      // who has
}

// expect makes the table of a file that is, or is to be, mapped.
func (u *Unwinder) expect(w wanted) {
	again := func() { u.want(w) }
	for _, path := range w.paths {
		st, err := u.stat(path, again)
		if err == errLate {
			break
		}
		if err != nil {
			continue
		}
		id := fileID{st.Dev, st.Ino, st.Mtim}
		f := u.files[id]
		if f == nil {
			r, err := u.read(path, id, w.build, again)
			if err == errLate {
				break
			}
			if err != nil || !r.is(w.build) {
				continue
			}
			f = u.enter(id, r, fileName(&st))
		}
		if w.build != nil && f.build != [20]byte(w.build) {
			continue
		}
		f.expected = f.expected || w.key == 0
		u.use(id, f)
		if w.key != 0 {
			u.mu.Lock()
			u.known[w.key] = f
			u.mu.Unlock()
		}
		break
	}
	if w.pid > 0 {
		u.Ask(w.pid)
	}
}

func padded(id []byte) (out [20]byte) {
	copy(out[:], id)
	return out
}

// fileName is what programs know a file by.
func fileName(st *unix.Stat_t) []byte {
	name := make([]byte, object.UnwindFileKey)
	order := binary.NativeEndian
	order.PutUint64(name[object.UnwindInode:], st.Ino)
	order.PutUint64(name[object.UnwindSize:], uint64(st.Size))
	order.PutUint64(name[object.UnwindSeconds:], uint64(st.Mtim.Sec))
	order.PutUint64(name[object.UnwindNanos:], uint64(st.Mtim.Nsec))
	return name
}

// Code says of the code at an address of a file whether it keeps frame pointers,
// and whether threads begin there. Of a file without a table, or whose table is
// not made yet, neither is known. path is "[vdso]" for the code that the kernel
// maps, which counts as code that does.
func (u *Unwinder) Code(path string, st *unix.Stat_t, addr uint64) (keepsFrames, begins bool) {
	if path == vdsoPath {
		return true, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.files[fileID{st.Dev, st.Ino, st.Mtim}]
	if f == nil || f.table == nil {
		return false, false
	}
	return f.table.Frames, f.table.beginsAt(addr)
}
