package machine

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/types"
)

// ErrNoBTF is returned when the kernel has no type information.
var ErrNoBTF = errors.New("no kernel BTF (the kernel needs CONFIG_DEBUG_INFO_BTF)")

// Named are files that the user names in place of those of the running machine.
type Named struct {
	BTF     string   // kernel types, a raw blob or an ELF file with a .BTF section; "": the kernel's own
	BTFBy   string   // who named it, for messages
	VMLinux string   // a kernel image with symbols and types, looked at first
	Trees   []string // kernel trees with headers; none: those of the running kernel
}

// NamedBy reads the names from the variables of an environment.
func NamedBy(lookup func(variable string) string) Named {
	var n Named
	for _, v := range [...]string{"BPFTRACE_BTF", "HAWK_BTF"} {
		if name := lookup(v); name != "" {
			n.BTF, n.BTFBy = name, v
		}
	}
	n.VMLinux = lookup("BPFTRACE_VMLINUX")
	for _, v := range [...]string{"KERNEL_BUILD", "KERNEL_SOURCE"} {
		if dir := cmp.Or(lookup("HAWK_"+v), lookup("BPFTRACE_"+v)); dir != "" {
			n.Trees = append(n.Trees, dir)
		}
	}
	return n
}

// BTF is the type information of the kernel image, ErrNoBTF if there is none.
func (t *Machine) BTF() (*btf.Spec, error) {
	return t.vmlinux.get(func() (*btf.Spec, error) {
		s, err := t.openBTF()
		if err == nil && t.ledger != nil {
			s.Found = t.ledger.member
		}
		return s, err
	})
}

func (t *Machine) openBTF() (*btf.Spec, error) {
	if name := t.Named.BTF; name != "" {
		s, err := readBTF(name, "vmlinux", nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Named.BTFBy, err)
		}
		return s, nil
	}
	s, err := t.ownBTF("vmlinux", nil)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	for _, name := range t.vmlinuxPaths() {
		if s, err := readBTF(name, "vmlinux", nil); err == nil {
			return s, nil
		}
	}
	return nil, ErrNoBTF
}

// vmlinuxPaths lists where an uncompressed kernel image with symbols and
// types may lie, in the order in which to look.
func (t *Machine) vmlinuxPaths() []string {
	var out []string
	if t.Named.VMLinux != "" {
		out = append(out, t.Named.VMLinux)
	}
	r := t.Release()
	if r == "" || !t.Live() {
		return out
	}
	for _, p := range [...]string{
		"/boot/vmlinux-" + r,
		"/lib/modules/" + r + "/vmlinux-" + r,
		"/lib/modules/" + r + "/build/vmlinux",
		"/usr/lib/modules/" + r + "/kernel/vmlinux",
		"/usr/lib/debug/boot/vmlinux-" + r,
		"/usr/lib/debug/boot/vmlinux-" + r + ".debug",
		"/usr/lib/debug/lib/modules/" + r + "/vmlinux",
	} {
		out = append(out, p)
	}
	return out
}

// ModuleBTF is the type information of a module, on top of the kernel's;
// "" and "vmlinux" are the kernel itself. A module that has none or is not
// loaded gives an error that says so.
func (t *Machine) ModuleBTF(module string) (*btf.Spec, error) {
	base, err := t.BTF()
	if err != nil || module == "" || module == "vmlinux" {
		return base, err
	}
	if !isModuleName(module) {
		return nil, fmt.Errorf("%q is no module name", module)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.modules[module]; ok {
		return s, nil
	}
	s, err := t.ownBTF(module, base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("module %s has no BTF or is not loaded", module)
	}
	if err != nil {
		return nil, err
	}
	if t.ledger != nil {
		s.Found = t.ledger.member
	}
	if t.modules == nil {
		t.modules = make(map[string]*btf.Spec)
	}
	t.modules[module] = s
	return s, nil
}

func isModuleName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}

