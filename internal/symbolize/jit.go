package symbolize

import (
	"bytes"
	"io"
	"os"
	"sort"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/target/proc"
)

// maxJIT bounds the map file of a process, which it writes as it likes.
const maxJIT = 64 << 20 // bytes

// A jitMap is /tmp/perf-PID.map, where run times write the names of code
// they generate: lines "hexstart hexsize name".
type jitMap struct {
	path  string
	id    fileID
	size  int64
	lines []jitLine // by start
}

type jitLine struct {
	start, size uint64
	name        string
}

func openJIT(pid int) *jitMap {
	return &jitMap{path: proc.Root(pid) + "/tmp/perf-" + strconv.Itoa(proc.InnerPID(pid)) + ".map"}
}

func (j *jitMap) lookup(addr uint64) (Frame, bool) {
	if f, ok := j.find(addr); ok {
		return f, true
	}
	var st unix.Stat_t
	if unix.Stat(j.path, &st) != nil {
		return Frame{}, false
	}
	if id := (fileID{st.Dev, st.Ino, st.Mtim}); id == j.id && st.Size == j.size {
		return Frame{}, false // nothing new
	} else {
		j.id, j.size = id, st.Size
	}
	f, err := os.OpenFile(j.path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Frame{}, false
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return Frame{}, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxJIT))
	if err != nil {
		return Frame{}, false
	}
	j.lines = parseJIT(data)
	return j.find(addr)
}

func parseJIT(data []byte) []jitLine {
	var out []jitLine
	for line := range bytes.Lines(data) {
		start, rest, ok1 := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		size, name, ok2 := bytes.Cut(rest, []byte(" "))
		s, err1 := strconv.ParseUint(string(bytes.TrimPrefix(start, []byte("0x"))), 16, 64)
		n, err2 := strconv.ParseUint(string(bytes.TrimPrefix(size, []byte("0x"))), 16, 64)
		if ok1 && ok2 && err1 == nil && err2 == nil && len(name) > 0 {
			out = append(out, jitLine{s, n, string(name)})
		}
	}
	// Code that replaces other code at the same place is written later.
	sort.SliceStable(out, func(i, j int) bool { return out[i].start < out[j].start })
	return out
}

func (j *jitMap) find(addr uint64) (Frame, bool) {
	i := sort.Search(len(j.lines), func(i int) bool { return j.lines[i].start > addr }) - 1
	if i < 0 || addr-j.lines[i].start >= j.lines[i].size {
		return Frame{}, false
	}
	return Frame{j.lines[i].name, addr - j.lines[i].start, "[jit]"}, true
}
