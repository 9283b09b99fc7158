package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:     "rawtracepoint",
	Aliases:  []string{"rt"},
	Doc:      "A tracepoint with the arguments the kernel passes to it.",
	Example:  `rawtracepoint:sched_switch { @[args.prev.comm] = count(); }`,
	Forms:    []string{"rawtracepoint:[module:]event"},
	Has:      probe.HasArgs | probe.HasArgN | probe.HasPID | probe.HasObjects,
	Space:    types.Kernel,
	Wild:     probe.KernelWild,
	Parse:    parseRawTracepoint,
	Match:    matchRawTracepoint,
	Why:      whyNoRawTracepoint,
	Names:    rawTracepointNames,
	List:     probe.ListMatches,
	Describe: describeRawTracepoint,
	Args:     rawTracepointArgs,
	Types:    moduleType,
	Plan:     planRawTracepoint,
})

// parseRawTracepoint parses what stands behind rawtracepoint:.
func parseRawTracepoint(p *probe.Point, parts []probe.Part, _ *probe.Options) error {
	switch len(parts) {
	case 1:
		p.Pattern = &probe.Pattern{Fn: parts[0]}
	case 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
		p.Target = parts[0].Text
	default:
		return probe.WrongCount(p, "1 or 2", parts)
	}
	p.Func = p.Pattern.Fn.Text
	return nil
}

// whyNoRawTracepoint finds the event where the script does not look for it: what stands before its
// name is a module, and not a subsystem as for tracepoints.
func whyNoRawTracepoint(p *probe.Point, o *probe.Options) string {
	if p.Pattern == nil || p.Pattern.Target.Text == "" || p.Pattern.Fn.HasWild() {
		return ""
	}
	q := *p
	q.Target, q.Pattern = "", &probe.Pattern{Fn: p.Pattern.Fn}
	if found, err := matchRawTracepoint(&q, o); err != nil || len(found) == 0 {
		return ""
	}
	return "did you mean " + p.Kind.Name + ":" + p.Func + "?"
}

// moduleOf is where the events of a point are looked for: everywhere if the script names no module.
func moduleOf(p *probe.Point) probe.Part {
	if p.Pattern == nil || p.Pattern.Target.Text == "" { // a point that could not be parsed has no pattern
		return probe.Part{Text: "*"}
	}
	return p.Pattern.Target
}

