package load

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
)

// loadPrograms loads all programs. They share one BTF.
func (s *Session) loadPrograms() error {
	o := s.Object
	// One BTF for all saves a system call for each program, and strings that they share.
	b := newBlob()
	specs := make([]*bpf.ProgSpec, len(o.Programs))
	for i, p := range o.Programs {
		spec, err := s.spec(p)
		if err != nil {
			return err
		}
		b.describe(spec, p)
		specs[i] = spec
	}
	if err := s.loadBTF(b.bytes()); err != nil {
		return err
	}
	h := held{modules: map[string]int{}}
	defer h.close()
	for i, spec := range specs {
		spec.BTF = s.btfFD
		if err := s.attachTarget(spec, o.Programs[i], &h); err != nil {
			return err
		}
	}
	if err := s.leaveOut(s.loadEach(specs)); err != nil {
		return err
	}
	for _, p := range s.Object.Programs {
		s.trace("program %s: %s by %s, %d instructions, %s", p.Name, p.Group.Mech().Program,
			p.Group.Mech().Name, len(p.Code.Insns), p.Group.Points[0].Name())
	}
	return nil
}

// loadEach loads programs, many of them side by side: the kernel verifies what
// the privileged load without a lock. The descriptor of one that failed is -1;
// where that is final, those behind it may not have been tried.
func (s *Session) loadEach(specs []*bpf.ProgSpec) []error {
	const many = 8
	s.Programs = make([]int, len(specs))
	for i := range s.Programs {
		s.Programs[i] = -1
	}
	errs := make([]error, len(specs))
	var next atomic.Int64
	var final atomic.Bool
	// A number is taken by who is free: programs differ in how long they take to verify.
	load := func() {
		for i := int(next.Add(1)) - 1; i < len(specs) && !final.Load(); i = int(next.Add(1)) - 1 {
			s.Programs[i], errs[i] = s.loadProgram(specs[i], s.Object.Programs[i])
			if r := (*Rejected)(nil); errs[i] != nil && (!errors.As(errs[i], &r) || r.Target == "") {
				final.Store(true)
			}
		}
	}
	if len(specs) < many || s.opts.Log != nil {
		load()
		return errs
	}
	var workers sync.WaitGroup
	for range min(len(specs), runtime.GOMAXPROCS(0)) {
		workers.Go(load)
	}
	workers.Wait()
	return errs
}

// loadBTF gives the kernel the functions and lines of all programs. Only if it refuses is it
// asked why.
func (s *Session) loadBTF(raw []byte) error {
	fd, err := bpf.BTFLoad(raw, nil)
	if err == nil {
		s.btfFD = fd
		return nil
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("the kernel does not permit loading BPF: %w: hawk needs CAP_BPF and CAP_PERFMON, or root",
			err)
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("cannot load the script's line information: %w", err) // the log has nothing against it
	}
	log := make([]byte, 64<<10)
	// It may go well by now: memory was short, or another of its limits.
	if fd, retry := bpf.BTFLoad(raw, log); retry == nil {
		s.btfFD = fd
		return nil
	}
	return fmt.Errorf("the kernel refused the script's line information: %w\n%s", err, unix.ByteSliceToString(log))
}

// link is a program's code with the descriptors of its maps.
func (s *Session) link(p *object.Program) (*codegen.Code, error) {
	mapFD := func(n int) int {
		if n < 0 || n >= len(s.Maps) {
			return -1
		}
		return s.Maps[n]
	}
	linked, err := p.Code.Link(mapFD, s.dataFD)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w: this is a bug of hawk", p.Name, err)
	}
	return linked, nil
}

// spec describes a program but for its BTF.
func (s *Session) spec(p *object.Program) (*bpf.ProgSpec, error) {
	linked, err := s.link(p)
	if err != nil {
		return nil, err
	}
	insns, err := linked.Marshal()
	if err != nil {
		return nil, fmt.Errorf("program %s: %w: this is a bug of hawk", p.Name, err)
	}
	m := p.Group.Mech()
	spec := &bpf.ProgSpec{
		Name: p.Name, Type: m.Program, Attach: m.Attach, Insns: insns, License: s.Object.License,
	}
	if spec.License == "" {
		spec.License = "GPL"
	}
	if p.Sleeps {
		spec.Flags |= bpf.Sleepable
	}
	return spec, nil
}

