package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/proc"
)

func TestParseSymbol(t *testing.T) {
	for _, c := range []struct {
		text string
		want Symbol
	}{
		{"vfs_read+0x10/0x2a0", Symbol{"vfs_read", 0x10, "", true}},
		{"do_it.part.0+0x0/0x5 [ext4]", Symbol{"do_it.part.0", 0, "ext4", true}},
		{"f+0x1/0x5 [mod 0123456789abcdef]", Symbol{"f", 1, "mod", true}},
		{"0xffffffff81000000", Symbol{}},
		{"", Symbol{}},
		{"+0x1/0x2", Symbol{}},
		{"x+0xzz/0x2", Symbol{}},
	} {
		if got := parseSymbol(c.text); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		}
	}
}

func TestKernelRecorded(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(dir+"/proc", 0o755)
	text := "ffffffff81000000 T _text\nffffffff81000010 t two\nffffffffc0000000 t inmod\t[ext4]\n"
	os.WriteFile(dir+"/proc/kallsyms", []byte(text), 0o644)
	k := NewKernel(machine.Recorded(dir))
	defer k.Close()
	for addr, want := range map[uint64]Symbol{
		0xffffffff81000004: {"_text", 4, "", true},
		0xffffffff81000010: {"two", 0, "", true},
		0xffffffffc0000008: {"inmod", 8, "ext4", true},
		0x1000:             {},
	} {
		if got := k.Symbol(addr); got != want {
			t.Errorf("%#x is %+v, want %+v", addr, got, want)
		}
	}
}

// The kernel's answers agree with kallsyms.
func TestKernelHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	h := machine.Host()
	if err := h.Has(machine.Snprintf); err != nil {
		t.Skip(err)
	}
	syms, err := h.KernelSymbols()
	if err != nil {
		t.Fatal(err)
	}
	addr, ok := syms.Address("vfs_read")
	if !ok {
		t.Fatal("no vfs_read")
	}
	k := NewKernel(h)
	defer k.Close()
	name, off, ok := k.Lookup(addr + 5)
	if name != "vfs_read" || off != 5 || !ok {
		t.Errorf("vfs_read+5 is %s+%d, %v (%v)", name, off, ok, k.Err())
	}
	if k.asker == nil {
		t.Error("the kernel was not asked")
	}
	if _, _, ok := k.Lookup(0x1234); ok {
		t.Error("a user address is a kernel symbol")
	}
}

func TestOwnProcess(t *testing.T) {
	u := NewUser()
	defer u.Close()
	pid := os.Getpid()
	pc := reflect.ValueOf(TestParseSymbol).Pointer()
	f, ok := u.Lookup(pid, uint64(pc)+3)
	if path, _ := os.Executable(); f.Module != path {
		t.Errorf("module is %q, want %q", f.Module, path)
	}
	if self, err := exe.Open(f.Module); err == nil && !self.HasSymbols() {
		t.Log("the test binary is stripped: go test -c keeps its symbols")
	} else if !ok || !strings.HasSuffix(f.Name, "symbolize.TestParseSymbol") || f.Off != 3 {
		t.Errorf("%+v, %v", f, ok)
	}
	if f, ok := u.Lookup(pid, 0x10); ok || f.Module != "" {
		t.Errorf("address 16: %+v", f)
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		t.Fatal(err)
	}
	p, ok := u.Place(pid, uint64(pc))
	self, err := exe.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	if _, code := self.CodeOffset(p.Addr); !ok || p.Path != f.Module || p.Stat.Ino != st.Ino ||
		p.Stat.Mtim != st.Mtim || p.Entry != self.Entry || !code {
		t.Errorf("place %+v, %v", p, ok)
	}
	if p, ok := u.Place(pid, 0x10); ok {
		t.Errorf("place of address 16: %+v", p)
	}
	maps, err := proc.Maps(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range maps {
		if m.Path != "[vdso]" {
			continue
		}
		found := false
		for a := m.Start; a < m.End && !found; a += 16 {
			f, ok := u.Lookup(pid, a)
			found = ok && strings.Contains(f.Name, "clock_gettime")
		}
		if !found {
			t.Error("no clock_gettime in the vDSO")
		}
	}
}

const cxxProgram = `
#include <unistd.h>
#include <stdio.h>
namespace shop { struct Cart { __attribute__((noinline)) int add(int n); }; int Cart::add(int n) { return n + 1; } }
int main() { shop::Cart c; int (shop::Cart::*p)(int) = &shop::Cart::add;
  printf("%p\n", *(void **)&p); fflush(stdout); c.add(1); char b; read(0, &b, 1); return 0; }
`

// A process that has ended still resolves if it was remembered, and so does
// a program whose file is gone.
func TestEndedProcess(t *testing.T) {
	gxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "x.cc"), filepath.Join(dir, "x")
	os.WriteFile(src, []byte(cxxProgram), 0o644)
	if out, err := exec.Command(gxx, "-pie", "-fPIE", "-w", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, _ := out.Read(buf)
	var addr uint64
	for _, c := range strings.TrimPrefix(strings.TrimSpace(string(buf[:n])), "0x") {
		addr = addr<<4 | uint64(strings.IndexRune("0123456789abcdef", c))
	}
	os.Remove(bin)
	u, raw := NewUser(), NewUser()
	raw.Demangle = false
	defer u.Close()
	defer raw.Close()
	u.Remember(cmd.Process.Pid)
	if os.Geteuid() == 0 {
		if f, ok := raw.Lookup(cmd.Process.Pid, addr); !ok || f.Name != "_ZN4shop4Cart3addEi" {
			t.Errorf("deleted file: %+v, %v", f, ok)
		}
		if f, ok := u.Lookup(cmd.Process.Pid, addr); !ok || f.Name != "shop::Cart::add(int)" {
			t.Errorf("demangled: %+v, %v", f, ok)
		}
	}
	in.Close()
	cmd.Wait()
	if os.Geteuid() == 0 {
		for _, p := range u.procs {
			p.cache, p.checked = nil, p.checked.Add(-checkEvery)
		}
		if f, ok := u.Lookup(cmd.Process.Pid, addr+1); !ok || f.Name != "shop::Cart::add(int)" || f.Off != 1 {
			t.Errorf("after its end: %+v, %v", f, ok)
		}
	}
	if f, ok := NewUser().Lookup(cmd.Process.Pid, addr); ok {
		t.Errorf("never seen: %+v", f)
	}
}

func BenchmarkKernelLookup(b *testing.B) {
	h := machine.Host()
	if os.Geteuid() != 0 || h.Has(machine.Snprintf) != nil {
		b.Skip("needs root and bpf_snprintf")
	}
	syms, err := h.KernelSymbols()
	if err != nil {
		b.Skip(err)
	}
	addr, _ := syms.Address("vfs_read")
	k := NewKernel(h)
	defer k.Close()
	k.Lookup(addr)
	for i := uint64(0); b.Loop(); i++ {
		k.asker.ask(addr + i%64)
	}
}

func BenchmarkUserTable(b *testing.B) {
	path, err := exec.LookPath("go")
	if err != nil {
		b.Skip(err)
	}
	e, err := exe.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer e.Close()
	for b.Loop() {
		exe.NewTable(e)
	}
	b.ReportMetric(float64(exe.NewTable(e).Len()), "symbols")
}
