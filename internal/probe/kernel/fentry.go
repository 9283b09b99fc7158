package kernel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:    "fentry",
	Aliases: []string{"f", "kfunc"},
	Returns: "fexit",
	Doc: "Fires when a kernel function is called, with its arguments by name. With `bpf` in place of a " +
		"module, when a BPF program or a function of one runs, without arguments.",
	Example:  `fentry:vfs_read { @bytes[comm] = sum(args.count); }`,
	Forms:    []string{"fentry:[module:]function", "fentry:bpf:[id:]program"},
	Has:      probe.HasArgs | probe.HasFunc | probe.HasPID | probe.HasObjects | probe.HasPaths,
	Space:    types.Kernel,
	Wild:     probe.KernelWild,
	Parse:    parseFentry,
	Match:    matchFentry,
	Names:    probe.FunctionNames,
	Why:      whyUntraceable,
	List:     probe.ListMatches,
	Describe: describeFentry,
	Args:     fentryArgs,
	Types:    moduleType,
	Plan:     planFentry(&fentryMechanism, &fentryProgram),
})

var _ = probe.Define(probe.Kind{
	Name:     "fexit",
	Aliases:  []string{"fr", "kretfunc"},
	Doc:      "Fires when a kernel function returns, with its arguments by name and its result.",
	Example:  `fexit:vfs_read / (int64)retval < 0 / { @[comm, strerror((int64)retval)] = count(); }`,
	Forms:    []string{"fexit:[module:]function", "fexit:bpf:[id:]program"},
	Has:      probe.HasArgs | probe.HasRetval | probe.HasFunc | probe.HasPID | probe.HasObjects | probe.HasPaths,
	Space:    types.Kernel,
	Parse:    parseFentry,
	Match:    matchFentry,
	Names:    probe.FunctionNames,
	Why:      whyUntraceable,
	List:     probe.ListMatches,
	Describe: describeFexit,
	Args:     fentryArgs,
	Proto:    callProto,
	Retval:   fexitRetval,
	Types:    moduleType,
	Plan:     planFentry(&fexitMechanism, &fexitProgram),
})

// parseFentry parses what stands behind fentry: and fexit:.
func parseFentry(p *probe.Point, parts []probe.Part, _ *probe.Options) error {
	switch {
	case len(parts) > 0 && parts[0].Text == onBPF && len(parts) == 1:
		return errors.New("the bpf variant of this probe needs a program name")
	case len(parts) > 0 && parts[0].Text == onBPF && len(parts) <= 3:
		return parseBPFProgram(p, parts)
	// The words are the reference's: with the kind in front these are four parts.
	case len(parts) == 3:
		return errors.New("Only the 'bpf' variant of this probe supports 4 arguments")
	case len(parts) == 1:
		p.Pattern = &probe.Pattern{Fn: parts[0]}
	case len(parts) == 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
	default:
		return probe.WrongCount(p, "1 or 2", parts)
	}
	p.Target, p.Func = p.Pattern.Target.Text, p.Pattern.Fn.Text
	if p.Func == "" {
		return fmt.Errorf("%s probe must have a target function", p.Kind.Name)
	}
	return nil
}

// matchFentry finds the functions that can be followed: the kernel lets them be traced, it has
// their types, and its trampolines can deal with those.
func matchFentry(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	if p.Target == onBPF {
		return matchBPFProgram(p, o)
	}
	if _, err := o.Machine.BTF(); err != nil {
		return nil, err
	}
	// A module that is not there has no functions, rather than an error: a pattern may cover
	// others.
	if !probe.ModuleLoaded(p, o) {
		return nil, nil
	}
	// The list is read from tracefs, which not everybody may: a name can do without, a pattern
	// cannot.
	fns, err := o.Functions()
	if err != nil {
		o.WarnOnce(p, errno.Message(err))
	}
	if p.Wild() {
		if err != nil {
			return nil, nil
		}
		return wildFentry(p, fns, o)
	}
	module := p.Target
	if module == "" {
		// Without a list the kernel image is the only place that can be
		// searched without loading the types of every module.
		modules := []string{probe.Vmlinux}
		if err == nil {
			modules = fns.Modules(p.Func)
		}
		switch len(modules) {
		case 0:
			return nil, nil
		case 1:
			module = modules[0]
		default:
			return nil, fmt.Errorf("ambiguous attach point, please specify module containing the function '%s' (%s)",
				p.Func, strings.Join(modules, ", "))
		}
	} else if err == nil && !fns.Has(module, p.Func) {
		return nil, nil
	}
	f, ferr := o.Machine.FuncProto(module, p.Func)
	switch {
	case errors.Is(ferr, btf.ErrNotFound) && err != nil:
		return nil, nil
	case errors.Is(ferr, btf.ErrNotFound):
		return nil, fmt.Errorf("No BTF found for %s.", p.Func)
	case ferr != nil:
		return nil, ferr
	}
	if why := unsuited(f, mostWords); why != "" {
		return nil, probe.Hint(fmt.Errorf("%s %s", p.Func, why), "a kprobe or kretprobe can be put on it")
	}
	q := *p
	q.Target = module
	return []*probe.Point{&q}, nil
}

