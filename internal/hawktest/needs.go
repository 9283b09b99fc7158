package hawktest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A Need is something that a case can depend on. Probe tries it on this machine, since neither
// versions nor configurations tell; nil: it is there.
type Need struct {
	Name  string
	Doc   string
	Probe func() error
}

// Needs lists what cases can ask for by name; besides, "kernel>=6.1" asks for a version and
// "exec:python3" for a program.
var Needs = []Need{
	{"root", "all privileges", probeRoot},
	{"amd64", "an x86-64 machine, for what only its kernels or processors have", probeAMD64},
	{"32bit", "programs of 32 bits beside those of 64", probe32bit},
	{"vm", "a VM, where a case may do what it likes to the machine", probeVM},
	{"native", "no emulation, where times mean something", probeNative},
	{"cc", "a C compiler, or its output", probeCompiler("cc")},
	{"c++", "a C++ compiler, or its output", probeCompiler("c++")},
	{"go", "a Go compiler, or its output", probeCompiler("go")},
	{"rustc", "a Rust compiler, or its output", probeCompiler("rustc")},
	{"debian", "Debian 12 or newer, whose packages can be unpacked and whose C library runs them", probeDebian},
	{"glibc", "a libc with its own probes, in $GLIBC", probeGlibc},
	{"ipv6", "the address ::1", func() error {
		l, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			return err
		}
		return l.Close()
	}},
	{"fuse", "file systems that programs serve", func() error {
		f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}},
	{"btf", "the kernel's own type information", func() error { return readable("/sys/kernel/btf/vmlinux") }},
	{"tracefs", "tracefs, mounted or not", probeTracefs},
	{"kprobe", "kprobes by perf event", probeKprobe},
	{"kprobe_multi", "many kprobes by one link", probeKprobeMulti},
	{"fentry", "fentry and fexit", probeFentry},
	{"iter", "iterators", probeIter},
	{"everyone", "programs that run whichever process is on the CPU", probeEveryone},
	{"breakpoint", "hardware breakpoints, for watchpoints", probeBreakpoint},
	{"tracepoint", "tracepoints by perf event", probeTracepoint},
	{"uprobe", "uprobes by perf event", probeUprobe},
	{"uprobe_multi", "many uprobes by one link", probeUprobeMulti},
	{"perf_hw", "hardware performance counters", probeCounters},
	{"perf_sw", "software performance events",
		func() error { return openPerf(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK) }},
	{"disk", "a disk that can be read directly, in $DISK", probeDisk},
	{"memcg", "limits of memory for groups of processes", probeMemcg},
	{"scratch", "a disk for a case to write to", probeScratch},
}

// probed remembers outcomes: a machine does not change while tests run.
var probed sync.Map // name → func() error, which probes once

// Have says whether this machine has what a word of a case asks for. The first result is nil if so
// and else says what is missing; the second is for words that mean nothing.
func Have(word string) (missing, err error) {
	if version, ok := strings.CutPrefix(word, "kernel>="); ok {
		return haveKernel(version)
	}
	if program, ok := strings.CutPrefix(word, "exec:"); ok {
		_, missing := exec.LookPath(program)
		return missing, nil
	}
	for _, n := range Needs {
		if n.Name == word {
			once, _ := probed.LoadOrStore(word, sync.OnceValue(n.Probe))
			return once.(func() error)(), nil
		}
	}
	return nil, fmt.Errorf("no need is called %q", word)
}

// InVM says whether this process runs inside a VM of TestVM. The variable is set by what starts
// this binary there.
func InVM() bool { return os.Getenv("HAWK_IN_VM") != "" }

func probeRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	return nil
}

func probeAMD64() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the machine is %s", runtime.GOARCH)
	}
	return nil
}

