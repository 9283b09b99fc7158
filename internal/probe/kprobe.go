package probe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = define(Kind{
	Name:    "kprobe",
	Aliases: []string{"k"},
	Doc:     "Fires when a kernel function is called, or at an instruction of it. `args` has the arguments by name as far as the kernel's types know the function, those on the stack too.",
	Example: `kprobe:vfs_read { @bytes = hist(arg2); }`,
	Forms:   []string{"kprobe:[module:]function[+offset]", "kprobe:address"},
	Has:     HasArgs | HasArgN | HasRegs | HasFunc | HasPID | HasCtx | HasOverride,
	Space:   types.Kernel,
	Wild:    KernelWild,
	Multi:   machine.KprobeMulti,

	RegisterArgs: true,

	Parse:    parseKprobe,
	Match:    matchKprobe,
	Names:    functionNames,
	Why:      whyUntraceable,
	List:     listMatches,
	Describe: describeKprobe,
	Args:     kprobeArgs,
	Ctx:      registerContext,
	Types:    moduleType,
	Plan:     planKprobe(&kprobeMulti, &kprobePerf),
})

var _ = define(Kind{
	Name:     "kretprobe",
	Aliases:  []string{"kr"},
	Doc:      "Fires when a kernel function returns.",
	Example:  `kprobe:vfs_read { @at[tid] = nsecs; } kretprobe:vfs_read / @at[tid] / { @ns = hist(nsecs - @at[tid]); delete(@at, tid); }`,
	Forms:    []string{"kretprobe:[module:]function", "kretprobe:address"},
	Has:      HasRetval | HasRegs | HasFunc | HasPID | HasCtx,
	Space:    types.Kernel,
	Multi:    machine.KprobeMulti,
	Parse:    parseKretprobe,
	Match:    matchKprobe,
	Names:    functionNames,
	Why:      whyUntraceable,
	List:     listMatches,
	Describe: describeKretprobe,
	Ctx:      registerContext,
	Retval:   func(*Point, *Options) (types.Type, error) { return types.Int64, nil },
	Types:    moduleType,
	Plan:     planKprobe(&kretprobeMulti, &kretprobePerf),
})

func parseKprobe(p *Point, parts []Part, o *Options) error {
	switch len(parts) {
	case 1:
		p.pattern = &pattern{fn: parts[0]}
	case 2:
		p.pattern = &pattern{target: parts[0], fn: parts[1]}
	default:
		return wrongCount(p, "1 or 2", parts)
	}
	p.Target = p.pattern.target.Text
	fn := p.pattern.fn
	if startsNumber(fn.Text) && !fn.Literal && p.Target == "" {
		if !o.Unsafe {
			return errors.New("Probing by address requires --unsafe")
		}
		addr, err := parseInt(fn.Text)
		p.Address = addr
		return err
	}
	if err := parseFuncOffset(p, fn); err != nil {
		return err
	}
	p.pattern.fn.Text = p.Func
	if p.Func == "" {
		return fmt.Errorf("%s probe must have a target function", p.Kind.Name)
	}
	return nil
}

var errNoOffset = errors.New("Offset not allowed")

func parseKretprobe(p *Point, parts []Part, o *Options) error {
	if err := parseKprobe(p, parts, o); err != nil {
		return err
	}
	if p.Offset != 0 || strings.Contains(parts[len(parts)-1].Text, "+") && !parts[len(parts)-1].Literal {
		return errNoOffset
	}
	return nil
}

func matchKprobe(p *Point, o *Options) ([]*Point, error) {
	if p.Address != 0 {
		return []*Point{p}, nil
	}
	wild := p.Wild()
	fns, err := o.functions()
	switch {
	case err != nil && o.Unsafe && !wild:
		return []*Point{p}, nil
	case err != nil:
		o.warnOnce(p, errno.Message(err))
		return nil, nil
	case !moduleLoaded(p, o):
		return nil, nil
	case wild:
		var out []*Point
		matchFunctions(p.pattern, fns, func(module, name string) {
			q := *p
			q.Func = name
			if p.Target != "" {
				q.Target = module
			}
			out = append(out, &q)
		})
		return sortPoints(out), nil
	case fns.Has(p.Target, p.Func):
		return []*Point{p}, nil
	}
	o.warn(p, "%s is not traceable (either non-existing, inlined, or marked as \"notrace\"); attaching to it will likely fail", p.Func)
	if o.Unsafe {
		return []*Point{p}, nil
	}
	return nil, nil
}

// describeKprobe prints the types of the arguments, numbered as argN counts
// them: those that travel in floating-point registers have no number.
func describeKprobe(p *Point, o *Options) ([]string, error) {
	params, _ := kernelSignature(p, o)
	var out []string
	for _, d := range params {
		if d.Type != "float" && d.Type != "double" {
			out = append(out, fmt.Sprintf("%s arg%d", d.Type, len(out)))
		}
	}
	return out, nil
}

func describeKretprobe(p *Point, o *Options) ([]string, error) {
	_, result := kernelSignature(p, o)
	switch result {
	case "":
		return nil, nil
	case "void":
		return []string{"void"}, nil
	}
	return []string{result + " retval"}, nil
}

