package symbolize

import (
	"bytes"
	"cmp"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/proc"
)

// Bounds of map files, which processes write as they like.
const (
	maxJIT      = 64 << 20  // bytes that are read of one
	maxJITAll   = 256 << 20 // bytes of memory, of all
	maxJITLines = 1 << 19   // of one
	maxJITName  = 1 << 10   // bytes
	jitWindow   = 256 << 10 // bytes that are read at a time; no line is longer
)

// jitModule is the module of code that has its name from a map file.
const jitModule = "[jit]"

// A jitMap is /tmp/perf-PID.map, where run times write the names of code
// they generate: lines "hexstart hexsize name". It grows while the process
// runs, and is read on from where it was.
type jitMap struct {
	pid      int
	inner    int // pid in the process's own namespace, 0: not asked for yet
	dev, ino uint64
	read     int64     // how far it was read
	inLine   bool      // that is in the middle of a line, which is too long
	lines    []jitLine // by start
	names    int       // bytes
	checked  time.Time // for what was added
	asking   *errand   // which reads on
	asked    uint64    // the look-up that it was for
	final    bool      // that began after Settle
}

// A jitLine is a function of generated code.
type jitLine struct {
	start, size uint64
	name        string
	number      uint32 // of the line: what was written later counts
}

// memory is the size of the map, in bytes.
func (j *jitMap) memory() int64 {
	if j == nil {
		return 0
	}
	return int64(j.names) + int64(len(j.lines))*int64(unsafe.Sizeof(jitLine{}))
}

// jitLookup looks an address up in the map file of a process, of which it has
// what was added since be read.
func (u *User) jitLookup(p *process, addr uint64) (Frame, bool) {
	if p.jit == nil {
		p.jit = &jitMap{pid: p.pid}
	}
	// Code can have taken the place of other code since the file was read.
	now := time.Now()
	f, ok := p.jit.find(addr)
	if u.pending(p.jit.asking) || p.jit.asked == u.looks || p.jit.final ||
		ok && now.Sub(p.jit.checked) < checkEvery {
		return f, ok
	}
	p.jit.checked, p.jit.asked = now, u.looks
	next, before := *p.jit, p.jit
	p.jit.asking = u.aside(func() func() {
		next.refresh()
		return func() {
			if p.jit != before {
				return
			}
			next.asking, next.checked, next.final = before.asking, time.Now(), before.final
			u.jitBytes += next.memory() - before.memory()
			p.jit = &next
			u.trimJIT(p)
		}
	})
	p.jit.final = u.settled && p.jit.asking != nil
	u.pending(p.jit.asking)
	return f, ok
}

// trimJIT forgets what was read of the map files of other processes, if it has
// become too much.
func (u *User) trimJIT(of *process) {
	if u.jitBytes <= maxJITAll {
		return
	}
	for _, p := range u.procs {
		if p != of && p.jit != nil {
			p.jit = nil
			u.left.JIT++
		}
	}
	u.jitBytes = of.jit.memory()
}

// refresh reads what was added to the file.
func (j *jitMap) refresh() {
	if j.inner == 0 {
		j.inner = proc.InnerPID(j.pid)
	}
	f, err := openJIT(j.pid, j.inner)
	if err != nil {
		return
	}
	defer f.Close()
	st := &f.Stat
	if st.Dev != j.dev || st.Ino != j.ino || st.Size < j.read {
		*j = jitMap{pid: j.pid, inner: j.inner, asked: j.asked, dev: st.Dev, ino: st.Ino}
	}
	end := min(st.Size, maxJIT)
	if end <= j.read {
		return
	}
	var fresh []jitLine
	buf := make([]byte, min(jitWindow, end-j.read))
	for j.read < end && len(j.lines)+len(fresh) < maxJITLines {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), end-j.read)], j.read)
		if n == 0 || err != nil && err != io.EOF {
			break
		}
		taken := 0
		if fresh, taken = j.add(fresh, buf[:n]); taken == 0 {
			break // a line that is still being written
		}
		j.read += int64(taken)
	}
	j.merge(fresh)
}

// openJIT opens the map file in the mount namespace of the process; that of one
// that has ended stays, mostly, in ours. Anybody can make files in /tmp, and give
// other people's functions names: it has to be the process's user's or root's.
func openJIT(pid, inner int) (*foreign.File, error) {
	name := "tmp/perf-" + strconv.Itoa(inner) + ".map"
	var owner unix.Stat_t
	if unix.Stat(proc.Dir(pid), &owner) != nil {
		return foreign.OpenOf("/"+name, 0)
	}
	return foreign.OpenOf(proc.Dir(pid)+"/root/"+name, owner.Uid)
}

// add appends the whole lines of text, and says how many bytes those are. A line
// that text has no end of is passed over if it is as long as lines may be.
func (j *jitMap) add(fresh []jitLine, text []byte) (_ []jitLine, taken int) {
	end := bytes.LastIndexByte(text, '\n') + 1
	if end == 0 {
		if j.inLine || len(text) == jitWindow {
			j.inLine = true
			return fresh, len(text)
		}
		return fresh, 0
	}
	for line := range strings.Lines(string(text[:end])) {
		if j.inLine {
			j.inLine = false // the rest of one that was too long
			continue
		}
		if len(j.lines)+len(fresh) >= maxJITLines {
			break
		}
		start, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		size, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
		s, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if err1 == nil && err2 == nil && name != "" {
			name = name[:min(len(name), maxJITName)]
			j.names += len(name)
			fresh = append(fresh, jitLine{s, n, name, uint32(len(j.lines) + len(fresh))})
		}
	}
	return fresh, end
}

// merge takes in lines that were added to the file.
func (j *jitMap) merge(fresh []jitLine) {
	if len(fresh) == 0 {
		return
	}
	byStart := func(a, b jitLine) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.number, b.number)) }
	order.By(fresh, byStart)
	old := j.lines
	if len(old) == 0 {
		j.lines = fresh
		return
	}
	j.lines = make([]jitLine, 0, len(old)+len(fresh))
	for len(old) > 0 && len(fresh) > 0 {
		if byStart(old[0], fresh[0]) < 0 {
			j.lines, old = append(j.lines, old[0]), old[1:]
		} else {
			j.lines, fresh = append(j.lines, fresh[0]), fresh[1:]
		}
	}
	j.lines = append(append(j.lines, old...), fresh...)
}

// find looks an address up in the lines that were read: of those that cover it,
// the one written last counts, as code takes the place of other code.
func (j *jitMap) find(addr uint64) (Frame, bool) {
	const lookBack = 16
	i := sort.Search(len(j.lines), func(i int) bool { return j.lines[i].start > addr })
	var best *jitLine
	for k := i - 1; k >= max(0, i-lookBack); k-- {
		if l := &j.lines[k]; addr-l.start < l.size && (best == nil || l.number > best.number) {
			best = l
		}
	}
	if best == nil {
		return Frame{}, false
	}
	return Frame{best.name, addr - best.start, jitModule}, true
}