// probe32bit runs a program of 32 bits that ends at once, which kernels may be told to refuse.
// x86-64 kernels have an option for it on their command line, and another when they are built.
func probe32bit() error {
	const at, headers = 0x10000, 52 + 32
	code := []byte{0x31, 0xdb, 0x8d, 0x43, 0x01, 0xcd, 0x80} // xor %ebx, %ebx; lea 1(%rbx), %eax; int $0x80
	size := uint32(headers + len(code))
	var program bytes.Buffer
	_ = binary.Write(&program, binary.LittleEndian, elf.Header32{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F',
			byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_386), Version: uint32(elf.EV_CURRENT), Entry: at + headers,
		Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 1})
	_ = binary.Write(&program, binary.LittleEndian, elf.Prog32{Type: uint32(elf.PT_LOAD), Vaddr: at, Paddr: at,
		Filesz: size, Memsz: size, Flags: uint32(elf.PF_R | elf.PF_X), Align: 0x1000})
	dir, err := os.MkdirTemp("", "hawk32")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "end")
	if err := os.WriteFile(path, append(program.Bytes(), code...), 0o700); err != nil {
		return err
	}
	return exec.Command(path).Run()
}

// probeCounters asks for the events that cases use: emulated machines may have some.
func probeCounters() error {
	return errors.Join(openPerf(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES),
		openPerf(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES))
}

// probeMemcg reads the list of controllers, which has a line "memory 4 31 1", the last for enabled.
func probeMemcg() error {
	list, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "memory" && f[3] == "1" {
			return nil
		}
	}
	return errors.New("no controller of memory in /proc/cgroups")
}

func probeVM() error {
	if !InVM() {
		return errors.New("not in a VM")
	}
	return nil
}

func probeNative() error {
	if InVM() {
		return errors.New("emulated")
	}
	return nil
}

// probeCompiler asks in a VM for results of the host's: compilers for the host alone have none
// for another architecture.
func probeCompiler(program string) func() error {
	return func() error {
		if InVM() {
			if !slices.Contains(strings.Fields(os.Getenv("HAWK_COMPILERS")), program) {
				return errors.New("the host's compiles for the host only")
			}
			return nil
		}
		_, err := exec.LookPath(program)
		return err
	}
}

func probeGlibc() error {
	_, err := Glibc()
	return err
}

func haveKernel(version string) (missing, err error) {
	want, err := parseVersion(version)
	if err != nil {
		return nil, err
	}
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return nil, err
	}
	release := unix.ByteSliceToString(uname.Release[:])
	have, err := parseVersion(release)
	if err != nil {
		return nil, err
	}
	if have < want {
		return fmt.Errorf("kernel %s is older than %s", release, version), nil
	}
	return nil, nil
}

// parseVersion reads the first two numbers of a kernel version. What follows is the
// distribution's.
func parseVersion(s string) (int, error) {
	major, rest, _ := strings.Cut(s, ".")
	minor := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("bad kernel version %q", s)
	}
	return a<<16 | b, nil
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func probeTracefs() error {
	kinds, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !strings.Contains(string(kinds), "\ttracefs\n") {
		return errors.New("the kernel has no tracefs")
	}
	return nil
}

// load loads a program that does nothing. Before 5.11 programs count as locked memory; the limit is
// lifted for this one only, since a hawk started later has to cope with it by itself.
func load(kind ebpf.ProgramType, attach ebpf.AttachType, to string) (*ebpf.Program, error) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil &&
		unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}) == nil {
		defer unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit)
	}
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: kind, AttachType: attach, AttachTo: to, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
}

// attachable loads a program that does nothing and attaches it. Some kernels load programs that
// they then refuse to attach.
func attachable(kind ebpf.ProgramType, attach ebpf.AttachType, to string,
	by func(*ebpf.Program) (link.Link, error)) error {
	p, err := load(kind, attach, to)
	if err != nil {
		return err
	}
	defer p.Close()
	l, err := by(p)
	if err != nil {
		return err
	}
	return l.Close()
}