// planKprobe prefers one link for all functions, which is also cheaper per
// hit. It takes neither offsets nor addresses nor functions of modules by
// name.
func planKprobe(multi, perf *Mechanism) func([]*Point, Uses, *Options) ([]*Group, error) {
	return func(points []*Point, uses Uses, o *Options) ([]*Group, error) {
		fixed := uses.Func && perf.Retval != nil && !o.has(machine.GetFuncIP)
		if fixed {
			if err := haveAddresses(points, o); err != nil {
				return nil, err
			}
		}
		var many, single []*Point
		useMulti := o.has(machine.KprobeMulti)
		for _, p := range points {
			if useMulti && !forced(p, o) && p.Offset == 0 && p.Address == 0 && (p.Target == "" || p.Target == vmlinux) {
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
		out := split(many, multi, true, indexCookies(len(many) > 1))
		cookies := len(single) > 1 && uses.Probe && o.has(machine.KprobeCookie)
		return append(out, split(single, perf, !fixed && (!uses.Probe || cookies), indexCookies(cookies))...), nil
	}
}

// forced reports whether only --unsafe makes hawk try a function. One link for
// many takes none that the kernel does not list; single kprobes may.
func forced(p *Point, o *Options) bool {
	if !o.Unsafe || p.pattern == nil || p.pattern.fn.HasWild() {
		return false
	}
	fns, err := o.functions()
	return err != nil || !fns.Has(p.Target, p.Func)
}

// regArg is argN of a function called with the registers of the context.
func regArg(c *Context, n int) *ir.Value {
	return c.B.Load(c.Ctx, c.O.Machine.Arch().Args[n], 8, false)
}

func regRetval(c *Context) *ir.Value {
	return c.B.Load(c.Ctx, c.O.Machine.Arch().Ret, 8, true)
}

// funcIP is the address of the probed function by helper, for contexts that
// do not hold it, or hold the address of the breakpoint's successor. Kernels
// without the helper run a program for each function, which knows its address.
func funcIP(c *Context) *ir.Value {
	if !c.O.has(machine.GetFuncIP) {
		if n, ok := c.O.Machine.Defer(machine.Fact{Kind: machine.Symbol, Of: c.Group.Points[0].Func}); ok {
			return c.B.Reloc(n)
		}
		if syms, err := c.O.Machine.KernelSymbols(); err == nil {
			addr, _ := syms.Address(c.Group.Points[0].Func)
			return c.B.Const(int64(addr))
		}
	}
	return c.B.Call(int(asm.FnGetFuncIp), c.Ctx)
}

// haveAddresses says why func cannot be had in programs of one function each:
// the kernel lacks the helper and hides the addresses too.
func haveAddresses(points []*Point, o *Options) error {
	if _, err := o.Machine.KernelSymbols(); err != nil {
		return fmt.Errorf("func in %s probes needs Linux %s or newer, or the kernel's symbols: %w", points[0].Kind.Name, machine.GetFuncIP.Since, err)
	}
	return nil
}

// currentIP is where the probe was hit.
func currentIP(c *Context) *ir.Value { return c.B.Load(c.Ctx, c.O.Machine.Arch().IP, 8, false) }

func kprobeFunc(c *Context) *ir.Value {
	for _, p := range c.Group.Points {
		if p.Offset != 0 || p.Address != 0 {
			return currentIP(c)
		}
	}
	if !c.O.has(machine.GetFuncIP) {
		return currentIP(c)
	}
	return funcIP(c)
}

// The mechanisms refer to the table's functions only through the variables
// below, so that kinds can name them before they are built.
var (
	kprobeMulti = Mechanism{
		Name:      "kprobe.multi",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Attach:    bpf.AttachKprobeMulti,
		Backwards: true,
		Guard:     guardPID,
		Index:     cookieIndex,
		Arg:       regArg,
		Field:     callField,
		Regs:      contextRegs,
		Func:      funcIP,
		Link:      linkKprobeMulti(0),
	}
	kretprobeMulti = Mechanism{
		Name:    "kprobe.multi return",
		Program: bpf.Kprobe,
		Slow:    true,
		Counts:  true,
		Attach:  bpf.AttachKprobeMulti,
		Guard:   guardPID,
		Index:   cookieIndex,
		Retval:  regRetval,
		Regs:    contextRegs,
		Func:    funcIP,
		Link:    linkKprobeMulti(bpf.MultiReturn),
	}
	kprobePerf = Mechanism{
		Name:      "perf kprobe",
		Program:   bpf.Kprobe,
		Slow:      true,
		Counts:    true,
		Backwards: true,
		Guard:     guardPID,
		Index:     cookieIndex,
		Arg:       regArg,
		Field:     callField,
		Regs:      contextRegs,
		Func:      kprobeFunc,
		Link:      linkKprobePerf(0),
	}
	kretprobePerf = Mechanism{
		Name:    "perf kretprobe",
		Program: bpf.Kprobe,
		Slow:    true,
		Counts:  true,
		Guard:   guardPID,
		Index:   cookieIndex,
		Retval:  regRetval,
		Regs:    contextRegs,
		Func:    funcIP,
		Link:    linkKprobePerf(returnBit),
	}
)
