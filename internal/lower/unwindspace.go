package lower

import (
	"math/bits"
	"os"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

// mmLayout is what a program needs to know of the kernel's structures to tell
// address spaces apart, and to walk the mappings of one.
type mmLayout struct {
	mm, parent, tgid int   // of struct task_struct
	identity         []int // of struct mm_struct: what no two programs have in common

	walks                            bool   // the rest is there (from Linux 6.7)
	begin, next, end                 uint32 // bpf_iter_task_vma_new and so on: types of functions
	vdso                             int    // of struct mm_struct
	vmStart, vmEnd, vmFlags, vmFirst int    // of struct vm_area_struct
	vmFile, inode                    int    // of it, of struct file
	number, size, seconds, nanos     int    // of struct inode; the last two are when it was changed
}

const vmExec = 4 // VM_EXEC

// mmLayout reads the kernel's type information; nil if that lacks something, or
// the program is to run on other kernels too.
func (m *module) mmLayout() *mmLayout {
	if m.layout != nil {
		return *m.layout
	}
	m.layout = new(*mmLayout)
	t := m.o.Probe.Target
	if t.Portable() {
		return nil // other kernels lay their structures out otherwise
	}
	l, ok := &mmLayout{}, true
	// member is the offset of a member of a member of … a structure.
	member := func(path ...string) (int, bool) {
		typ, err := t.TypeByName("struct", path[0])
		at := 0
		for _, name := range path[1:] {
			s, isStruct := typ.(*types.Struct)
			if err != nil || !isStruct {
				return 0, false
			}
			f, found := s.Field(name)
			if !found {
				return 0, false
			}
			at, typ = at+f.Offset, f.Type
		}
		return at, true
	}
	must := func(path ...string) int {
		at, found := member(path...)
		ok = ok && found
		return at
	}
	l.mm, l.parent, l.tgid = must("task_struct", "mm"), must("task_struct", "real_parent"), must("task_struct", "tgid")
	for _, name := range object.UnwindIdentityOf {
		l.identity = append(l.identity, must("mm_struct", name))
	}
	if !ok {
		return nil
	}
	*m.layout = l
	for _, f := range []struct {
		id   *uint32
		name string
	}{{&l.begin, "new"}, {&l.next, "next"}, {&l.end, "destroy"}} {
		id, err := t.KfuncID("bpf_iter_task_vma_" + f.name)
		*f.id, ok = id, ok && err == nil
	}
	l.vdso = must("mm_struct", "context", "vdso")
	l.vmStart, l.vmEnd = must("vm_area_struct", "vm_start"), must("vm_area_struct", "vm_end")
	l.vmFlags, l.vmFirst = must("vm_area_struct", "vm_flags"), must("vm_area_struct", "vm_pgoff")
	l.vmFile, l.inode = must("vm_area_struct", "vm_file"), must("file", "f_inode")
	l.number, l.size = must("inode", "i_ino"), must("inode", "i_size")
	for _, path := range [][2][]string{
		{{"inode", "i_mtime_sec"}, {"inode", "i_mtime_nsec"}},
		{{"inode", "__i_mtime", "tv_sec"}, {"inode", "__i_mtime", "tv_nsec"}},
		{{"inode", "i_mtime", "tv_sec"}, {"inode", "i_mtime", "tv_nsec"}},
	} {
		var found1, found2 bool
		l.seconds, found1 = member(path[0]...)
		l.nanos, found2 = member(path[1]...)
		if found1 && found2 {
			l.walks = ok
			break
		}
	}
	return l
}

// identity makes a number of what tells the address space of the current task
// from that of another program, and of another run of this one unless they are
// laid out alike. It is 0 for a kernel thread.
func (f *fn) identity(l *mmLayout) *ir.Value {
	b := f.b
	out := f.Temp("identity", 8, 8)
	b.Store(out, 0, 8, f.konst(0))
	mm := b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.mm)
	f.When(mm, false, func() {
		b := f.b
		sum := f.konst(0)
		for _, at := range l.identity {
			sum = b.Arith(ir.Add, b.Arith(ir.Mul, sum, f.konst(object.UnwindMix)), b.Load(mm, at, 8, false))
		}
		b.Store(out, 0, 8, b.Arith(ir.Or, sum, f.konst(1)))
	})
	return f.b.Load(out, 0, 8, false)
}