// held are the descriptors that are open until all programs are loaded.
type held struct {
	all     []int
	modules map[string]int // those of BTF of modules
}

func (h *held) close() {
	for _, fd := range h.all {
		unix.Close(fd)
	}
}

// attachTarget fills in what a program that is bound to a kernel type attaches
// to.
func (s *Session) attachTarget(spec *bpf.ProgSpec, p *object.Program, h *held) error {
	if open := p.Group.Mech().Target; open != nil {
		// The descriptor has to stay open until the program is loaded, which then holds what it
		// needs.
		fd, typ, err := open(p.Group)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Group.Points[0].Name(), err)
		}
		h.all = append(h.all, fd)
		spec.AttachBTFID, spec.AttachFD = typ, fd
		return nil
	}
	if p.Group.Mech().BTFID == nil {
		return nil
	}
	id, module, err := p.Group.Mech().BTFID(p.Group, s.opts.Probe)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Group.Points[0].Name(), err)
	}
	spec.AttachBTFID = id
	if module == "" || module == "vmlinux" {
		return nil
	}
	fd, ok := h.modules[module]
	if !ok {
		if fd, err = moduleBTF(module); err != nil {
			return fmt.Errorf("%s: types of the module %s: %w", p.Group.Points[0].Name(), module, err)
		}
		h.all, h.modules[module] = append(h.all, fd), fd
	}
	spec.AttachFD = fd
	return nil
}

// moduleBTF opens the BTF of a kernel module.
func moduleBTF(name string) (int, error) {
	found := -1
	err := bpf.BTFObjects(func(_ int, info bpf.BTFInfo) bool {
		if !info.Kernel || info.Name != name {
			return true
		}
		fd, err := bpf.BTFByID(info.ID)
		if err == nil {
			found = fd
		}
		return err != nil
	})
	if err == nil && found < 0 {
		err = errors.New("not loaded, or built without BTF")
	}
	return found, err
}

// Sizes of the buffer for the verifier's log, in bytes.
const (
	leastLog = 1 << 10 // the kernel takes none below 128
	firstLog = 1 << 20
	mostLog  = 16 << 20
)

// loadProgram loads one program; if that fails, once more to hear why.
func (s *Session) loadProgram(spec *bpf.ProgSpec, p *object.Program) (int, error) {
	if s.opts.Log != nil {
		return s.loadLogged(spec, p)
	}
	fd, err := bpf.ProgLoad(spec)
	if fd, err = s.compiled(spec, p, fd, "", err); err == nil {
		return fd, nil
	}
	if gaveUp(p, err) != nil {
		return -1, s.rejected(p, "", err)
	}
	spec.LogLevel = 1
	log, again, logErr := withLog(spec, s.logSize())
	if again, logErr = s.compiled(spec, p, again, log, logErr); logErr == nil {
		return again, nil // what stood in the way is gone
	}
	return -1, s.rejected(p, log, err)
}

// loadLogged loads a program and passes on all that the verifier says.
func (s *Session) loadLogged(spec *bpf.ProgSpec, p *object.Program) (int, error) {
	spec.LogLevel = 2
	log, fd, err := withLog(spec, s.logSize())
	fmt.Fprintf(s.opts.Log, "BPF verifier log for %s:\n%s\n%s\n", p.Name, strings.Repeat("-", 38), log)
	if errors.Is(err, unix.ENOSPC) {
		fmt.Fprintf(s.opts.Log, "the verifier has more to say than fits %d MB\n", mostLog>>20)
		spec.LogLevel, spec.Log = 0, nil
		fd, err = bpf.ProgLoad(spec)
	}
	if fd, err = s.compiled(spec, p, fd, log, err); err != nil {
		return -1, s.rejected(p, log, err)
	}
	return fd, nil
}

// logSize is the first size of the verifier's log, which log_size sets.
func (s *Session) logSize() int {
	if c := s.opts.Config; c != nil && c.LogSize > 0 {
		return min(max(c.LogSize, leastLog), mostLog)
	}
	return firstLog
}

// withLog loads with a log, with a larger one while it does not fit.
func withLog(spec *bpf.ProgSpec, size int) (log string, fd int, err error) {
	for {
		spec.Log = make([]byte, size)
		fd, err = bpf.ProgLoad(spec)
		if !errors.Is(err, unix.ENOSPC) || size >= mostLog {
			return unix.ByteSliceToString(spec.Log), fd, err
		}
		size = min(4*size, mostLog)
	}
}
