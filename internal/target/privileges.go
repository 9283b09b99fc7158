package target

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Privileges reports in one line what this process lacks to trace the
// machine and what to do about it, nil if nothing is known to be missing.
func (t *Target) Privileges() error {
	if !t.Live() {
		return nil
	}
	caps, err := capabilities()
	if err != nil {
		return fmt.Errorf("cannot read own capabilities: %w", err)
	}
	if os.Geteuid() != 0 {
		for _, c := range [...]struct {
			bit  uint
			name string
		}{{unix.CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"}, {unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"}} {
			if caps>>c.bit&1 == 0 {
				return missing(c.name)
			}
		}
	}
	if caps>>unix.CAP_SYS_ADMIN&1 == 0 {
		switch {
		case caps>>unix.CAP_BPF&1 == 0:
			return missing("CAP_BPF")
		case caps>>unix.CAP_PERFMON&1 == 0:
			return missing("CAP_PERFMON")
		}
	}
	if t.Lockdown() == "confidentiality" {
		return fmt.Errorf("kernel lockdown is in mode confidentiality, which blocks reading kernel memory: tracing cannot work; boot with lockdown=integrity or without it")
	}
	return nil
}

// missing has the wording, capital and full stop that wrappers look for.
func missing(name string) error {
	//lint:ignore ST1005 it is shown as it is
	return fmt.Errorf("Missing %s capability, please run hawk as the root user.", name)
}

// Lockdown is the state of kernel lockdown: "none", "integrity",
// "confidentiality", or "" if unknown.
func (t *Target) Lockdown() string {
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

// Explain adds to a permission error of the bpf and perf system calls which
// setting causes it, as far as that can be seen; other errors pass.
func (t *Target) Explain(err error) error {
	if err == nil || !isPermission(err) {
		return err
	}
	if perr := t.Privileges(); perr != nil {
		return fmt.Errorf("%w (%v)", err, perr)
	}
	if t.Lockdown() == "integrity" {
		return fmt.Errorf("%w (kernel lockdown is in mode integrity)", err)
	}
	caps, _ := capabilities()
	privileged := caps>>unix.CAP_SYS_ADMIN&1 != 0
	for _, s := range [...]struct{ path, name string }{
		{"/proc/sys/kernel/unprivileged_bpf_disabled", "kernel.unprivileged_bpf_disabled"},
		{"/proc/sys/kernel/perf_event_paranoid", "kernel.perf_event_paranoid"},
	} {
		data, rerr := t.read(s.path)
		v := strings.TrimSpace(string(data))
		if rerr == nil && !privileged && v != "0" && v != "-1" {
			return fmt.Errorf("%w (sysctl %s is %s)", err, s.name, v)
		}
	}
	return err
}
