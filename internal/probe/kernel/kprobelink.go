package kernel

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// linkKprobeMulti attaches all functions by one link. The kernel refuses all
// if it refuses one, so that offenders are found by halving; the others are
// attached without them if there are any.
func linkKprobeMulti(flags uint32) func(int, *probe.Group, *probe.Options) ([]probe.Link, error) {
	return func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		return linkMany(progFD, g, flags, bpf.AttachKprobeMulti, o)
	}
}

// linkMany is Link of one link for many functions, of either kind.
func linkMany(progFD int, g *probe.Group, flags uint32, kind bpf.AttachType, o *probe.Options) ([]probe.Link, error) {
	names := make([]string, len(g.Points))
	cookies := make([]uint64, len(g.Points))
	for i, p := range g.Points {
		names[i], cookies[i] = p.Func, probe.CookieOf(g, i)
	}
	var links []probe.Link
	r := attach.Refusals{Group: g}
	var try func(from, to int) error
	try = func(from, to int) error {
		if err := o.Attached(); err != nil {
			return err
		}
		m := bpf.KprobeMulti{Flags: flags, Names: names[from:to], Cookies: cookies[from:to]}
		fd, err := m.Link(progFD, kind)
		switch {
		case err == nil:
			links = append(links, bpf.FD(fd))
			return nil
		case !attach.RefusesFunction(err):
			return fmt.Errorf("kprobe.multi on %s: %w", attach.SomeOf(names[from:to]), err)
		case to-from == 1:
			return r.Add(g.Points[from], kprobeError(g.Points[from], err, o))
		}
		// Each half is attached by a link of its own: a program then has a few, which do not
		// differ to it.
		mid := (from + to) / 2
		if err := try(from, mid); err != nil {
			return err
		}
		return try(mid, to)
	}
	err := try(0, len(names))
	if err == nil {
		err = r.End(len(links) > 0, o)
	}
	return links, err
}

// linkKprobePerf attaches functions one by one.
func linkKprobePerf(config uint64) func(int, *probe.Group, *probe.Options) ([]probe.Link, error) {
	return func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		typ, err := o.Machine.PMUType("kprobe")
		if err != nil {
			return nil, err
		}
		var links []probe.Link
		r := attach.Refusals{Group: g}
		for i, p := range g.Points {
			if err := withinFunction(p, o); err != nil {
				return links, err
			}
			attr := unix.PerfEventAttr{Type: typ, Config: config, Ext2: p.Address}
			// With an address there is no name, and the kernel looks at the address alone.
			name := ""
			if p.Address == 0 {
				name, attr.Ext2 = p.Func, p.Offset
				if p.Target != "" && p.Target != probe.Vmlinux {
					// As the kernel wants functions of modules to be named.
					name = p.Target + ":" + name
				}
			}
			l, err := attach.OpenPerf(nil, &attr, name, progFD, -1, 0, probe.CookieOf(g, i))
			if err != nil {
				if err = r.Add(p, kprobeError(p, err, o)); err != nil {
					return links, err
				}
				continue
			}
			links = append(links, l)
			if err := o.Attached(); err != nil {
				return links, err
			}
		}
		return links, r.End(len(links) > 0, o)
	}
}

// withinFunction refuses an offset behind the end of a function, where kernels
// before 6.2 put a probe into whatever is there. Functions of modules are left
// to the kernel: several may have one name.
func withinFunction(p *probe.Point, o *probe.Options) error {
	if p.Offset == 0 || o.Unsafe || p.Target != "" && p.Target != probe.Vmlinux {
		return nil
	}
	syms, err := o.Machine.KernelSymbols()
	if err != nil {
		return nil // the kernel hides them, and decides itself
	}
	addr, ok := syms.Address(p.Func)
	// The extent reaches to the next symbol, which is as much as the kernel knows.
	if size := syms.Extent(addr); ok && size > 0 && p.Offset >= size {
		return fmt.Errorf("%s: Offset outside the function bounds ('%s' size is %d)", p.Name(), p.Func, size)
	}
	return nil
}

// kprobeError says why the kernel refused a probe on a function, as far as it
// can be found out: the kernel itself has one word for many reasons.
func kprobeError(p *probe.Point, err error, o *probe.Options) error {
	because := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s: %w", p.Name(), fmt.Sprintf(format, args...), err)
	}
	// The order counts: what is certain comes first, guesses by the kernel's lists last.
	module := p.Target != "" && p.Target != probe.Vmlinux
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w", p.Name(), err)
	case errors.Is(err, unix.EILSEQ), insn.Misaligned(insn.Native(o.Machine.Arch().GoArch), p.Offset):
		return fmt.Errorf("%s: Possible attachment attempt in the middle of an instruction, try a different offset.",
			p.Name())
	case module && !slices.Contains(o.Machine.Modules(), p.Target):
		return because("the module %s is not loaded any more", p.Target)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return because("several functions have this name: say which by its module, or give an address")
	case !attach.RefusesFunction(err) || p.Address != 0:
		return fmt.Errorf("%s: %w", p.Name(), err)
	}
	switch o.Machine.Traceability(p.Func) {
	case machine.Forbidden:
		return because("it is on the kernel's list of functions that must not be probed")
	case machine.NoTrace:
		return because("the function is marked \"notrace\", or has no place for a probe")
	case machine.NoFunction:
		return because("the kernel has no such function")
	}
	if p.Offset != 0 {
		return because("no probe can be put at this offset")
	}
	return fmt.Errorf("%s: %w", p.Name(), err)
}

// whyUntraceable is advice on a function that the script names and that no
// probe may be put on, "" if there is no reason to be found.
func whyUntraceable(p *probe.Point, o *probe.Options) string {
	if p.Target == onBPF {
		return "hawk -l '" + p.Kind.Name + ":bpf:*' lists the programs that are loaded"
	}
	if machine.Unsafe(p.Func) {
		return "a probe on " + p.Func + " can hang the machine, so that hawk leaves it alone"
	}
	switch o.Machine.Traceability(p.Func) {
	case machine.Forbidden:
		return p.Func + " is on the kernel's list of functions that must not be probed (debugfs kprobes/blacklist)"
	case machine.NoTrace:
		return p.Func + " exists, but is marked \"notrace\" or has no place for a probe; functions that call it " +
			"may be traced instead"
	}
	return ""
}
