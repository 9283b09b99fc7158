package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/machine"
)

// returnBit is the "retprobe" bit of the kprobe and uprobe event sources.
const returnBit = 1

// linkKprobeMulti attaches all functions by one link. The kernel refuses all
// if it refuses one, so that offenders are found by halving; the others are
// attached without them if there are any.
func linkKprobeMulti(flags uint32) func(int, *Group, *Options) ([]Link, error) {
	return func(progFD int, g *Group, o *Options) ([]Link, error) {
		return linkMany(progFD, g, flags, bpf.AttachKprobeMulti, o)
	}
}

func linkMany(progFD int, g *Group, flags uint32, kind bpf.AttachType, o *Options) ([]Link, error) {
	names := make([]string, len(g.Points))
	cookies := make([]uint64, len(g.Points))
	for i, p := range g.Points {
		names[i], cookies[i] = p.Func, cookieOf(g, i)
	}
	var links []Link
	r := refusals{group: g}
	var attach func(from, to int) error
	attach = func(from, to int) error {
		if err := o.step(); err != nil {
			return err
		}
		m := bpf.KprobeMulti{Flags: flags, Names: names[from:to], Cookies: cookies[from:to]}
		fd, err := m.Link(progFD, kind)
		switch {
		case err == nil:
			links = append(links, bpf.FD(fd))
			return nil
		case !refusesFunction(err):
			return fmt.Errorf("kprobe.multi on %s: %w", someOf(names[from:to]), err)
		case to-from == 1:
			return r.add(g.Points[from], kprobeError(g.Points[from], err, o))
		}
		mid := (from + to) / 2
		if err := attach(from, mid); err != nil {
			return err
		}
		return attach(mid, to)
	}
	err := attach(0, len(names))
	if err == nil {
		err = r.end(len(links) > 0, o)
	}
	return links, err
}

// linkKprobePerf attaches functions one by one.
func linkKprobePerf(config uint64) func(int, *Group, *Options) ([]Link, error) {
	return func(progFD int, g *Group, o *Options) ([]Link, error) {
		typ, err := o.Machine.PMUType("kprobe")
		if err != nil {
			return nil, err
		}
		var links []Link
		r := refusals{group: g}
		for i, p := range g.Points {
			if err := withinFunction(p, o); err != nil {
				return links, err
			}
			attr := unix.PerfEventAttr{Type: typ, Config: config, Ext2: p.Address}
			name := ""
			if p.Address == 0 {
				name, attr.Ext2 = p.Func, p.Offset
				if p.Target != "" && p.Target != vmlinux {
					name = p.Target + ":" + name
				}
			}
			l, err := openPerf(nil, &attr, name, progFD, -1, 0, cookieOf(g, i))
			if err != nil {
				if err = r.add(p, kprobeError(p, err, o)); err != nil {
					return links, err
				}
				continue
			}
			links = append(links, l)
			if err := o.step(); err != nil {
				return links, err
			}
		}
		return links, r.end(len(links) > 0, o)
	}
}

// withinFunction refuses an offset behind the end of a function, where kernels
// before 6.2 put a probe into whatever is there. Functions of modules are left
// to the kernel: several may have one name.
func withinFunction(p *Point, o *Options) error {
	if p.Offset == 0 || o.Unsafe || p.Target != "" && p.Target != vmlinux {
		return nil
	}
	syms, err := o.Machine.KernelSymbols()
	if err != nil {
		return nil // the kernel hides them, and decides itself
	}
	addr, ok := syms.Address(p.Func)
	if size := syms.Extent(addr); ok && size > 0 && p.Offset >= size {
		return fmt.Errorf("%s: Offset outside the function bounds ('%s' size is %d)", p.Name(), p.Func, size)
	}
	return nil
}

// refusals collects the functions of a pattern that are refused: by the
// kernel, or by hawk, since a probe there would change the traced program.
type refusals struct {
	group            *Group
	byKernel, unsafe Refused
}

// Refused is functions of a pattern that no probe is put on. It is the error of
// attaching a group that nothing is left of.
type Refused struct {
	Points []*Point
	Unsafe bool  // by hawk, not by the kernel
	First  error // why the first was
}

func (r *Refused) Error() string { return r.First.Error() }
func (r *Refused) Unwrap() error { return r.First }

// add notes a refusal. It is final for what the script names itself.
func (r *refusals) add(p *Point, err error) error {
	of := &r.byKernel
	switch {
	case !p.Wild() || !refusesFunction(err):
		return err
	case isUnsafe(err):
		of = &r.unsafe
		of.Unsafe = true
	}
	if n := len(of.Points); n > 0 && of.Points[n-1] == p {
		return nil // at another of its places
	}
	if of.Points = append(of.Points, p); of.First == nil {
		of.First = err
	}
	return nil
}

// end reports what was refused; it is an error if nothing else was attached.
func (r *refusals) end(attached bool, o *Options) error {
	if !attached {
		if r.byKernel.First != nil {
			return &r.byKernel
		}
		return &r.unsafe
	}
	if o.Missed != nil {
		o.Missed(len(r.byKernel.Points) + len(r.unsafe.Points))
	}
	o.WarnRefused(&r.byKernel, len(r.group.Points))
	o.WarnRefused(&r.unsafe, len(r.group.Points))
	return nil
}

// WarnRefused warns of functions that are left out, of so many that one attach
// point stands for.
func (o *Options) WarnRefused(r *Refused, of int) {
	switch {
	case len(r.Points) == 0:
	case r.Unsafe:
		o.warn(r.Points[0], "passed over %d of %d functions where no probe can be put: %s (%s)",
			len(r.Points), of, someOf(namesOf(r.Points)), errno.Message(r.First))
	default:
		o.warn(r.Points[0], "the kernel refuses probes on %s: %s", someOf(namesOf(r.Points)), errno.Message(r.First))
	}
}

func namesOf(points []*Point) []string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = p.Func
	}
	return names
}

// refusesFunction tells a refusal of one function from what would befall all.
func refusesFunction(err error) bool {
	if isUnsafe(err) {
		return true
	}
	for _, no := range []error{unix.ESRCH, unix.ENOENT, unix.EINVAL, unix.EADDRNOTAVAIL, unix.EILSEQ, unix.ERANGE, unix.EBUSY, unix.EOPNOTSUPP, notSupported} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// kprobeError says why the kernel refused a probe on a function, as far as it
// can be found out: the kernel itself has one word for many reasons.
func kprobeError(p *Point, err error, o *Options) error {
	because := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s: %w", p.Name(), fmt.Sprintf(format, args...), err)
	}
	module := p.Target != "" && p.Target != vmlinux
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w", p.Name(), err)
	case errors.Is(err, unix.EILSEQ), misaligned(insn.Native(o.Machine.Arch().GoArch), p.Offset):
		return fmt.Errorf("%s: Possible attachment attempt in the middle of an instruction, try a different offset.", p.Name())
	case module && !slices.Contains(o.Machine.Modules(), p.Target):
		return because("the module %s is not loaded any more", p.Target)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return because("several functions have this name: say which by its module, or give an address")
	case !refusesFunction(err) || p.Address != 0:
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
func whyUntraceable(p *Point, o *Options) string {
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
		return p.Func + " exists, but is marked \"notrace\" or has no place for a probe; functions that call it may be traced instead"
	}
	return ""
}

// someOf names a few of many.
func someOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
