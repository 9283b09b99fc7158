package lower

import (
	"math/bits"
	"os"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// mmLayout is what a program needs to know of the kernel's structures to tell
// address spaces apart, and to walk the mappings of one.
type mmLayout struct {
	mm, parent, tgid int   // of struct task_struct
	identity         []int // of struct mm_struct: what no two programs have in common
	code             int   // of it: how many pages of code are mapped

	walks                            bool // the rest is there (from Linux 6.1)
	tree                             mapleTree
	vdso                             int // of struct mm_struct
	vmStart, vmEnd, vmFlags, vmFirst int // of struct vm_area_struct
	vmMM, vmFile, inode              int // of it, of struct file
	number, size, seconds, nanos     int // of struct inode; the last two are when it was changed

	probes probesLayout
}

const vmExec = 4 // VM_EXEC

// mmLayout reads the kernel's type information; nil if that lacks something, or
// the program is to run on other kernels too.
func (m *module) mmLayout() *mmLayout {
	if m.layout != nil {
		return *m.layout
	}
	m.layout = new(*mmLayout)
	t := m.o.Probe.Machine
	if t.Portable() {
		return nil // other kernels lay their structures out otherwise
	}
	t.ExpectStructs("task_struct", "mm_struct", "maple_range_64", "maple_arange_64", "vm_area_struct", "file", "inode",
		"uprobe_task", "return_instance", "xol_area")
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
	l.code = must("mm_struct", "exec_vm")
	if !ok {
		return nil
	}
	*m.layout = l
	l.probes.read(member)
	l.tree = mapleTree{root: must("mm_struct", "mm_mt", "ma_root"),
		pivots: must("maple_range_64", "pivot"), leaves: must("maple_range_64", "slot"),
		branches: must("maple_arange_64", "slot")}
	ok = ok && l.tree.known() && must("maple_arange_64", "pivot") == l.tree.pivots
	l.vdso = must("mm_struct", "context", "vdso")
	l.vmStart, l.vmEnd = must("vm_area_struct", "vm_start"), must("vm_area_struct", "vm_end")
	l.vmFlags, l.vmFirst = must("vm_area_struct", "vm_flags"), must("vm_area_struct", "vm_pgoff")
	l.vmMM = must("vm_area_struct", "vm_mm")
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

// noProgram is the identity of an address space that a program is being loaded
// into. Its stack is gone, and the registers are those of the program before.
const noProgram = 2

// identity makes a number of what tells the address space of the current task
// from that of another program, and of another run of this one unless they are
// laid out alike. It is 0 for a kernel thread, and noProgram.
func (f *fn) identity(l *mmLayout) *ir.Value {
	b := f.b
	out := f.Temp("identity", 8, 8)
	b.Store(out, 0, 8, f.konst(0))
	mm := b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.mm)
	f.When(mm, func() {
		b := f.b
		sum := f.konst(0)
		first := b.U64(mm, l.identity[0])
		for _, at := range l.identity {
			sum = b.Arith(ir.Add, b.Mul(sum, object.UnwindMix), b.U64(mm, at))
		}
		b.Store(out, 0, 8, b.Or(sum, 1))
		f.Rarely(b.Eq(first, 0), func() { f.b.Store(out, 0, 8, f.konst(noProgram)) })
	})
	return f.b.U64(out, 0)
}

// findSpace looks for the space of the current process by key, which is its ID: there may be one,
// or one can be made, or that of its parent is just like it, whose ID key is then. It yields the
// identity that the space must have. ask is called where user space is to make one, or tables.
func (f *fn) findSpace(at syntax.Node, l *mmLayout, key *ir.Value, ask func()) (identity *ir.Value) {
	b := f.b
	spaces := b.MapPtr(f.m.unwindMaps().spaces)
	identity = f.identity(l)
	b = f.b
	done, renew := b.NewBlock(), b.NewBlock()
	renew.Cold = true
	when := f.goOn
	strays := f.Temp("strays", 8, 8)
	b.Store(strays, 0, 8, f.konst(0))
	when(b.And(identity, 1), done)
	old := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	when(old, renew)
	b.Store(strays, 0, 8, b.U64(old, object.UnwindStrays))
	when(b.Arith(ir.Eq, b.U64(old, object.UnwindIdentity), identity), renew)
	if l.walks {
		f.renewIfGrown(l, old, strays, renew, done)
	} else {
		b.Jump(done)
	}

	b.Begin(renew)
	if l.walks {
		f.makeSpace(at, l, key, identity, strays, done, ask)
		b = f.b
	}
	// One that is not final may be that of the process itself.
	own := b.U32(key, 0)
	again := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	other, orphan := b.NewBlock(), b.NewBlock()
	b.If(again, other, orphan)
	b.Begin(other)
	b.If(b.Arith(ir.Eq, b.U64(again, object.UnwindIdentity), identity), done, orphan)
	b.Begin(orphan)
	alone := b.NewBlock()
	b.Store(key, 0, 4, b.U32(b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.parent), l.tgid))
	parent := b.CallPtr(int(asm.FnMapLookupElem), spaces, key)
	when(parent, alone)
	b.If(b.Arith(ir.Eq, b.U64(parent, object.UnwindIdentity), identity), done, alone)
	b.Begin(alone)
	b.Store(key, 0, 4, own)
	ask()
	f.b.Jump(done)
	f.b.Begin(done)
	return identity
}

