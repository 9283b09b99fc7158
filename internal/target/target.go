package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/target/btf"
	"github.com/hawktrace/hawk/internal/target/exe"
)

// A Target is one machine. Its methods may be called from several
// goroutines; the types it returns may not be resolved concurrently.
type Target struct {
	// DebugDirs are where separate debug files are looked for first. Set it
	// before use.
	DebugDirs []exe.DebugDir

	root string // prefix of all paths; "" is the running machine

	mu        sync.Mutex
	uname     onced[[2]string] // machine, release
	vmlinux   onced[*btf.Spec]
	debug     map[string]debugInfo // by path
	modules   map[string]*btf.Spec
	tracing   onced[string]
	formats   map[string]*Format
	filter    onced[*Functions]
	events    onced[[]string]
	symbols   onced[*KernelSymbols]
	features  map[*Feature]error
	iterators map[uint32]error // why programs are refused, by type
	recorded  onced[map[string]bool]
	ledger    *Ledger // of a portable target, else nil
}

// onced is a value that is computed once.
type onced[T any] struct {
	once sync.Once
	val  T
	err  error
}

func (o *onced[T]) get(f func() (T, error)) (T, error) {
	o.once.Do(func() { o.val, o.err = f() })
	return o.val, o.err
}

var host Target

// Host is the machine hawk runs on.
func Host() *Target { return &host }

// Recorded is a machine described by the files of a directory.
func Recorded(dir string) *Target { return &Target{root: filepath.Clean(dir)} }

// Live reports whether the target is the running machine.
func (t *Target) Live() bool { return t.root == "" }

func (t *Target) path(name string) string { return t.root + name }

func (t *Target) read(name string) ([]byte, error) { return os.ReadFile(t.path(name)) }

func (t *Target) names() ([2]string, error) {
	return t.uname.get(func() ([2]string, error) {
		if !t.Live() {
			data, err := t.read("/uname")
			words := strings.Fields(string(data))
			if err == nil && len(words) != 2 {
				err = fmt.Errorf("%s: want machine and release", t.path("/uname"))
			}
			if err != nil {
				return [2]string{}, err
			}
			return [2]string{words[0], words[1]}, nil
		}
		var u unix.Utsname
		if err := unix.Uname(&u); err != nil {
			return [2]string{}, fmt.Errorf("uname: %w", err)
		}
		return [2]string{unix.ByteSliceToString(u.Machine[:]), unix.ByteSliceToString(u.Release[:])}, nil
	})
}

// Arch is the machine's architecture. Where uname names one that hawk does
// not know (or a 32-bit personality), it is the one hawk was built for.
func (t *Target) Arch() *arch.Arch {
	if t.ledger != nil {
		return t.ledger.arch
	}
	if n, err := t.names(); err == nil {
		if a := arch.ByName(n[0]); a != nil {
			return a
		}
	}
	if a := arch.Native(); a != nil {
		return a
	}
	return arch.AMD64
}

// Release is the kernel's release as uname -r prints it, "" if unknown.
func (t *Target) Release() string {
	n, _ := t.names()
	return n[1]
}

// MaxStack is the most frames of one stack that the kernel takes by itself.
func (t *Target) MaxStack() int {
	const usual = 127 // PERF_MAX_STACK_DEPTH
	text, err := t.read("/proc/sys/kernel/perf_event_max_stack")
	if err != nil || t.Portable() {
		return usual
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 1 {
		return usual
	}
	return n
}

// PossibleCPUs is one more than the highest CPU number that can ever exist,
// the number of values of a per-CPU map.
func (t *Target) PossibleCPUs() int {
	if t.ledger != nil {
		return PortableCPUs
	}
	cpus, err := t.cpuList("/sys/devices/system/cpu/possible")
	switch {
	case err == nil:
		return cpus[len(cpus)-1] + 1
	case t.Live():
		return maskCPUs()
	default:
		return 1
	}
}

// maskCPUs is the number of CPUs that the kernel's CPU masks have room for.
// Without sysfs it stands for the possible ones: a number that is too small
// would let the kernel write beyond the values of per-CPU maps.
func maskCPUs() int {
	var mask [maxCPUs / 64]uint64
	n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return maxCPUs
	}
	return int(n) * 8
}

// OnlineCPUs lists the CPUs that run, ascending, at least one.
func (t *Target) OnlineCPUs() ([]int, error) {
	cpus, err := t.cpuList("/sys/devices/system/cpu/online")
	if !errors.Is(err, fs.ErrNotExist) {
		return cpus, err
	}
	// No sysfs, as in some containers.
	n := 1
	if t.Live() {
		n = runtime.NumCPU()
	}
	cpus = make([]int, n)
	for i := range cpus {
		cpus[i] = i
	}
	return cpus, nil
}

func (t *Target) cpuList(name string) ([]int, error) {
	data, err := t.read(name)
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path(name), err)
	}
	return cpus, nil
}

// maxCPUs is the largest NR_CPUS of any architecture.
const maxCPUs = 8192

// parseCPUs parses a list such as "0-3,8,10-11".
func parseCPUs(list string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || to < from || to >= maxCPUs || len(out) > 0 && int(from) <= out[len(out)-1] {
			return nil, fmt.Errorf("bad CPU list %q", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			out = append(out, int(cpu))
		}
	}
	return out, nil
}

// A Namespace identifies a namespace the way the kernel's helpers take it.
type Namespace struct {
	Dev     uint64 // the kernel's own encoding of the device number
	Ino     uint64
	Initial bool // the machine's first one, where numbers need no translation
}

// initialPIDNS is PROC_PID_INIT_INO of include/linux/proc_ns.h.
const initialPIDNS = 0xEFFFFFFC

// PIDNamespace is the PID namespace hawk runs in.
func (t *Target) PIDNamespace() (Namespace, error) {
	if !t.Live() || t.ledger != nil {
		return Namespace{Ino: initialPIDNS, Initial: true}, nil
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return Namespace{}, fmt.Errorf("PID namespace: %w", err)
	}
	dev := uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev))
	return Namespace{Dev: dev, Ino: st.Ino, Initial: st.Ino == initialPIDNS}, nil
}

// Modules lists the loaded kernel modules, sorted as the kernel lists them.
func (t *Target) Modules() []string {
	data, err := t.read("/proc/modules")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, _, ok := strings.Cut(line, " "); ok {
			out = append(out, name)
		}
	}
	return out
}
