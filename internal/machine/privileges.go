package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Privileges reports in one line what this process lacks to trace the
// machine and what to do about it, nil if nothing is known to be missing.
func (t *Machine) Privileges() error {
	if !t.Live() {
		return nil
	}
	caps, err := capabilities()
	if err != nil {
		return fmt.Errorf("cannot read own capabilities: %w", err)
	}
	var lacking []string
	need := func(bit uint, name string) {
		if caps>>bit&1 == 0 {
			lacking = append(lacking, name)
		}
	}
	if caps>>unix.CAP_SYS_ADMIN&1 == 0 {
		need(unix.CAP_BPF, "CAP_BPF")
		need(unix.CAP_PERFMON, "CAP_PERFMON")
	}
	if os.Geteuid() != 0 {
		need(unix.CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH")
		need(unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE")
	}
	return missing(lacking)
}

// LockedDown reports that the kernel keeps its memory from everybody, nil if it
// does not. Programs of users can be traced all the same.
func (t *Machine) LockedDown() error {
	if t.Lockdown() != "confidentiality" {
		return nil
	}
	return errors.New("kernel lockdown is in mode confidentiality, which blocks reading kernel memory: tracing the " +
		"kernel cannot work; boot with lockdown=integrity or without it")
}

// missing has the wording, capital and full stop that wrappers look for.
func missing(names []string) error {
	switch n := len(names); n {
	case 0:
		return nil
	case 1:
		return &Lacking{names, fmt.Sprintf("Missing %s capability, please run hawk as the root user.", names[0])}
	default:
		return &Lacking{names, fmt.Sprintf("Missing %s and %s capabilities, please run hawk as the root user.",
			strings.Join(names[:n-1], ", "), names[n-1])}
	}
}

// Lacking says which capabilities a process lacks.
type Lacking struct {
	Need []string
	text string
}

func (e *Lacking) Error() string { return e.text }

// Lockdown is the state of kernel lockdown: "none", "integrity",
// "confidentiality", or "" if unknown.
func (t *Machine) Lockdown() string {
	data, err := t.read("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), "[")
	state, _, _ := strings.Cut(rest, "]")
	return state
}

// capabilities is the effective set, bit by number.
func capabilities() (uint64, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[0].Effective) | uint64(data[1].Effective)<<32, nil
}

// Explain adds to a permission error of the bpf and perf system calls what this
// process lacks, as far as that can be seen; other errors pass.
func (t *Machine) Explain(err error) error {
	if err == nil || !isPermission(err) {
		return err
	}
	if perr := t.Privileges(); perr != nil {
		return fmt.Errorf("%w (%v)", err, perr)
	}
	if mode := t.Lockdown(); mode != "" && mode != "none" {
		return fmt.Errorf("%w (kernel lockdown is in mode %s)", err, mode)
	}
	return err
}

// PerfForbidden says why the kernel may not have permitted a perf event, as far
// as that can be seen.
func (t *Machine) PerfForbidden() string {
	const sysctl = "kernel.perf_event_paranoid"
	data, err := t.read("/proc/sys/" + strings.ReplaceAll(sysctl, ".", "/"))
	level, nerr := strconv.Atoi(strings.TrimSpace(string(data)))
	caps, cerr := capabilities()
	switch {
	case err != nil || nerr != nil || cerr != nil:
		return "see the sysctl " + sysctl + ", or a seccomp filter"
	case caps>>unix.CAP_SYS_ADMIN&1 == 0 && level > 2:
		// Not in the mainline kernel, but in that of Debian and Ubuntu.
		return fmt.Sprintf("the sysctl %s is %d, so that perf events take CAP_SYS_ADMIN; with 2 they take "+
			"CAP_PERFMON", sysctl, level)
	}
	return "not by the sysctl " + sysctl + ": a seccomp filter or a security module may forbid it"
}
