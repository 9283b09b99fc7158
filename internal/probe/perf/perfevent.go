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
	Why:           func(p *probe.Point, _ *probe.Options) string { return uncounted(p.Func) },
	List:          listPerfEvents(hardware),
	Ctx:           probe.PerfEventContext,
	Plan:          probe.PlanAlone(hardwareCounter),
	Here:          counted,
	CanonicalName: perfEventName,
	ListName:      probe.Rateless,
})

// perfEvents are the events of a kind.
type perfEvents struct {
	typ   uint32
	table []probe.PerfEvent
	more  func() []probe.PerfEvent // have types of their own; may be nil
	// sources: events of all sources that the kernel has, by its descriptions of them.
	sources bool
	free    func(name string) (probe.PerfEvent, bool) // what needs no row; may be nil
}

var (
	software = &perfEvents{typ: unix.PERF_TYPE_SOFTWARE, table: softwareEvents}
	hardware = &perfEvents{typ: unix.PERF_TYPE_HARDWARE, table: hardwareEvents, more: cacheEvents,
		free: rawEvent, sources: true}
)

// all lists the events that have names.
func (p *perfEvents) all() []probe.PerfEvent {
	out := slices.Clone(p.table)
	for i := range out {
		out[i].Type = p.typ
	}
	if p.more != nil {
		out = append(out, p.more()...)
	}
	return out
}

// find looks an event up by name or alias.
func (p *perfEvents) find(name string) (probe.PerfEvent, bool) {
	for _, e := range p.all() {
		if name == e.Name || name == e.Alias && name != "" {
			return e, true
		}
	}
	if p.free != nil {
		return p.free(name)
	}
	return probe.PerfEvent{}, false
}

// names lists names and aliases, unsorted.
func (p *perfEvents) names() []string {
	var out []string
	for _, e := range p.all() {
		out = append(out, e.Name)
		if e.Alias != "" {
			out = append(out, e.Alias)
		}
	}
	return out
}

// Counts are those of the reference, so that a script that gives none fires as often as there.
var softwareEvents = []probe.PerfEvent{
	{Name: "alignment-faults", Config: unix.PERF_COUNT_SW_ALIGNMENT_FAULTS, Count: 1},
	{Name: "bpf-output", Config: unix.PERF_COUNT_SW_BPF_OUTPUT, Count: 1},
	{Name: "context-switches", Alias: "cs", Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, Count: 1000},
	{Name: "cpu-clock", Alias: "cpu", Config: unix.PERF_COUNT_SW_CPU_CLOCK, Count: 1000000},
	{Name: "cpu-migrations", Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, Count: 1},
	{Name: "dummy", Config: unix.PERF_COUNT_SW_DUMMY, Count: 1},
	{Name: "emulation-faults", Config: unix.PERF_COUNT_SW_EMULATION_FAULTS, Count: 1},
	{Name: "major-faults", Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ, Count: 1},
	{Name: "minor-faults", Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, Count: 100},
	{Name: "page-faults", Alias: "faults", Config: unix.PERF_COUNT_SW_PAGE_FAULTS, Count: 100},
	{Name: "task-clock", Config: unix.PERF_COUNT_SW_TASK_CLOCK, Count: 1},
}

// The processor counts these, some of them on few machines only: virtual machines mostly have
// none, which attaching says.
var hardwareEvents = []probe.PerfEvent{
	{Name: "backend-stalls", Config: unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND, Count: 1000000},
	{Name: "branch-instructions", Alias: "branches", Config: unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, Count: 100000},
	{Name: "branch-misses", Config: unix.PERF_COUNT_HW_BRANCH_MISSES, Count: 100000},
	{Name: "bus-cycles", Config: unix.PERF_COUNT_HW_BUS_CYCLES, Count: 100000},
	{Name: "cache-misses", Config: unix.PERF_COUNT_HW_CACHE_MISSES, Count: 1000000},
	{Name: "cache-references", Config: unix.PERF_COUNT_HW_CACHE_REFERENCES, Count: 1000000},
	{Name: "cpu-cycles", Alias: "cycles", Config: unix.PERF_COUNT_HW_CPU_CYCLES, Count: 1000000},
	{Name: "frontend-stalls", Config: unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, Count: 1000000},
	{Name: "instructions", Config: unix.PERF_COUNT_HW_INSTRUCTIONS, Count: 1000000},
	{Name: "ref-cycles", Config: unix.PERF_COUNT_HW_REF_CPU_CYCLES, Count: 1000000},
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
	p.Func, p.Period, p.Event = parts[0].Text, e.Count, &e
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
	Guard:   probe.GuardSampled,
	Regs:    probe.ContextRegs,
	Link:    linkCounter,
}

// hardwareCounter explains errors that say nothing: the kernel has one number for an event that
// nobody counts and for a machine that counts none.
var hardwareCounter = &probe.Mechanism{
	Name:    "perf hardware event",
	Program: bpf.PerfEvent,
	Guard:   probe.GuardSampled,
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
			return nil, fmt.Errorf("%s: %w", uncounted(name), err)
		}
		return links, err
	},
}

func uncounted(name string) string {
	return fmt.Sprintf("no PMU here counts %s, as in most virtual machines; profile:hz:99 or software:cpu-clock "+
		"sample without one", name)
}

// linkCounter opens an event on each CPU that can count it. Sources outside of the processor, as
// memory controllers are, count on one CPU of each socket, which they name.
func linkCounter(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
	p := g.Points[0]
	e := p.Event
	cpus, err := e.CPUs, error(nil)
	if cpus == nil {
		cpus, err = o.Machine.OnlineCPUs()
	}
	if err != nil {
		return nil, err
	}
	return linkPerf(cpus, attrOf(e, p.Period), progFD, o.SampledPID())
}

// attr is what the kernel is told. The union fields Ext1 and Ext2 are config1 and config2 here,
// which only sources use.
func attrOf(e *probe.PerfEvent, period uint64) unix.PerfEventAttr {
	return unix.PerfEventAttr{Type: e.Type, Config: e.Config, Ext1: e.Config12[0], Ext2: e.Config12[1], Sample: period}
}

// counted reports whether the processor counts an event, by an event that is never enabled.
func counted(p *probe.Point) bool {
	e := p.Event
	attr := attrOf(e, p.Period)
	attr.Size, attr.Bits = uint32(unsafe.Sizeof(attr)), unix.PerfBitDisabled
	cpu := 0
	if e.CPUs != nil {
		cpu = e.CPUs[0]
	}
	// Errors other than that nobody counts it, as of rights, say nothing of the event.
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP)
}
