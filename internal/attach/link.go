package attach

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// CloseAll undoes links after a failure.
func CloseAll(links []probe.Link) error {
	var err error
	for _, l := range links {
		err = errors.Join(err, l.Close())
	}
	return err
}

// OpenPerf opens a perf event, by the kernel's hand given, and attaches the
// program to it. name is the
// function or file of events that have one, pid -1 every process, cpu -1 every
// CPU.
func OpenPerf(k bpf.Kernel, attr *unix.PerfEventAttr, name string, progFD, pid, cpu int,
	cookie uint64) (probe.Link, error) {
	fd, err := bpf.PerfEventOpen(k, attr, name, pid, cpu)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w%s", err, perfAdvice(attr, err))
	}
	// AttachPerf owns the event from here on, and closes it if it fails.
	link, err := bpf.AttachPerf(k, fd, progFD, cookie)
	if err != nil {
		return nil, fmt.Errorf("attach to perf event: %w", err)
	}
	return link, nil
}

// perfAdvice names what an administrator may have to change.
func perfAdvice(attr *unix.PerfEventAttr, err error) string {
	switch {
	case errors.Is(err, unix.EINVAL) && attr.Bits&unix.PerfBitFreq != 0:
		return " (the rate may be above the sysctl kernel.perf_event_max_sample_rate)"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return " (" + machine.Host().PerfForbidden() + ")"
	}
	return ""
}

// LinkRaw attaches a program to a raw tracepoint by name, or, with name "", to
// what it was loaded for.
func LinkRaw(name string, progFD int) (probe.Link, error) {
	fd, err := bpf.RawTracepointOpen(name, progFD, 0)
	if err != nil {
		return nil, err
	}
	return bpf.FD(fd), nil
}

// ReturnBit is the "retprobe" bit of the kprobe and uprobe event sources.
const ReturnBit = 1
