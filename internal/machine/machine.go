package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/exe"
)

// A Machine is one machine. Its methods may be called from several
// goroutines. The types it returns resolve each other when they are asked about:
// whoever does that while others may holds Resolve.
type Machine struct {
	// Resolve is held while types of this machine are asked for their fields.
	Resolve sync.Mutex
	// Named are files that take the place of what the machine would be asked. Set
	// it before use.
	Named Named
	// DebugDirs are where separate debug files are looked for first. Set it
	// before use.
	DebugDirs []exe.DebugDir
	// Executables are programs and libraries that probes name.
	Executables *exe.Cache

	files fs.FS // of a recording; nil: the running machine's own

	mu       sync.Mutex
	uname    onced[[2]string] // machine, release
	possible onced[int]       // CPUs
	vmlinux  onced[*btf.Spec]
	debug    map[string]debugInfo // by path
	modules  map[string]*btf.Spec
	tracing  onced[string]
	formats  map[string]*Format
	// enumerators are names that were looked for in the kernel's types, those too that are not there.
	enumerators map[string]enumerator
	filter      onced[*Functions]
	reading     atomic.Pointer[Functions] // what CloseLists closes
	events      onced[[]string]
	symbols     onced[*KernelSymbols]
	features    map[*Feature]error
	iterators   map[uint32]error // why programs are refused, by type
	recorded    onced[map[string]bool]
	ledger      *Ledger  // of a portable machine, else nil
	mount       *os.File // of tracefs, which is there as long as it is open; nil: another one's
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

// Host is a new view of the machine hawk runs on, with caches of its own.
func Host() *Machine { return newMachine(nil) }

// newMachine is a machine of files, nil for the running one. What it keeps open is closed when
// nothing refers to it any more.
func newMachine(files fs.FS) *Machine {
	m := &Machine{files: files, Executables: &exe.Cache{}}
	runtime.AddCleanup(m, (*exe.Cache).Retire, m.Executables)
	return m
}

// Recorded is a machine described by the files of a directory; see Record. What the
// directory lacks, the machine lacks; without a list of features it has all of them.
func Recorded(dir string) *Machine { return RecordedIn(os.DirFS(dir)) }

// RecordedIn is Recorded for the files of a file system, which may be anybody's.
func RecordedIn(files fs.FS) *Machine { return newMachine(files) }

// Live reports whether it is the running machine.
func (t *Machine) Live() bool { return t.files == nil }

func (t *Machine) names() ([2]string, error) {
	return t.uname.get(func() ([2]string, error) {
		if !t.Live() {
			data, err := t.read(recordedNames)
			words := strings.Fields(string(data))
			if err == nil && len(words) != 2 {
				err = errors.New("uname: want machine and release")
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
func (t *Machine) Arch() *arch.Arch {
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
func (t *Machine) Release() string {
	n, _ := t.names()
	return n[1]
}

// MaxStack is the most frames of one stack that the kernel takes by itself.
func (t *Machine) MaxStack() int {
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

// A Namespace identifies a namespace the way the kernel's helpers take it.
type Namespace struct {
	Dev     uint64 // the kernel's own encoding of the device number
	Ino     uint64
	Initial bool // the machine's first one, where numbers need no translation
}

// initialPIDNS is PROC_PID_INIT_INO of include/linux/proc_ns.h.
const initialPIDNS = 0xEFFFFFFC

// PIDNamespace is the PID namespace hawk runs in.
func (t *Machine) PIDNamespace() (Namespace, error) {
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
func (t *Machine) Modules() []string {
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
