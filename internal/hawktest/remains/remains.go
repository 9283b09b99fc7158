// Package remains tells what tests have left behind in the kernel and in the file system once they
// are over, and what the kernel logged meanwhile. A machine on which nothing else happens is looked
// at twice: a State is taken before the tests and Since compares after them.
package remains

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A State is what there is at a time, one line each.
type State struct {
	Things []string
	Logged int // messages in the kernel's log
}

// Take looks at the machine.
func Take() (State, error) {
	var s State
	for _, look := range []func() ([]string, error){programs, maps, links, pins, events, breakpoints,
		processes, temporary} {
		things, err := look()
		if err != nil {
			return State{}, err
		}
		s.Things = append(s.Things, things...)
	}
	log, err := kernelLog()
	s.Logged = len(log)
	return s, err
}

// settling is how long the kernel is given to free what nobody holds any more, which it does after
// a grace period.
const settling = 20 * time.Second

// Since lists what is there now and was not there before, and what the kernel has logged that is
// not known to be harmless.
func (before State) Since() ([]string, error) {
	var left []string
	for end := time.Now().Add(settling); ; time.Sleep(200 * time.Millisecond) {
		now, err := Take()
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(now.Things, func(thing string) bool { return slices.Contains(before.Things, thing) })
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	log, err := kernelLog()
	if err != nil {
		return nil, err
	}
	return append(left, suspicious(log[min(before.Logged, len(log)):], os.Getenv("HAWK_IN_VM") != "")...), nil
}

func programs() ([]string, error) {
	var list []string
	for id := ebpf.ProgramID(0); ; {
		var err error
		if id, err = ebpf.ProgramGetNextID(id); errors.Is(err, os.ErrNotExist) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing programs: %w", err)
		}
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // gone meanwhile
		}
		name := ""
		if info, err := p.Info(); err == nil {
			name = info.Name
		}
		list = append(list, fmt.Sprintf("program %d %s %q", id, p.Type(), name))
		p.Close()
	}
}

func maps() ([]string, error) {
	var list []string
	for id := ebpf.MapID(0); ; {
		var err error
		if id, err = ebpf.MapGetNextID(id); errors.Is(err, os.ErrNotExist) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing maps: %w", err)
		}
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			continue
		}
		name := ""
		if info, err := m.Info(); err == nil {
			name = info.Name
		}
		list = append(list, fmt.Sprintf("map %d %s %q", id, m.Type(), name))
		m.Close()
	}
}

func links() ([]string, error) {
	var list []string
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		list = append(list, fmt.Sprintf("link %d", it.ID))
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("listing links: %w", err)
	}
	return list, nil
}

// pins lists the files of bpffs, where that is mounted.
func pins() ([]string, error) {
	found, err := filepath.Glob("/sys/fs/bpf/*")
	for i, path := range found {
		found[i] = "pin " + path
	}
	return found, err
}

// events lists the probes of tracefs. Where it is not mounted, a mount namespace of its own has it
// for a moment.
func events() ([]string, error) {
	const name = "/sys/kernel/tracing/dynamic_events"
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		text, err = exec.Command("unshare", "--mount", "sh", "-c",
			"mount -t tracefs none /sys/kernel/tracing && cat "+name).Output()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the probes of tracefs: %w", err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		list = append(list, "tracefs event "+strings.TrimSpace(line))
	}
	return list, nil
}

func breakpoint(word *uint64) *unix.PerfEventAttr {
	const writes = 2 // HW_BREAKPOINT_W
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Bp_type: writes,
		Ext1: uint64(uintptr(unsafe.Pointer(word))), Ext2: 8, Sample: 1}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	return attr
}

// breakpoints says how many hardware breakpoints each processor has free.
func breakpoints() ([]string, error) {
	var list []string
	var word uint64
	for cpu := range runtime.NumCPU() {
		attr := breakpoint(&word)
		var fds []int
		var err error
		for len(fds) < 16 {
			var fd int
			if fd, err = unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC); err != nil {
				break
			}
			fds = append(fds, fd)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
		if len(fds) == 0 && err != unix.ENOSPC {
			break // this machine has none
		}
		list = append(list, fmt.Sprintf("processor %d has %d free breakpoints", cpu, len(fds)))
	}
	return list, nil
}

// processes lists the hawks that run, and what runs in the directory of a case.
func processes() ([]string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var list []string
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe")
		cwd, _ := os.Readlink(dir + "/cwd")
		base := filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
		if base == "hawk" || strings.Contains(cwd, "/go-test-script") {
			list = append(list, fmt.Sprintf("process %s %s in %s", filepath.Base(dir), exe, cwd))
		}
	}
	return list, nil
}

// comeAndGo begin the names of files that are none of hawk's: the Go command's, the case runner's,
// Java's, mount's.
var comeAndGo = []string{"go-build", "go-test-script", "hsperfdata_", "mount"}

// temporary lists the files in directories for temporary ones.
func temporary() ([]string, error) {
	var list []string
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run"} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !slices.ContainsFunc(comeAndGo, func(start string) bool { return strings.HasPrefix(e.Name(), start) }) {
				list = append(list, "file "+filepath.Join(dir, e.Name()))
			}
		}
	}
	return list, nil
}