// renewIfGrown goes to renew if the space of the current process is not final, or if code was mapped since it
// was made: the first stack through that code is to be complete, too. A program that makes code all the time
// is looked at again ever more rarely.
func (f *fn) renewIfGrown(l *mmLayout, old, strays *ir.Value, renew, done *ir.Block) {
	b := f.b
	final, grown := b.NewBlock(), b.NewBlock()
	grown.Cold = true
	b.If(b.U32(old, object.UnwindUnknown), renew, final)
	b.Begin(final)
	mm := b.LoadPtr(b.CallPtr(int(asm.FnGetCurrentTaskBtf)), l.mm)
	b.If(b.Arith(ir.Eq, b.U64(old, object.UnwindCode), b.U64(mm, l.code)), done, grown)
	b.Begin(grown)
	b.AtomicAdd(old, object.UnwindStrays, 8, f.konst(1))
	n := b.U64(old, object.UnwindStrays)
	b.Store(strays, 0, 8, n)
	b.If(b.Arith(ir.And, n, b.Add(n, -1)), done, renew)
}

// makeSpace makes the space of the current process from its mappings and goes
// to done, or falls through if there is no room for it. It is made aside: other
// threads may look for it, or make it too.
func (f *fn) makeSpace(at syntax.Node, l *mmLayout, key, identity, strays *ir.Value, done *ir.Block, ask func()) {
	b := f.b
	spaces := b.MapPtr(f.m.unwindMaps().spaces)
	failed := b.NewBlock()
	failed.Cold = true
	must := func(v *ir.Value) *ir.Value {
		f.goOn(v, failed)
		return v
	}
	none := f.Temp("nobody", 4, 4)
	b.Store(none, 0, 4, f.konst(0))
	empty := must(b.CallPtr(int(asm.FnMapLookupElem), spaces, none))
	b.AtomicAdd(empty, object.UnwindStrays, 8, f.konst(1))
	space := f.Temp("space", object.UnwindSpace, 8)
	must(b.Eq(b.Call(int(asm.FnProbeReadKernel), space, f.konst(object.UnwindSpace), empty), 0))
	b.Store(space, object.UnwindStrays, 8, b.U64(strays, 0))
	f.fillSpace(at, l, space)
	b = f.b
	unknown := b.U32(space, object.UnwindUnknown)
	bare := b.Ne(b.U32(space, object.UnwindBare), 0)
	// While tables are missing frame pointers are better than a guess at each.
	known := b.Eq(unknown, 0)
	state := b.Arith(ir.Sub, f.konst(object.UnwindWaiting),
		b.Mul(known, object.UnwindWaiting-object.UnwindFrames))
	state = b.Arith(ir.Sub, state, b.Mul(b.Arith(ir.And, bare, known), object.UnwindFrames-object.UnwindReady))
	b.Store(space, object.UnwindState, 4, state)
	b.Store(space, object.UnwindIdentity, 8, identity)
	must(b.Eq(b.Call(int(asm.FnMapUpdateElem), spaces, key, space, f.konst(0)), 0))
	f.Rarely(unknown, ask)
	f.b.Jump(done)
	f.b.Begin(failed)
}