// maxBTF bounds the type information of a kernel or module, which has some ten
// million bytes.
const maxBTF = 256 << 20

// readBTF opens a blob. If it is mapped, it is so as long as something refers to the Spec, which
// types returned from it do.
func readBTF(path, name string, base *btf.Spec) (*btf.Spec, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if n, _ := f.ReadAt(magic, 0); n == len(magic) && string(magic) == elf.ELFMAG {
		e, err := exe.OpenFile(path)
		if err != nil {
			return nil, err
		}
		defer e.Close()
		data := slices.Clone(e.Section(".BTF"))
		if data == nil {
			return nil, fmt.Errorf("%s has no .BTF section", path)
		}
		return btf.Parse(name, data, base)
	}
	data, mapped, err := contents(f)
	if err != nil {
		return nil, err
	}
	s, err := btf.Parse(name, data, base)
	if mapped && err == nil {
		runtime.AddCleanup(s, unmap, data)
	} else if mapped {
		unmap(data)
	}
	return s, err
}

// unmap gives a blob back.
func unmap(data []byte) { unix.Munmap(data) }

// contents maps what the kernel says of itself, which nobody can cut short, and
// reads other files. Kernels up to 6.14 cannot map it: it is read as well.
func contents(f *foreign.File) (data []byte, mapped bool, err error) {
	var fs unix.Statfs_t
	if size := f.Stat.Size; size > 0 && size < maxBTF && unix.Fstatfs(int(f.Fd()), &fs) == nil &&
		fs.Type == unix.SYSFS_MAGIC {
		if data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE); err == nil {
			return data, true, nil
		}
	}
	data, err = f.All(maxBTF)
	return data, false, err
}

// ownTypes is where the kernel shows its types and those of its modules.
const ownTypes = "/sys/kernel/btf"

// ownBTF is what the kernel shows of itself or of a module.
func (t *Machine) ownBTF(name string, base *btf.Spec) (*btf.Spec, error) {
	if t.Live() {
		return readBTF(ownTypes+"/"+name, name, base)
	}
	data, err := t.read(ownTypes + "/" + name)
	if err != nil {
		return nil, err
	}
	return btf.Parse(name, data, base)
}

// kindsOf are the kinds that a C keyword admits; "" is any type name.
func kindsOf(keyword string) btf.Kinds {
	switch keyword {
	case "struct":
		return btf.Set(btf.Struct)
	case "union":
		return btf.Set(btf.Union)
	case "enum":
		return btf.Set(btf.Enum, btf.Enum64)
	case "typedef":
		return btf.Set(btf.Typedef)
	}
	return btf.Set(btf.Struct, btf.Union, btf.Enum, btf.Enum64, btf.Typedef, btf.Int)
}

// TypeByName finds a kernel type. keyword is "struct", "union", "enum",
// "typedef" or "" for a type of any kind with that name. Only types of the
// kernel image are found; see ModuleType.
func (t *Machine) TypeByName(keyword, name string) (types.Type, error) {
	return t.ModuleType("vmlinux", keyword, name)
}

// Offset is where a member of one of the kernel's structs is, in bytes.
func (t *Machine) Offset(name, member string) (int, error) {
	typ, err := t.TypeByName("struct", name)
	if err != nil {
		return 0, err
	}
	if st, ok := typ.(*types.Struct); ok {
		if f, ok := st.Field(member); ok {
			return f.Offset, nil
		}
	}
	return 0, fmt.Errorf("struct %s has no %s", name, member)
}

// ModuleType is TypeByName with the types of a module first.
func (t *Machine) ModuleType(module, keyword, name string) (types.Type, error) {
	s, err := t.ModuleBTF(module)
	if err != nil {
		return nil, err
	}
	id, err := s.Find(name, kindsOf(keyword))
	if err != nil {
		return nil, err
	}
	typ, err := s.Type(id)
	if st, ok := typ.(*types.Struct); ok && t.ledger != nil {
		t.ledger.name(st, s.Name, keyword+" "+name)
	}
	return typ, err
}

