package perf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/probe"
)

var _ = probe.Define(probe.Kind{
	Name:    "software",
	Aliases: []string{"s"},
	Doc:     "Counts events of the kernel's own and fires once in every count of them, on each CPU.",
	Example: `software:page-faults:100 { @[comm] = count(); }`,
	Forms:   []string{"software:event", "software:event:count"},
	Has:     probe.HasRegs | probe.HasCtx,
	Wild:    probe.KernelWild,
	Parse: func(p *probe.Point, parts []probe.Part, o *probe.Options) error {
		return parsePerfEvent(p, parts, software, o)
	},
	Match:         probe.MatchSelf,
	Names:         func(*probe.Point, *probe.Options) []string { return software.names() },
	List:          listPerfEvents(software),
	Ctx:           probe.PerfEventContext,
	Plan:          probe.PlanAlone(softwareCounter),
	CanonicalName: perfEventName,
	ListName:      probe.Rateless,
})

var _ = probe.Define(probe.Kind{
	Name:    "hardware",
	Aliases: []string{"h"},
	Doc: "Counts events of the processor and fires once in every count of them, on each CPU. Besides those that " +
		"all processors have there are those of caches " +
		"(`LLC-load-misses`, `L1-dcache-loads`, `dTLB-store-misses`) and, by the number that the processor's " +
		"manual has for it, any other: `r` and hexadecimal digits. " +
		"Events of other sources are written as perf(1) has them, `source/event/` or `source/part=value,…/`; the " +
		"kernel lists sources, their events and parts in `/sys/bus/event_source/devices`.",
	Example: `hardware:cache-misses:1000000 { @[comm] = count(); }`,
	Forms: []string{"hardware:event", "hardware:event:count", "hardware:rNUMBER:count",
		`hardware:"source/event/":count`, `hardware:"source/part=value,…/":count`},
	Has:  probe.HasRegs | probe.HasCtx,
	Wild: probe.KernelWild,
	Parse: func(p *probe.Point, parts []probe.Part, o *probe.Options) error {
		return parsePerfEvent(p, parts, hardware, o)
	},
	Match:         probe.MatchSelf,
	Names:         func(*probe.Point, *probe.Options) []string { return hardware.names() },
	List:          listPerfEvents(hardware),
	Ctx:           probe.PerfEventContext,
	Plan:          probe.PlanAlone(hardwareCounter),
	Here:          counted,
	CanonicalName: perfEventName,
	ListName:      probe.Rateless,
})

// A perfEvent is an event that perf_event_open counts.
type perfEvent struct {
	name, alias string
	config      uint64
	count       uint64 // default period
	typ         uint32 // as perf_event_attr has it; rows of perfEvents.table leave it to perfEvents.typ
	config12    [2]uint64
	cpus        []int // nil: all
}

// perfEvents are the events of a kind.
type perfEvents struct {
	typ   uint32
	table []perfEvent
	more  func() []perfEvent // have types of their own; may be nil
	// sources: events of all sources that the kernel has, by its descriptions of them.
	sources bool
	free    func(name string) (perfEvent, bool) // what needs no row; may be nil
}

var (
	software = &perfEvents{typ: unix.PERF_TYPE_SOFTWARE, table: softwareEvents}
	hardware = &perfEvents{typ: unix.PERF_TYPE_HARDWARE, table: hardwareEvents, more: cacheEvents,
		free: rawEvent, sources: true}
)

// all lists the events that have names.
func (p *perfEvents) all() []perfEvent {
	out := slices.Clone(p.table)
	for i := range out {
		out[i].typ = p.typ
	}
	if p.more != nil {
		out = append(out, p.more()...)
	}
	return out
}

// find looks an event up by name or alias.
func (p *perfEvents) find(name string) (perfEvent, bool) {
	for _, e := range p.all() {
		if name == e.name || name == e.alias && name != "" {
			return e, true
		}
	}
	if p.free != nil {
		return p.free(name)
	}
	return perfEvent{}, false
}

// names lists names and aliases, unsorted.
func (p *perfEvents) names() []string {
	var out []string
	for _, e := range p.all() {
		out = append(out, e.name)
		if e.alias != "" {
			out = append(out, e.alias)
		}
	}
	return out
}

// Counts are those of the reference, so that a script that gives none fires as often as there.
var softwareEvents = []perfEvent{
	{name: "alignment-faults", config: unix.PERF_COUNT_SW_ALIGNMENT_FAULTS, count: 1},
	{name: "bpf-output", config: unix.PERF_COUNT_SW_BPF_OUTPUT, count: 1},
	{name: "context-switches", alias: "cs", config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, count: 1000},
	{name: "cpu-clock", alias: "cpu", config: unix.PERF_COUNT_SW_CPU_CLOCK, count: 1000000},
	{name: "cpu-migrations", config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, count: 1},
	{name: "dummy", config: unix.PERF_COUNT_SW_DUMMY, count: 1},
	{name: "emulation-faults", config: unix.PERF_COUNT_SW_EMULATION_FAULTS, count: 1},
	{name: "major-faults", config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ, count: 1},
	{name: "minor-faults", config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, count: 100},
	{name: "page-faults", alias: "faults", config: unix.PERF_COUNT_SW_PAGE_FAULTS, count: 100},
	{name: "task-clock", config: unix.PERF_COUNT_SW_TASK_CLOCK, count: 1},
}