// fillSpace writes the executable mappings of the current process into a space
// that has none.
func (f *fn) fillSpace(at syntax.Node, l *mmLayout, space *ir.Value) {
	b := f.b
	task := b.CallPtr(int(asm.FnGetCurrentTaskBtf))
	mm := b.LoadPtr(task, l.mm)
	b.Store(space, object.UnwindCode, 8, b.U64(mm, l.code))
	number := f.Temp("mm", 8, 8)
	b.Call(int(asm.FnProbeReadKernel), number, f.konst(8), b.Add(task, int64(l.mm)))
	whole := f.walkTree(at, &l.tree, mm, []*ir.Value{space, b.U64(number, 0),
		b.U64(mm, l.vdso)}, func(vma *ir.Value, outer []*ir.Value, next, stop *ir.Block) {
		f.noteMapping(l, vma, outer[0], outer[1], outer[2], next, stop)
	})
	f.Rarely(b.Eq(whole, 0), func() { f.b.Store(space, object.UnwindCount, 4, f.konst(object.UnwindMost)) })
}

// noteMapping writes a mapping into a space if it is executable.
func (f *fn) noteMapping(l *mmLayout, vma, space, mm, vdso *ir.Value, next, stop *ir.Block) {
	b := f.b
	pages := int64(bits.TrailingZeros(uint(os.Getpagesize())))
	when := f.goOn
	word := f.Temp("word", 8, 8)
	read := func(p *ir.Value, at, size int) *ir.Value {
		b.Call(int(asm.FnProbeReadKernel), word, f.konst(int64(size)), b.Add(p, int64(at))) // 0 if there is nothing
		return b.Load(word, 0, size, false)
	}
	when(b.And(read(vma, l.vmFlags, 8), vmExec), next)
	when(b.Arith(ir.Eq, read(vma, l.vmMM, 8), mm), stop) // it is being unmapped
	n := b.U32(space, object.UnwindCount)
	when(b.ULt(n, object.UnwindMost), stop)
	at := b.Arith(ir.Add, space, b.Mul(n, object.UnwindMapping))
	start := read(vma, l.vmStart, 8)
	b.Store(at, object.UnwindMappings+object.UnwindStart, 8, start)
	b.Store(at, object.UnwindMappings+object.UnwindEnd, 8, read(vma, l.vmEnd, 8))
	b.Store(at, object.UnwindMappings+object.UnwindIndex, 4, f.konst(0))
	count := func(field int, by *ir.Value) {
		b.Store(space, field, 4, b.Arith(ir.Add, b.U32(space, field), by))
	}
	count(object.UnwindCount, f.konst(1))
	name := f.Temp("file", object.UnwindFileKey, 8)
	named, unnamed, look := b.NewBlock(), b.NewBlock(), b.NewBlock()
	file := read(vma, l.vmFile, 8)
	b.If(file, named, unnamed)
	b.Begin(unnamed)
	when(b.Arith(ir.Eq, start, vdso), next) // else it is code made at run time
	when(b.Arith(ir.ULe, f.konst(object.UnwindWide), start), next)
	b.Store(name, object.UnwindInode, 8, f.konst(object.UnwindVDSO))
	for _, at := range []int{object.UnwindSize, object.UnwindSeconds, object.UnwindNanos} {
		b.Store(name, at, 8, f.konst(0))
	}
	b.Jump(look)
	b.Begin(named)
	inode := read(file, l.inode, 8)
	b.Store(name, object.UnwindInode, 8, read(inode, l.number, 8))
	b.Store(name, object.UnwindSize, 8, read(inode, l.size, 8))
	b.Store(name, object.UnwindSeconds, 8, read(inode, l.seconds, 8))
	b.Store(name, object.UnwindNanos, 8, read(inode, l.nanos, 4))
	b.Jump(look)

	b.Begin(look)
	delta := b.Arith(ir.Sub, start, b.Shl(read(vma, l.vmFirst, 8), pages))
	found := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(f.m.unwindMaps().files), name)
	known, unknown := b.NewBlock(), b.NewBlock()
	b.If(found, known, unknown)
	b.Begin(known)
	b.Store(at, object.UnwindMappings+object.UnwindDelta, 8,
		b.Arith(ir.Add, delta, b.U64(found, object.UnwindShift)))
	b.Store(at, object.UnwindMappings+object.UnwindIndex, 4, b.U32(found, object.UnwindFileIndex))
	count(object.UnwindBare, b.U32(found, object.UnwindFileBare))
	b.Jump(next)
	b.Begin(unknown)
	count(object.UnwindUnknown, f.konst(1))
}
