package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

func TestSymbols(t *testing.T) {
	forms(t, func(t *testing.T, b *elfFile) {
		f, err := New("x", b.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := f.Symbol("a"); !ok || s.Addr != 0x1010 || s.Size != 16 {
			t.Errorf("a: %+v, %v", s, ok)
		}
		if s, ok := f.Symbol("obj"); !ok || s.Type != elf.STT_OBJECT {
			t.Errorf("obj: %+v, %v", s, ok)
		}
		if _, ok := f.Symbol("label"); ok {
			t.Error("a label is attachable")
		}
		if got := fmt.Sprint(f.Functions(nil)); got != "[{__a 4112 16 STT_FUNC false} "+
			"{a 4112 16 STT_FUNC false} {b 4128 0 STT_FUNC false}]" {
			t.Errorf("functions %s", got)
		}
		if s, ok := f.FunctionAt(0x101f); !ok || s.Size != 16 {
			t.Errorf("at 0x101f: %+v", s)
		}
		table := NewTable(f)
		for _, c := range []struct {
			addr uint64
			want string
		}{{0x1010, "a"}, {0x1017, "a"}, {0x1019, "label"}, {0x1020, "b"}, {0x10ff, "b"}, {0x100f, ""}} {
			if s, _ := table.Lookup(c.addr); s.Name != c.want {
				t.Errorf("%#x is in %q, want %q", c.addr, s.Name, c.want)
			}
		}
		if got := f.BuildID(); string(got) != "\xab\xcd\x01" {
			t.Errorf("build ID %x", got)
		}
		for _, c := range []struct{ addr, off uint64 }{{0x1010, 0x410}, {0x20ff, 0x8ff}} {
			if off, ok := f.Offset(c.addr); !ok || off != c.off {
				t.Errorf("offset of %#x is %#x, %v", c.addr, off, ok)
			}
			if addr, ok := f.Address(c.off); !ok || addr != c.addr {
				t.Errorf("address of %#x is %#x, %v", c.off, addr, ok)
			}
		}
		if _, ok := f.Offset(0x2100); ok {
			t.Error(".bss is in the file")
		}
	})
}

func TestUSDT(t *testing.T) {
	forms(t, func(t *testing.T, b *elfFile) {
		f, err := New("x", b.bytes())
		if err != nil {
			t.Fatal(err)
		}
		notes, err := f.USDT()
		if err != nil || len(notes) != 4 {
			t.Fatalf("%+v, %v", notes, err)
		}
		n := notes[0]
		if n.Provider != "prov" || n.Name != "one" || n.Args != "-4@%ebx 8@%r12" || n.Addr != 0x1010 ||
			n.Offset != 0x410 || n.Semaphore != 0x2010 || n.SemaphoreOffset != 0x810 || n.Err != nil {
			t.Errorf("one: %+v", n)
		}
		if n := notes[1]; n.Name != "two" || n.Semaphore != 0 || n.Args != "" || n.Err != nil {
			t.Errorf("two: %+v", n)
		}
		if notes[2].Err == nil || notes[3].Err == nil {
			t.Errorf("outside of code and data: %v, %v", notes[2].Err, notes[3].Err)
		}
		for _, cut := range []int{3, 5, 13, 30} {
			data := b.sections[2].data
			b.sections[2].data = data[:len(data)-cut]
			f, err := New("x", b.bytes())
			if err != nil {
				t.Fatal(err)
			}
			if notes, err := f.USDT(); err == nil || len(notes) != 3 {
				t.Errorf("cut by %d: %d notes, %v", cut, len(notes), err)
			}
			b.sections[2].data = data
		}
	})
}

const usdtProgram = `
#include <stdio.h>
unsigned short sem __attribute__((section(".probes"), used));
int main(int argc, char **argv) {
  __asm__ volatile("990: nop\n"
    ".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n.4byte 992f-991f,994f-993f,3\n"
    "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte sem\n"
    ".asciz \"hk\"\n.asciz \"tick\"\n.asciz \"-4@%0\"\n994: .balign 4\n.popsection\n"
    ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n.popsection\n.endif\n" :: "r"(argc));
  return puts("x");
}
`

// compile builds a program with gcc, skipping where that is missing.
func compile(t testing.TB, src string, args ...string) string {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	c, bin := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	if err := os.WriteFile(c, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, append(args, "-o", bin, c)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return bin
}

// TestCompiled compares answers about a compiled program with those of debug/elf.
func TestCompiled(t *testing.T) {
	for _, args := range [][]string{{"-pie", "-fPIE"}, {"-no-pie"}} {
		bin := compile(t, usdtProgram, args...)
		f, err := Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ref, err := elf.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		defer ref.Close()
		syms, err := ref.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range syms {
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
				continue
			}
			if got, ok := f.Symbol(s.Name); !ok || got.Addr != s.Value || got.Size != s.Size {
				t.Errorf("%v: %s is %+v, want %#x", args, s.Name, got, s.Value)
			}
		}
		notes, err := f.USDT()
		if err != nil || len(notes) != 1 || notes[0].Err != nil {
			t.Fatalf("%v: %+v, %v", args, notes, err)
		}
		main, _ := f.Symbol("main")
		if n := notes[0]; n.Addr < main.Addr || n.Addr >= main.Addr+main.Size ||
			f.Code(n.Addr, 1)[0] != 0x90 && f.Machine == elf.EM_X86_64 {
			t.Errorf("%v: note at %#x, main at %#x", args, n.Addr, main.Addr)
		}
		if sem, ok := f.Variable("sem"); !ok || sem.Addr != notes[0].Semaphore {
			t.Errorf("%v: semaphore at %#x, want %#x", args, notes[0].Semaphore, sem.Addr)
		}
		if err := Check(bin); err != nil {
			t.Error(err)
		}
	}
}

func TestDebugFile(t *testing.T) {
	bin := compile(t, "int hidden(void) { return 1; }\nint main(void) { return hidden(); }\n", "-g")
	objcopy, err := exec.LookPath("objcopy")
	if err != nil {
		t.Skip(err)
	}
	debug := filepath.Join(filepath.Dir(bin), "x.debug")
	for _, args := range [][]string{
		{"--only-keep-debug", bin, debug},
		{"--strip-all", bin},
		{"--add-gnu-debuglink=" + debug, bin},
	} {
		if out, err := exec.Command(objcopy, args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy %q: %v\n%s", args, err, out)
		}
	}
	f, err := Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, ok := f.Symbol("hidden"); ok || f.HasSymbols() {
		t.Error("the file is not stripped")
	}
	d := f.DebugFile("")
	if d == nil {
		t.Fatal("no debug file found")
	}
	defer d.Close()
	s, ok := d.Symbol("hidden")
	if got, _ := NewTable(f, d).Lookup(s.Addr); !ok || got.Name != "hidden" {
		t.Errorf("%+v, %v", got, ok)
	}
	os.WriteFile(debug, []byte("not this one"), 0o644)
	if other := f.DebugFile(""); other != nil {
		t.Errorf("took %s", other.Path)
	}
}

func TestDemangle(t *testing.T) {
	for _, c := range []struct{ in, full, name string }{
		{"_ZN4shop4Cart3addEi", "shop::Cart::add(int)", "shop::Cart::add"},
		{"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
		{"main", "main", "main"},
		{"_Znot", "_Znot", "_Znot"},
		{"_Z" + strings.Repeat("N", maxMangled), "_Z" + strings.Repeat("N", maxMangled),
			"_Z" + strings.Repeat("N", maxMangled)},
	} {
		if full, name := Demangle(c.in), DemangleName(c.in); full != c.full || name != c.name {
			t.Errorf("%.40s: %.40s and %.40s", c.in, full, name)
		}
	}
}

// ldCache builds a cache in the new format.
func ldCache(libs ...Library) []byte {
	b := append([]byte(newCacheMagic), make([]byte, newHeader-len(newCacheMagic))...)
	binary.LittleEndian.PutUint32(b[20:], uint32(len(libs)))
	at := newHeader + newEntry*len(libs)
	var strs []byte
	for i, l := range libs {
		flags := uint32(0x303)
		if i == 0 {
			flags = 3 // a 32-bit library of that name comes first
		}
		b = binary.LittleEndian.AppendUint32(b, flags)
		b = binary.LittleEndian.AppendUint32(b, uint32(at+len(strs)))
		b = binary.LittleEndian.AppendUint32(b, uint32(at+len(strs)+len(l.Soname)+1))
		b = append(b, make([]byte, 12)...)
		strs = append(strs, l.Soname+"\x00"+l.Path+"\x00"...)
	}
	return append(b, strs...)
}

func TestLdCache(t *testing.T) {
	data := ldCache(Library{"libc.so.6", "/lib32/libc.so.6"}, Library{"libc.so.6", "/lib/libc.so.6"},
		Library{"libssl.so.3", "/lib/libssl.so.3"})
	want := "[{libc.so.6 /lib/libc.so.6} {libssl.so.3 /lib/libssl.so.3}]"
	if got := fmt.Sprint(parseLdCache(data, elf.EM_X86_64)); got != want {
		t.Errorf("got %s", got)
	}
	old := append([]byte(oldCacheMagic), make([]byte, oldHeader+oldEntry-len(oldCacheMagic))...)
	old[12] = 1
	for len(old)%8 != 0 {
		old = append(old, 0)
	}
	if got := fmt.Sprint(parseLdCache(append(old, data...), elf.EM_X86_64)); got != want {
		t.Errorf("behind the old format: %s", got)
	}
	for _, c := range []struct {
		file, name string
		want       bool
	}{
		{"libc.so.6", "libc", true}, {"libc.so.6", "libc.so", true}, {"libc.so.6", "libc.so.6", true},
		{"libc.so", "libc", true},
		{"libcrypt.so.1", "libc", false}, {"libc.so.6", "libc.so.7", false},
		{"libssl.so.3", "libssl.so.3", true}, {"libc.sox", "libc", false},
		{"libc.so.60", "libc.so.6", false},
	} {
		if got := sonameFits(c.file, c.name); got != c.want {
			t.Errorf("%s for %s: %v", c.file, c.name, got)
		}
	}
}

func TestFind(t *testing.T) {
	bin := compile(t, "int main(void) { return 0; }\n")
	dir := filepath.Dir(bin)
	t.Setenv("PATH", dir+":/nonexistent:"+dir)
	text := filepath.Join(dir, "text")
	os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755)
	for _, c := range []struct{ name, want string }{
		{"x", bin}, {bin, bin}, {dir + "/*", bin}, {"*", ""}, {"nosuch", ""}, {text, ""}, {dir, ""},
		{"libnosuchthing", ""},
	} {
		if c.name == "*" {
			continue // depends on what runs
		}
		got, err := Search{Libraries: true}.Find(c.name)
		if c.want == "" && err == nil || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if got, err := (Search{Unsafe: true}).Find(text); err != nil || len(got) != 1 {
		t.Errorf("unsafe: %q, %v", got, err)
	}
	if got, err := (Search{PID: os.Getpid(), Libraries: true}).Find(""); err != nil || len(got) != 1 {
		t.Errorf("own program: %q, %v", got, err)
	}
}

func TestFindLibrary(t *testing.T) {
	if got, err := filepath.Glob("/lib*/*/libc.so.6"); err != nil || got == nil {
		t.Skip("no libc where Debian has it")
	}
	got, err := Search{Libraries: true}.Find("libc")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(got[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, ok := f.Symbol("malloc")
	if !ok || s.Size == 0 {
		t.Errorf("malloc in %s: %+v", got[0], s)
	}
	for _, at := range []uint64{s.Addr, s.Addr + s.Size - 1} {
		if start, end, ok := f.FrameSpan(at); !ok || start != s.Addr || end < s.Addr+s.Size {
			t.Errorf("frames of %#x are described from %#x to %#x, %v; malloc is at %#x", at, start, end, ok, s.Addr)
		}
	}
	if _, _, ok := f.FrameSpan(0); ok {
		t.Error("there is code at 0")
	}
}

func FuzzFile(f *testing.F) {
	f.Add(sampleFile(binary.LittleEndian, true).bytes())
	f.Add(sampleFile(binary.BigEndian, false).bytes())
	f.Add(goTableFile(goMagic120))
	f.Fuzz(func(t *testing.T, data []byte) { bound.Run(t, len(data), func() { readAll(t, data) }) })
}

// readAll asks a file for all that it has.
func readAll(t *testing.T, data []byte) {
	e, err := New("x", data)
	if err != nil {
		return
	}
	e.USDT()
	e.BuildID()
	e.debugLink()
	e.Symbol("a")
	table := NewTable(e)
	for _, s := range table.syms {
		if _, ok := table.Lookup(s.addr); !ok {
			t.Errorf("no symbol at %#x, where %s is", s.addr, s.text())
		}
		e.Offset(s.addr)
		e.Code(s.addr, uint64(s.size))
		if start, end, ok := e.FrameSpan(s.addr); ok && (start > s.addr || end <= s.addr) {
			t.Errorf("%#x is not from %#x to %#x", s.addr, start, end)
		}
	}
	frames := 0
	e.GoFrames(func(g *GoFrame) bool {
		if g.Start >= g.End {
			t.Errorf("%s: code from %#x to %#x", g.Func, g.Start, g.End)
		}
		frames++
		return frames < 1<<16
	})
	if len(data) > 0 && !bytes.Equal(e.c.mem, data) {
		t.Error("the file was changed")
	}
}

func FuzzLdCache(f *testing.F) {
	f.Add(ldCache(Library{"libc.so.6", "/lib/libc.so.6"}, Library{"libm.so.6", "/lib/libm.so.6"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		bound.Run(t, len(data), func() {
			for _, l := range parseLdCache(data, elf.EM_X86_64) {
				if l.Soname == "" || l.Path[0] != '/' {
					t.Errorf("%+v", l)
				}
			}
		})
	})
}

func BenchmarkSymbolScan(b *testing.B) {
	path, err := exec.LookPath("go")
	if err != nil {
		b.Skip(err)
	}
	f, err := Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	n := 0
	for b.Loop() {
		n = 0
		for range f.Symbols() {
			n++
		}
	}
	b.ReportMetric(float64(n), "symbols")
}

// FuzzUSDT reads made-up notes of marks in a file that is sound otherwise.
func FuzzUSDT(f *testing.F) {
	sample := sampleFile(binary.LittleEndian, true)
	notes := slices.IndexFunc(sample.sections, func(s elfSection) bool { return s.name == ".note.stapsdt" })
	f.Add(sample.sections[notes].data, true)
	f.Fuzz(func(t *testing.T, data []byte, class64 bool) {
		file := sampleFile(binary.LittleEndian, class64)
		file.sections[notes].data = data
		raw := file.bytes()
		bound.Run(t, len(raw), func() {
			e, err := New("x", raw)
			if err != nil {
				t.Fatal(err)
			}
			marks, _ := e.USDT()
			for _, m := range marks {
				if segment, ok := e.CodeOffset(m.Addr); m.Err == nil && (!ok || segment != m.Offset) {
					t.Errorf("%s:%s at %#x lies at %#x of the file, not %#x", m.Provider, m.Name,
						m.Addr, segment, m.Offset)
				}
			}
		})
	})
}
