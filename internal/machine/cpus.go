package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PossibleCPUs is one more than the highest CPU number that can ever exist: what is indexed by CPU
// has room for that many. A recording without the file counts as one CPU.
func (t *Machine) PossibleCPUs() int {
	// A program that is to run elsewhere has room for as many as other machines have.
	if t.ledger != nil {
		return t.ledger.CPUs
	}
	// The number is asked for by each map and program.
	n, _ := t.possible.get(func() (int, error) {
		cpus, err := t.cpuList("/sys/devices/system/cpu/possible")
		switch {
		case err == nil:
			return cpus[len(cpus)-1] + 1, nil
		case t.Live():
			return countCPUs(), nil
		default:
			return 1, nil
		}
	})
	return n
}

// OnlineCPUs lists the CPUs that run, ascending, at least one.
func (t *Machine) OnlineCPUs() ([]int, error) {
	cpus, err := t.cpuList("/sys/devices/system/cpu/online")
	if err == nil {
		return cpus, nil
	}
	if !t.Live() {
		if errors.Is(err, os.ErrNotExist) {
			return []int{0}, nil
		}
		return nil, err
	}
	for cpu := range t.PossibleCPUs() {
		// Other errors, as of rights, do not say that the CPU is off.
		if errno := tryCPU(cpu); errno == 0 || errno != unix.EINVAL && errno != unix.ENODEV {
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("cannot find out which processors are online: %w", err)
	}
	return cpus, nil
}

// countCPUs has the kernel say how many CPU numbers there are, where sysfs does
// not: perf events of higher numbers are refused in a way of their own. A number
// that is too small would have CPUs share what belongs to each of them.
func countCPUs() int {
	// A search by halves takes thirteen system calls for 8,192.
	most := maskCPUs()
	n := sort.Search(most, func(cpu int) bool { return tryCPU(cpu) == unix.EINVAL })
	if n == 0 {
		return most
	}
	return n
}

// tryCPU opens an event that never happens on a CPU: EINVAL says that there is
// no such number, ENODEV that the CPU does not run.
func tryCPU(cpu int) unix.Errno {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		errno, _ := err.(unix.Errno)
		return errno
	}
	unix.Close(fd)
	return 0
}

// maskCPUs is the number of CPUs that the kernel's CPU masks have room for,
// which is never less than the CPUs that can exist.
func maskCPUs() int {
	var mask [maxCPUs / 64]uint64
	size := unsafe.Sizeof(mask)
	n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, size, uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return maxCPUs
	}
	// The call yields how many bytes it has written.
	return int(n) * 8
}

// cpuList reads a list of CPUs. On the running machine only sysfs knows them:
// containers put other files in its place, with the CPUs that they are meant to
// use.
func (t *Machine) cpuList(name string) ([]int, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A recording is a directory of plain files.
	if live, ok := f.(*os.File); ok && t.Live() {
		var st unix.Statfs_t
		if err := unix.Fstatfs(int(live.Fd()), &st); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if st.Type != unix.SYSFS_MAGIC {
			return nil, fmt.Errorf("%s: this is not the kernel's file", name)
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, longestList))
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cpus, nil
}

const (
	maxCPUs     = 8192        // the largest NR_CPUS of any architecture
	longestList = 6 * maxCPUs // bytes
)

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
