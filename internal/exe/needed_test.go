package exe

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program's libraries, and those of its libraries, are found where the linker
// finds them.
func TestLibraries(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one.c", "int two(void);\nint one(void) { return two(); }\n")
	write("two.c", "int two(void) { return 2; }\n")
	write("main.c", "int one(void);\nint main(void) { return one(); }\n")
	for _, args := range []string{
		"-shared -fPIC -o libtwo.so two.c",
		"-shared -fPIC -o libone.so one.c -L. -ltwo -Wl,-rpath,$ORIGIN",
		"-o main main.c -L. -lone -Wl,-rpath,$ORIGIN -Wl,-rpath-link,.",
		"-static -o alone two.c -Wl,-e,two -nostdlib",
	} {
		cmd := exec.Command(gcc, strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %v\n%s", args, err, out)
		}
	}
	got := Libraries(filepath.Join(dir, "main"))
	for _, name := range []string{"libone.so", "libtwo.so"} {
		if !slices.Contains(got, filepath.Join(dir, name)) {
			t.Errorf("%s is missing in %q", name, got)
		}
	}
	for _, part := range []string{"/libc.so", "/ld-linux"} {
		if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, part) }) {
			t.Errorf("nothing with %s in %q", part, got)
		}
	}
	if got := Libraries(filepath.Join(dir, "alone")); len(got) > 0 {
		t.Errorf("a static program needs %q", got)
	}
	if got := Libraries(filepath.Join(dir, "none")); len(got) > 0 {
		t.Errorf("no program needs %q", got)
	}
}

// A file cannot make hawk look for more, or longer names, than a program has.
func TestLibrariesBounds(t *testing.T) {
	f := elfFile{order: binary.LittleEndian, class64: true, typ: elf.ET_DYN, machine: elf.EM_X86_64}
	var dynamic []byte
	for range 10_000 {
		for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_NEEDED} {
			dynamic = f.word(f.word(dynamic, uint64(tag)), 1)
		}
		dynamic = f.word(f.word(dynamic, uint64(elf.DT_NEEDED)), 3*maxPath)
	}
	strs := append([]byte("\x00"+strings.Repeat(":/d", maxPath/4)+"\x00"), strings.Repeat("x", 3*maxPath)...)
	f.sections = []elfSection{{name: ".dynamic", typ: elf.SHT_DYNAMIC, link: 2, data: dynamic},
		{name: ".dynstr", typ: elf.SHT_STRTAB, data: append(strs, 0)}}
	file, err := New("file", f.bytes())
	if err != nil {
		t.Fatal(err)
	}
	names, dirs := file.dynamic()
	if len(names) != maxNeeded || len(dirs) != maxSearchDirs {
		t.Errorf("%d names, %d directories", len(names), len(dirs))
	}
	for _, text := range append(names, dirs...) {
		if len(text) > maxPath {
			t.Errorf("a name of %d bytes", len(text))
		}
	}
}

// TestLibraryCacheIsNoPipe puts a FIFO in place of the linker's cache: hawk does not wait for it.
func TestLibraryCacheIsNoPipe(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "etc/ld.so.cache"), 0o644); err != nil {
		t.Fatal(err)
	}
	if path, err := findLibrary(root, "libc", elf.EM_X86_64); path != "" {
		t.Errorf("found %q, %v", path, err)
	}
}

// TestUnopenedLibrary looks for a library while no file can be opened: that is not the answer to one
// that is not there.
func TestUnopenedLibrary(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := Search{Libraries: true}.Find("libc")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("the error is %v", err)
	}
}

func TestCodeBias(t *testing.T) {
	for _, c := range []struct {
		segments []segment
		bias     uint64
		ok       bool
	}{
		{nil, 0, false},
		{[]segment{{offset: 0, addr: 0x400000, flags: 4}}, 0, false},
		{[]segment{{offset: 0, addr: 0x400000, flags: 4}, {offset: 0x1000, addr: 0x402000, flags: 5}}, 0x401000, true},
		{[]segment{{offset: 0x1000, addr: 0x402000, flags: 5},
			{offset: 0x2000, addr: 0x403000, flags: 5}}, 0x401000, true},
		{[]segment{{offset: 0x1000, addr: 0x402000, flags: 5}, {offset: 0x2000, addr: 0x404000, flags: 5}}, 0, false},
	} {
		f := &File{segments: c.segments}
		if bias, ok := f.CodeBias(); bias != c.bias || ok != c.ok {
			t.Errorf("%+v: %#x, %v", c.segments, bias, ok)
		}
	}
}