// The processor counts these, some of them on few machines only: virtual machines mostly have
// none, which attaching says.
var hardwareEvents = []perfEvent{
	{name: "backend-stalls", config: unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND, count: 1000000},
	{name: "branch-instructions", alias: "branches", config: unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, count: 100000},
	{name: "branch-misses", config: unix.PERF_COUNT_HW_BRANCH_MISSES, count: 100000},
	{name: "bus-cycles", config: unix.PERF_COUNT_HW_BUS_CYCLES, count: 100000},
	{name: "cache-misses", config: unix.PERF_COUNT_HW_CACHE_MISSES, count: 1000000},
	{name: "cache-references", config: unix.PERF_COUNT_HW_CACHE_REFERENCES, count: 1000000},
	{name: "cpu-cycles", alias: "cycles", config: unix.PERF_COUNT_HW_CPU_CYCLES, count: 1000000},
	{name: "frontend-stalls", config: unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, count: 1000000},
	{name: "instructions", config: unix.PERF_COUNT_HW_INSTRUCTIONS, count: 1000000},
	{name: "ref-cycles", config: unix.PERF_COUNT_HW_REF_CPU_CYCLES, count: 1000000},
}

// parsePerfEvent parses an event and, if it is there, its count.
func parsePerfEvent(p *probe.Point, parts []probe.Part, events *perfEvents, o *probe.Options) error {
	if len(parts) != 1 && len(parts) != 2 {
		return probe.WrongCount(p, "1 or 2", parts)
	}
	if parts[0].HasWild() {
		return fmt.Errorf("wildcards are not allowed for %s probe type", p.Kind.Name)
	}
	e, ok := events.find(parts[0].Text)
	// A source is looked up even if a row has the name: the slashes say what is meant.
	if source, terms, is := cutSource(parts[0].Text); is && events.sources {
		var err error
		if e, err = sourceEvent(source, terms, o); err != nil {
			return err
		}
	} else if !ok {
		return fmt.Errorf("%s is not a %s probe", parts[0].Text, p.Kind.Name)
	}
	// The name stays as the script has it, alias or not: probe and listings show it so.
	p.Func, p.Period, p.Extra = parts[0].Text, e.count, e
	// "software:faults:" is how listings print it: no count is the default.
	if len(parts) == 2 && parts[1].Text != "" && parts[1].Text != "*" {
		n, err := probe.ParseInt(parts[1].Text)
		if err != nil {
			return fmt.Errorf("Invalid count for %s probe: %w", p.Kind.Name, err)
		}
		if n == 0 {
			return fmt.Errorf("Invalid count for %s probe: it must be greater than 0", p.Kind.Name)
		}
		p.Period = n
		p.Pattern = &probe.Pattern{Fn: parts[1]}
	}
	return nil
}

// perfEventName has the count only if the script has it.
func perfEventName(p *probe.Point) string {
	name := p.Kind.Name + ":" + p.Func
	if p.Pattern != nil {
		name += ":" + strconv.FormatUint(p.Period, 10)
	}
	return name
}

// listPerfEvents prints names and aliases; the colon invites a count.
func listPerfEvents(events *perfEvents) func(*probe.Kind, []probe.Part, *probe.Options, func(probe.Listed)) error {
	return func(k *probe.Kind, parts []probe.Part, _ *probe.Options, emit func(probe.Listed)) error {
		var lines []string
		for _, name := range events.names() {
			if len(parts) == 0 || parts[0].Matches(name) {
				lines = append(lines, k.Name+":"+name+":")
			}
		}
		slices.Sort(lines)
		for _, line := range lines {
			emit(probe.Listed{Name: line})
		}
		return nil
	}
}

// softwareCounter has no advice of its own: the kernel counts these events on every machine.
var softwareCounter = &probe.Mechanism{
	Name:    "perf software event",
	Program: bpf.PerfEvent,
	Guard:   probe.GuardFollowed,
	Regs:    probe.ContextRegs,
	Link:    linkCounter,
}

// hardwareCounter explains errors that say nothing: the kernel has one number for an event that
// nobody counts and for a machine that counts none.
var hardwareCounter = &probe.Mechanism{
	Name:    "perf hardware event",
	Program: bpf.PerfEvent,
	Guard:   probe.GuardFollowed,
	Regs:    probe.ContextRegs,
	Link: func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		links, err := linkCounter(progFD, g, o)
		name := g.Points[0].Func
		_, _, sourced := cutSource(name)
		switch {
		case sourced && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP)):
			return nil, fmt.Errorf("%s can not be sampled: its source has no such event, or counts without being "+
				"able to interrupt: %w", name, err)
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
			return nil, fmt.Errorf("no PMU here counts %s, as in most virtual machines; profile:hz:99 or "+
				"software:cpu-clock sample without one: %w", name, err)
		}
		return links, err
	},
}

// linkCounter opens an event on each CPU that can count it. Sources outside of the processor, as
// memory controllers are, count on one CPU of each socket, which they name.
func linkCounter(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
	p := g.Points[0]
	e := p.Extra.(perfEvent)
	cpus, err := e.cpus, error(nil)
	if cpus == nil {
		cpus, err = o.Machine.OnlineCPUs()
	}
	if err != nil {
		return nil, err
	}
	return linkPerf(cpus, e.attr(p.Period), progFD, o.KernelPID())
}

// attr is what the kernel is told. The union fields Ext1 and Ext2 are config1 and config2 here,
// which only sources use.
func (e perfEvent) attr(period uint64) unix.PerfEventAttr {
	return unix.PerfEventAttr{Type: e.typ, Config: e.config, Ext1: e.config12[0], Ext2: e.config12[1], Sample: period}
}

// counted reports whether the processor counts an event, by an event that is never enabled.
func counted(p *probe.Point) bool {
	e := p.Extra.(perfEvent)
	attr := e.attr(p.Period)
	attr.Size, attr.Bits = uint32(unsafe.Sizeof(attr)), unix.PerfBitDisabled
	cpu := 0
	if e.cpus != nil {
		cpu = e.cpus[0]
	}
	// Errors other than that nobody counts it, as of rights, say nothing of the event.
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP)
}
