package symbolize

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/proc"
)

// A process is what is known of a PID.
type process struct {
	pid     int
	start   uint64 // start time, tells processes that share a PID apart; 0: not read
	exe     fileID // tells that it has called exec
	ended   bool
	checked time.Time
	read    time.Time     // when its mappings were read
	pause   time.Duration // for which they are not read again
	gaps    int           // User.gaps when the recorder began to keep maps up to date
	maps    []mapping     // executable memory by address, without overlaps
	shared  bool          // maps is another process's as well
	jit     *jitMap
	cache   map[uint64]cached
	prev    *process // before its last exec, or the one that had the PID before
	used    uint64   // User.clock when last used
	pinned  bool     // never forgotten: the target of the run
}

// A cached is an answer for an address, also that it has no name.
type cached struct {
	Frame
	ok bool
}

// A mapping is executable memory of a process.
type mapping struct {
	start, end uint64
	offset     uint64 // in the file, bytes
	image      *image // nil: anonymous
	file       *file  // of the image
	opened     bool   // file is what there is, nil if that is no ELF file
}

// A Mapping is executable memory of a process, for those who keep books of their
// own.
type Mapping struct {
	Start, End, Offset uint64           // addresses, and bytes of the file
	Path               string           // as the process has it; "[vdso]", "" if no file
	BuildID            [maxBuildID]byte // cut or padded; 0 if not known
	File               uint64           // the same for the same file; 0 if none
}

// mappings are the first of them.
func (p *process) mappings(most int) []Mapping {
	out := make([]Mapping, min(len(p.maps), most))
	for i := range out {
		m := &p.maps[i]
		out[i] = Mapping{Start: m.start, End: m.end, Offset: m.offset}
		if m.image != nil {
			out[i].Path, out[i].BuildID, out[i].File = m.image.path, m.image.build, m.image.number
		}
	}
	return out
}

// Bounds of what is kept.
const (
	maxProcesses = 4096
	maxMappings  = 4096 // of one process; run times that generate code may have more
)

// insert adds a mapping in place of what was at its addresses.
func (p *process) insert(m mapping) {
	if p.shared {
		p.maps, p.shared = slices.Clone(p.maps), false
	}
	p.cache = nil
	// The first and the one behind the last that overlap.
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].end > m.start })
	j := i
	for j < len(p.maps) && p.maps[j].start < m.end {
		j++
	}
	parts := make([]mapping, 0, 3)
	if i < j && p.maps[i].start < m.start {
		left := p.maps[i]
		left.end = m.start
		parts = append(parts, left)
	}
	parts = append(parts, m)
	if i < j && p.maps[j-1].end > m.end {
		right := p.maps[j-1]
		right.offset += m.end - right.start
		right.start = m.end
		parts = append(parts, right)
	}
	old, more := p.maps, len(parts)-(j-i)
	if len(old)+more > maxMappings {
		return
	}
	// By hand, since slices.Replace is compiled anew for each type, four kilobytes.
	p.maps = append(old, parts[:max(0, more)]...)
	copy(p.maps[i+len(parts):], old[j:])
	copy(p.maps[i:], parts)
	p.maps = p.maps[:len(old)+more]
	clear(old[min(len(old), len(p.maps)):])
}

// mapping finds the one that contains an address, nil if there is none.
func (p *process) mapping(addr uint64) *mapping {
	i := sort.Search(len(p.maps), func(i int) bool { return p.maps[i].end > addr })
	if i == len(p.maps) || addr < p.maps[i].start {
		return nil
	}
	return &p.maps[i]
}

