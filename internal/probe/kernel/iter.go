package kernel

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = probe.Define(probe.Kind{
	Name:    "iter",
	Aliases: []string{"it"},
	Doc: "Runs once for every object of a kind that the kernel has: tasks, open files, BPF maps, sockets. `ctx` " +
		"leads to the object; a run ends where it is " +
		"null, as it is once behind the last object. With a pin nothing runs at once: reading the file of that " +
		"name under `/sys/fs/bpf` runs the " +
		"program, and what it prints is what is read.",
	Example:  `iter:task { printf("%d %s\n", ctx.task.pid, ctx.task.comm); }`,
	Forms:    []string{"iter:object", "iter:object:pin"},
	Has:      probe.HasCtx | probe.HasObjects | probe.HasPaths,
	Space:    types.Kernel,
	Wild:     probe.KernelWild,
	Alone:    true,
	Parse:    parseIter,
	Match:    matchIter,
	Names:    iterNames,
	List:     listIters,
	Describe: describeIter,
	Ctx: func(p *probe.Point, o *probe.Options) (types.Type, error) {
		return o.Machine.TypeByName("struct", machine.IteratorStruct+p.Func)
	},
	Plan: planIter,
})

// bpffs is where a BPF file system is mounted by custom.
const bpffs = "/sys/fs/bpf"

// parseIter parses iter:OBJECT and iter:OBJECT:PIN; a relative pin is below the BPF file system.
func parseIter(p *probe.Point, parts []probe.Part, _ *probe.Options) error {
	if len(parts) != 1 && len(parts) != 2 {
		return probe.WrongCount(p, "1 or 2", parts)
	}
	if parts[0].HasWild() {
		return errors.New("iter probe type does not support wildcards")
	}
	p.Func = parts[0].Text
	if len(parts) == 2 {
		if p.Pin = parts[1].Text; p.Pin == "" {
			return errors.New("iter probe type needs a name behind the second colon, where to pin it")
		}
		if !path.IsAbs(p.Pin) {
			p.Pin = path.Join(bpffs, p.Pin)
		}
	}
	return nil
}

// matchIter asks whether the kernel has the iterator: it has a function for each.
func matchIter(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	if _, err := o.Machine.Iterator(p.Func); err != nil {
		if errors.Is(err, btf.ErrNotFound) {
			return nil, probe.Hint(fmt.Errorf("iter %s not available for your kernel version.", p.Func),
				"hawk -l 'iter:*' shows those that are")
		}
		return nil, fmt.Errorf("iter %s not available: %w", p.Func, err)
	}
	return []*probe.Point{p}, nil
}

// iterNames are the objects that can be walked, for suggestions.
func iterNames(_ *probe.Point, o *probe.Options) []string {
	names, _ := o.Machine.Iterators()
	return names
}

// listIters lists iterators, which -l can match though scripts cannot.
func listIters(k *probe.Kind, parts []probe.Part, o *probe.Options, emit func(probe.Listed)) error {
	names, err := o.Machine.Iterators()
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(parts) > 1 || len(parts) == 1 && !parts[0].Matches(name) {
			continue
		}
		l, err := probe.ListPoint(&probe.Point{Kind: k, Func: name}, o)
		if err != nil {
			return err
		}
		emit(l)
	}
	return nil
}

// describeIter prints the members of the context but for the one that all
// have.
func describeIter(p *probe.Point, o *probe.Options) ([]probe.Detail, error) {
	s, err := o.Machine.BTF()
	if err != nil {
		return nil, err
	}
	id, err := o.Machine.Iterator(p.Func)
	if err != nil {
		return nil, err
	}
	params, _, err := s.Signature(id)
	if err != nil || len(params) == 0 {
		return nil, err
	}
	// The first is the meta data, which scripts have no use for.
	return declLines(params[1:]), nil
}

// planIter makes a group of the one point that an iter probe has.
func planIter(points []*probe.Point, _ probe.Uses, _ *probe.Options) ([]*probe.Group, error) {
	m := &iterMechanism
	if points[0].Pin != "" {
		m = &pinnedIter
	}
	return []*probe.Group{{Points: points, Mechanism: m.ID}}, nil
}

