package lower

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
)

// The kernel takes the stack of a program that is given registers from these
// registers on. Of any other program it takes the stack from the program
// itself, so that it begins with what runs the program: functions of the program,
// helpers that call them back, and the way from the event to the program. How
// many frames these are depends on the kernel's compiler, on the event and on
// whether the verifier has put a helper in line. It does not change while a
// program is loaded. So each place that takes a stack counts them the first time,
// by the names that the kernel has for them, and leaves them out from then on.

const (
	mostOwn = 12 // frames that are looked at
	nameLen = 16 // bytes of their names
)

// The first eight bytes of names.
var (
	ownNames = []string{
		"bpf_prog",             // bpf_prog_TAG_NAME, and functions that run one
		"__bpf_pr", "___bpf_p", // the interpreter, test runs
		"bpf_loop", "bpf_for_", "____bpf_", // helpers that call back
		"bpf_disp", // bpf_dispatcher_…
	}
	trampolineName = "bpf_tram" // bpf_trampoline_NUMBER: the traced function is next
	rawName        = "bpf_trac" // bpf_trace_runN: the event's own function may be next
	eventName      = "__bpf_tr" // __bpf_trace_EVENT, if that was not a tail call
)

// OwnFrames yields how many frames the kernel stack begins with that are there
// only because this program runs.
func (f *fn) OwnFrames() *ir.Value {
	if p := f.g.Mech().Program; p != bpf.RawTracepoint && p != bpf.Tracing {
		return f.konst(0)
	}
	word := f.m.place(8, 8)
	known := f.b.U64(f.b.Data(word), 0)
	f.Rarely(f.b.Eq(known, 0), func() { f.countOwn(word) })
	return f.b.U64(f.b.Data(word), 0)
}

// countOwn counts the frames into a word of the data map.
func (f *fn) countOwn(word int) {
	b := f.b
	frames := f.Temp("own", 8*mostOwn, 8)
	b.Zero(frames, 0, 8*mostOwn) // kernels before 6.3 take it for read if it is on the stack
	b.Call(int(asm.FnGetStack), f.ctx.Ctx, frames, f.konst(8*mostOwn), f.konst(0))
	if !f.m.has(machine.Snprintf) {
		b.Store(b.Data(word), 0, 8, f.guessOwn(frames))
		return
	}
	format := f.m.nameFormat()
	// bpf_snprintf() takes its format from a map that is read-only (ARG_PTR_TO_CONST_STR).
	key := f.Temp("own.key", 4, 4)
	b.Store(key, 0, 4, f.konst(0))
	text := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(format), key)
	f.When(text, func() { f.nameOwn(frames, text, word) })
}

// nameOwn counts by names.
func (f *fn) nameOwn(frames, format *ir.Value, word int) {
	b := f.b
	count := b.NewObject("own.count", 8, 8)
	raw := b.NewObject("own.raw", 8, 8) // 1 behind bpf_trace_runN
	b.Store(b.Addr(count, 0), 0, 8, f.konst(0))
	b.Store(b.Addr(raw, 0), 0, 8, f.konst(0))
	at := b.NewObject("own.at", 8, 8) // the distance of the next frame
	b.Store(b.Addr(at, 0), 0, 8, f.konst(0))
	name := f.Temp("own.name", nameLen, 8)
	round, done := b.NewBlock(), b.NewBlock()
	b.Jump(round)
	b.Begin(round)
	off := b.U64(b.Addr(at, 0), 0)
	b.Zero(name, 0, nameLen)
	b.Call(int(asm.FnSnprintf), name, f.konst(nameLen), format, b.Arith(ir.Add, frames, off), f.konst(8))
	off = b.Add(off, 8)
	b.Store(b.Addr(at, 0), 0, 8, off)
	is := func(text string) *ir.Value {
		return b.Eq(b.U64(name, 0), int64(binary.NativeEndian.Uint64([]byte(text))))
	}
	next, last, event, inside := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	either := func(cond *ir.Value, yes *ir.Block) {
		no := b.NewBlock()
		b.If(cond, yes, no)
		b.Begin(no)
	}
	own := b.NewBlock()
	either(b.U64(b.Addr(raw, 0), 0), event)
	either(is(rawName), inside)
	either(is(trampolineName), last)
	for _, text := range ownNames {
		either(is(text), own)
	}
	b.Jump(done)

	counted := func() { b.Store(b.Addr(count, 0), 0, 8, b.LShr(off, 3)) }
	b.Begin(inside)
	b.Store(b.Addr(raw, 0), 0, 8, f.konst(1))
	b.Jump(own)
	b.Begin(event)
	b.If(is(eventName), last, done)
	b.Begin(last)
	counted()
	b.Jump(done)
	b.Begin(own)
	counted()
	b.Jump(next)
	b.Begin(next)
	b.If(b.ULt(off, 8*mostOwn), round, done)
	b.Begin(done)
	b.Store(b.Data(word), 0, 8, b.U64(b.Addr(count, 0), 0))
}

// guessOwn counts on kernels that do not tell names to programs. They have no
// helpers that call back either, so that the frames of the program are known, but
// some note the first of them twice.
func (f *fn) guessOwn(frames *ir.Value) *ir.Value {
	twice := f.b.Arith(ir.Eq, f.b.U64(frames, 0), f.b.U64(frames, 8))
	return f.Choose(twice,
		func() *ir.Value { return f.behindProgram(frames, f.frames+1) },
		func() *ir.Value { return f.behindProgram(frames, f.frames) })
}

// behindProgram counts from the first frame behind the program on, which is one
// of the kernel. Whether the event's own function is next is told by the call in
// front of the next address: whether it is one to the function before.
func (f *fn) behindProgram(frames *ir.Value, last int) *ir.Value {
	b := f.b
	sure := f.konst(int64(last + 1))
	if f.g.Mech().Program == bpf.Tracing && f.g.Mech().Attach != bpf.AttachRawTracepoint {
		return sure
	}
	const (
		callRel32 = 0xe8
		longest   = 1024 // bytes of bpf_trace_runN before its call
	)
	if f.m.o.Probe.Machine.Arch().Name != "x86_64" {
		return f.konst(int64(last + 2)) // functions that call functions have a frame
	}
	code := f.Temp("own.call", 8, 8)
	b.Store(code, 0, 8, f.konst(0))
	ret := b.U64(frames, 8*(last+1))
	b.Call(int(asm.FnProbeReadKernel), b.Add(code, 3), f.konst(5), b.Add(ret, -5))
	isCall := b.Eq(b.U8(code, 3), callRel32)
	called := b.Arith(ir.Add, ret, b.Load(code, 4, 4, true))
	near := b.ULt(b.Arith(ir.Sub, b.U64(frames, 8*last), called), longest)
	return b.Arith(ir.Add, sure, b.Arith(ir.And, isCall, near))
}

// nameFormat is the map whose text has the kernel name an address.
func (m *module) nameFormat() int {
	if m.names == 0 {
		m.names = m.kernelMap(&object.Map{
			Name: "name.format", Type: bpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
			Flags: bpf.ProgReadOnly, Text: "%ps",
		})
	}
	return m.names
}
