package symbolize

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/machine"
)

func (p *process) text() string {
	var b strings.Builder
	for _, m := range p.maps {
		path := "anon"
		if m.image != nil {
			path = m.image.path
		}
		fmt.Fprintf(&b, "%x-%x %x %s\n", m.start, m.end, m.offset, path)
	}
	return b.String()
}

// A processes script: "map PID START END OFFSET PATH", "fork PID PARENT", "exec PID",
// numbers in hexadecimal.
func applyText(t *testing.T, u *User, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e event
		var end uint64
		var err error
		switch what, rest, _ := strings.Cut(strings.TrimSpace(line), " "); what {
		case "map":
			e.kind = mapped
			_, err = fmt.Sscanf(rest, "%x %x %x %x %s", &e.pid, &e.start, &end, &e.offset, &e.image.path)
			e.size = end - e.start
		case "fork":
			e.kind = forked
			_, err = fmt.Sscanf(rest, "%x %x", &e.pid, &e.parent)
		case "exec":
			e.kind = executed
			_, err = fmt.Sscanf(rest, "%x", &e.pid)
		case "lost":
			e.kind = lost
		default:
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		u.apply(&e)
	}
}

// Processes have numbers that the system does not give out.
func TestApply(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"in order", "exec 7f000001\n map 7f000001 3000 4000 0 [b]\n map 7f000001 1000 2000 0 [a]",
			"1000-2000 0 [a]\n3000-4000 0 [b]\n"},
		{"same place", "map 7f000001 1000 2000 0 [a]\n map 7f000001 1000 2000 100 [b]",
			"1000-2000 100 [b]\n"},
		{"in the middle", "map 7f000001 1000 5000 10 [a]\n map 7f000001 2000 3000 0 [b]",
			"1000-2000 10 [a]\n2000-3000 0 [b]\n3000-5000 2010 [a]\n"},
		{"over some", "map 7f000001 1000 2000 0 [a]\n map 7f000001 2000 3000 0 [b]\n map 7f000001 4000 5000 0 " +
			"[c]\n map 7f000001 1800 4800 0 [d]",
			"1000-1800 0 [a]\n1800-4800 0 [d]\n4800-5000 800 [c]\n"},
		{"exec forgets", "map 7f000001 1000 2000 0 [a]\n exec 7f000001\n map 7f000001 8000 9000 0 [b]",
			"8000-9000 0 [b]\n"},
		{"fork copies", "map 7f000002 1000 2000 0 [a]\n fork 7f000001 7f000002\n map 7f000002 2000 3000 0 [b]\n " +
			"map 7f000001 4000 5000 0 [c]",
			"1000-2000 0 [a]\n4000-5000 0 [c]\n"},
		{"parent after fork", "map 7f000001 1000 2000 0 [a]\n fork 7f000002 7f000001\n map 7f000002 2000 3000 0 " +
			"[b]\n map 7f000001 4000 5000 0 [c]",
			"1000-2000 0 [a]\n4000-5000 0 [c]\n"},
		{"loss is survived", "map 7f000001 1000 2000 0 [a]\n lost\n map 7f000001 4000 5000 0 [c]",
			"1000-2000 0 [a]\n4000-5000 0 [c]\n"},
	} {
		u := NewUser()
		applyText(t, u, c.script)
		if p := u.procs[0x7f000001]; p == nil {
			t.Errorf("%s: the process is unknown", c.name)
		} else if got := p.text(); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
		u.Close()
	}
}

// Samples from before an exec are found in the program before.
func TestBeforeExec(t *testing.T) {
	u := NewUser()
	defer u.Close()
	applyText(t, u, "map 7f000001 1000 2000 0 [a]\n exec 7f000001\n map 7f000001 8000 9000 0 [b]")
	for addr, want := range map[uint64]string{0x1800: "[a]", 0x8800: "[b]", 0x4000: ""} {
		if f, _ := u.Lookup(0x7f000001, addr); f.Module != want {
			t.Errorf("%x is in %q, want %q", addr, f.Module, want)
		}
	}
}

// Mappings over, inside, beside and across of others: each address is that of the last one put there.
func TestInsertMappings(t *testing.T) {
	const size = 40
	random := rand.New(rand.NewPCG(1, 2))
	p := &process{}
	var want [size]uint64 // the offset in the file for each address, 0 if it is not mapped
	for n := range uint64(2000) {
		m := mapping{start: random.Uint64N(size), offset: 1000 * (n + 1)}
		m.end = m.start + 1 + random.Uint64N(size-m.start)
		p.insert(m)
		for at := m.start; at < m.end; at++ {
			want[at] = m.offset + at - m.start
		}
		for at := range uint64(size) {
			got := uint64(0)
			if m := p.mapping(at); m != nil {
				got = m.offset + at - m.start
			}
			if got != want[at] {
				t.Fatalf("after %d mappings address %d is byte %d of the file, want %d", n+1, at, got, want[at])
			}
		}
	}
}

