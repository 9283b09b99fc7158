package symbolize

import (
	"cmp"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/target/proc"
)

// Bounds of map files, which processes write as they like.
const (
	maxJIT      = 64 << 20  // bytes of one
	maxJITAll   = 256 << 20 // bytes of all
	maxJITLines = 1 << 20   // of one
	maxJITName  = 1 << 10   // bytes
)

// jitModule is the module of code that has its name from a map file.
const jitModule = "[jit]"

// A jitMap is /tmp/perf-PID.map, where run times write the names of code
// they generate: lines "hexstart hexsize name". It grows while the process
// runs.
type jitMap struct {
	pid      int
	dev, ino uint64
	read     int64     // how far it was read, in whole lines
	lines    []jitLine // by start
	checked  time.Time // for what was added
}

type jitLine struct {
	start, size uint64
	name        string
	number      uint32 // of the line: what was written later counts
}

// jitLookup looks an address up in the map file of a process, of which it reads
// what was added since.
func (u *User) jitLookup(p *process, addr uint64) (Frame, bool) {
	if p.jit == nil {
		p.jit = &jitMap{pid: p.pid}
	}
	// Code can have taken the place of other code since the file was read.
	now := time.Now()
	if f, ok := p.jit.find(addr); ok && now.Sub(p.jit.checked) < checkEvery {
		return f, true
	}
	p.jit.checked = now
	u.jitBytes += p.jit.refresh()
	f, ok := p.jit.find(addr)
	if u.jitBytes > maxJITAll {
		for _, p := range u.procs {
			p.jit = nil
		}
		u.jitBytes = 0
	}
	return f, ok
}

// refresh reads what was added to the file and says how many bytes that was.
func (j *jitMap) refresh() int64 {
	f, err := openJIT(j.pid)
	if err != nil {
		return 0
	}
	defer f.Close()
	var st, owner unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0
	}
	// Anybody can make files in /tmp, and give other people's functions names.
	if st.Uid != 0 && (unix.Stat(proc.Dir(j.pid), &owner) != nil || st.Uid != owner.Uid) {
		return 0
	}
	if st.Dev != j.dev || st.Ino != j.ino || st.Size < j.read {
		*j = jitMap{pid: j.pid, checked: j.checked, dev: st.Dev, ino: st.Ino}
	}
	if st.Size <= j.read || j.read >= maxJIT {
		return 0
	}
	data := make([]byte, min(st.Size, maxJIT)-j.read)
	n, err := f.ReadAt(data, j.read)
	if err != nil && err != io.EOF {
		return 0
	}
	return j.add(string(data[:n]))
}

// openJIT opens the map file in the mount namespace of the process; that of one
// that has ended stays, mostly, in ours. It does not wait (for a FIFO) and does
// not follow symbolic links out of the process's root.
func openJIT(pid int) (*os.File, error) {
	name := "tmp/perf-" + strconv.Itoa(proc.InnerPID(pid)) + ".map"
	root, err := unix.Open(proc.Dir(pid)+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		root, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// add takes in text that was added to the file, up to its last newline, and
// says how many bytes that was.
func (j *jitMap) add(text string) int64 {
	end := strings.LastIndexByte(text, '\n') + 1
	var fresh []jitLine
	for line := range strings.Lines(text[:end]) {
		if len(j.lines)+len(fresh) >= maxJITLines {
			break
		}
		start, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		size, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
		s, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if err1 == nil && err2 == nil && name != "" {
			fresh = append(fresh, jitLine{s, n, name[:min(len(name), maxJITName)], uint32(len(j.lines) + len(fresh))})
		}
	}
	j.read += int64(end)
	byStart := func(a, b jitLine) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.number, b.number)) }
	slices.SortFunc(fresh, byStart)
	old := j.lines
	j.lines = make([]jitLine, 0, len(old)+len(fresh))
	for len(old) > 0 && len(fresh) > 0 {
		if byStart(old[0], fresh[0]) < 0 {
			j.lines, old = append(j.lines, old[0]), old[1:]
		} else {
			j.lines, fresh = append(j.lines, fresh[0]), fresh[1:]
		}
	}
	j.lines = append(append(j.lines, old...), fresh...)
	return int64(end)
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