// wildFentry intersects the traceable functions with those that have types.
func wildFentry(p *probe.Point, fns *machine.Functions, o *probe.Options) ([]*probe.Point, error) {
	byModule := map[string]map[string]bool{}
	pat := *p.Pattern
	if pat.Target.Text == "" {
		pat.Target = probe.Part{Text: "*"}
	}
	probe.MatchFunctions(&pat, fns, func(module, name string) {
		if byModule[module] == nil {
			byModule[module] = map[string]bool{}
		}
		byModule[module][name] = true
	})
	var out []*probe.Point
	for module, names := range byModule {
		s, err := o.Machine.ModuleBTF(module)
		if err != nil {
			continue // a module without BTF has no candidates
		}
		registers := len(o.Machine.Arch().Args)
		err = s.Each(btf.Set(btf.Func), func(id uint32, _ btf.Kind, name []byte) bool {
			if !names[string(name)] {
				return true
			}
			// A pattern passes over what would fail; a name gets the reason.
			if f, err := s.FuncByID(id); err != nil || unsuited(f, registers) != "" {
				return true
			}
			q := *p
			q.Target, q.Func = module, string(name)
			out = append(out, &q)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return probe.SortPoints(out), nil
}

// slotCount is how many words the arguments of a function take, by which the context is indexed: a
// struct of 16 bytes takes two.
func slotCount(f *types.Func) int {
	n := 0
	for _, p := range f.Params {
		n += slotsOf(p.Type)
	}
	return n
}

// mostWords is how many words of arguments the kernel passes on to programs at
// most (MAX_BPF_FUNC_ARGS). Those on the stack it passes on since Linux 6.6,
// which shows when a program is attached: patterns cover only functions whose
// arguments travel in registers.
const mostWords = 12

// unsuited says what about a function's prototype the kernel's trampolines
// cannot deal with, "" if they can (btf_distill_func_proto in
// kernel/bpf/btf.c). most is how many words of arguments it may take.
func unsuited(f *types.Func, most int) string {
	const largest = 16 // bytes of a struct that travels in registers
	if n := slotCount(f); n > most {
		return fmt.Sprintf("takes %d words of arguments, more than the %d that programs can be given", n, most)
	}
	// The trampoline saves as many arguments as the prototype has.
	if f.More {
		return "takes a variable number of arguments"
	}
	if _, ok := f.Result.(*types.Struct); ok {
		return "returns a struct or union by value"
	}
	for _, p := range f.Params {
		if s, ok := p.Type.(*types.Struct); ok && (s.Kind == types.UnionKind || s.Size() > largest) {
			return fmt.Sprintf("takes a struct or union of %d bytes by value", s.Size())
		}
	}
	return ""
}

// fentryArgs is the type of args: the slots of the context.
func fentryArgs(p *probe.Point, o *probe.Options) (*types.Struct, error) {
	if p.Target == onBPF {
		return nil, errNoProgramTypes
	}
	f, err := o.Machine.FuncProto(p.Target, p.Func)
	if err != nil {
		return nil, err
	}
	return slotStruct("fentry:"+p.Func+"_args", f.Params), nil
}

// fexitRetval is the type of retval, which functions without a result do not have.
func fexitRetval(p *probe.Point, o *probe.Options) (types.Type, error) {
	if p.BPF != nil && o.Machine.Portable() {
		return nil, errors.New("where a BPF program's result is depends on the program: it can not be used in what " +
			"is compiled ahead of time")
	}
	f, err := functionType(p, o)
	if err != nil {
		return nil, err
	}
	if f.Result == types.Void {
		return nil, fmt.Errorf("%s returns nothing", p.Func)
	}
	return f.Result, nil
}

// functionType is the prototype of the function, of the kernel or of a BPF
// program, that a point is on.
func functionType(p *probe.Point, o *probe.Options) (*types.Func, error) {
	if f := p.BPF; f != nil {
		return f.Proto, nil
	}
	return o.Machine.FuncProto(p.Target, p.Func)
}

// kernelSignature is a function's parameters and result in C, nil and "" if
// it has no types.
func kernelSignature(p *probe.Point, o *probe.Options) ([]btf.Decl, string) {
	if p.Target == onBPF {
		return nil, ""
	}
	s, err := o.Machine.ModuleBTF(p.Target)
	if err != nil {
		return nil, ""
	}
	id, err := s.Find(p.Func, btf.Set(btf.Func))
	if err != nil {
		return nil, ""
	}
	params, result, err := s.Signature(id)
	if err != nil {
		return nil, ""
	}
	return params, result
}

// describeFentry prints the arguments as C declares them.
func describeFentry(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	params, _ := kernelSignature(p, o)
	return declLines(params), nil
}

// describeFexit prints arguments and result.
func describeFexit(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	params, result := kernelSignature(p, o)
	out := declLines(params)
	if result != "" && result != "void" {
		out = append(out, typed(result, "retval"))
	}
	return out, nil
}

// planFentry gives every function a program: what it attaches to and the
// types of its arguments are fixed when it is loaded.
func planFentry(m, program *probe.Mechanism) func([]*probe.Point, probe.Uses, *probe.Options) ([]*probe.Group, error) {
	return func(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
		if err := o.Machine.Has(machine.Fentry); err != nil {
			return nil, err
		}
		// A program of one function can have its address as a constant instead.
		if uses.Func && !o.Has(machine.GetFuncIP) {
			if err := haveAddresses(points, o); err != nil {
				return nil, err
			}
		}
		programs, kernel := bpfPoints(points)
		return append(probe.Split(programs, program, false, false), probe.Split(kernel, m, false, false)...), nil
	}
}

// linkFunction attaches to a function of the kernel, whose trampolines may not
// know arguments on the stack.
func linkFunction(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
	// The kernel says EINVAL or ENOTSUPP for whatever it does not like about a prototype.
	links, err := linkTracing(progFD, g, o)
	if err != nil {
		p, registers := g.Points[0], len(o.Machine.Arch().Args)
		if f, ferr := functionType(p, o); ferr == nil && slotCount(f) > registers {
			return nil, fmt.Errorf("%s: it takes %d words of arguments, and this kernel passes on the %d that "+
				"travel in registers (a kprobe can be put on it): %w",
				p.Name(), slotCount(f), registers, err)
		}
	}
	return links, err
}

// fentryID is what the kernel calls the function: its number in the BTF of its module.
func fentryID(g *probe.Group, o *probe.Options) (uint32, string, error) {
	p := g.Points[0]
	f, err := o.Machine.FuncProto(p.Target, p.Func)
	if err != nil {
		return 0, "", err
	}
	return f.BTFID, p.Target, nil
}

var (
	fentryMechanism = followFunction("fentry", bpf.AttachFentry, nil)
	fexitMechanism  = followFunction("fexit", bpf.AttachFexit, fexitResult)
	fentryProgram   = followProgram("fentry of a BPF program", bpf.AttachFentry, nil)
	fexitProgram    = followProgram("fexit of a BPF program", bpf.AttachFexit, programResult)
)

// followFunction is the mechanism on functions of the kernel. Of several programs on one function
// the trampoline runs the newest first (Backwards), and to detach waits for all CPUs (Slow).
func followFunction(name string, at bpf.AttachType, retval func(*probe.Context) *ir.Value) probe.Mechanism {
	return probe.Mechanism{
		Name: name, Program: bpf.Tracing, Attach: at, Backwards: true, Slow: true,
		BTFID: fentryID, Guard: probe.GuardPID, Field: slotField, Retval: retval, Func: probe.FuncIP,
		Link: linkFunction,
	}
}

// followProgram is the mechanism on BPF programs, of whose arguments nothing is known.
func followProgram(name string, at bpf.AttachType, retval func(*probe.Context) *ir.Value) probe.Mechanism {
	return probe.Mechanism{
		Name: name, Program: bpf.Tracing, Attach: at, Backwards: true, Slow: true,
		Target: programTarget, Guard: probe.GuardPID, Retval: retval, Func: probe.FuncIP, Link: linkTracing,
	}
}

// fexitResult is the slot behind the arguments.
func fexitResult(c *probe.Context) *ir.Value {
	p := c.Group.Points[0]
	f, err := c.O.Machine.FuncProto(p.Target, p.Func)
	if err != nil || f.Result == types.Void {
		return c.B.Const(0)
	}
	// The kernel puts it there for fexit alone.
	return loadSlot(c, slotCount(f), f.Result)
}