func TestBounds(t *testing.T) {
	u := NewUser()
	defer u.Close()
	applyText(t, u, "map 7f000001 1000 2000 0 [a]\n map 7f000002 1000 2000 0 [a]\n")
	u.procs[0x7f000001].pinned = true
	for i := range 2 * maxProcesses {
		u.apply(&event{kind: forked, pid: 0x7f100000 + i, parent: 0x7f000002})
	}
	if len(u.procs) > maxProcesses {
		t.Errorf("%d processes are kept", len(u.procs))
	}
	if u.procs[0x7f000001] == nil || u.procs[0x7f000002] == nil {
		t.Error("the target, or a process in use, was forgotten")
	}
	if u.procs[0x7f100000] != nil {
		t.Error("the process that was used least is kept")
	}
	for i := range uint64(2 * maxMappings) {
		u.apply(&event{kind: mapped, pid: 0x7f000001, start: i << 12, size: 1 << 11})
	}
	if n := len(u.procs[0x7f000001].maps); n > maxMappings {
		t.Errorf("%d mappings are kept", n)
	}
}

// A process that nobody looked at while it lived resolves, even if its file
// is gone.
func TestWatch(t *testing.T) {
	cpus, err := machine.Host().OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	u := NewUser()
	defer u.Close()
	if err := machine.Host().Privileges(); err != nil {
		t.Skip(err)
	}
	if err := u.Watch(cpus, false); err != nil {
		t.Fatal(err)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	text := "#include <stdio.h>\nvoid f(void) {}\nint main(void) { printf(\"%p\", (void *)f); return 0; }\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-pie", "-fPIE", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var addr uint64
	if _, err := fmt.Sscanf(string(out), "0x%x", &addr); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	u.Update()
	os.Remove(bin)
	if f, ok := u.Lookup(pid, addr+1); !ok || f != (Frame{"f", 1, bin}) {
		t.Errorf("%+v, %v", f, ok)
	}
	id, off, ok := u.BuildID(pid, addr)
	f := u.files[firstFile(u)]
	if want := buildID(f.elf); ok != (want != [maxBuildID]byte{}) || ok && id != want {
		t.Errorf("build ID %x at %x, %v; want %x", id, off, ok, want)
	}
	if sym, found := f.elf.Symbol("f"); found {
		if want, _ := f.elf.Offset(sym.Addr); ok && off != want {
			t.Errorf("offset %x, want %x", off, want)
		}
	}
}

// Another file in the place of the one that was mapped is not taken for it.
func TestReplacedFile(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	e, err := exe.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct {
		name string
		key  imageKey
		want bool
	}{
		{"the same inode", imageKey{path: path, ino: st.Ino}, true},
		{"another inode", imageKey{path: path, ino: st.Ino + 1}, false},
		{"the same build ID", imageKey{path: path, build: buildID(e)}, true},
		{"another build ID", imageKey{path: path, build: [maxBuildID]byte{1}}, false},
	} {
		u := NewUser()
		var f *file
		p, m := &process{pid: 0x7f000001, ended: true}, &mapping{image: &image{imageKey: c.key, held: -1}}
		u.mu.Lock()
		u.complete(func() { f = u.fileOf(p, m) })
		u.mu.Unlock()
		if (f != nil) != c.want {
			t.Errorf("%s: opened: %v, want %v", c.name, f != nil, c.want)
		}
		u.Close()
	}
}

func firstFile(u *User) fileID {
	for id := range u.files {
		return id
	}
	return fileID{}
}

func BenchmarkApply(b *testing.B) {
	u := NewUser()
	defer u.Close()
	u.apply(&event{kind: mapped, pid: 0x7f000001, start: 0x1000, size: 0x1000})
	key := [...]imageKey{{path: "[a]"}, {path: "[b]"}, {path: "[c]"}, {path: "[d]"}}
	for i := 0; b.Loop(); i++ {
		pid := 0x7f100000 + i%100000
		u.apply(&event{kind: forked, pid: pid, parent: 0x7f000001})
		u.apply(&event{kind: executed, pid: pid})
		for j := range key {
			u.apply(&event{kind: mapped, pid: pid, start: uint64(j) << 16, size: 0x1000, image: key[j]})
		}
	}
}
