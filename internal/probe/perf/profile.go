package perf

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/probe"
)

var _ = probe.Define(probe.Kind{
	Name:    "interval",
	Aliases: []string{"i"},
	Doc:     "Fires regularly, on one CPU.",
	Example: `tracepoint:syscalls:sys_enter_read { @ = count(); } interval:s:1 { print(@); clear(@); }`,
	Forms: []string{"interval:s:count", "interval:ms:count", "interval:us:count", "interval:hz:rate",
		"interval:duration"},
	Has:           probe.HasRegs | probe.HasCtx,
	Parse:         parseClock,
	Match:         probe.MatchSelf,
	List:          listClock,
	Ctx:           probe.PerfEventContext,
	Plan:          planInterval,
	CanonicalName: clockName,
	Nobodys:       true,
	Rated:         true,
	ListName:      probe.Rateless,
})

var _ = probe.Define(probe.Kind{
	Name:    "profile",
	Aliases: []string{"p"},
	Doc:     "Samples every CPU regularly; with a target process, only while it runs.",
	Example: `profile:hz:99 { @[kstack(3), comm] = count(); }`,
	Forms: []string{"profile:hz:rate", "profile:s:count", "profile:ms:count", "profile:us:count",
		"profile:duration"},
	Has:           probe.HasRegs | probe.HasCtx,
	Parse:         parseClock,
	Match:         probe.MatchSelf,
	List:          listClock,
	Ctx:           probe.PerfEventContext,
	Plan:          probe.PlanAlone(profileClock),
	CanonicalName: clockName,
	Rated:         true,
	ListName:      probe.Rateless,
})

// A unit is what a rate can be given in; hz, the odd one, has no length.
type unit struct {
	name  string
	nanos uint64
}

// Units come in the order of their names, in which listings show them.
var units = []unit{{"hz", 0}, {"ms", 1e6}, {"s", 1e9}, {"us", 1e3}}

// unitOf finds a unit by its name.
func unitOf(name string) (unit, bool) {
	for _, u := range units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// parseClock parses a rate: a unit and a number, or a length of time alone.
func parseClock(p *probe.Point, parts []probe.Part, _ *probe.Options) error {
	name := p.Kind.Name
	switch len(parts) {
	default:
		return probe.WrongCount(p, "1 or 2", parts)
	case 1:
		n, err := probe.ParseInt(parts[0].Text)
		if err != nil {
			return fmt.Errorf("Invalid rate of %s probe: %w", name, err)
		}
		if n < 1000 {
			return fmt.Errorf("Invalid rate of %s probe. Minimum is 1000 or 1us. Found: %d nanoseconds", name, n)
		}
		// A length alone is in nanoseconds in the language, which the units do not have; what
		// remains below a microsecond is cut off, as in the reference.
		p.Func = "us"
		p.Period, err = probe.MulPeriod(n/1000, 1000)
		return err
	case 2:
		u, ok := unitOf(parts[0].Text)
		if !ok {
			return fmt.Errorf("%s is not an accepted unit of time", parts[0].Text)
		}
		n, err := probe.ParseInt(parts[1].Text)
		if err != nil {
			return fmt.Errorf("Invalid rate of %s probe: %w", name, err)
		}
		if n == 0 {
			return fmt.Errorf("%s frequency should be a positive integer", name)
		}
		p.Func = u.name
		if u.nanos == 0 {
			p.Period = n
			return nil
		}
		p.Period, err = probe.MulPeriod(n, u.nanos)
		return err
	}
}

// clockName is the rate as the script has it: Period is in nanoseconds but for hz, where it is
// the rate itself, as the kernel wants it.
func clockName(p *probe.Point) string {
	n := p.Period
	if u, _ := unitOf(p.Func); u.nanos != 0 {
		n /= u.nanos
	}
	return p.Kind.Name + ":" + p.Func + ":" + strconv.FormatUint(n, 10)
}

// listClock prints the units: the rates are endless.
func listClock(k *probe.Kind, parts []probe.Part, _ *probe.Options, emit func(probe.Listed)) error {
	for _, u := range units {
		if len(parts) == 0 || parts[0].Matches(u.name) {
			emit(probe.Listed{Name: k.Name + ":" + u.name + ":"})
		}
	}
	return nil
}

// intervalClock is on the first CPU that is online; CPU 0 may be off. Options of processes do not
// apply: the time goes on whether they run or not.
var intervalClock = &probe.Mechanism{
	Name:    "perf clock on one CPU",
	Program: bpf.PerfEvent,
	Regs:    probe.ContextRegs,
	Link: func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		cpus, err := o.Machine.OnlineCPUs()
		if err != nil {
			return nil, err
		}
		return linkPerf(cpus[:1], clockEvent(g.Points[0]), progFD, 0)
	},
}

// profileClock has an event on each CPU. A CPU that comes online later is not sampled.
var profileClock = &probe.Mechanism{
	Name:    "perf clock",
	Program: bpf.PerfEvent,
	Guard:   probe.GuardSampled,
	Regs:    probe.ContextRegs,
	Link: func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		cpus, err := o.Machine.OnlineCPUs()
		if err != nil {
			return nil, err
		}
		return linkPerf(cpus, clockEvent(g.Points[0]), progFD, o.SampledPID())
	},
}

// clockEvent counts time. With hz the sample period is a frequency, which the kernel keeps by
// itself and bounds by kernel.perf_event_max_sample_rate.
func clockEvent(p *probe.Point) unix.PerfEventAttr {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: p.Period}
	if p.Func == "hz" {
		attr.Bits = unix.PerfBitFreq
	}
	return attr
}

// linkPerf opens an event on CPUs, or for the threads of a process and what they start if pid is not 0.
func linkPerf(cpus []int, attr unix.PerfEventAttr, progFD, pid int) ([]probe.Link, error) {
	places, err := perfPlaces(cpus, pid)
	if err != nil {
		return nil, err
	}
	if pid != 0 {
		// Children count as well, each by an event of its own that the kernel makes at the fork.
		attr.Bits |= unix.PerfBitInherit
	}
	var links []probe.Link
	for _, at := range places {
		link, err := attach.OpenPerf(nil, &attr, "", progFD, at.tid, at.cpu, 0)
		if len(places) > 1 && (errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ESRCH)) {
			continue // the CPU went offline, or the thread has ended
		}
		if err != nil {
			return nil, errors.Join(err, attach.CloseAll(links))
		}
		links = append(links, link)
	}
	if len(links) == 0 {
		return nil, errors.New("no CPU is online, or no thread left")
	}
	return links, nil
}

// A perfPlace is a thread on any CPU, or a CPU with whatever runs on it.
type perfPlace struct{ tid, cpu int }

// perfPlaces are the threads of the process, or the CPUs if pid is 0. An event for a process covers its
// first thread only, so that each of the others takes one of its own.
func perfPlaces(cpus []int, pid int) (out []perfPlace, err error) {
	if pid == 0 {
		for _, cpu := range cpus {
			out = append(out, perfPlace{-1, cpu})
		}
		return out, nil
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("threads of process %d: %w", pid, err)
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, perfPlace{tid, -1})
		}
	}
	return out, nil
}
