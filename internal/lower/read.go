package lower

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// readHelper is the helper that reads an address space, and its name for messages.
func readHelper(space types.Space, str bool) (asm.BuiltinFunc, string) {
	switch {
	case space == types.User && str:
		return asm.FnProbeReadUserStr, "probe_read_user_str"
	case space == types.User:
		return asm.FnProbeReadUser, "probe_read_user"
	case str:
		return asm.FnProbeReadKernelStr, "probe_read_kernel_str"
	}
	return asm.FnProbeReadKernel, "probe_read_kernel"
}

// maxValue is the most bytes that are read as one value. No ring buffer has room for more, and a
// malformed file can say any size.
const maxValue = 1 << 20

// ReadMem and ReadStr read the traced world for builtins; see builtin.Gen.
func (f *fn) ReadMem(at syntax.Node, space types.Space, dst *ir.Value, off int, n, addr *ir.Value) {
	f.read(at, space, false, dst, off, n, addr)
}

func (f *fn) ReadStr(at syntax.Node, space types.Space, dst *ir.Value, off int, n, addr *ir.Value) *ir.Value {
	return f.read(at, space, true, dst, off, n, addr)
}

// read reads from the traced world. A page of a process that is not in memory
// fails the read; where the program may sleep, it is fetched.
func (f *fn) read(at syntax.Node, space types.Space, str bool, dst *ir.Value, off int, n, addr *ir.Value) *ir.Value {
	// The verifier takes no length of zero, which an array without a length has.
	if n.Op == ir.Const && n.Imm == 0 {
		return f.konst(0)
	}
	if n.Op == ir.Const && n.Imm > maxValue {
		f.m.diags.Errorf("value-too-large", at.Span(),
			"A value of %d bytes is too large, the limit is %d", n.Imm, maxValue).
			Hint("read one of its fields or elements")
		return f.konst(0)
	}
	b := f.b
	helper, name := readHelper(space, str)
	once := func() *ir.Value { return b.Call(int(helper), b.Add(dst, int64(off)), n, addr) }
	r := once()
	if space == types.User && f.mayWait() {
		f.sleeps = true
		failed := func() *ir.Value { return b.SLt(r, 0) }
		again := func(cond, page *ir.Value) {
			r = f.chooseCold(cond, func() *ir.Value { f.bringIn(page); return once() }, r)
		}
		again(failed(), addr)
		// The memory to read may go on in another page.
		inPage := b.And(addr, pageSize-1)
		crosses := b.Arith(ir.ULt, f.konst(pageSize), b.Arith(ir.Add, inPage, n))
		again(b.Arith(ir.And, failed(), crosses), b.Arith(ir.Add, b.Arith(ir.Sub, addr, inPage), f.konst(pageSize)))
	}
	if f.m.o.Warnings {
		f.Rarely(b.SLt(r, 0), func() { f.Failed(at, object.HelperFailed, name, r) })
	}
	return r
}

// pageSize is the smallest page of any machine.
const pageSize = 4096

// mayWait reports whether a read here may wait for a page of user memory. Not while a record is
// reserved, since it would hold up all that come behind it; not in a function that the kernel calls
// for each element of a map, where it does not sleep; not in programs that take stacks, since it
// keeps these in maps that such programs may not use; and not where maps are taken, since the grace
// period of a Take does not wait for programs that may sleep.
func (f *fn) mayWait() bool {
	m := f.g.Mech()
	return m.Sleepable != nil && f.cb == nil && !f.reserved && !f.p.Uses.Stack && !f.m.o.Take &&
		f.m.has(m.Sleepable)
}

// waits reports whether evaluating e may wait for a page of user memory.
func (f *fn) waits(e syntax.Expr) bool {
	if f.g.Mech().Sleepable == nil {
		return false
	}
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			c := f.info.Calls[n]
			found = found || c != nil && c.Func != nil && slices.ContainsFunc(c.Args, f.inUser)
		case *syntax.Field:
			found = found || f.inUser(n.X)
		case *syntax.Index:
			found = found || f.inUser(n.X)
		case *syntax.Unary:
			found = found || n.Op == syntax.Mul && f.inUser(n.X)
		}
		return !found
	})
	return found && f.mayWait()
}

// inUser reports whether e is an address of user memory.
func (f *fn) inUser(e syntax.Expr) bool {
	t := f.info.Types[e]
	return t != nil && types.IsScalar(t) && f.space(e) == types.User
}

// bringIn has the kernel bring the page of an address into memory, if it can.
func (f *fn) bringIn(addr *ir.Value) {
	f.b.Call(int(asm.FnCopyFromUser), f.b.Addr(f.b.NewObject("byte", 8, 8), 0), f.konst(1), addr)
}

// chooseCold yields then() if cond, which is rarely so, is not zero, or else v.
func (f *fn) chooseCold(cond *ir.Value, then func() *ir.Value, v *ir.Value) *ir.Value {
	b := f.b
	out := b.Addr(b.NewObject("either", 8, 8), 0)
	b.Store(out, 0, 8, v)
	f.Rarely(cond, func() { b.Store(out, 0, 8, then()) })
	return b.U64(out, 0)
}

// Unreadable marks a string that could not be read; see builtin.Gen.
func (f *fn) Unreadable(p, addr *ir.Value) *ir.Value {
	b := f.b
	// There is nothing at address 0, and programs know it.
	return f.Choose(addr,
		func() *ir.Value { b.AtomicAdd(b.Data(object.DataUnread), 0, 8, f.konst(1)); return f.mark(p) },
		func() *ir.Value { return f.konst(1) })
}

// mark writes what stands in place of a string that could not be read, and yields its length: by a
// helper, as kernels before 5.12 let programs themselves not write at variable offsets of the
// stack.
func (f *fn) mark(p *ir.Value) *ir.Value {
	helper, _ := readHelper(types.Kernel, false)
	n := f.konst(int64(len(types.Unreadable)))
	f.b.Call(int(helper), p, n, f.b.Data(f.m.unreadable()))
	return n
}
