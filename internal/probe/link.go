package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
)

// Attachments live by file descriptors alone, so that a killed hawk leaves
// nothing behind. Those that the kernel makes and undoes by walking through the
// memory of processes are made and closed by Options.Kernel, which is not killed
// with hawk.

// closeAll undoes links after a failure.
func closeAll(links []Link) error {
	var err error
	for _, l := range links {
		err = errors.Join(err, l.Close())
	}
	return err
}

// openPerf opens a perf event, by the kernel's hand given, and attaches the
// program to it. name is the
// function or file of events that have one, pid -1 every process, cpu -1 every
// CPU.
func openPerf(k bpf.Kernel, attr *unix.PerfEventAttr, name string, progFD, pid, cpu int, cookie uint64) (Link, error) {
	fd, err := bpf.PerfEventOpen(k, attr, name, pid, cpu)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w%s", err, perfAdvice(attr, err))
	}
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

// linkRaw attaches a program to a raw tracepoint by name, or, with name "", to
// what it was loaded for.
func linkRaw(name string, progFD int) (Link, error) {
	fd, err := bpf.RawTracepointOpen(name, progFD, 0)
	if err != nil {
		return nil, err
	}
	return bpf.FD(fd), nil
}

// planAlone is a Plan that gives every point a program attached by one
// mechanism.
func planAlone(m *Mechanism) func([]*Point, Uses, *Options) ([]*Group, error) {
	return func(points []*Point, _ Uses, _ *Options) ([]*Group, error) {
		out := make([]*Group, len(points))
		for i := range points {
			out[i] = &Group{Points: points[i : i+1 : i+1], Mech: m}
		}
		return out, nil
	}
}
