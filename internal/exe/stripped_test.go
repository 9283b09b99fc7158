package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// tool runs a program of binutils or the like, skipping where it is missing.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func openFile(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The functions of a stripped Go program are those that it had before.
func TestStrippedGo(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src := filepath.Join(dir, "x.go")
	if err := os.WriteFile(src,
		[]byte("package main\n\n//go:noinline\nfunc traced(n int) int { return n + 1 }\n\nfunc main() { "+
			"println(traced(1)) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			whole, stripped := filepath.Join(dir, mode), filepath.Join(dir, mode+".stripped")
			build := exec.Command(goTool, "build", "-buildmode="+mode, "-ldflags=-w", "-o", whole, src)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			tool(t, "strip", "-o", stripped, whole)
			a, b := openFile(t, whole), openFile(t, stripped)
			if b.HasSymbols() {
				t.Fatal("the file is not stripped")
			}
			for _, name := range []string{"main.main", "main.traced", "runtime.mallocgc", "runtime.memmove"} {
				want, _ := a.Symbol(name)
				got, ok := b.Symbol(name)
				if !ok || got.Addr != want.Addr || got.Size < want.Size || got.Size >= want.Size+64 {
					t.Errorf("%s is %+v, was %+v", name, got, want)
				}
				if at, _ := NewTable(b).Lookup(want.Addr + want.Size - 1); at.Name != name {
					t.Errorf("at the end of %s is %s", name, at.Name)
				}
			}
			if n := NewTable(b).Len(); n < 1000 {
				t.Errorf("%d functions", n)
			}
		})
	}
}

// goTableFile is a 64-bit file with a table of the functions one (at 0x1010)
// and two (at 0x1030, ending at 0x1040), in the layout of a version.
func goTableFile(magic uint32) []byte { return goFile(goFunctions(magic)) }

// goFunctions is that table.
func goFunctions(magic uint32) []byte {
	le := binary.LittleEndian
	text, entry, header := uint64(0x1000), 4, 9
	if magic == goMagic116 {
		text, entry, header = 0, 8, 8
	}
	value := func(b []byte, v uint64) []byte {
		if entry == 4 {
			return le.AppendUint32(b, uint32(v))
		}
		return le.AppendUint64(b, v)
	}
	names := "\x00one\x00two\x00"
	starts := []uint64{0x1010 - text, 0x1030 - text, 0x1040 - text}
	var records []byte
	index, record := (2*2+1)*entry, 44
	if magic == goMagic116 {
		record = entry + 4
	}
	for i, s := range starts {
		records = value(records, s)
		if i < 2 {
			records = value(records, uint64(index+i*record))
		}
	}
	for i := range 2 {
		records = le.AppendUint32(value(records, starts[i]), uint32(1+4*i))
		if magic != goMagic116 {
			rest := make([]byte, record-entry-4)
			le.PutUint32(rest[goStackTable-entry-4:], 1)
			records = append(records, rest...)
		}
	}
	table := append(le.AppendUint32(nil, magic), 0, 0, 1, 8)
	at := uint64(8 + header*8 - 8)
	words := []uint64{2, 0}
	if magic != goMagic116 {
		words = append(words, text)
	}
	words = append(words, at, 0, 0, at+uint64(len(names)+len(records)), at+uint64(len(names)))
	for _, w := range words {
		table = le.AppendUint64(table, w)
	}
	// behind the first byte, 4 bytes of code without a frame and 28 with one of 24
	return append(append(append(table, names...), records...), 0, 2, 4, 48, 28, 0)
}

// goFile is a file with a table, or what is in its place.
func goFile(table []byte) []byte {
	f := &elfFile{order: binary.LittleEndian, class64: true, typ: elf.ET_EXEC, machine: elf.EM_X86_64}
	f.segments = []segment{
		{offset: 0, addr: 0, filesz: 0x400, memsz: 0x400, flags: elf.PF_R},
		{offset: 0x400, addr: 0x1000, filesz: 0x400, memsz: 0x400, flags: elf.PF_R | elf.PF_X},
	}
	const sectionsAt = 64 + 2*56 // what bytes puts in front
	f.sections = []elfSection{
		{name: ".gopclntab", typ: elf.SHT_PROGBITS, addr: sectionsAt, data: table},
		{name: ".text", typ: elf.SHT_PROGBITS, addr: 0x1000},
	}
	return f.bytes()
}

func TestGoTable(t *testing.T) {
	for _, magic := range []uint32{goMagic116, goMagic118, goMagic120} {
		f, err := New("x", goTableFile(magic))
		if err != nil {
			t.Fatal(err)
		}
		got := f.Functions(nil)
		want := []Symbol{{Name: "one", Addr: 0x1010, Size: 0x20, Type: elf.STT_FUNC},
			{Name: "two", Addr: 0x1030, Size: 0x10, Type: elf.STT_FUNC}}
		if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%#x: %+v", magic, got)
		}
		var frames []GoFrame
		f.GoFrames(func(g *GoFrame) bool { frames = append(frames, *g); return true })
		wantFrames := []GoFrame{{Func: "one", Start: 0x1010, End: 0x1014},
			{Func: "one", Start: 0x1014, End: 0x1030, Size: 24}, {Func: "two", Start: 0x1030, End: 0x1034}}
		if magic == goMagic116 {
			wantFrames = nil
		}
		if !slices.Equal(frames, wantFrames) {
			t.Errorf("%#x: %+v", magic, frames)
		}
	}
}

// miniDebugFile is a file without .symtab that has one packed in it.
func miniDebugFile(t *testing.T) string {
	bin := compile(t, "#include <unistd.h>\nstatic int hidden(void) { return getpid(); }\nint main(void) { return "+
		"hidden(); }\n", "-O0", "-w")
	packed, syms := filepath.Join(filepath.Dir(bin), "syms.xz"), filepath.Join(filepath.Dir(bin), "syms")
	tool(t, "objcopy", "--only-keep-debug", bin, syms)
	tool(t, "xz", "-k", syms)
	tool(t, "objcopy", "--strip-all", bin)
	tool(t, "objcopy", "--add-section", ".gnu_debugdata="+packed, bin)
	return bin
}

func TestMiniDebug(t *testing.T) {
	bin := miniDebugFile(t)
	f := openFile(t, bin)
	s, ok := f.Symbol("hidden")
	if !ok || f.HasSymbols() {
		t.Fatalf("%+v, %v", s, ok)
	}
	if got, ok := NewTable(f).Lookup(s.Addr + 1); !ok || got.Name != "hidden" {
		t.Errorf("%+v, %v", got, ok)
	}
	// The packed bytes may be anything.
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("\xfd7zXZ\x00"))
	for i := at; i < at+200; i++ {
		broken := bytes.Clone(data)
		broken[i] ^= 0x55
		f, err := New(bin, broken)
		if err != nil {
			t.Fatal(err)
		}
		f.Symbol("hidden")
	}
}

// No number of the file is believed: each is once one that wraps around when a
// size is added to it.
func TestGoTableHostile(t *testing.T) {
	for _, magic := range []uint32{goMagic116, goMagic118, goMagic120} {
		good := goTableFile(magic)
		for at := range len(good) - 8 {
			bad := bytes.Clone(good)
			binary.LittleEndian.PutUint64(bad[at:], ^uint64(0)-11)
			if f, err := New("x", bad); err == nil {
				f.Functions(nil)
				f.GoFrames(func(*GoFrame) bool { return true })
			}
		}
	}
}
