package unwind

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/target/proc"
)

// An Unwinder puts tables for processes into the kernel maps, which it does in
// a goroutine of its own: a large program has a million rules.
type Unwinder struct {
	spaces, chunks, asks int // descriptors of the maps

	mu      sync.Mutex
	asked   []int
	working bool
	closed  bool
	idle    sync.Cond // of mu: working became false

	// Only the goroutine looks at these.
	files map[fileID]*file
	pids  map[int]bool // that have a space
	next  uint32       // number of the next chunk
}

// A file has a table in the kernel.
type file struct {
	table *Table // nil: it has no table, or there is no room for it
	index uint32 // number of its first chunk
}

// fileID is a file on disk at one point in time.
type fileID struct {
	dev, ino uint64
	mtime    unix.Timespec
}

// New makes an Unwinder of the descriptors of the maps that package object
// describes: spaces, chunks, and processes that asked.
func New(spaces, chunks, asked int) *Unwinder {
	u := &Unwinder{spaces: spaces, chunks: chunks, asks: asked, files: map[fileID]*file{}, pids: map[int]bool{}, next: 1}
	u.idle.L = &u.mu
	return u
}

// Ask has tables be provided for a process, soon.
func (u *Unwinder) Ask(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || slices.Contains(u.asked, pid) {
		return
	}
	u.asked = append(u.asked, pid)
	if !u.working {
		u.working = true
		go u.work()
	}
}

// Forget drops what is known of a process, which is another program now. It
// may be called at any time before Close.
func (u *Unwinder) Forget(pid int) {
	key := key(pid)
	bpf.MapDelete(u.spaces, key)
	bpf.MapDelete(u.asks, key)
}

// Close ends the work; the maps are the caller's.
func (u *Unwinder) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed, u.asked = true, nil
	for u.working {
		u.idle.Wait()
	}
}

func (u *Unwinder) work() {
	for {
		u.mu.Lock()
		if len(u.asked) == 0 {
			u.working = false
			u.idle.Broadcast()
			u.mu.Unlock()
			return
		}
		pid := u.asked[0]
		u.asked = u.asked[1:]
		u.mu.Unlock()
		u.add(pid)
	}
}

// add makes the space of a process from what it has mapped. One that has ended
// meanwhile needs none.
func (u *Unwinder) add(pid int) {
	defer bpf.MapDelete(u.asks, key(pid)) // it may ask again, unless it has a space
	maps, err := proc.Maps(pid)
	if err != nil {
		return
	}
	var parts []part
	frames := true
	for i := range maps {
		m := &maps[i]
		if !m.Exec {
			continue
		}
		f, bias := u.mapped(pid, m)
		if f == nil || f.table == nil {
			continue
		}
		frames = frames && (f.table.Frames || m.Path == "[vdso]")
		parts = append(parts, part{m.Start, m.End, m.Start - m.Offset - bias + f.table.Base, f.index})
	}
	state := object.UnwindReady
	if frames {
		state, parts = object.UnwindFrames, nil
	}
	u.makeRoom()
	if bpf.MapUpdate(u.spaces, key(pid), space(state, parts), 0) == nil {
		u.pids[pid] = true
	}
}

func key(n int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

// mapped finds the table of a mapped file. bias is what addresses of the file
// exceed offsets in it by.
func (u *Unwinder) mapped(pid int, m *proc.Mapping) (f *file, bias uint64) {
	if m.Path == "[vdso]" {
		return u.vdso(pid, m), -m.Offset
	}
	if !m.IsFile() {
		return nil, 0
	}
	for _, name := range [...]string{proc.MapFile(pid, m), proc.Root(pid) + m.Path} {
		var st unix.Stat_t
		if unix.Stat(name, &st) != nil || st.Ino != m.Ino {
			continue
		}
		e, err := exe.Open(name)
		if err != nil {
			continue
		}
		defer e.Close()
		bias, ok := e.Bias(m.Offset, m.End-m.Start)
		if !ok {
			return nil, 0
		}
		id := fileID{st.Dev, st.Ino, st.Mtim}
		if f, ok := u.files[id]; ok {
			return f, bias
		}
		return u.enter(id, e), bias
	}
	return nil, 0
}

// vdsoID stands for the code that the kernel maps into every process.
var vdsoID = fileID{ino: math.MaxUint64}

func (u *Unwinder) vdso(pid int, m *proc.Mapping) *file {
	if f, ok := u.files[vdsoID]; ok {
		return f
	}
	data, err := proc.ReadMemory(pid, m.Start, int(min(m.End-m.Start, 1<<20)))
	if err != nil {
		return nil
	}
	e, err := exe.New(m.Path, data)
	if err != nil {
		return nil
	}
	return u.enter(vdsoID, e)
}

// enter puts the table of a file into the kernel.
func (u *Unwinder) enter(id fileID, e *exe.File) *file {
	f := &file{index: u.next}
	u.files[id] = f
	t, err := NewTable(e)
	if err != nil || t == nil {
		return f
	}
	chunks, err := t.chunks(u.next)
	if err != nil || int(u.next)+len(chunks) > object.UnwindMaxChunks {
		return f
	}
	for i, c := range chunks {
		if bpf.MapUpdate(u.chunks, key(int(u.next)+i), c, 0) != nil {
			return f // those that are there are overwritten by the next file
		}
	}
	u.next += uint32(len(chunks))
	t.rows = nil // the kernel has them
	f.table = t
	return f
}

// makeRoom removes the spaces of processes that have ended, when there are
// many.
func (u *Unwinder) makeRoom() {
	if len(u.pids) < object.UnwindMaxSpaces*3/4 {
		return
	}
	for pid := range u.pids {
		if !proc.Alive(pid) {
			bpf.MapDelete(u.spaces, key(pid))
			delete(u.pids, pid)
		}
	}
}

// A part is a mapping with a table.
type part struct {
	start, end, delta uint64
	index             uint32
}

// space is the value of a process in the map. Of too many mappings, those at
// the lowest addresses count.
func space(state int, parts []part) []byte {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	v := make([]byte, object.UnwindSpace)
	order := binary.NativeEndian
	order.PutUint32(v[object.UnwindState:], uint32(state))
	for i := range object.UnwindMost {
		m := v[object.UnwindMappings+i*object.UnwindMapping:]
		if i >= len(parts) {
			order.PutUint64(m[object.UnwindStart:], math.MaxInt64)
			continue
		}
		p := &parts[i]
		order.PutUint64(m[object.UnwindStart:], p.start)
		order.PutUint64(m[object.UnwindEnd:], p.end)
		order.PutUint64(m[object.UnwindDelta:], p.delta)
		order.PutUint32(m[object.UnwindIndex:], p.index)
	}
	return v
}
