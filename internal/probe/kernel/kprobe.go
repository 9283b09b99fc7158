package kernel

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:    "kprobe",
	Aliases: []string{"k"},
	Returns: "kretprobe",
	Doc: "Fires when a kernel function is called, or at an instruction of it. `args` has the arguments by name " +
		"as far as the kernel's types know the function, those on the stack too. `vfs_*(arg0=file)` are those " +
		"functions whose first argument points to a `struct file`; without the name of a module, those of the " +
		"kernel itself.",
	Example: `kprobe:vfs_read { @bytes = hist(arg2); }`,
	Forms: []string{"kprobe:[module:]function[+offset]", "kprobe:[module:]function(argN=struct)",
		"kprobe:address"},
	Has: probe.HasArgs | probe.HasArgN | probe.HasRegs | probe.HasFunc | probe.HasPID | probe.HasCtx |
		probe.HasOverride,
	Space: types.Kernel,
	Wild:  probe.KernelWild,
	Multi: machine.KprobeMulti,

	RegisterArgs: true,

	Parse:    parseKprobe,
	Match:    matchKprobe,
	Names:    probe.FunctionNames,
	Why:      whyUntraceable,
	List:     probe.ListMatches,
	Describe: describeKprobe,
	Args:     kprobeArgs,
	Proto:    callProto,
	Ctx:      probe.RegisterContext,
	Types:    moduleType,
	Plan:     planKprobe(&kprobeMulti, &kprobePerf),
})

var _ = probe.Define(probe.Kind{
	Name:    "kretprobe",
	Aliases: []string{"kr"},
	Doc:     "Fires when a kernel function returns.",
	Example: `kprobe:vfs_read { @at[tid] = nsecs; } kretprobe:vfs_read / @at[tid] / { @ns = hist(nsecs - ` +
		`@at[tid]); delete(@at, tid); }`,
	Forms: []string{"kretprobe:[module:]function", "kretprobe:[module:]function(argN=struct)",
		"kretprobe:address"},
	Has:      probe.HasRetval | probe.HasRegs | probe.HasFunc | probe.HasPID | probe.HasCtx,
	Space:    types.Kernel,
	Multi:    machine.KprobeMulti,
	Parse:    parseKretprobe,
	Match:    matchKprobe,
	Names:    probe.FunctionNames,
	Why:      whyUntraceable,
	List:     probe.ListMatches,
	Describe: describeKretprobe,
	Ctx:      probe.RegisterContext,
	Retval:   func(*probe.Point, *probe.Options) (types.Type, error) { return types.Int64, nil },
	Types:    moduleType,
	Proto:    callProto,
	Plan:     planKprobe(&kretprobeMulti, &kretprobePerf),
})

// parseKprobe parses what stands behind kprobe:. An address needs --unsafe, since nothing can tell
// whether an instruction starts there.
func parseKprobe(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	switch len(parts) {
	case 1:
		p.Pattern = &probe.Pattern{Fn: parts[0]}
	case 2:
		p.Pattern = &probe.Pattern{Target: parts[0], Fn: parts[1]}
	default:
		return probe.WrongCount(p, "1 or 2", parts)
	}
	p.Target = p.Pattern.Target.Text
	if err := cutTaking(p.Pattern); err != nil {
		return err
	}
	fn := p.Pattern.Fn
	// No function's name begins with a digit, unless it is quoted.
	if probe.StartsNumber(fn.Text) && !fn.Literal && p.Target == "" {
		if !o.Unsafe {
			return errors.New("Probing by address requires --unsafe")
		}
		addr, err := probe.ParseInt(fn.Text)
		p.Address = addr
		return err
	}
	if err := probe.ParseFuncOffset(p, fn); err != nil {
		return err
	}
	p.Pattern.Fn.Text = p.Func
	if p.Func == "" {
		return fmt.Errorf("%s probe must have a target function", p.Kind.Name)
	}
	return nil
}

// parseKretprobe is parseKprobe without offsets: only functions return.
func parseKretprobe(p *probe.Point, parts []probe.Part, o *probe.Options) error {
	if err := parseKprobe(p, parts, o); err != nil {
		return err
	}
	if p.Offset != 0 || strings.Contains(parts[len(parts)-1].Text, "+") && !parts[len(parts)-1].Literal {
		return probe.ErrNoOffset
	}
	return nil
}