// moduleSpecs calls f with the BTF of the kernel and of every module that the
// part covers.
func moduleSpecs(part probe.Part, o *probe.Options, f func(module string, s *btf.Spec) error) error {
	if part.Matches(probe.Vmlinux) {
		s, err := o.Machine.BTF()
		if err != nil {
			return err
		}
		if err := f(probe.Vmlinux, s); err != nil {
			return err
		}
	}
	// The modules' types are not read for what can only be in the image.
	if part.Text == probe.Vmlinux {
		return nil
	}
	for _, m := range o.Machine.BTFModules() {
		if !part.Matches(m) {
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

// matchRawTracepoint finds events by their types, of which each has one: the kernel lists raw
// tracepoints nowhere.
func matchRawTracepoint(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	var out []*probe.Point
	add := func(module, event string) {
		q := *p
		q.Target, q.Func = module, event
		out = append(out, &q)
	}
	err := moduleSpecs(moduleOf(p), o, func(module string, s *btf.Spec) error {
		// A name is looked up, a pattern takes a walk over all types.
		if !p.Pattern.Fn.HasWild() {
			// Without a module in the script the first that has it is meant.
			if len(out) > 0 && moduleOf(p).HasWild() {
				return nil
			}
			// Types of the image are found through those of every module.
			if hasRawTP(s, p.Func) && (module == probe.Vmlinux || !inVmlinux(p.Func, o)) {
				add(module, p.Func)
			}
			return nil
		}
		return s.EachRawTracepoint(func(event []byte) bool {
			if probe.PartMatches(p.Pattern.Fn, event) {
				add(module, string(event))
			}
			return true
		})
	})
	if errors.Is(err, machine.ErrNoBTF) {
		return nil, fmt.Errorf("rawtracepoints require kernel BTF: %w", err)
	}
	return probe.SortPoints(out), err
}

// hasRawTP reports whether BTF has the type of an event.
func hasRawTP(s *btf.Spec, event string) bool {
	_, _, err := s.RawTracepointID(event)
	return err == nil
}

// inVmlinux tells what a module brings from what its BTF builds upon.
func inVmlinux(event string, o *probe.Options) bool {
	s, err := o.Machine.BTF()
	return err == nil && hasRawTP(s, event)
}

// rawTracepointNames are the events of the modules that the point covers, for suggestions.
func rawTracepointNames(p *probe.Point, o *probe.Options) []string {
	var out []string
	moduleSpecs(moduleOf(p), o, func(_ string, s *btf.Spec) error {
		return s.EachRawTracepoint(func(event []byte) bool {
			out = append(out, string(event))
			return true
		})
	})
	return out
}

// rawTracepointArgs is the type of args: the parameters as slots.
func rawTracepointArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	f, _, err := o.Machine.RawTracepoint(p.Target, p.Func)
	if err != nil {
		return nil, err
	}
	return slotStruct("rawtracepoint:"+p.Func+"_args", f.Params), nil
}

// describeRawTracepoint prints the parameters of a tracepoint.
func describeRawTracepoint(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	s, err := o.Machine.ModuleBTF(p.Target)
	if err != nil {
		return nil, err
	}
	params, err := s.RawTracepointDecls(p.Func)
	return declLines(params), err
}

// declLines are parameters as -lv prints them, with a space before and after
// the stars.
func declLines(params []btf.Decl) []probe.Detail {
	out := make([]probe.Detail, len(params))
	for i, d := range params {
		out[i] = typed(d.Type, d.Name)
	}
	return out
}

// typed is an argument with its type in front.
func typed(typ, name string) probe.Detail {
	return probe.Detail{Text: typ + " " + name, Name: name, Type: typ}
}

// planRawTracepoint takes a program without types where no argument is asked
// for by name: it needs no BTF, and its slots are numbers to the verifier.
func planRawTracepoint(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
	// Kernel functions that a body calls are for programs with types alone.
	if !uses.Args && !uses.Kfunc {
		// How the kernel comes from an event to its programs is the event's own affair, and part of their stacks.
		return probe.Split(points, untypedRaw, !uses.Probe && !uses.Kernel, false), nil
	}
	return probe.Split(points, typedRaw, false, false), nil
}

var untypedRaw = &probe.Mechanism{
	Name:    "raw tracepoint",
	Program: bpf.RawTracepoint,
	Guard:   probe.GuardPID,
	Arg:     func(c *probe.Context, n int) *ir.Value { return c.B.U64(c.Ctx, 8*n) },
	Link:    linkRawByName,
}

var typedRaw = &probe.Mechanism{
	Name:    "typed raw tracepoint",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID: func(g *probe.Group, o *probe.Options) (uint32, string, error) {
		return o.Machine.RawTracepointID(g.Points[0].Target, g.Points[0].Func)
	},
	Guard: probe.GuardPID,
	Arg:   rawSlot,
	Field: slotField,
	Link:  linkTracing,
}

// linkRawByName attaches one program to raw tracepoints by name.
func linkRawByName(progFD int, g *probe.Group, _ *probe.Options) ([]probe.Link, error) {
	var links []probe.Link
	for _, p := range g.Points {
		// The name alone counts: no two modules have an event of one name.
		l, err := attach.LinkRaw(p.Func, progFD)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w%s", p.Name(), err, rawAdvice(err)), attach.CloseAll(links))
		}
		links = append(links, l)
	}
	return links, nil
}

// rawAdvice says what may be behind an error of attaching.
func rawAdvice(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return " (the kernel has no raw tracepoint of that name; for tracepoint probes try --no-feature raw_tracepoint)"
	case errors.Is(err, unix.EINVAL):
		return " (does the body use more arguments than the event has?)"
	}
	return ""
}