// findSpace looks for the space of the current process by key, which is its ID:
// there may be one, or one can be made, or that of its parent is just like it,
// whose ID key is then. It yields the identity that the space must have. ask is called where user space is to make one, or tables.
func (f *fn) findSpace(l *mmLayout, key *ir.Value, ask func()) (identity *ir.Value) {
	b := f.b
	spaces := b.MapPtr(f.m.unwindMaps().spaces)
	identity = f.identity(l)
	b = f.b
	done, renew := b.NewBlock(), b.NewBlock()
	renew.Cold = true
	// when goes on if cond holds, and elsewhere if not.
	when := func(cond *ir.Value, elsewhere *ir.Block) {
		on := b.NewBlock()
		b.If(cond, on, elsewhere)
		b.Begin(on)
	}
	strays := f.Temp("strays", 8, 8)
	b.Store(strays, 0, 8, f.konst(0))
	when(identity, done)
	old := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	when(old, renew)
	b.Store(strays, 0, 8, b.Load(old, object.UnwindStrays, 8, false))
	when(b.Arith(ir.Eq, b.Load(old, object.UnwindIdentity, 8, false), identity), renew)
	if l.walks {
		b.If(b.Load(old, object.UnwindUnknown, 4, false), renew, done)
	} else {
		b.Jump(done)
	}

	b.Begin(renew)
	if l.walks {
		f.makeSpace(l, key, identity, strays, done, ask)
		b = f.b
	}
	// One that is not final may be that of the process itself.
	own := b.Load(key, 0, 4, false)
	again := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	other, orphan := b.NewBlock(), b.NewBlock()
	b.If(again, other, orphan)
	b.Begin(other)
	b.If(b.Arith(ir.Eq, b.Load(again, object.UnwindIdentity, 8, false), identity), done, orphan)
	b.Begin(orphan)
	alone := b.NewBlock()
	b.Store(key, 0, 4, b.Load(b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.parent), l.tgid, 4, false))
	parent := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	when(parent, alone)
	b.If(b.Arith(ir.Eq, b.Load(parent, object.UnwindIdentity, 8, false), identity), done, alone)
	b.Begin(alone)
	b.Store(key, 0, 4, own)
	ask()
	f.b.Jump(done)
	f.b.Begin(done)
	return identity
}

// makeSpace makes the space of the current process and goes to done. It falls
// through if the mappings cannot be walked at the moment: they are locked, or,
// on some kernels, interrupts are disabled.
func (f *fn) makeSpace(l *mmLayout, key, identity, strays *ir.Value, done *ir.Block, ask func()) {
	b := f.b
	spaces := b.MapPtr(f.m.unwindMaps().spaces)
	iter := b.NewObject("mappings", 8, 8)
	iter.Stack = true
	it := b.Addr(iter, 0)
	end := func() { f.b.Kfunc(l.end, "bpf_iter_task_vma_destroy", ir.Nothing, it) }
	failed := b.NewBlock()
	failed.Cold = true
	must := func(v *ir.Value) *ir.Value {
		on := b.NewBlock()
		b.If(v, on, failed)
		b.Begin(on)
		return v
	}
	task := b.CallPtr(int(asm.FnGetCurrentTaskBtf))
	status := b.Kfunc(l.begin, "bpf_iter_task_vma_new", ir.I64, it, task, f.konst(0))
	must(b.Arith(ir.Eq, b.Ext(status, 4, false), f.konst(0)))
	none := f.Temp("nobody", 4, 4)
	b.Store(none, 0, 4, f.konst(0))
	empty := must(b.CallPtr(int(asm.FnMapLookupElem), spaces, none))
	must(b.Arith(ir.Eq, b.Call(int(asm.FnMapUpdateElem), spaces, key, empty, f.konst(0)), f.konst(0)))
	b.AtomicAdd(empty, object.UnwindStrays, 8, f.konst(1))
	space := must(b.CallPtr(int(asm.FnMapLookupElem), spaces, key))
	b.Store(space, object.UnwindStrays, 8, b.Load(strays, 0, 8, false))
	f.fillSpace(l, it, space)
	end()
	b = f.b
	unknown := b.Load(space, object.UnwindUnknown, 4, false)
	bare := b.Arith(ir.Ne, b.Load(space, object.UnwindBare, 4, false), f.konst(0))
	// While tables are missing frame pointers are better than a guess at each.
	tables := b.Arith(ir.And, bare, b.Arith(ir.Eq, unknown, f.konst(0)))
	b.Store(space, object.UnwindState, 4, b.Arith(ir.Sub, f.konst(object.UnwindFrames), tables))
	b.Store(space, object.UnwindIdentity, 8, identity)
	f.When(unknown, true, ask)
	f.b.Jump(done)
	f.b.Begin(failed)
	end()
}