// matchKprobe finds the functions. If the list of those that can be traced is not readable, only
// --unsafe goes on without it.
func matchKprobe(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	if p.Address != 0 {
		return []*probe.Point{p}, nil
	}
	wild := p.Wild()
	fns, err := o.Functions()
	switch {
	// The kernel decides then, which may take functions that no list has.
	case err != nil && o.Unsafe && !wild:
		return []*probe.Point{p}, nil
	case err != nil:
		o.WarnOnce(p, errno.Message(err))
		return nil, nil
	case !probe.ModuleLoaded(p, o):
		return nil, nil
	case wild:
		var out []*probe.Point
		t := takers{p: p, m: o.Machine, in: map[string]map[string]bool{}}
		probe.MatchFunctions(p.Pattern, fns, func(module, name string) {
			if !t.has(module, name) {
				return
			}
			q := *p
			q.Func = name
			if p.Target != "" {
				q.Target = module
			}
			out = append(out, &q)
		})
		if len(out) == 0 {
			return nil, t.err
		}
		return probe.SortPoints(out), nil
	case fns.Has(p.Target, p.Func):
		return []*probe.Point{p}, nil
	}
	// The words are the reference's, which tests of scripts look for.
	o.Warn(p, "%s is not traceable (either non-existing, inlined, or marked as \"notrace\"); attaching to it will "+
		"likely fail", p.Func)
	if o.Unsafe {
		return []*probe.Point{p}, nil
	}
	return nil, nil
}

// takers are the functions with the argument that a point asks for.
type takers struct {
	p   *probe.Point
	m   *machine.Machine
	in  map[string]map[string]bool // by module
	err error                      // why those of a module are not known
}

// has reports whether a function has the argument. The functions of a module are asked for once.
func (t *takers) has(module, name string) bool {
	arg := t.p.Pattern.Taking
	if arg == nil {
		return true
	}
	// Types of modules take a file each to read, some two hundred on a desktop.
	if t.p.Target == "" && module != probe.Vmlinux {
		return false
	}
	functions, known := t.in[module]
	if !known {
		var err error
		if functions, err = t.m.FunctionsTaking(module, arg.Number, arg.Struct); err != nil {
			t.err = err
		}
		t.in[module] = functions
	}
	return functions[name]
}

// cutTaking cuts the argument that functions are to have off a pattern: NAME(arg1=sk_buff).
func cutTaking(pat *probe.Pattern) error {
	name, condition, has := strings.Cut(pat.Fn.Text, "(")
	if !has || pat.Fn.Literal {
		return nil
	}
	// The whole is put together again below and compared, so that nothing else may stand in it.
	number, kind, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(condition, "arg"), ")"), "=")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > 5 || kind == "" || condition != "arg"+number+"="+kind+")" {
		return fmt.Errorf("%s: the condition is written (argN=struct), with N from 0 to 5", pat.Fn.Text)
	}
	pat.Fn.Text, pat.Taking = name, &probe.Argument{Number: n, Struct: kind}
	return nil
}

// describeKprobe prints the types of the arguments, numbered as argN counts
// them: those that travel in floating-point registers have no number.
func describeKprobe(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	params, _ := kernelSignature(p, o)
	var out []probe.Detail
	for _, d := range params {
		if d.Type != "float" && d.Type != "double" {
			out = append(out, typed(d.Type, fmt.Sprintf("arg%d", len(out))))
		}
	}
	return out, nil
}

// describeKretprobe prints the type of the result.
func describeKretprobe(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	_, result := kernelSignature(p, o)
	switch result {
	case "":
		return nil, nil
	case "void":
		return []probe.Detail{{Text: "void"}}, nil
	}
	return []probe.Detail{typed(result, "retval")}, nil
}

