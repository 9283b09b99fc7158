package probe

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Kind{
	Name:     "tracepoint",
	Aliases:  []string{"t"},
	Doc:      "A static event of the kernel, with the fields its format file declares.",
	Example:  `tracepoint:sched:sched_process_exec { printf("%d %s\n", pid, str(args.filename)); }`,
	Forms:    []string{"tracepoint:category:event"},
	Has:      HasArgs | HasPID,
	Space:    types.Kernel,
	Wild:     KernelWild,
	Return:   1, // 0 would hide the event from perf users of the same tracepoint
	Parse:    parseTracepoint,
	Match:    matchTracepoint,
	Names:    tracepointNames,
	List:     listTwoParts,
	Describe: describeTracepoint,
	FileEach: true,
	Args:     tracepointArgs,
	Plan:     planTracepoint,
})

func parseTracepoint(p *Point, parts []Part, _ *Options) error {
	switch {
	case len(parts) == 2:
		p.pattern = &pattern{target: parts[0], fn: parts[1]}
	case len(parts) == 1 && parts[0].HasWild():
		p.pattern = &pattern{target: Part{Text: "*"}, fn: parts[0]}
	default:
		return wrongCount(p, "2", parts)
	}
	p.Target, p.Func = p.pattern.target.Text, p.pattern.fn.Text
	return nil
}

func matchTracepoint(p *Point, o *Options) ([]*Point, error) {
	if !p.Wild() {
		ok, err := o.Machine.HasEvent(p.Target, p.Func)
		if err != nil || !ok {
			return nil, err
		}
		return []*Point{p}, nil
	}
	events, err := o.Machine.Events()
	if err != nil {
		return nil, err
	}
	var out []*Point
	for _, e := range events {
		category, event, _ := strings.Cut(e, ":")
		if p.pattern.target.matches(category) && p.pattern.fn.matches(event) {
			q := *p
			q.Target, q.Func = category, event
			out = append(out, &q)
		}
	}
	return sortPoints(out), nil
}

func tracepointNames(_ *Point, o *Options) []string {
	events, _ := o.Machine.Events()
	return events
}

func tracepointArgs(p *Point, o *Options) (*types.Struct, error) {
	f, err := o.Machine.TracepointFormat(p.Target, p.Func)
	if err != nil {
		return nil, err
	}
	return f.Struct(), nil
}

func describeTracepoint(p *Point, o *Options) ([]string, error) {
	return o.Machine.TracepointDecls(p.Target, p.Func)
}

// planTracepoint prefers mechanisms other than perf events: those cost 40 ns
// more a hit and up to 0.1 s each to detach. For kernel stacks the perf event is
// both cheaper and right by itself: the kernel hands it the registers of who fired
// the event. That of a system call has a frame of its own in front.
func planTracepoint(points []*Point, uses Uses, o *Options) ([]*Group, error) {
	var enter, exit, raw, perf []*Point
	var out []*Group
	calls := sync.OnceValue(func() bool { return syscallsUsable(o) })
	for _, p := range points {
		switch {
		case isSyscall(p, enterPrefix, o) && calls():
			enter = append(enter, p)
		case isSyscall(p, exitPrefix, o) && calls():
			exit = append(exit, p)
		case uses.Kernel:
			perf = append(perf, p)
		case uses.Args && p.Target == "raw_syscalls" && p.Func == "sys_enter" && calls():
			out = append(out, &Group{Points: []*Point{p}, Mech: rawSysEnter})
		case uses.Args && p.Target == "raw_syscalls" && p.Func == "sys_exit" && calls():
			out = append(out, &Group{Points: []*Point{p}, Mech: rawSysExit})
		case !uses.Args && !uses.Kfunc && !o.NoFeature["raw_tracepoint"] && hasRawTracepoint(p, o):
			raw = append(raw, p)
		default:
			perf = append(perf, p)
		}
	}
	if len(enter) > 0 {
		out = append(out, &Group{Points: enter, Mech: sysEnter})
	}
	if len(exit) > 0 {
		out = append(out, &Group{Points: exit, Mech: sysExit})
	}
	// A raw tracepoint program cannot tell its points apart before 6.10, and
	// one with a constant name is faster anyway.
	out = append(out, split(raw, rawTracepoint, !uses.Probe, nil)...)
	cookies := len(perf) > 1 && uses.Probe && o.has(machine.TraceCookie)
	return append(out, split(perf, perfTracepoint, !uses.Probe || cookies, indexCookies(cookies))...), nil
}

// split makes one group of all points, or one of each.
func split(points []*Point, m *Mechanism, together bool, extra any) []*Group {
	if len(points) == 0 {
		return nil
	}
	if together {
		return []*Group{{Points: points, Mech: m, Extra: extra}}
	}
	out := make([]*Group, len(points))
	for i := range points {
		out[i] = &Group{Points: points[i : i+1 : i+1], Mech: m, Extra: extra}
	}
	return out
}

// hasRawTracepoint reports whether the event is a tracepoint of its own.
// Those of system calls are made by hand from the two raw ones, those of
// ftrace are none, and dynamic events belong to kprobes and uprobes.
func hasRawTracepoint(p *Point, o *Options) bool {
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

var rawTracepoint = &Mechanism{
	Name:    "raw tracepoint",
	Program: bpf.RawTracepoint,
	Guard:   guardPID,
	Link:    linkRawByName,
}

// indexCookies in Group.Extra says that links carry the number of their point
// as cookie.
type indexCookies bool

// cookieIndex is Index of mechanisms whose links carry cookies.
func cookieIndex(c *Context) *ir.Value { return c.B.Call(int(asm.FnGetAttachCookie), c.Ctx) }

// cookieOf is the cookie of point i.
func cookieOf(g *Group, i int) uint64 {
	if g.cookies != nil {
		return g.cookies[i]
	}
	if on, _ := g.Extra.(indexCookies); on {
		return uint64(i)
	}
	return 0
}

// The first 8 bytes of a record hold the common fields for readers of the
// trace buffer. Programs may not read them, so they are made up.
var perfTracepoint = &Mechanism{
	Name:    "perf tracepoint",
	Program: bpf.Tracepoint,
	Slow:    true,
	Guard:   guardPID,
	Index:   cookieIndex,
	Record:  func(c *Context) *ir.Value { return c.Ctx },
	Field:   commonField,
	Link: func(progFD int, g *Group, o *Options) ([]Link, error) {
		var links []Link
		for i, p := range g.Points {
			id, err := o.Machine.TracepointID(p.Target, p.Func)
			if err != nil {
				return nil, errors.Join(err, closeAll(links))
			}
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: uint64(id), Sample: 1, Wakeup: 1}
			l, err := openPerf(nil, &attr, "", progFD, -1, 0, cookieOf(g, i))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", p.Name(), err), closeAll(links))
			}
			links = append(links, l)
		}
		return links, nil
	},
}
