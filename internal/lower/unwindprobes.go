package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// User-space probes, of hawk and of others, change what a stack shows. A return probe puts the address
// of the kernel's trampoline in the place of the return address, and an instruction with a probe runs in
// a page of copies. The kernel keeps what is true in struct uprobe_task, and from Linux 6.11 on its own
// walk by frame pointers repairs return addresses likewise.

// probesLayout is what a program needs to know of these structures.
type probesLayout struct {
	area, page int // of struct mm_struct: the page of copies; of it: the address, the trampoline's too
	task       int // of struct task_struct: the struct uprobe_task, if any
	returns    int // of it: the return probes that are on the way, the innermost first
	probed     int // of it: the instruction whose copy runs
	copied     int // of it: the copy
	stack      int // of struct return_instance: the stack pointer at the start of the function
	original   int // of it: the return address
	next       int // of it
	known      bool
}

// pendingReturns is the most that the kernel has for a thread.
const pendingReturns = 64

// copySize is what the kernel sets aside for the copy of an instruction, and what follows it there.
const copySize = 128

// read finds the offsets by must; a kernel without user-space probes has none.
func (l *probesLayout) read(member func(path ...string) (int, bool)) {
	l.known = true
	must := func(path ...string) int {
		at, found := member(path...)
		l.known = l.known && found
		return at
	}
	l.area, l.page = must("mm_struct", "uprobes_state", "xol_area"), must("xol_area", "vaddr")
	l.task = must("task_struct", "utask")
	l.returns = must("uprobe_task", "return_instances")
	l.probed, l.copied = must("uprobe_task", "vaddr"), must("uprobe_task", "xol_vaddr")
	l.stack, l.original = must("return_instance", "stack"), must("return_instance", "orig_ret_vaddr")
	l.next = must("return_instance", "next")
}

// probedTask is what the kernel has of the current thread's probes, as numbers that are 0 for nothing: the
// trampoline, the innermost return probe that is on the way, and the instruction that runs for the
// one at pc.
func (f *fn) probedTask(l *probesLayout, mm int, pc *ir.Value) (trampoline, returns, instruction *ir.Value) {
	b := f.b
	out := f.Temp("probed", 24, 8)
	b.Zero(out, 0, 16)
	b.Store(out, 16, 8, pc)
	task := b.CallPtr(int(asm.FnGetCurrentTaskBtf))
	space := b.LoadPtr(task, mm)
	f.When(space, func() {
		area := b.LoadPtr(space, l.area)
		f.Rarely(area, func() {
			page := b.U64(area, l.page)
			b.Store(out, 0, 8, f.codeAddress(page))
			// Behind its first instruction the trampoline may be on its way into the kernel.
			f.When(b.ULt(b.Arith(ir.Sub, pc, page), copySize), func() {
				b.Store(out, 16, 8, b.U64(out, 0))
			})
			probes := b.LoadPtr(task, l.task)
			f.When(probes, func() {
				b.Store(out, 8, 8, b.U64(probes, l.returns))
				into := b.Arith(ir.Sub, pc, b.U64(probes, l.copied))
				f.When(b.ULt(into, copySize), func() {
					b.Store(out, 16, 8, b.Arith(ir.Add, b.U64(probes, l.probed), into))
				})
			})
		})
	})
	return b.U64(out, 0), b.U64(out, 8), b.U64(out, 16)
}

// hooked is a round that has come to the trampoline: it looks at one of the return probes. If the stack
// pointer tells that this one put the trampoline there, the walk goes on at the original address. Those of
// functions that were left by longjmp() lie below.
func (w *walk) hooked(next, stop *ir.Block) {
	f := w.f
	b := f.b
	l := w.probes
	f.carry(w.cut, f.konst(1))
	returns := f.carried(w.returns)
	f.goOn(returns, stop)
	// The words are read one by one: how far they are apart is the kernel's affair.
	word := f.Temp("return", 8, 8)
	read := func(at int) *ir.Value {
		b.Call(int(asm.FnProbeReadKernel), word, f.konst(8), b.Add(returns, int64(at)))
		return b.U64(word, 0)
	}
	room := int64(8) // of a return address on the stack
	if f.m.o.Probe.Machine.Arch().Link > 0 {
		room = 0
	}
	stack := read(l.stack)
	below := b.Arith(ir.ULt, stack, b.Add(f.carried(w.sp), -room))
	original := f.codeAddress(read(l.original))
	f.carry(w.returns, read(l.next))
	f.goOn(b.Eq(below, 0), next)
	f.carry(w.pc, original)
	f.carry(w.sp, b.Add(stack, room))
	f.carry(w.back, f.konst(1))
	f.carry(w.cut, f.konst(0))
	b.Jump(next)
}