// fillSpace writes the executable mappings that it yields into a space that has
// none. All that it counts is in the space, where the verifier does not know it,
// so that it sees the loop end.
func (f *fn) fillSpace(l *mmLayout, it, space *ir.Value) {
	b := f.b
	pages := int64(bits.TrailingZeros(uint(os.Getpagesize())))
	name := f.Temp("file", object.UnwindFileKey, 8)
	vdso := b.Load(b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.mm), l.vdso, 8, false)
	head, body, out := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.Jump(head)
	b.Begin(head)
	vma := b.Kfunc(l.next, "bpf_iter_task_vma_next", ir.Ptr, it)
	b.If(vma, body, out)
	b.Begin(body)
	when := func(cond *ir.Value, elsewhere *ir.Block) {
		on := b.NewBlock()
		b.If(cond, on, elsewhere)
		b.Begin(on)
	}
	when(b.Arith(ir.And, b.Load(vma, l.vmFlags, 8, false), f.konst(vmExec)), head)
	n := b.Load(space, object.UnwindCount, 4, false)
	when(b.Arith(ir.ULt, n, f.konst(object.UnwindMost)), out)
	start := b.Load(vma, l.vmStart, 8, false)
	file := b.LoadPtr(vma, l.vmFile)
	at := b.Arith(ir.Add, space, b.Arith(ir.Mul, n, f.konst(object.UnwindMapping)))
	b.Store(at, object.UnwindMappings+object.UnwindEnd, 8, b.Load(vma, l.vmEnd, 8, false))
	named, unnamed, look, noted := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(file, named, unnamed)
	b.Begin(unnamed)
	b.Store(at, object.UnwindMappings+object.UnwindIndex, 4, f.konst(0))
	when(b.Arith(ir.Eq, start, vdso), noted) // else it is code made at run time
	b.Store(name, object.UnwindInode, 8, f.konst(object.UnwindVDSO))
	for _, at := range []int{object.UnwindSize, object.UnwindSeconds, object.UnwindNanos} {
		b.Store(name, at, 8, f.konst(0))
	}
	b.Jump(look)
	b.Begin(named)
	inode := b.LoadPtr(file, l.inode)
	b.Store(name, object.UnwindInode, 8, b.Load(inode, l.number, 8, false))
	b.Store(name, object.UnwindSize, 8, b.Load(inode, l.size, 8, false))
	b.Store(name, object.UnwindSeconds, 8, b.Load(inode, l.seconds, 8, false))
	b.Store(name, object.UnwindNanos, 8, b.Load(inode, l.nanos, 4, false))
	b.Jump(look)

	b.Begin(look)
	delta := b.Arith(ir.Sub, start, b.Arith(ir.Shl, b.Load(vma, l.vmFirst, 8, false), f.konst(pages)))
	count := func(field int, by *ir.Value) {
		b.Store(space, field, 4, b.Arith(ir.Add, b.Load(space, field, 4, false), by))
	}
	found := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(f.m.unwindMaps().files), name)
	known, unknown := b.NewBlock(), b.NewBlock()
	b.If(found, known, unknown)
	b.Begin(known)
	b.Store(at, object.UnwindMappings+object.UnwindDelta, 8, b.Arith(ir.Add, delta, b.Load(found, object.UnwindShift, 8, false)))
	b.Store(at, object.UnwindMappings+object.UnwindIndex, 4, b.Load(found, object.UnwindFileIndex, 4, false))
	count(object.UnwindBare, b.Load(found, object.UnwindFileBare, 4, false))
	b.Jump(noted)
	b.Begin(unknown)
	b.Store(at, object.UnwindMappings+object.UnwindIndex, 4, f.konst(0))
	count(object.UnwindUnknown, f.konst(1))
	b.Jump(noted)
	// A program that searches the space meanwhile must not take the rest of the
	// mapping for granted.
	b.Begin(noted)
	b.Store(at, object.UnwindMappings+object.UnwindStart, 8, start)
	count(object.UnwindCount, f.konst(1))
	b.Jump(head)

	b.Begin(out)
}