// An enumerator is what a name among the kernel's types stands for.
type enumerator struct {
	id    uint32 // of the enum
	value int64
	err   error
}

// EnumeratorByName finds the enum that has an enumerator of that name, and
// its value.
func (t *Machine) EnumeratorByName(name string) (*types.Enum, int64, error) {
	s, err := t.BTF()
	if err != nil {
		return nil, 0, err
	}
	// Each place where a script has a name asks, and each pass of the checker.
	t.mu.Lock()
	e, known := t.enumerators[name]
	t.mu.Unlock()
	if !known {
		e.id, e.value, e.err = s.FindEnumerator(name)
		t.mu.Lock()
		if t.enumerators == nil {
			t.enumerators = map[string]enumerator{}
		}
		t.enumerators[name] = e
		t.mu.Unlock()
	}
	if e.err != nil {
		return nil, 0, e.err
	}
	typ, err := s.Type(e.id)
	if err != nil {
		return nil, 0, err
	}
	value := e.value
	if t.ledger != nil {
		t.ledger.number(Fact{Kind: Enumerator, Of: name, Value: value})
	}
	return typ.(*types.Enum), value, nil
}

// FuncProto is the prototype of a kernel function; module is "", "vmlinux"
// or a module's name.
func (t *Machine) FuncProto(module, name string) (*types.Func, error) {
	s, err := t.ModuleBTF(module)
	if err != nil {
		return nil, err
	}
	f, err := s.FuncProto(name)
	if err == nil && t.ledger != nil {
		t.ledger.number(Fact{Kind: Signature, Module: module, Of: name, Shape: signature(f)})
	}
	return f, err
}

// FunctionsTaking are the names of the functions of the kernel or a module whose argument n
// is a pointer to a struct of that name.
func (t *Machine) FunctionsTaking(module string, n int, name string) (map[string]bool, error) {
	s, err := t.ModuleBTF(module)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	return out, s.EachTaking(n, name, func(fn []byte) { out[string(fn)] = true })
}

// RawTracepoint is what a program on a typed raw tracepoint sees, and the
// BTF ID that it attaches to.
func (t *Machine) RawTracepoint(module, event string) (*types.Func, uint32, error) {
	s, err := t.ModuleBTF(module)
	if err != nil {
		return nil, 0, err
	}
	f, id, err := s.RawTracepoint(event)
	if err == nil && t.ledger != nil {
		t.ledger.number(Fact{Kind: RawSignature, Module: module, Of: event, Shape: parameters(f)})
	}
	return f, id, err
}

// RawTracepointID is the type that a program on a typed raw tracepoint
// attaches to, and the module that has it.
func (t *Machine) RawTracepointID(module, event string) (id uint32, owner string, err error) {
	s, err := t.ModuleBTF(module)
	if err != nil {
		return 0, "", err
	}
	return s.RawTracepointID(event)
}

// ExpectTask announces that struct task_struct will be asked for, and
// raw tracepoints: one walk over the kernel's types finds all.
func (t *Machine) ExpectTask(events ...string) {
	s, err := t.BTF()
	if err != nil {
		return
	}
	s.Expect("task_struct", btf.Set(btf.Struct))
	for _, event := range events {
		s.ExpectRawTracepoint(event)
	}
}

// ExpectStructs announces structs that will be asked for by name: the first of
// them that is asked for finds all in one walk.
func (t *Machine) ExpectStructs(names ...string) {
	s, err := t.BTF()
	if err != nil {
		return
	}
	for _, name := range names {
		s.Expect(name, btf.Set(btf.Struct))
	}
}

// BTFModules lists the modules that have type information, without vmlinux.
func (t *Machine) BTFModules() []string {
	return slices.DeleteFunc(t.entries(ownTypes), func(name string) bool { return name == "vmlinux" })
}