func probeKprobe() error {
	// Asked of the perf event itself: the library falls back on tracefs, which may not be mounted.
	if err := readable("/sys/bus/event_source/devices/kprobe/type"); err != nil {
		return errors.New("the kernel has no kprobes")
	}
	return attachable(ebpf.Kprobe, 0, "", func(p *ebpf.Program) (link.Link,
		error) {
		return link.Kprobe("vfs_read", p, nil)
	})
}

func probeKprobeMulti() error {
	return attachable(ebpf.Kprobe, ebpf.AttachTraceKprobeMulti, "", func(p *ebpf.Program) (link.Link, error) {
		return link.KprobeMulti(p, link.KprobeMultiOptions{Symbols: []string{"vfs_read"}})
	})
}

func probeFentry() error {
	return attachable(ebpf.Tracing, ebpf.AttachTraceFEntry, "vfs_read", func(p *ebpf.Program) (link.Link, error) {
		return link.AttachTracing(link.TracingOptions{Program: p})
	})
}

// probeIter loads one and no more: a kernel that loads it attaches it.
func probeIter() error {
	p, err := load(ebpf.Tracing, ebpf.AttachTraceIter, "task")
	if err != nil {
		return err
	}
	return p.Close()
}

// probeBreakpoint writes to a word that a breakpoint watches: some virtual machines take breakpoints
// that never fire.
func probeBreakpoint() error {
	runtime.LockOSThread() // whose writes are counted
	defer runtime.UnlockOSThread()
	word := new(atomic.Uint64)
	const writes = 2 // HW_BREAKPOINT_W
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Bp_type: writes,
		Ext1: uint64(uintptr(unsafe.Pointer(word))), Ext2: 8, Sample: 1}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("setting a hardware breakpoint: %w", err)
	}
	defer unix.Close(fd)
	word.Add(1)
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		return fmt.Errorf("reading a hardware breakpoint: %w", err)
	}
	if binary.NativeEndian.Uint64(count[:]) == 0 {
		return errors.New("hardware breakpoints do not fire")
	}
	return nil
}

// probeTracepoint does not need tracefs mounted: hawk does that itself.
func probeTracepoint() error {
	if err := probeTracefs(); err != nil {
		return err
	}
	if err := probeRoot(); err != nil {
		return err
	}
	return openPerf(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_DUMMY)
}

// probeUprobe looks for the file that says the number of the event.
func probeUprobe() error {
	if err := readable("/sys/bus/event_source/devices/uprobe/type"); err != nil {
		return errors.New("the kernel has no uprobes")
	}
	return probeRoot()
}

func probeUprobeMulti() error {
	exe, err := link.OpenExecutable("/proc/self/exe")
	if err != nil {
		return err
	}
	return attachable(ebpf.Kprobe, ebpf.AttachTraceUprobeMulti, "", func(p *ebpf.Program) (link.Link, error) {
		// By offset, since go test runs binaries without symbols.
		return exe.UprobeMulti(nil, p, &link.UprobeMultiOptions{Addresses: []uint64{1 << 12}})
	})
}

// openPerf opens an event of the first processor and all processes, which fails without
// privileges.
func openPerf(kind uint32, config uint64) error {
	attr := unix.PerfEventAttr{Type: kind, Config: config, Sample: 1 << 20}
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening a perf event: %w", err)
	}
	return unix.Close(fd)
}

func probeDisk() error {
	_, err := Disk()
	return err
}

// Disk returns the name of a disk that can be read past the page cache.
var Disk = sync.OnceValues(func() (string, error) {
	err := errors.New("no block device")
	disks, _ := filepath.Glob("/sys/block/*")
	for _, d := range disks {
		name := filepath.Base(d)
		if strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") || strings.HasPrefix(name, "zram") {
			continue
		}
		var fd int
		if fd, err = unix.Open("/dev/"+name, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0); err == nil {
			return "/dev/" + name, unix.Close(fd)
		}
		err = fmt.Errorf("opening %s: %w", name, err)
	}
	return "", err
})
