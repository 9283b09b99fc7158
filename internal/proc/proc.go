// Package proc reads what the kernel tells about processes: their mappings,
// programs, roots and namespaces. All of it may change or vanish at any time;
// a process that has ended gives errors that are fs.ErrNotExist or ESRCH.
package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64 // addresses, End exclusive
	Offset     uint64 // in the file, bytes
	Exec       bool
	Write      bool
	Dev, Ino   uint64 // of the file, 0 if none; Dev is unix.Mkdev
	Path       string // as the process's mount namespace has it; "[vdso]", "" if anonymous
	Deleted    bool
}

// IsFile reports whether a file is mapped.
func (m *Mapping) IsFile() bool { return m.Ino != 0 && strings.HasPrefix(m.Path, "/") }

// Dir is the directory of a process in /proc.
func Dir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// maxMaps bounds the text of the mappings of one process, in bytes: paths of four
// kilobytes for each of 65,530 would be 270 million.
const maxMaps = 32 << 20

// Maps lists the mappings of a process by address.
func Maps(pid int) ([]Mapping, error) { return readMaps(pid, false, math.MaxInt) }

// Code lists the executable mappings of a process by address, as many as most.
func Code(pid, most int) ([]Mapping, error) { return readMaps(pid, true, most) }

func readMaps(pid int, code bool, most int) ([]Mapping, error) {
	f, err := os.Open(Dir(pid) + "/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(io.LimitReader(f, maxMaps), code, most)
}

// parseMaps parses the text of a maps file; lines it cannot read are left
// out. It keeps nothing of the text but paths, each once for mappings in a row.
func parseMaps(text io.Reader, code bool, most int) ([]Mapping, error) {
	var out []Mapping
	lines := bufio.NewScanner(text)
	for path := ""; len(out) < most && lines.Scan(); {
		m, ok := parseMapping(lines.Text())
		if !ok || code && !m.Exec {
			continue
		}
		if m.Path != path {
			path = strings.Clone(m.Path)
		}
		m.Path = path
		out = append(out, m)
	}
	return out, lines.Err()
}

// parseMapping parses "start-end perms offset major:minor inode path".
func parseMapping(line string) (m Mapping, ok bool) {
	var fields [5]string
	rest := line
	for i := range fields {
		rest = strings.TrimLeft(rest, " ")
		end := strings.IndexByte(rest, ' ')
		if end < 0 {
			if i < 4 {
				return m, false
			}
			end = len(rest)
		}
		fields[i], rest = rest[:end], rest[end:]
	}
	start, end, dash := strings.Cut(fields[0], "-")
	major, minor, colon := strings.Cut(fields[3], ":")
	if !dash || !colon || len(fields[1]) < 4 {
		return m, false
	}
	var errs [6]error
	var maj, mnr uint64
	m.Start, errs[0] = strconv.ParseUint(start, 16, 64)
	m.End, errs[1] = strconv.ParseUint(end, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	maj, errs[3] = strconv.ParseUint(major, 16, 32)
	mnr, errs[4] = strconv.ParseUint(minor, 16, 32)
	m.Ino, errs[5] = strconv.ParseUint(fields[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return m, false
		}
	}
	if m.End < m.Start {
		return m, false
	}
	m.Dev = unix.Mkdev(uint32(maj), uint32(mnr))
	m.Write, m.Exec = fields[1][1] == 'w', fields[1][2] == 'x'
	m.Path = unescape(strings.TrimLeft(rest, " "))
	if m.Ino != 0 {
		m.Path, m.Deleted = strings.CutSuffix(m.Path, deleted)
	}
	return m, true
}

// unescape undoes the only escape of maps, a newline.
func unescape(path string) string {
	if !strings.Contains(path, `\012`) {
		return path
	}
	return strings.ReplaceAll(path, `\012`, "\n")
}

// MapFile is the path through which the file of a mapping can be opened even
// if it has been deleted or lies in another mount namespace. It needs
// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
func MapFile(pid int, m *Mapping) string {
	return fmt.Sprintf("%s/map_files/%x-%x", Dir(pid), m.Start, m.End)
}

// Alive reports whether a process exists and is no zombie.
func Alive(pid int) bool {
	s := state(pid)
	return s != 0 && s != 'Z' && s != 'X'
}

// Running reports whether a process's first thread runs or could run.
func Running(pid int) bool { return state(pid) == 'R' }

// state is the letter that /proc shows, 0 if there is no such process.
func state(pid int) byte {
	if fields := stat(pid); len(fields) > 0 {
		return fields[0][0]
	}
	return 0
}

// firstStat is the number that the manual page, proc_pid_stat(5), has for the
// first field behind the name.
const firstStat = 3

// stat reads the fields of /proc/PID/stat behind the name, which may hold
// anything; none if there is no such process.
func stat(pid int) []string {
	data, err := os.ReadFile(Dir(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

// Exe is the program of a process by the path its mount namespace has.
func Exe(pid int) (string, error) {
	path, err := os.Readlink(Dir(pid) + "/exe")
	return strings.TrimSuffix(path, deleted), err
}

// maxEnviron bounds what is read of an environment, in bytes. The kernel gives a program six million
// at most; a process can then say that its environment is all of its memory (PR_SET_MM_MAP).
const maxEnviron = 6 << 20

// Environ is a variable of a process's initial environment.
func Environ(pid int, name string) (string, bool) {
	f, err := os.Open(Dir(pid) + "/environ")
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil {
		return "", false
	}
	for v := range strings.SplitSeq(string(data), "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Root is the path through which hawk sees the root directory of a process:
// "" if it is hawk's own, else /proc/PID/root.
func Root(pid int) string {
	if sameMountNamespace(pid) && sameFile("/proc/self/root", Dir(pid)+"/root") {
		return ""
	}
	return Dir(pid) + "/root"
}

// sameMountNamespace reports whether a process sees the file systems hawk
// sees; true if that cannot be found out.
func sameMountNamespace(pid int) bool {
	return sameFile("/proc/self/ns/mnt", Dir(pid)+"/ns/mnt")
}

func sameFile(a, b string) bool {
	var sa, sb unix.Stat_t
	if unix.Stat(a, &sa) != nil || unix.Stat(b, &sb) != nil {
		return true
	}
	return sa.Dev == sb.Dev && sa.Ino == sb.Ino
}

// A MappedFile is a file that a process has mapped.
type MappedFile struct {
	Path     string // openable by hawk
	Name     string // as the process sees it
	Dev, Ino uint64
	Exec     bool // some part of it is executable
	Deleted  bool // there is no such file any more, or another
}

// MappedFiles lists the files a process has mapped, each once, in the order
// of their addresses. Deleted ones are reached through map_files.
func MappedFiles(pid int) ([]MappedFile, error) {
	maps, err := Maps(pid)
	if err != nil {
		return nil, err
	}
	view := viewOf(pid)
	var out []MappedFile
	type id struct{ dev, ino uint64 }
	seen := make(map[id]int)
	for i := range maps {
		m := &maps[i]
		if !m.IsFile() {
			continue
		}
		at, ok := seen[id{m.Dev, m.Ino}]
		if !ok {
			at = len(out)
			seen[id{m.Dev, m.Ino}] = at
			f := MappedFile{Dev: m.Dev, Ino: m.Ino, Deleted: m.Deleted}
			if f.Path, f.Name = view.of(m.Path); m.Deleted || f.Path == "" {
				f.Path = heldFile(pid, m)
			}
			out = append(out, f)
		}
		out[at].Exec = out[at].Exec || m.Exec
	}
	return out, nil
}

// A view is how hawk sees the files of a process. In mappings the kernel names files as hawk sees
// them, not as a process below another root directory does, and files of other mount namespaces as
// who is at the top of those.
type view struct {
	root string // as of Root
	at   string // where the root directory is in the names of mappings, "" at the top
	same bool   // the mount namespace is hawk's own
}

func viewOf(pid int) view {
	v := view{root: Root(pid)}
	if v.root != "" {
		v.same = sameMountNamespace(pid)
		v.at, _ = os.Readlink(v.root)
		v.at = strings.TrimSuffix(v.at, "/")
	}
	return v
}

// of is where hawk finds a file that a mapping has a name of, and how the process sees it. A process
// that has changed its root directory can have files from outside of it: path is "" if hawk has no
// name for it.
func (v *view) of(mapped string) (path, name string) {
	if inside, ok := strings.CutPrefix(mapped, v.at); ok && strings.HasPrefix(inside, "/") {
		return v.root + inside, inside
	}
	if v.same {
		return mapped, mapped
	}
	return "", mapped
}

// heldFile is a path to a file that has no name any more: by its mapping, which takes the right to
// see those, or by a descriptor that the process has of it.
func heldFile(pid int, m *Mapping) string {
	path := MapFile(pid, m)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	dir := Dir(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return path
	}
	for _, e := range entries {
		var st unix.Stat_t
		fd := dir + "/" + e.Name()
		if unix.Stat(fd, &st) == nil && st.Ino == m.Ino && st.Mode&unix.S_IFMT == unix.S_IFREG {
			if to, err := os.Readlink(fd); err == nil && strings.TrimSuffix(to, deleted) == m.Path {
				return fd
			}
		}
	}
	return path
}

// MemoryName is the name that a process gave a file that is in memory only, as memfd:NAME, by a
// path of MappedFile; ok is false for any other file.
func MemoryName(path string) (name string, ok bool) {
	if !strings.HasPrefix(path, "/proc/") || !strings.Contains(path, "/map_files/") && !strings.Contains(path, "/fd/") {
		return "", false
	}
	to, err := os.Readlink(path)
	if err != nil {
		return "", false
	}
	to, gone := strings.CutSuffix(to, deleted)
	name, rooted := strings.CutPrefix(to, "/")
	if !gone || !rooted || !strings.HasPrefix(name, MemoryPrefix) {
		return "", false
	}
	return name, true
}

// MemoryPrefix begins the names of files that are in memory only.
const MemoryPrefix = "memfd:"

// deleted is what the kernel appends to the names of files that are gone.
const deleted = " (deleted)"

// Mappers lists the processes that have mapped a file, ascending, as far as they can be read.
func Mappers(path string) ([]int, error) {
	var want unix.Stat_t
	if err := unix.Stat(path, &want); err != nil {
		return nil, err
	}
	pids, err := All()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, pid := range pids {
		maps, _ := Maps(pid)
		// Some file systems have another device in mappings than in what stat tells.
		if slices.ContainsFunc(maps, func(m Mapping) bool {
			return m.Ino == want.Ino && m.Exec && (m.Dev == want.Dev || sameName(m.Path, path))
		}) {
			out = append(out, pid)
		}
	}
	return out, nil
}

func sameName(a, b string) bool {
	return a[strings.LastIndexByte(a, '/')+1:] == b[strings.LastIndexByte(b, '/')+1:]
}

// All lists the processes, ascending.
func All() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid > 0 {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out, nil
}

// AllMappedFiles lists the files that any process has mapped executable,
// each once. Processes that cannot be read are left out.
func AllMappedFiles() ([]MappedFile, error) {
	pids, err := All()
	if err != nil {
		return nil, err
	}
	type id struct{ dev, ino uint64 }
	seen := make(map[id]bool)
	var out []MappedFile
	for _, pid := range pids {
		files, err := MappedFiles(pid)
		if err != nil {
			continue
		}
		for _, f := range files {
			if f.Exec && !seen[id{f.Dev, f.Ino}] {
				seen[id{f.Dev, f.Ino}] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// Check explains why a process cannot be traced, nil if it can.
func Check(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("%d is no process ID", pid)
	}
	err := unix.Kill(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("there is no process %d", pid)
	}
	if err == nil || errors.Is(err, unix.EPERM) {
		if !Alive(pid) {
			return fmt.Errorf("process %d has ended", pid)
		}
		return nil
	}
	return err
}

// StartTime is when a process started, in clock ticks since boot: with the
// PID it identifies a process for good. ok is false if there is none, or only
// a zombie.
func StartTime(pid int) (ticks uint64, ok bool) {
	const number = 22
	fields := stat(pid)
	if len(fields) <= number-firstStat || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	ticks, err := strconv.ParseUint(fields[number-firstStat], 10, 64)
	return ticks, err == nil
}

// InnerPID is the number of a process in its own PID namespace.
func InnerPID(pid int) int {
	if f := status(pid)("NSpid:"); len(f) > 0 {
		if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
			return n
		}
	}
	return pid
}

// status tells what stands behind a name in the status of a process; nothing if it has ended.
func status(pid int) func(name string) []string {
	data, _ := os.ReadFile(Dir(pid) + "/status")
	return func(name string) []string {
		_, rest, _ := strings.Cut(string(data), "\n"+name)
		line, _, _ := strings.Cut(rest, "\n")
		return strings.Fields(line)
	}
}

// CodePages is how many pages of code a process has mapped, as the kernel counts them in its struct
// mm_struct; 0 if it has ended.
func CodePages(pid int) uint64 {
	kb, of := uint64(0), status(pid)
	for _, name := range [...]string{"VmExe:", "VmLib:"} {
		if f := of(name); len(f) > 0 {
			n, _ := strconv.ParseUint(f[0], 10, 64)
			kb += n
		}
	}
	return kb << 10 / uint64(os.Getpagesize())
}

// ReadMemory reads n bytes of a process's memory, which takes the right to
// trace it.
func ReadMemory(pid int, addr uint64, n int) ([]byte, error) {
	f, err := os.Open(Dir(pid) + "/mem")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, int64(addr)); err != nil {
		return nil, err
	}
	return buf, nil
}

// VDSO is the code that the kernel maps into every process, of hawk's own class; nil if it maps none.
func VDSO() []byte {
	maps, _ := Maps(os.Getpid())
	i := slices.IndexFunc(maps, func(m Mapping) bool { return m.Path == "[vdso]" })
	if i < 0 {
		return nil
	}
	data, _ := ReadMemory(os.Getpid(), maps[i].Start, int(maps[i].End-maps[i].Start))
	return data
}

// A Layout says where a program put parts of itself when it began, by
// addresses; see proc_pid_stat(5).
type Layout struct{ StartCode, EndCode, StartStack, StartData, ArgStart uint64 }

// MemoryLayout is the layout of a process; ok is false if it has ended or has
// no program, as kernel threads.
func MemoryLayout(pid int) (l Layout, ok bool) {
	fields := stat(pid)
	for _, f := range []struct {
		number int
		v      *uint64
	}{{26, &l.StartCode}, {27, &l.EndCode}, {28, &l.StartStack}, {45, &l.StartData}, {48, &l.ArgStart}} {
		if f.number-firstStat >= len(fields) {
			return l, false
		}
		var err error
		if *f.v, err = strconv.ParseUint(fields[f.number-firstStat], 10, 64); err != nil {
			return l, false
		}
	}
	return l, l.StartCode > 1 // 1: we may not know
}
