package probe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

var _ = define(Kind{
	Name:          "software",
	Aliases:       []string{"s"},
	Doc:           "Counts events of the kernel's own and fires once in every count of them, on each CPU.",
	Example:       `software:page-faults:100 { @[comm] = count(); }`,
	Forms:         []string{"software:event", "software:event:count"},
	Has:           HasRegs | HasCtx,
	Wild:          KernelWild,
	Parse:         func(p *Point, parts []Part, _ *Options) error { return parsePerfEvent(p, parts, softwareEvents) },
	Match:         matchSelf,
	Names:         func(*Point, *Options) []string { return perfEventNames(softwareEvents) },
	List:          listPerfEvents(softwareEvents),
	Ctx:           perfEventContext,
	Plan:          planAlone(softwareCounter),
	CanonicalName: perfEventName,
	listName:      rateless,
})

var _ = define(Kind{
	Name:          "hardware",
	Aliases:       []string{"h"},
	Doc:           "Counts events of the processor and fires once in every count of them, on each CPU.",
	Example:       `hardware:cache-misses:1000000 { @[comm] = count(); }`,
	Forms:         []string{"hardware:event", "hardware:event:count"},
	Has:           HasRegs | HasCtx,
	Wild:          KernelWild,
	Parse:         func(p *Point, parts []Part, _ *Options) error { return parsePerfEvent(p, parts, hardwareEvents) },
	Match:         matchSelf,
	Names:         func(*Point, *Options) []string { return perfEventNames(hardwareEvents) },
	List:          listPerfEvents(hardwareEvents),
	Ctx:           perfEventContext,
	Plan:          planAlone(hardwareCounter),
	CanonicalName: perfEventName,
	listName:      rateless,
})

// A perfEvent is an event that perf_event_open counts.
type perfEvent struct {
	name, alias string
	config      uint64
	count       uint64 // default period
}

var softwareEvents = []perfEvent{
	{"alignment-faults", "", unix.PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
	{"bpf-output", "", unix.PERF_COUNT_SW_BPF_OUTPUT, 1},
	{"context-switches", "cs", unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
	{"cpu-clock", "cpu", unix.PERF_COUNT_SW_CPU_CLOCK, 1000000},
	{"cpu-migrations", "", unix.PERF_COUNT_SW_CPU_MIGRATIONS, 1},
	{"dummy", "", unix.PERF_COUNT_SW_DUMMY, 1},
	{"emulation-faults", "", unix.PERF_COUNT_SW_EMULATION_FAULTS, 1},
	{"major-faults", "", unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
	{"minor-faults", "", unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
	{"page-faults", "faults", unix.PERF_COUNT_SW_PAGE_FAULTS, 100},
	{"task-clock", "", unix.PERF_COUNT_SW_TASK_CLOCK, 1},
}

var hardwareEvents = []perfEvent{
	{"backend-stalls", "", unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
	{"branch-instructions", "branches", unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
	{"branch-misses", "", unix.PERF_COUNT_HW_BRANCH_MISSES, 100000},
	{"bus-cycles", "", unix.PERF_COUNT_HW_BUS_CYCLES, 100000},
	{"cache-misses", "", unix.PERF_COUNT_HW_CACHE_MISSES, 1000000},
	{"cache-references", "", unix.PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
	{"cpu-cycles", "cycles", unix.PERF_COUNT_HW_CPU_CYCLES, 1000000},
	{"frontend-stalls", "", unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
	{"instructions", "", unix.PERF_COUNT_HW_INSTRUCTIONS, 1000000},
	{"ref-cycles", "", unix.PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
}

func findPerfEvent(events []perfEvent, name string) (perfEvent, bool) {
	for _, e := range events {
		if name == e.name || name == e.alias && name != "" {
			return e, true
		}
	}
	return perfEvent{}, false
}

func perfEventNames(events []perfEvent) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.name)
		if e.alias != "" {
			out = append(out, e.alias)
		}
	}
	return out
}

func parsePerfEvent(p *Point, parts []Part, events []perfEvent) error {
	if len(parts) != 1 && len(parts) != 2 {
		return wrongCount(p, "1 or 2", parts)
	}
	if parts[0].HasWild() {
		return fmt.Errorf("wildcards are not allowed for %s probe type", p.Kind.Name)
	}
	e, ok := findPerfEvent(events, parts[0].Text)
	if !ok {
		return fmt.Errorf("%s is not a %s probe", parts[0].Text, p.Kind.Name)
	}
	p.Func, p.Period, p.Extra = parts[0].Text, e.count, e
	// "software:faults:" is how listings print it: no count is the default.
	if len(parts) == 2 && parts[1].Text != "" && parts[1].Text != "*" {
		n, err := parseInt(parts[1].Text)
		if err != nil {
			return fmt.Errorf("Invalid count for %s probe: %w", p.Kind.Name, err)
		}
		if n == 0 {
			return fmt.Errorf("Invalid count for %s probe: it must be greater than 0", p.Kind.Name)
		}
		p.Period = n
		p.pattern = &pattern{fn: parts[1]}
	}
	return nil
}

// perfEventName has the count only if the script has it.
func perfEventName(p *Point) string {
	name := p.Kind.Name + ":" + p.Func
	if p.pattern != nil {
		name += ":" + strconv.FormatUint(p.Period, 10)
	}
	return name
}

// listPerfEvents prints names and aliases; the colon invites a count.
func listPerfEvents(events []perfEvent) func(*Kind, []Part, *Options, func(Listed)) error {
	return func(k *Kind, parts []Part, _ *Options, emit func(Listed)) error {
		var lines []string
		for _, name := range perfEventNames(events) {
			if len(parts) == 0 || parts[0].matches(name) {
				lines = append(lines, k.Name+":"+name+":")
			}
		}
		slices.Sort(lines)
		for _, line := range lines {
			emit(Listed{Name: line})
		}
		return nil
	}
}

var softwareCounter = &Mechanism{
	Name:    "perf software event",
	Program: ebpf.PerfEvent,
	Guard:   guardFollowed,
	Regs:    contextRegs,
	Link:    linkCounter(unix.PERF_TYPE_SOFTWARE),
}

var hardwareCounter = &Mechanism{
	Name:    "perf hardware event",
	Program: ebpf.PerfEvent,
	Guard:   guardFollowed,
	Regs:    contextRegs,
	Link: func(progFD int, g *Group, o *Options) ([]Link, error) {
		links, err := linkCounter(unix.PERF_TYPE_HARDWARE)(progFD, g, o)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil, fmt.Errorf("no PMU here counts %s, as in most virtual machines; profile:hz:99 or software:cpu-clock sample without one: %w",
				g.Points[0].Func, err)
		}
		return links, err
	},
}

func linkCounter(typ uint32) func(int, *Group, *Options) ([]Link, error) {
	return func(progFD int, g *Group, o *Options) ([]Link, error) {
		p := g.Points[0]
		e := p.Extra.(perfEvent)
		cpus, err := o.Target.OnlineCPUs()
		if err != nil {
			return nil, err
		}
		return linkPerf(cpus, unix.PerfEventAttr{Type: typ, Config: e.config, Sample: p.Period}, progFD, o.kernelPID())
	}
}
