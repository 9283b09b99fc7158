package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// FactKind says what a Fact is about.
type FactKind uint8

// The kinds of fact. The value is what programs are relocated by.
const (
	Member       FactKind = iota // offset of a member of a type of the kernel
	RecordField                  // offset of a field of a tracepoint's record; Module is the category
	Signature                    // of a kernel function
	RawSignature                 // of a raw tracepoint
	Size                         // of a type of the kernel
	Layout                       // of a type of the kernel, Value is its size
	Enumerator                   // value of a name
	BuildID                      // of a file
	EventID                      // number of a tracepoint; Module is the category
	Symbol                       // address of a kernel symbol
	Cgroup                       // number of a control group, by its directory
	CPUs                         // number of possible processors
)

// A Fact is something of a machine that compiled programs depend on.
type Fact struct {
	Kind   FactKind
	Module string   // "" or "vmlinux": the kernel
	Of     string   // a type by keyword and name, a function, an event, a file
	Path   []string // members, from the type on
	Value  int64    // on the machine that compiled it; 0 for what only the machine that runs it can tell
	Shape  string   // what must be the same, in words of hawk's own
}

// Deferred reports whether only the machine that runs the program knows the value.
func (f *Fact) Deferred() bool {
	switch f.Kind {
	case EventID, Symbol, Cgroup, CPUs:
		return true
	}
	return false
}

// Idle reports whether nothing depends on the fact if no program is relocated
// by it: the code never holds the offset itself. Only that of arguments of system
// calls tells their number.
func (f *Fact) Idle() bool {
	return f.Kind == Member || f.Kind == RecordField && f.Module != "syscalls" && f.Module != "raw_syscalls"
}

// OfProbe reports whether the fact is about what an attach point names.
func (f *Fact) OfProbe() bool {
	return f.Kind == RecordField || f.Kind == Signature || f.Kind == RawSignature
}

// String names what the fact is about, for messages.
func (f *Fact) String() string {
	switch f.Kind {
	case RecordField:
		return fmt.Sprintf("the field %s of tracepoint %s:%s", strings.Join(f.Path, "."), f.Module, f.Of)
	case Signature:
		return "the arguments of the function " + f.Of
	case RawSignature:
		return "the arguments of the tracepoint " + f.Of
	case Enumerator:
		return "the constant " + f.Of
	case BuildID:
		return "the file " + f.Of
	case EventID:
		return fmt.Sprintf("the tracepoint %s:%s", f.Module, f.Of)
	case Symbol:
		return "the kernel symbol " + f.Of
	case Cgroup:
		return "the control group " + f.Of
	case CPUs:
		return "the number of processors"
	}
	if len(f.Path) == 0 {
		return f.Of
	}
	return f.Of + " member " + strings.Join(f.Path, ".")
}

// other says that a fact is not what it was when the program was compiled.
func other(here, there any) error {
	return fmt.Errorf("the program was compiled for another one (%v, here it is %v)", there, here)
}

// Look finds out what a fact is on this machine. moves says that the programs
// can do with another value than they were compiled with.
func (t *Machine) Look(f *Fact, moves bool) (int64, error) {
	value, shape, err := t.look(f)
	switch {
	case err != nil:
	// A layout is long: it is not shown.
	case shape != f.Shape && f.Kind == Layout:
		err = errors.New("the program was compiled for one with other members, or members elsewhere")
	case shape != f.Shape:
		err = other(shape, f.Shape)
	// A value that programs are relocated by may be any.
	case !moves && !f.Deferred() && value != f.Value:
		err = other(value, f.Value)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f, err)
	}
	return value, nil
}