// iterID is the function that stands for the iterator in the kernel's BTF.
func iterID(g *probe.Group, o *probe.Options) (uint32, string, error) {
	id, err := o.Machine.Iterator(g.Points[0].Func)
	return id, probe.Vmlinux, err
}

var (
	iterMechanism = probe.Mechanism{
		Name:     "iterator",
		Program:  bpf.Tracing,
		Attach:   bpf.AttachIter,
		BTFID:    iterID,
		Guard:    writeStep,
		NullSkip: true,
		Link:     linkIter,
		Walk:     walkIter,
	}
	pinnedIter = probe.Mechanism{
		Name:     "pinned iterator",
		Program:  bpf.Tracing,
		Attach:   bpf.AttachIter,
		BTFID:    iterID,
		NullSkip: true,
		Reader:   seqFile,
		Link:     linkIter,
	}
)

// Offsets in struct bpf_iter_meta, which is part of the kernel's interface.
const metaSeq = 0

// seqFile is the file that an iteration writes to.
func seqFile(c *probe.Context) *ir.Value {
	return c.B.LoadPtr(c.B.LoadPtr(c.Ctx, 0), metaSeq)
}

// writeStep writes a byte for every object. A read returns as soon as its
// buffer is full, so that hawk can empty the ring buffer every so many
// objects, however many there are.
func writeStep(c *probe.Context) {
	b := c.B
	tmp := b.Addr(b.NewObject("step", 8, 8), 0)
	b.Zero(tmp, 0, 8)
	b.Call(int(asm.FnSeqWrite), seqFile(c), tmp, b.Const(1))
}

// iterStep is how many objects a read is to cover.
const iterStep = 64

// walkIter runs the program for all objects.
func walkIter(l probe.Link, between func() bool) error {
	fd, err := bpf.IterCreate(int(l.(bpf.FD)))
	if err != nil {
		return fmt.Errorf("cannot create the iterator: %w", err)
	}
	defer unix.Close(fd)
	buf := make([]byte, iterStep)
	for between() {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			// After a million objects without output the kernel takes a break.
		case err != nil:
			return fmt.Errorf("cannot read the iterator: %w", err)
		case n == 0:
			return nil
		}
	}
	return nil
}

// ofTask are the iterators that can be limited to a process.
var ofTask = []string{"task", "task_file", "task_vma"}

// cgroupPre asks the iterator of control groups for all, parents first.
const cgroupPre = 2

// linkIter makes the link, and pins it if a file is to run the program. The kernel takes parameters
// since Linux 6.1 (E2BIG before).
func linkIter(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
	p := g.Points[0]
	// All zeroes are no parameters, which kernels before 6.1 take as well.
	var info [3]uint32 // union bpf_iter_link_info
	switch {
	case p.Func == "cgroup":
		info[0] = cgroupPre
	case o.PID != 0 && !o.Own && slices.Contains(ofTask, p.Func):
		info[1] = uint32(o.PID) // task.pid
	}
	fd, err := bpf.LinkIter(progFD, info)
	switch {
	case err == nil:
	case errors.Is(err, unix.E2BIG) && info != [3]uint32{}:
		return nil, fmt.Errorf("%s: iterators cannot be limited on this kernel, which takes Linux 6.1: %w",
			p.Name(), err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF):
		return nil, fmt.Errorf("%s: the kernel wants to be told which object to walk, for which scripts have "+
			"no words: %w", p.Name(), err)
	default:
		return nil, fmt.Errorf("%s: %w", p.Name(), err)
	}
	if p.Pin == "" {
		return []probe.Link{bpf.FD(fd)}, nil
	}
	if err := bpf.Pin(fd, p.Pin); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("cannot pin %s to %s: %w%s", p.Name(), p.Pin, err, pinAdvice(err))
	}
	return []probe.Link{bpf.FD(fd)}, nil
}

// pinAdvice says what can be done about an error of pinning.
func pinAdvice(err error) string {
	switch {
	case errors.Is(err, unix.EEXIST):
		return " (remove it, or choose another name)"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		return " (the place has to be in a BPF file system: mount -t bpf bpf " + bpffs + ")"
	}
	return ""
}