// reread takes the mappings from /proc, if the process lives. Where there are so many that it takes
// long it is seldom done.
func (u *User) reread(p *process) {
	begin := time.Now()
	defer func() {
		p.read = time.Now()
		p.pause = max(rereadEvery, rereadShare*p.read.Sub(begin))
	}()
	maps, err := proc.Code(p.pid, maxMappings)
	if err != nil || len(maps) == 0 {
		return // keep what we have
	}
	p.maps, p.shared, p.cache, p.gaps = p.maps[:0:0], false, nil, u.gaps
	elsewhere := u.recorder != nil && proc.Root(p.pid) != ""
	for i := range maps {
		m := &maps[i]
		n := mapping{start: m.Start, end: m.End, offset: m.Offset}
		if m.Path != "" && (m.Path[0] == '[' || m.IsFile()) {
			n.image = u.image(imageKey{path: m.Path, dev: m.Dev, ino: m.Ino})
			// Many files were mapped before. Those of our own mount namespace are likely to stay.
			if elsewhere || u.recorder != nil && len(u.held) < maxHeld/2 {
				n.image.hold(u, p.pid, &n)
			}
		}
		p.maps = append(p.maps, n)
	}
	order.By(p.maps, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
}

// followed reports whether the recorder keeps a process up to date, so that
// there is no need to ask /proc whether it is still the same.
func (u *User) followed(p *process) bool { return u.recorder != nil && p.gaps == u.gaps }

// process returns what is known of a PID, up to date; nil if nothing is and
// there is no such process.
func (u *User) process(pid int) *process {
	p := u.procs[pid]
	if p != nil {
		u.clock++
		p.used = u.clock
		if u.followed(p) {
			return p
		}
	}
	now := time.Now()
	if p != nil && now.Sub(p.checked) < checkEvery {
		return p
	}
	start, alive := proc.StartTime(pid)
	if u.Forgetful && !alive {
		delete(u.procs, pid)
		return nil
	}
	exeID := programOf(pid)
	if p != nil {
		p.checked, p.ended = now, !alive
		if !alive || p.start == start && p.exe == exeID {
			return p
		}
	} else if !alive {
		return nil
	}
	next := &process{pid: pid, start: start, exe: exeID, checked: now}
	u.reread(next)
	if len(next.maps) == 0 {
		return p // ended meanwhile, or a kernel thread
	}
	u.keep(next)
	return next
}

// programOf is the program that a process runs.
func programOf(pid int) fileID {
	fd, err := foreign.Refer(proc.Dir(pid) + "/exe")
	if err != nil {
		return fileID{}
	}
	defer unix.Close(fd)
	st, err := foreign.Known(fd)
	if err != nil {
		return fileID{}
	}
	return idOf(&st)
}

// keep makes p the process of its PID.
func (u *User) keep(p *process) {
	if old := u.procs[p.pid]; old != nil {
		old.prev, old.ended = nil, true
		p.prev, p.pinned = old, old.pinned // samples from before may still come
	}
	u.clock++
	p.used = u.clock
	if u.procs == nil {
		u.procs = make(map[int]*process)
	}
	if len(u.procs) >= maxProcesses {
		u.evict()
	}
	u.procs[p.pid] = p
}

// evict forgets the quarter of the processes that was not used for longest.
func (u *User) evict() {
	all := make([]*process, 0, len(u.procs))
	for _, p := range u.procs {
		if !p.pinned {
			all = append(all, p)
		}
	}
	order.By(all, func(a, b *process) int { return cmp.Compare(a.used, b.used) })
	for _, p := range all[:len(all)/4] {
		delete(u.procs, p.pid)
	}
}

// apply notes what a process did.
func (u *User) apply(e *event) {
	if u.Changed != nil && e.kind != lost && !slices.Contains(u.changed, e.pid) {
		u.changed = append(u.changed, e.pid)
	}
	switch e.kind {
	case lost:
		u.gaps++
	case forked:
		if parent := u.first(e.parent); len(parent.maps) > 0 {
			parent.shared = true
			u.keep(&process{pid: e.pid, maps: parent.maps, shared: true, gaps: parent.gaps})
		} else {
			delete(u.procs, e.pid) // a kernel thread, or nobody knows
		}
	case executed:
		u.keep(&process{pid: e.pid, gaps: u.gaps})
	case mapped:
		m := mapping{start: e.start, end: e.start + e.size, offset: e.offset}
		if e.image.path != "" {
			m.image = u.image(e.image)
			m.image.hold(u, e.pid, &m)
		}
		u.first(e.pid).insert(m)
	}
}

// first returns what is known of a PID; a process that runs already is read
// from /proc at first sight.
func (u *User) first(pid int) *process {
	if p := u.procs[pid]; p != nil {
		u.clock++
		p.used = u.clock
		return p
	}
	p := &process{pid: pid, gaps: u.gaps}
	u.reread(p)
	u.keep(p)
	return p
}