// look is Look before the comparison: the value and the shape here.
func (t *Machine) look(f *Fact) (value int64, shape string, err error) {
	switch f.Kind {
	case Member, Size, Layout:
		return t.lookType(f)
	case RecordField:
		format, err := t.TracepointFormat(f.Module, f.Of)
		if err != nil {
			return 0, "", err
		}
		field, ok := format.Struct().Field(strings.Join(f.Path, "."))
		if !ok {
			return 0, "", errors.New("this kernel does not have it")
		}
		return int64(field.Offset), fieldShape(field), nil
	case Signature:
		fn, err := t.FuncProto(f.Module, f.Of)
		if err != nil {
			return 0, "", err
		}
		return 0, signature(fn), nil
	case RawSignature:
		fn, _, err := t.RawTracepoint(f.Module, f.Of)
		if err != nil {
			return 0, "", err
		}
		return 0, parameters(fn), nil
	case Enumerator:
		_, n, err := t.EnumeratorByName(f.Of)
		return n, "", err
	case BuildID:
		id, err := buildID(f.Of)
		return 0, id, err
	case EventID:
		id, err := t.TracepointID(f.Module, f.Of)
		return int64(id), "", err
	case Symbol:
		symbols, err := t.KernelSymbols()
		if err != nil {
			return 0, "", err
		}
		addr, ok := symbols.Address(f.Of)
		if !ok {
			return 0, "", errors.New("this kernel does not have it")
		}
		return int64(addr), "", nil
	case Cgroup:
		id, err := t.CgroupID(f.Of)
		return int64(id), "", err
	case CPUs:
		return int64(t.PossibleCPUs()), "", nil
	}
	return 0, "", fmt.Errorf("facts of kind %d are not known", f.Kind)
}

// lookType finds a type again, and a member of it.
func (t *Machine) lookType(f *Fact) (int64, string, error) {
	// The first member is looked for in the type, each other one in the type of the one before.
	keyword, name, _ := strings.Cut(f.Of, " ")
	typ, err := t.ModuleType(f.Module, keyword, name)
	if err != nil {
		return 0, "", err
	}
	s := structOf(typ)
	var field types.Field
	for i, name := range f.Path {
		if i > 0 {
			s = structOf(field.Type)
		}
		ok := s != nil
		if ok {
			field, ok = s.Field(name)
		}
		if !ok {
			return 0, "", errors.New("this kernel does not have it")
		}
	}
	switch {
	case f.Kind == Member && len(f.Path) == 0:
		return 0, "", errors.New("no member is named")
	case f.Kind == Member:
		return int64(field.Offset), fieldShape(field), nil
	case len(f.Path) > 0:
		s = structOf(field.Type)
	}
	switch {
	case s == nil:
		return 0, "", errors.New("this kernel does not have it")
	case f.Kind == Layout:
		return int64(s.Size()), layout(s), nil
	}
	return int64(s.Size()), "", nil
}

// structOf is the struct that a type is, or is made of, or points to.
func structOf(t types.Type) *types.Struct {
	if p, ok := t.(*types.Pointer); ok {
		return structOf(p.Elem)
	}
	if a, ok := t.(*types.Array); ok {
		return structOf(a.Elem)
	}
	s, _ := t.(*types.Struct)
	return s
}

// within is the struct that the memory of a type is made of.
func within(t types.Type) *types.Struct {
	if a, ok := t.(*types.Array); ok {
		return within(a.Elem)
	}
	s, _ := t.(*types.Struct)
	return s
}

// fieldShape is what programs know of a field beside its offset.
func fieldShape(f types.Field) string {
	s := shape(f.Type)
	if f.BitSize > 0 {
		s += fmt.Sprintf(":%d:%d", f.BitOffset, f.BitSize)
	}
	if f.DataLoc != types.NoDataLoc {
		s += fmt.Sprintf(" at %d", f.DataLoc)
	}
	return s
}

// shape is what programs know of a type: how to read a value of it, and which
// members it has by its name.
func shape(t types.Type) string {
	switch t := t.(type) {
	case *types.Pointer:
		if s, ok := t.Elem.(*types.Struct); ok && s.Name != "" {
			return "*" + s.Name
		}
		return "*"
	case *types.Array:
		return fmt.Sprintf("%s[%d]", shape(t.Elem), t.Len)
	case *types.Struct:
		return "{" + t.Name + "}"
	}
	if i, ok := types.IsInteger(t); ok {
		return i.String()
	}
	return t.String()
}

// signature is what programs know of a function.
func signature(f *types.Func) string { return parameters(f) + " -> " + shape(f.Result) }

// parameters is what programs know of a function's parameters, whose names are those that scripts
// use.
func parameters(f *types.Func) string {
	var out []string
	for _, p := range f.Params {
		out = append(out, shape(p.Type)+" "+p.Name)
	}
	return strings.Join(out, ", ")
}

// layout is a digest of all members of a struct.
func layout(s *types.Struct) string {
	h := sha256.New()
	var write func(s *types.Struct)
	write = func(s *types.Struct) {
		for _, f := range s.Fields() {
			fmt.Fprintf(h, "%s %d %s\n", f.Name, f.Offset, fieldShape(f))
			if inner := within(f.Type); inner != nil {
				write(inner)
			}
		}
	}
	write(s)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
