package machine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/types"
)

// PortableCPUs is for how many processors the memory of portable programs is
// laid out.
const PortableCPUs = 256

// ForOthers is the machine for a compilation whose result is to run on
// other machines of an architecture too. What the compilation takes from this
// one goes into the ledger. Features that came with a certain kernel ("5.17") or
// a later one are missing; "" leaves all that this kernel has.
func (t *Machine) ForOthers(a *arch.Arch, before string) (*Machine, *Ledger) {
	l := &Ledger{CPUs: PortableCPUs, arch: a, before: before, numbers: map[string]int{},
		origins: map[*types.Struct]origin{}}
	m := newMachine(t.files)
	m.DebugDirs, m.Named, m.ledger = t.DebugDirs, t.Named, l
	return m, l
}

// Portable reports whether what is compiled for the machine is to run on others.
func (t *Machine) Portable() bool { return t.ledger != nil }

// Defer numbers a relocation for a fact that only the machine a portable
// program runs on can tell. ok is false for targets that are not portable.
func (t *Machine) Defer(f Fact) (number int, ok bool) {
	if t.ledger == nil {
		return 0, false
	}
	return t.ledger.number(f), true
}

// Fix notes that a portable program depends on a type of the kernel as a whole:
// on its size or, if its values are taken along, on all of its members.
func (t *Machine) Fix(typ types.Type, whole bool) {
	if t.ledger != nil {
		t.ledger.fix(typ, whole)
	}
}

// Same notes that a portable program depends on what a file holds beside names
// of symbols.
func (t *Machine) Same(path string) error {
	if t.ledger == nil {
		return nil
	}
	return t.ledger.file(path)
}

// A Ledger is what a compilation has taken from a portable machine.
type Ledger struct {
	Facts    []Fact     // numbered as relocations are
	Features []*Feature // that the kernel has to offer
	// CPUs is for how many processors memory is laid out, a power of two: PortableCPUs, unless
	// who asked for the ledger knows of fewer on all machines that it is for.
	CPUs int

	arch    *arch.Arch
	before  string
	numbers map[string]int // of facts, by key
	origins map[*types.Struct]origin
	lost    []string // types that cannot be found again
}

// origin is where a struct can be found again: a type by keyword and name, and
// members that lead from there to one without a name.
type origin struct {
	module, of string
	path       []string
}

// number is the number of a fact, the same for equal ones.
func (l *Ledger) number(f Fact) int {
	key := fmt.Sprintf("%d %s %s %q", f.Kind, f.Module, f.Of, f.Path)
	n, ok := l.numbers[key]
	if !ok {
		n = len(l.Facts)
		l.numbers[key] = n
		l.Facts = append(l.Facts, f)
	}
	return n
}

// Err says what the compilation took from the machine that no other machine
// can be asked for.
func (l *Ledger) Err() error {
	if len(l.lost) > 0 {
		return fmt.Errorf("types without a name can not be found on another kernel: %s", strings.Join(l.lost, ", "))
	}
	return nil
}

// errYounger is why a feature is missing when an older kernel is meant.
var errYounger = errors.New("not on older kernels")

// errNoKfuncs is why functions of the kernel are missing: programs call them by
// numbers that every build of the kernel has its own of.
var errNoKfuncs = errors.New("functions of the kernel can not be called by what is compiled ahead of time")

func (l *Ledger) feature(f *Feature) error {
	switch {
	case f == KprobeSession:
		return errNoKfuncs
	case l.before != "" && release(f.Since) >= release(l.before):
		return errYounger
	}
	l.Features = append(l.Features, f)
	return nil
}

// oldest is the oldest kernel that hawk supports.
const oldest = "5.10"

// release makes a version comparable.
func release(version string) int {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(major)
	m, _ := strconv.Atoi(minor)
	return n<<16 | m
}

// Youngest is the kernel that the youngest feature came with which the
// compilation was granted, "" if the oldest kernels have them all. Compiled for
// kernels before that the script can run on more of them, or not at all.
func (l *Ledger) Youngest() string {
	youngest := oldest
	for _, f := range l.Features {
		if release(f.Since) > release(youngest) {
			youngest = f.Since
		}
	}
	if youngest == oldest {
		return ""
	}
	return youngest
}

// name notes by what a struct was asked for.
func (l *Ledger) name(t *types.Struct, module, of string) {
	if _, ok := l.origins[t]; !ok && t.Name == "" {
		l.origins[t] = origin{module: module, of: of}
	}
}

func (l *Ledger) origin(module string, t *types.Struct) (origin, bool) {
	if t.Name == "" {
		o, ok := l.origins[t]
		return o, ok
	}
	keyword := "struct "
	if t.Kind == types.UnionKind {
		keyword = "union "
	}
	return origin{module: module, of: keyword + t.Name}, true
}

// member is btf.Spec.Found.
func (l *Ledger) member(s *btf.Spec, t *types.Struct, f types.Field) types.Field {
	o, ok := l.origin(s.Name, t)
	if !ok {
		l.lost = append(l.lost, f.Name)
		return f
	}
	path := append(slices.Clone(o.path), f.Name)
	if inner := structOf(f.Type); inner != nil && inner.Name == "" {
		if _, known := l.origins[inner]; !known {
			l.origins[inner] = origin{o.module, o.of, path}
		}
	}
	f.Reloc = 1 + l.number(Fact{Kind: Member, Module: o.module, Of: o.of, Path: path, Value: int64(f.Offset),
		Shape: fieldShape(f)})
	return f
}

// record numbers the fields of a tracepoint's record as they are found. Those
// that all tracepoints have are in the same place everywhere.
func (l *Ledger) record(f *Format) {
	f.record.Found = func(field types.Field) types.Field {
		if field.Offset >= commonBytes {
			field.Reloc = 1 + l.number(Fact{
				Kind: RecordField, Module: f.Category, Of: f.Event, Path: []string{field.Name},
				Value: int64(field.Offset), Shape: fieldShape(field),
			})
		}
		return field
	}
}

// commonBytes is the size of the fields that the record of every tracepoint
// begins with.
const commonBytes = 8

// fix notes the size, or all of the layout, of the structs in a type.
func (l *Ledger) fix(t types.Type, whole bool) {
	s := within(t)
	if s == nil || s.Kind == types.ContextKind {
		return
	}
	if s.Fields(); s.Found == nil { // not of the kernel; of some that is known once they are loaded
		return
	}
	o, ok := l.origin("vmlinux", s)
	if !ok {
		l.lost = append(l.lost, s.String())
		return
	}
	f := Fact{Kind: Size, Module: o.module, Of: o.of, Path: o.path, Value: int64(s.Size())}
	if whole {
		f.Kind, f.Shape = Layout, layout(s)
	}
	l.number(f)
}

// file notes that a program depends on what a file says about itself.
func (l *Ledger) file(path string) error {
	id, err := buildID(path)
	if err != nil {
		return err
	}
	l.number(Fact{Kind: BuildID, Of: path, Shape: id})
	return nil
}

func buildID(path string) (string, error) {
	f, err := exe.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	id := f.BuildID()
	if id == nil {
		return "", fmt.Errorf("%s has no build ID by which another machine could tell that it is the same", path)
	}
	return hex.EncodeToString(id), nil
}
