package kernel

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:     "tracepoint",
	Aliases:  []string{"t"},
	Doc:      "A static event of the kernel, with the fields its format file declares.",
	Example:  `tracepoint:sched:sched_process_exec { printf("%d %s\n", pid, str(args.filename)); }`,
	Forms:    []string{"tracepoint:category:event"},
	Has:      probe.HasArgs | probe.HasPID,
	Space:    types.Kernel,
	Wild:     probe.KernelWild,
	Return:   1, // 0 would hide the event from perf users of the same tracepoint
	Parse:    parseTracepoint,
	Match:    matchTracepoint,
	Names:    tracepointNames,
	List:     probe.ListTwoParts,
	Describe: describeTracepoint,
	FileEach: true,
	Args:     tracepointArgs,
	Plan:     planTracepoint,
})

func parseTracepoint(p *probe.Point, parts []probe.Part, _ *probe.Options) error {
	switch {
	case len(parts) == 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
	case len(parts) == 1 && parts[0].HasWild():
		p.Pattern = &probe.Pattern{Target: probe.Part{Text: "*"}, Fn: parts[0]}
	default:
		return probe.WrongCount(p, "2", parts)
	}
	p.Target, p.Func = p.Pattern.Target.Text, p.Pattern.Fn.Text
	return nil
}

func matchTracepoint(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	if !p.Wild() {
		ok, err := o.Machine.HasEvent(p.Target, p.Func)
		if err != nil || !ok {
			return nil, err
		}
		return []*probe.Point{p}, nil
	}
	events, err := o.Machine.Events()
	if err != nil {
		return nil, err
	}
	var out []*probe.Point
	for _, e := range events {
		category, event, _ := strings.Cut(e, ":")
		if p.Pattern.Target.Matches(category) && p.Pattern.Fn.Matches(event) {
			q := *p
			q.Target, q.Func = category, event
			out = append(out, &q)
		}
	}
	return probe.SortPoints(out), nil
}

func tracepointNames(_ *probe.Point, o *probe.Options) []string {
	events, _ := o.Machine.Events()
	return events
}

func tracepointArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	f, err := o.Machine.TracepointFormat(p.Target, p.Func)
	if err != nil {
		return nil, err
	}
	return f.Struct(), nil
}

func describeTracepoint(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	decls, err := o.Machine.TracepointDecls(p.Target, p.Func)
	var out []probe.Detail
	for _, decl := range decls {
		out = append(out, probe.Declared(decl, machine.DeclName(decl)))
	}
	return out, err
}

// planTracepoint prefers mechanisms other than perf events: those cost 40 ns
// more a hit and up to 0.1 s each to detach. For kernel stacks the perf event is
// both cheaper and right by itself: the kernel hands it the registers of who fired
// the event. That of a system call has a frame of its own in front.
func planTracepoint(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	var enter, exit, raw, perf []*probe.Point
	var out []*probe.Group
	calls := sync.OnceValue(func() bool { return syscallsUsable(o) })
	toPerf := sync.OnceValue(func() bool { return preempted(o) })
	for _, p := range points {
		switch {
		case isSyscall(p, enterPrefix, o) && calls():
			enter = append(enter, p)
		case isSyscall(p, exitPrefix, o) && calls():
			exit = append(exit, p)
		case uses.Kernel || toPerf():
			perf = append(perf, p)
		case uses.Args && p.Target == "raw_syscalls" && p.Func == "sys_enter" && calls():
			out = append(out, &probe.Group{Points: []*probe.Point{p}, Mechanism: rawSysEnter.ID})
		case uses.Args && p.Target == "raw_syscalls" && p.Func == "sys_exit" && calls():
			out = append(out, &probe.Group{Points: []*probe.Point{p}, Mechanism: rawSysExit.ID})
		case !uses.Args && !uses.Kfunc && !o.NoFeature["raw_tracepoint"] && hasRawTracepoint(p, o):
			raw = append(raw, p)
		default:
			perf = append(perf, p)
		}
	}
	onEnter, onExit := sysEnter, sysExit
	if len(enter)+len(exit) > 0 && toPerf() {
		onEnter, onExit = &perfSysEnter, &perfSysExit
	}
	if len(enter) > 0 {
		out = append(out, &probe.Group{Points: enter, Mechanism: onEnter.ID})
	}
	if len(exit) > 0 {
		out = append(out, &probe.Group{Points: exit, Mechanism: onExit.ID})
	}
	// A raw tracepoint program cannot tell its points apart before 6.10, and
	// one with a constant name is faster anyway.
	out = append(out, probe.Split(raw, rawTracepoint, !uses.Probe, false)...)
	cookies := len(perf) > 1 && uses.Probe && o.Has(machine.TraceCookie)
	return append(out, probe.Split(perf, perfTracepoint, !uses.Probe || cookies, cookies)...), nil
}

// hasRawTracepoint reports whether the event is a tracepoint of its own.
// Those of system calls are made by hand from the two raw ones, those of
// ftrace are none, and dynamic events belong to kprobes and uprobes.
func hasRawTracepoint(p *probe.Point, o *probe.Options) bool {
	switch p.Target {
	case "syscalls", "ftrace", "synthetic", "kprobes", "uprobes", "eprobes", "fprobes":
		return false
	}
	// Others may be dynamic events in a group of the user's choice.
	f, err := o.Machine.TracepointFormat(p.Target, p.Func)
	if err != nil {
		return false
	}
	for i := range f.Fields {
		switch f.Fields[i].Name {
		case "__probe_ip", "__probe_func", "__probe_ret_ip":
			return false
		}
	}
	return true
}

var rawTracepoint = &probe.Mechanism{
	Name:    "raw tracepoint",
	Program: bpf.RawTracepoint,
	Guard:   probe.GuardPID,
	Link:    linkRawByName,
}

// The first 8 bytes of a record hold the common fields for readers of the
// trace buffer. Programs may not read them, so they are made up.
var perfTracepoint = &probe.Mechanism{
	Name:    "perf tracepoint",
	Program: bpf.Tracepoint,
	Slow:    true,
	Guard:   probe.GuardPID,
	Index:   probe.CookieIndex,
	Record:  func(c *probe.Context) *ir.Value { return c.Ctx },
	Field:   commonField,
	Link: func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		var links []probe.Link
		for i, p := range g.Points {
			l, err := linkPerf(progFD, p.Target, p.Func, probe.CookieOf(g, i), o)
			if err != nil {
				return nil, errors.Join(err, attach.CloseAll(links))
			}
			links = append(links, l)
		}
		return links, nil
	},
}

// linkPerf attaches a program to the perf event of a tracepoint.
func linkPerf(progFD int, category, event string, cookie uint64, o *probe.Options) (probe.Link, error) {
	id, err := o.Machine.TracepointID(category, event)
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: uint64(id), Sample: 1, Wakeup: 1}
	l, err := attach.OpenPerf(nil, &attr, "", progFD, -1, 0, cookie)
	if err != nil {
		return nil, fmt.Errorf("tracepoint:%s:%s: %w", category, event, err)
	}
	return l, nil
}
