package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Kind{
	Name:     "rawtracepoint",
	Aliases:  []string{"rt"},
	Doc:      "A tracepoint with the arguments the kernel passes to it.",
	Example:  `rawtracepoint:sched_switch { @[args.prev.comm] = count(); }`,
	Forms:    []string{"rawtracepoint:[module:]event"},
	Has:      HasArgs | HasArgN | HasPID | HasObjects,
	Space:    types.Kernel,
	Wild:     KernelWild,
	Parse:    parseRawTracepoint,
	Match:    matchRawTracepoint,
	Names:    rawTracepointNames,
	List:     listMatches,
	Describe: describeRawTracepoint,
	Args:     rawTracepointArgs,
	Types:    moduleType,
	Plan:     planRawTracepoint,
})

func parseRawTracepoint(p *Point, parts []Part, _ *Options) error {
	switch len(parts) {
	case 1:
		p.pattern = &pattern{target: Part{Text: "*"}, fn: parts[0]}
	case 2:
		p.pattern = &pattern{target: parts[0], fn: parts[1]}
		p.Target = parts[0].Text
	default:
		return wrongCount(p, "1 or 2", parts)
	}
	p.Func = p.pattern.fn.Text
	return nil
}

// moduleSpecs calls f with the BTF of the kernel and of every module that the
// part covers.
func moduleSpecs(part Part, o *Options, f func(module string, s *btf.Spec) error) error {
	if part.matches(vmlinux) {
		s, err := o.Machine.BTF()
		if err != nil {
			return err
		}
		if err := f(vmlinux, s); err != nil {
			return err
		}
	}
	if part.Text == vmlinux {
		return nil
	}
	for _, m := range o.Machine.BTFModules() {
		if !part.matches(m) {
			continue
		}
		// A module that goes away meanwhile has no probes.
		if s, err := o.Machine.ModuleBTF(m); err == nil {
			if err := f(m, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func matchRawTracepoint(p *Point, o *Options) ([]*Point, error) {
	var out []*Point
	add := func(module, event string) {
		q := *p
		q.Target, q.Func = module, event
		out = append(out, &q)
	}
	err := moduleSpecs(p.pattern.target, o, func(module string, s *btf.Spec) error {
		if !p.pattern.fn.HasWild() {
			// Without a module in the script the first that has it is meant.
			if len(out) > 0 && p.pattern.target.HasWild() {
				return nil
			}
			if hasRawTP(s, p.Func) && (module == vmlinux || !inVmlinux(p.Func, o)) {
				add(module, p.Func)
			}
			return nil
		}
		return s.EachRawTracepoint(func(event []byte) bool {
			if partMatches(p.pattern.fn, event) {
				add(module, string(event))
			}
			return true
		})
	})
	if errors.Is(err, machine.ErrNoBTF) {
		return nil, fmt.Errorf("rawtracepoints require kernel BTF: %w", err)
	}
	return sortPoints(out), err
}

func hasRawTP(s *btf.Spec, event string) bool {
	_, _, err := s.RawTracepointID(event)
	return err == nil
}

// inVmlinux tells what a module brings from what its BTF builds upon.
func inVmlinux(event string, o *Options) bool {
	s, err := o.Machine.BTF()
	return err == nil && hasRawTP(s, event)
}

func rawTracepointNames(p *Point, o *Options) []string {
	var out []string
	module := Part{Text: "*"}
	if p.pattern != nil { // which a point that could not be parsed has not
		module = p.pattern.target
	}
	moduleSpecs(module, o, func(_ string, s *btf.Spec) error {
		return s.EachRawTracepoint(func(event []byte) bool {
			out = append(out, string(event))
			return true
		})
	})
	return out
}

func rawTracepointArgs(p *Point, o *Options) (*types.Struct, error) {
	f, _, err := o.Machine.RawTracepoint(p.Target, p.Func)
	if err != nil {
		return nil, err
	}
	return slotStruct("rawtracepoint:"+p.Func+"_args", f.Params), nil
}

// describeRawTracepoint prints the parameters of a tracepoint.
func describeRawTracepoint(p *Point, o *Options) ([]string, error) {
	s, err := o.Machine.ModuleBTF(p.Target)
	if err != nil {
		return nil, err
	}
	params, err := s.RawTracepointDecls(p.Func)
	return declLines(params), err
}

// declLines are parameters as -lv prints them, with a space before and after
// the stars.
func declLines(params []btf.Decl) []string {
	out := make([]string, len(params))
	for i, d := range params {
		out[i] = d.Type + " " + d.Name
	}
	return out
}

// planRawTracepoint takes a program without types where no argument is asked
// for by name: it needs no BTF, and its slots are numbers to the verifier.
func planRawTracepoint(points []*Point, uses Uses, o *Options) ([]*Group, error) {
	if !uses.Args && !uses.Kfunc {
		// How the kernel comes from an event to its programs is the event's own affair, and part of their stacks.
		return split(points, untypedRaw, !uses.Probe && !uses.Kernel, nil), nil
	}
	return split(points, typedRaw, false, nil), nil
}

var untypedRaw = &Mechanism{
	Name:    "raw tracepoint",
	Program: bpf.RawTracepoint,
	Guard:   guardPID,
	Arg:     func(c *Context, n int) *ir.Value { return c.B.Load(c.Ctx, 8*n, 8, false) },
	Link:    linkRawByName,
}

var typedRaw = &Mechanism{
	Name:    "typed raw tracepoint",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID: func(g *Group, o *Options) (uint32, string, error) {
		return o.Machine.RawTracepointID(g.Points[0].Target, g.Points[0].Func)
	},
	Guard: guardPID,
	Arg:   rawSlot,
	Field: slotField,
	Link:  linkTracing,
}

// linkRawByName attaches one program to raw tracepoints by name.
func linkRawByName(progFD int, g *Group, _ *Options) ([]Link, error) {
	var links []Link
	for _, p := range g.Points {
		l, err := linkRaw(p.Func, progFD)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w%s", p.Name(), err, rawAdvice(err)), closeAll(links))
		}
		links = append(links, l)
	}
	return links, nil
}

func rawAdvice(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return " (the kernel has no raw tracepoint of that name; for tracepoint probes try --no-feature raw_tracepoint)"
	case errors.Is(err, unix.EINVAL):
		return " (does the body use more arguments than the event has?)"
	}
	return ""
}
