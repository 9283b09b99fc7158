package symbolize

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

func (j *jitMap) name(addr uint64) string {
	f, ok := j.find(addr)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s+%d", f.Name, f.Off)
}

// takeIn takes in text that was added to the file.
func (j *jitMap) takeIn(text string) int {
	fresh, taken := j.add(nil, []byte(text))
	j.merge(fresh)
	return taken
}

func TestJITLines(t *testing.T) {
	var j jitMap
	expect := func(addr uint64, want string) {
		t.Helper()
		if got := j.name(addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
	const first = "7f00 10 LazyCompile:~f /x.js:1\n0x7e00 0x20 g\nzz 1 x\n7f00 10\n\n"
	if n := j.takeIn(first + "7d00 1"); n != len(first) || len(j.lines) != 2 {
		t.Errorf("%d bytes, %d lines: %+v", n, len(j.lines), j.lines)
	}
	expect(0x7f0f, "LazyCompile:~f /x.js:1+15")
	expect(0x7f10, "")
	expect(0x7e1f, "g+31")
	expect(0x7000, "")
	// A line was cut; code takes the place of other code, wholly and in part.
	j.takeIn("7d00 10 whole\n7f00 10 h\n7df8 10 part\n")
	expect(0x7d01, "whole+1")
	expect(0x7f01, "h+1")
	expect(0x7e07, "part+15")
	expect(0x7e08, "g+8")
	// A name that nobody could mean.
	j.takeIn("100 10 " + strings.Repeat("n", 5000) + "\n")
	if f, ok := j.find(0x100); !ok || len(f.Name) != maxJITName {
		t.Errorf("a name of %d bytes", len(f.Name))
	}
	// A line without an end is passed over, its end too.
	long := strings.Repeat("x", jitWindow)
	if n := j.takeIn(long); n != len(long) || j.takeIn("100 10 rest\n200 10 next\n") != 24 {
		t.Errorf("%d bytes of %d", n, len(long))
	}
	expect(0x200, "next+0")
	if got := j.name(0x100); strings.HasPrefix(got, "rest") {
		t.Error("the end of a line is taken for one")
	}
	// The last address there is.
	j.takeIn("ffffffffffffffff ffffffffffffffff last\n")
	expect(0xffffffffffffffff, "last+0")
}

// The file of a process is read as it grows, and anew when another takes its
// place; what is no file of its owner's is left alone.
func TestJITFile(t *testing.T) {
	pid := os.Getpid()
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	os.Remove(path)
	t.Cleanup(func() { os.Remove(path) })
	write := func(text string, flags int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	u := NewUser()
	defer u.Close()
	p := &process{pid: pid}
	expect := func(addr uint64, want string) {
		t.Helper()
		var f Frame
		u.mu.Lock()
		u.complete(func() { f, _ = u.jitLookup(p, addr) })
		u.mu.Unlock()
		if f.Name != want {
			t.Errorf("%#x is %q, want %q", addr, f.Name, want)
		}
	}
	expect(0x1000, "")
	write("1000 10 one\n", 0)
	expect(0x1000, "one")
	write("2000 10 two\n", os.O_APPEND)
	expect(0x2000, "two")
	expect(0x1000, "one")
	if p.jit.read != 24 {
		t.Errorf("read %d bytes of 24", p.jit.read)
	}
	write("2000 10 other\n", os.O_TRUNC)
	expect(0x1000, "one") // known; who knows whether that code is gone
	expect(0x3000, "")
	expect(0x2000, "other")
	expect(0x1000, "")
	os.Remove(path)
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	expect(0x3000, "")
	os.Remove(path)
	if os.Geteuid() == 0 {
		write("3000 10 forged\n", 0)
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		expect(0x3000, "")
	}
	u.jitBytes = 2 * maxJITAll
	u.procs = map[int]*process{pid: p, 1: {pid: 1, jit: &jitMap{}}}
	expect(0x2000, "other")
	os.Remove(path)
	write("4000 10 four\n", 0)
	expect(0x4000, "four")
	if u.jitBytes > maxJITAll || u.procs[1].jit != nil || u.left.JIT != 1 {
		t.Error("too much is kept")
	}
}

func FuzzJIT(f *testing.F) {
	f.Add("7f00 10 f\n7e00 20 g\n", "7f00 10", uint64(0x7f08))
	f.Add("0 ffffffffffffffff all\n8 8 some\n", "\n", uint64(9))
	f.Fuzz(func(t *testing.T, first, second string, addr uint64) {
		bound.Run(t, len(first)+len(second), func() {
			var j jitMap
			for _, text := range []string{first, second} {
				if taken := j.takeIn(text); taken > len(text) {
					t.Errorf("%d bytes of %d", taken, len(text))
				}
			}
			if !slices.IsSortedFunc(j.lines, func(a, b jitLine) int { return cmp.Compare(a.start, b.start) }) {
				t.Error("the lines are not sorted")
			}
			if g, ok := j.find(addr); ok && (g.Name == "" || len(g.Name) > maxJITName || g.Off > addr) {
				t.Errorf("%+v", g)
			}
		})
	})
}

// While events come, a map file is read for each address that it lacks; after that, once.
func TestJITSettle(t *testing.T) {
	pid := os.Getpid()
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	t.Cleanup(func() { os.Remove(path) })
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(code) })
	start := uint64(uintptr(unsafe.Pointer(&code[0])))
	text := ""
	u := NewUser()
	defer u.Close()
	for i, step := range []struct {
		settle bool
		name   string // that is added
		found  bool
	}{{false, "early", true}, {false, "next", true}, {true, "before", true}, {false, "after", false}} {
		if step.settle {
			u.Settle()
		}
		text += fmt.Sprintf("%x 10 %s\n", start+uint64(i)*16, step.name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, ok := u.Lookup(pid, start+uint64(i)*16+1); ok != step.found || ok && f.Name != step.name {
			t.Errorf("%s: %v, %v", step.name, f, ok)
		}
	}
}