// planKprobe prefers one link for all functions, which is also cheaper per
// hit. It takes neither offsets nor addresses nor functions of modules by
// name.
func planKprobe(multi, perf *probe.Mechanism) func([]*probe.Point, probe.Uses, *probe.Options) ([]*probe.Group, error) {
	return func(points []*probe.Point, uses probe.Uses, o *probe.Options) ([]*probe.Group, error) {
		fixed := uses.Func && perf.Retval != nil && !o.Has(machine.GetFuncIP)
		if fixed {
			if err := haveAddresses(points, o); err != nil {
				return nil, err
			}
		}
		var many, single []*probe.Point
		// A link for many goes by names, which modules may share with the kernel.
		useMulti := o.Has(machine.KprobeMulti)
		for _, p := range points {
			if useMulti && !forced(p, o) && p.Offset == 0 && p.Address == 0 &&
				(p.Target == "" || p.Target == probe.Vmlinux) {
				many = append(many, p)
			} else {
				single = append(single, p)
			}
		}
		if len(single) > 0 {
			if err := o.Machine.Has(machine.KprobePMU); err != nil {
				return nil, err
			}
		}
		out := probe.Split(many, multi, true, len(many) > 1)
		// Without a cookie (before Linux 5.15) a body that asks for its probe is loaded for each
		// function.
		cookies := len(single) > 1 && uses.Probe && o.Has(machine.KprobeCookie)
		return append(out, probe.Split(single, perf, !fixed && (!uses.Probe || cookies),
			cookies)...), nil
	}
}

// forced reports whether only --unsafe makes hawk try a function. One link for
// many takes none that the kernel does not list; single kprobes may.
func forced(p *probe.Point, o *probe.Options) bool {
	if !o.Unsafe || p.Pattern == nil || p.Pattern.Fn.HasWild() {
		return false
	}
	fns, err := o.Functions()
	return err != nil || !fns.Has(p.Target, p.Func)
}

// regArg is argN of a function called with the registers of the context.
func regArg(c *probe.Context, n int) *ir.Value {
	return c.B.U64(c.Ctx, c.O.Machine.Arch().Args[n])
}

// haveAddresses says why func cannot be had in programs of one function each:
// the kernel lacks the helper and hides the addresses too.
func haveAddresses(points []*probe.Point, o *probe.Options) error {
	if _, err := o.Machine.KernelSymbols(); err != nil {
		return fmt.Errorf("func in %s probes needs Linux %s or newer, or the kernel's symbols: %w",
			points[0].Kind.Name, machine.GetFuncIP.Since, err)
	}
	return nil
}

// kprobeFunc is func: the helper's answer, or the address where the program is, which is the
// function's if the probe has no offset.
func kprobeFunc(c *probe.Context) *ir.Value {
	for _, p := range c.Group.Points {
		if p.Offset != 0 || p.Address != 0 {
			return probe.CurrentIP(c)
		}
	}
	if !c.O.Has(machine.GetFuncIP) {
		return probe.CurrentIP(c)
	}
	return probe.FuncIP(c)
}

// The mechanisms refer to the table's functions only through the variables
// below, so that kinds can name them before they are built.
var (
	kprobeMulti = probe.Mechanism{
		Functions: true,
		Name:      "kprobe.multi",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Attach:    bpf.AttachKprobeMulti,
		Backwards: true,
		Guard:     probe.GuardPID,
		Index:     probe.CookieIndex,
		Arg:       regArg,
		Field:     callField,
		Regs:      probe.ContextRegs,
		Func:      probe.FuncIP,
		Link:      linkKprobeMulti(0),
	}
	kretprobeMulti = probe.Mechanism{
		Functions: true,
		Name:      "kprobe.multi return",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Attach:    bpf.AttachKprobeMulti,
		Guard:     probe.GuardPID,
		Index:     probe.CookieIndex,
		Retval:    probe.RegRetval,
		Regs:      probe.ContextRegs,
		Func:      probe.FuncIP,
		Link:      linkKprobeMulti(bpf.MultiReturn),
	}
	kprobePerf = probe.Mechanism{
		Functions: true,
		Name:      "perf kprobe",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Backwards: true,
		Guard:     probe.GuardPID,
		Index:     probe.CookieIndex,
		Arg:       regArg,
		Field:     callField,
		Regs:      probe.ContextRegs,
		Func:      kprobeFunc,
		Link:      linkKprobePerf(0),
	}
	kretprobePerf = probe.Mechanism{
		Functions: true,
		Name:      "perf kretprobe",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Guard:     probe.GuardPID,
		Index:     probe.CookieIndex,
		Retval:    probe.RegRetval,
		Regs:      probe.ContextRegs,
		Func:      probe.FuncIP,
		Link:      linkKprobePerf(attach.ReturnBit),
	}
)
