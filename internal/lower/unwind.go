package lower

import (
	"math/bits"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Unwinds reports whether user stacks can be walked by tables here.
func (f *fn) Unwinds() bool {
	o := f.m.o.Probe
	return o.Machine.Arch().Unwind.FP != 0 && !o.NoFeature["unwind"] && f.m.has(machine.BPFLoop) &&
		f.m.has(machine.TaskPtRegs) && f.m.has(machine.NoPreallocPerf)
}

// The maps of package object's UnwindSpaces, UnwindChunks, UnwindRules and
// UnwindFiles, the last only where programs make spaces, and one of the processes
// that were asked for, so that they are not asked for all the time.
type unwindMaps struct{ spaces, chunks, rules, files, asked int }

// unwindMaps makes the maps once for a script, whatever number of stacks it takes.
func (m *module) unwindMaps() *unwindMaps {
	if m.unwind == nil {
		m.unwind = &unwindMaps{
			spaces: m.ownMap(object.UnwindSpacesRole,
				&object.Map{Type: bpf.Hash, KeySize: 4, ValueSize: object.UnwindSpace,
					MaxEntries: object.UnwindMaxSpaces, Flags: unix.BPF_F_NO_PREALLOC}),
			chunks: m.ownMap(object.UnwindChunksRole,
				&object.Map{Type: bpf.Hash, KeySize: 4, ValueSize: object.UnwindChunk,
					MaxEntries: object.UnwindMaxChunks, Flags: unix.BPF_F_NO_PREALLOC}),
			rules: m.ownMap(object.UnwindRulesRole,
				&object.Map{Type: bpf.Array, KeySize: 4, ValueSize: object.UnwindKept,
					MaxEntries: object.UnwindMaxKept}),
			asked: m.ownMap(object.UnwindAskedRole,
				&object.Map{Type: bpf.LRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024}),
		}
		if l := m.mmLayout(); l != nil && l.walks {
			m.unwind.files = m.ownMap(object.UnwindFilesRole,
				&object.Map{Type: bpf.Hash, KeySize: object.UnwindFileKey, ValueSize: object.UnwindFile,
					MaxEntries: object.UnwindMaxFiles, Flags: unix.BPF_F_NO_PREALLOC})
		}
	}
	return m.unwind
}

// someStack is set in the numbers of all stacks; alone it is the number of one
// without frames.
const someStack = 1 << 61

// Unwind walks the user stack of the current thread by tables. It writes the
// addresses of at most limit frames to frames, and zeroes behind them, and yields a
// number made of them and how many they are. The number is 0 if frame pointers have
// to do: ask is then called where user space should provide tables for the process,
// and doubt is object.StackDoubted unless it is known that they will do.
func (f *fn) Unwind(
	at syntax.Node, pid *ir.Value, frames *ir.Value, limit int, ask func(),
) (number, count, doubt *ir.Value) {
	b := f.b
	maps := f.m.unwindMaps()
	f.m.long = f.m.long || len(f.loops) > 0
	out := f.Temp("unwound", 24, 8) // the number, the count, and UnwindFrames if frame pointers will do
	b.Zero(out, 0, 16)
	b.Store(out, 16, 8, f.unknownZero())
	key := f.Temp("process", 4, 4)
	b.Store(key, 0, 4, pid)
	askOnce := func() {
		b := f.b
		there := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(maps.asked), key)
		f.Rarely(b.Eq(there, 0), func() {
			b := f.b
			one := f.Temp("one", 8, 8)
			b.Store(one, 0, 8, f.konst(1))
			b.Call(int(asm.FnMapUpdateElem), b.MapPtr(maps.asked), key, one, f.konst(0))
			ask()
		})
	}
	layout := f.m.mmLayout()
	b.Zero(frames, 0, 8*limit)
	var identity *ir.Value
	if layout != nil {
		identity = f.findSpace(at, layout, key, askOnce)
		b = f.b
		f.Rarely(b.Eq(identity, noProgram), func() { f.b.Store(out, 0, 8, f.konst(someStack)) })
	}
	space := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(maps.spaces), key)
	known, unknown, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	unknown.Cold = true
	b.If(space, known, unknown)

	b.Begin(unknown)
	if layout == nil {
		askOnce()
	}
	f.b.Jump(done)

	b.Begin(known)
	if layout != nil {
		same := b.NewBlock()
		b.If(b.Arith(ir.Eq, b.U64(space, object.UnwindIdentity), identity), same, done)
		b.Begin(same)
	}
	ready := b.NewBlock()
	state := b.U32(space, object.UnwindState)
	b.Store(out, 16, 8, b.And(state, object.UnwindFrames))
	b.If(b.Eq(state, object.UnwindReady), ready, done)
	b.Begin(ready)
	w := &walk{f: f, maps: maps, limit: limit}
	if layout != nil && layout.probes.known {
		w.probes = &layout.probes
	}
	w.run(at, space, frames)
	f.When(b.Eq(w.isLost, 0), func() {
		f.b.Store(out, 0, 8, w.hash)
		f.b.Store(out, 8, 8, w.found)
	})
	// A program that maps code while it runs is looked at again, ever more rarely.
	f.Rarely(w.strayed, func() {
		b := f.b
		b.AtomicAdd(space, object.UnwindStrays, 8, f.konst(1))
		n := b.U64(space, object.UnwindStrays)
		f.Rarely(b.Eq(b.Arith(ir.And, n, b.Add(n, -1)), 0), func() {
			if layout == nil || !layout.walks {
				ask()
				return
			}
			f.b.Store(space, object.UnwindUnknown, 4, f.konst(1))
		})
	})
	f.b.Jump(done)
	b = f.b
	b.Begin(done)
	doubt = b.Xor(b.U64(out, 16), object.UnwindFrames)
	doubt = b.Shl(doubt, int64(bits.TrailingZeros(object.StackDoubted/object.UnwindFrames)))
	return b.U64(out, 0), b.U64(out, 8), doubt
}

// A walk is the loop over the frames of one stack. What it carries from frame
// to frame is in the callback's frame at the offsets below.
type walk struct {
	f     *fn
	maps  *unwindMaps
	limit int

	pc, sp, fp int
	back       int // what to subtract from pc to be inside of the call: 1 behind a call, else 0
	mapping    int // the distance from the first mapping to that of the last address
	sum        int // of the addresses
	stray      int // 1 if an address is in no mapping
	link       int // the link register, 0 where it is not known or there is none
	lost       int // 1 if it is the first one
	count      int // of the addresses
	cut        int // 1 if the walk could not go on, though there are more frames
	trampoline int // the address of the kernel's for return probes, or 0
	returns    int // the kernel's address of the return probe that is next on the way
	window     int // the address of what is in the window, or noWindow

	probes *probesLayout // nil if there are none

	win *ir.Value // the memory of the window, see words

	hash, strayed, isLost, found *ir.Value // the outcome
}

func (w *walk) run(at syntax.Node, space, frames *ir.Value) {
	f := w.f
	window := f.farTemp("window", windowSize+wordPair, 8)
	cb, fn := f.inCallback(at, 2, func(next, stop *ir.Block) { w.frame(next, stop, space, frames, window) })
	regs := f.b.CallPtr(int(asm.FnTaskPtRegs), f.b.CallPtr(int(asm.FnGetCurrentTaskBtf)))
	a := f.m.o.Probe.Machine.Arch()
	pc, sp := f.b.U64(regs, a.IP), f.b.U64(regs, a.SP)
	if ret := f.ReturnAddress(); ret != nil {
		pc = f.codeAddress(ret)
		if a.Link == 0 {
			sp = f.b.Add(sp, 8)
		}
	}
	trampoline, returns := f.unknownZero(), f.unknownZero()
	rounds := w.limit
	if w.probes != nil {
		trampoline, returns, pc = f.probedTask(w.probes, f.m.mmLayout().mm, pc)
		rounds += pendingReturns
	}
	cb.setup = append(cb.setup, func(frame *ir.Value) {
		b := f.b
		b.Store(frame, w.pc, 8, pc)
		b.Store(frame, w.sp, 8, sp)
		b.Store(frame, w.fp, 8, b.U64(regs, a.FP))
		b.Store(frame, w.trampoline, 8, trampoline)
		b.Store(frame, w.returns, 8, returns)
		for _, slot := range []int{w.back, w.mapping, w.sum, w.stray, w.count, w.cut, w.lost} {
			b.Store(frame, slot, 8, f.unknownZero())
		}
		b.Store(frame, w.window, 8, b.Add(f.unknownZero(), noWindow))
		link := f.unknownZero()
		if a.Link > 0 {
			link = b.U64(regs, a.Link)
		}
		b.Store(frame, w.link, 8, link)
	})
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		b.Call(int(asm.FnLoop), f.konst(int64(rounds)), b.FuncPtr(fn), frame, f.konst(0))
		sum, cut := b.U64(frame, w.sum), b.U64(frame, w.cut)
		sum = b.Arith(ir.Xor, b.LShr(sum, 2), cut)
		w.hash = b.Or(sum, someStack)
		w.strayed, w.isLost = b.U64(frame, w.stray), b.U64(frame, w.lost)
		n := b.U64(frame, w.count)
		w.found = n
		// Where frames are missing, an address of all ones says so.
		f.Rarely(cut, func() {
			f.Rarely(f.b.ULt(n, int64(w.limit)), func() {
				f.b.Store(f.b.Arith(ir.Add, frames, f.b.Shl(n, 3)), 0, 8, f.konst(-1))
			})
		})
	})
}

// frame is one round: it notes the address that the walk has come to and goes
// to the caller.
func (w *walk) frame(next, stop *ir.Block, outerSpace, outerFrames, outerWindow *ir.Value) {
	f := w.f
	b := f.b
	cb := f.cb
	carry := func(outer *ir.Value) *ir.Value {
		at := cb.slot()
		cb.setup = append(cb.setup, func(frame *ir.Value) { f.b.Store(frame, at, 8, outer) })
		return f.fetch(at)
	}
	space, frames := carry(outerSpace), carry(outerFrames)
	w.win = carry(outerWindow)
	for _, slot := range []*int{&w.pc, &w.sp, &w.fp, &w.back, &w.mapping, &w.sum, &w.stray, &w.link, &w.count,
		&w.cut, &w.lost, &w.window, &w.trampoline, &w.returns} {
		*slot = cb.slot()
	}
	get, put, when := f.carried, f.carry, f.goOn

	pc := get(w.pc)
	when(pc, stop)
	if w.probes != nil {
		hooked, free := b.NewBlock(), b.NewBlock()
		hooked.Cold = true
		b.If(b.Arith(ir.Eq, pc, get(w.trampoline)), hooked, free)
		b.Begin(hooked)
		w.hooked(next, stop)
		b.Begin(free)
	}
	n := get(w.count)
	when(b.ULt(n, int64(w.limit)), stop)
	b.Store(b.Arith(ir.Add, frames, b.Shl(n, 3)), 0, 8, pc)
	put(w.count, b.Add(n, 1))
	put(w.cut, f.konst(1))
	sum := b.Arith(ir.Xor, get(w.sum), pc)
	sum = b.Mul(sum, -0x61c8864680b583eb) // 2^64 divided by the golden ratio
	put(w.sum, b.Arith(ir.Xor, sum, b.LShr(sum, 32)))

	rule := b.NewObject("rule", 8, 8)
	unwind := b.NewBlock()
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	look := b.Arith(ir.Sub, pc, get(w.back))
	stray := func() {
		// No code is there, or it has been mapped since.
		put(w.lost, b.Eq(n, 0))
		when(b.ULt(b.U32(space, object.UnwindCount), object.UnwindMost), unwind)
		b.Store(b.Arith(ir.Add, frames, b.Shl(n, 3)), 0, 8, f.konst(0))
		put(w.count, n)
		b.Jump(stop) // a guess led there
	}
	m := w.mappingOf(space, look, stray)
	position := b.Ext(b.Arith(ir.Sub, look, b.U64(m, object.UnwindMappings+object.UnwindDelta)), 4, false)
	w.findRule(rule, b.U32(m, object.UnwindMappings+object.UnwindIndex), position, unwind)

	b.Begin(unwind)
	w.caller(b.U64(b.Addr(rule, 0), 0), pc, next, stop)
}

// mappingOf goes on in the mapping of a space that has an address. Where none has it, stray is what
// happens.
func (w *walk) mappingOf(space, look *ir.Value, stray func()) *ir.Value {
	f := w.f
	b := f.b
	// in reports whether the mapping at a distance from the first has the address.
	in := func(at *ir.Value) *ir.Value {
		m := b.Arith(ir.Add, space, at)
		start, end := b.U64(m, object.UnwindMappings+object.UnwindStart),
			b.U64(m, object.UnwindMappings+object.UnwindEnd)
		return b.Arith(ir.ULt, b.Arith(ir.Sub, look, start), b.Arith(ir.Sub, end, start))
	}
	// Most callers are in the mapping of what they call.
	last := func() *ir.Value {
		return b.And(f.carried(w.mapping), (object.UnwindMost-1)*object.UnwindMapping)
	}
	inside, other, outside := b.NewBlock(), b.NewBlock(), b.NewBlock()
	outside.Cold = true
	b.If(in(last()), inside, other)
	b.Begin(other)
	at := w.search(space, object.UnwindMappings, object.UnwindMost, object.UnwindMapping, 8, look)
	f.carry(w.mapping, at)
	b.If(in(at), inside, outside)
	b.Begin(outside)
	f.carry(w.stray, f.konst(1))
	stray()
	b.Begin(inside)
	return b.Arith(ir.Add, space, last())
}

// findRule looks up the rule for a position in a file, whose index is in a chunk, and goes to unwind.
// The rule stays a guess where there is none.
func (w *walk) findRule(rule *ir.Object, chunk, position *ir.Value, unwind *ir.Block) {
	f := w.f
	b := f.b
	// Stacks have most addresses in common with others: a rule that was found is kept. All
	// processors share what is kept, so that its halves may be of two rules; this shows.
	place := b.Arith(ir.Or, b.Shl(chunk, 32), position)
	hash := b.Mul(place, object.UnwindMix)
	number := f.Temp("number", 4, 4)
	b.Store(number, 0, 4, b.LShr(hash, int64(64-bits.TrailingZeros(object.UnwindMaxKept))))
	kept := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(w.maps.rules), number)
	f.goOn(kept, unwind)
	mix := func(rule *ir.Value) *ir.Value { return b.Mul(rule, object.UnwindMix) }
	known, unknown, apply := b.NewBlock(), b.NewBlock(), b.NewBlock()
	was := b.U64(kept, object.UnwindKeptRule)
	b.Store(b.Addr(rule, 0), 0, 8, was)
	its := b.Arith(ir.Xor, b.U64(kept, object.UnwindKeptPlace), mix(was))
	b.If(b.Arith(ir.Eq, its, place), known, unknown)
	b.Begin(unknown)
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	for range 2 { // the file's index, then the rows
		b.Store(number, 0, 4, chunk)
		p := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(w.maps.chunks), number)
		f.goOn(p, unwind)
		row := b.Arith(ir.Add, p, w.search(p, 0, object.UnwindRows, object.UnwindRowSize, 4, position))
		chunk = b.U32(row, 4)
	}
	b.Store(kept, object.UnwindKeptPlace, 8, b.Arith(ir.Xor, place, mix(chunk)))
	b.Store(kept, object.UnwindKeptRule, 8, chunk)
	b.Store(b.Addr(rule, 0), 0, 8, chunk)
	b.Jump(known)
	b.Begin(known)
	found := b.And(b.U64(b.Addr(rule, 0), 0), 1<<object.RuleKindBits-1)
	b.If(b.Ne(found, object.RuleNone), unwind, apply)
	b.Begin(apply)
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	b.Jump(unwind)
}

// The window is a piece of the traced stack: one read of it costs little more than one of a word, and
// frames are often smaller. A piece is aligned, so that it lies in one page.
const (
	windowSize = 512
	wordPair   = 16
	noWindow   = 1 // no piece begins there; one begins at 0, which a register may point to that is no pointer
)

// words is where the word at an address of the traced stack is and the one behind it, or ends the walk.
func (w *walk) words(addr *ir.Value, stop *ir.Block) *ir.Value {
	f := w.f
	b := f.b
	off := b.And(addr, windowSize-1)
	at := b.Arith(ir.Add, w.win, off)
	piece := b.Arith(ir.Sub, addr, off)
	within, across, fill, done := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(b.ULe(off, windowSize-wordPair), within, across)
	b.Begin(across) // it is written over the end of another piece, perhaps
	f.carry(w.window, f.konst(noWindow))
	b.If(b.Call(int(asm.FnProbeReadUser), at, f.konst(wordPair), addr), stop, done)
	b.Begin(within)
	b.If(b.Arith(ir.Eq, piece, f.carried(w.window)), done, fill)
	b.Begin(fill)
	f.carry(w.window, piece)
	b.If(b.Call(int(asm.FnProbeReadUser), w.win, f.konst(windowSize), piece), stop, done)
	b.Begin(done)
	return at
}

// search yields the distance from the first of n rows to the last one whose
// first bytes, a number of the given size, are not above what is looked for.
// The first row is taken for granted. There are no branches in it: the
// verifier walks through it once.
func (w *walk) search(p *ir.Value, first, n, size, width int, want *ir.Value) *ir.Value {
	f := w.f
	b := f.b
	lo := f.konst(0)
	for half := n / 2; half > 0; half /= 2 {
		step := half * size
		v := b.Load(b.Arith(ir.Add, p, lo), first+step, width, false)
		above := b.AShr(b.Arith(ir.Sub, want, v), 63) // all ones if v is above
		lo = b.Arith(ir.Add, lo, b.And(b.Xor(above, -1), int64(step)))
	}
	return lo
}

// ReturnAddress is where the function returns to that a program runs at the return instruction of; nil if it
// runs elsewhere.
func (f *fn) ReturnAddress() *ir.Value {
	m := f.g.Mech()
	if !m.AtReturn {
		return nil
	}
	b := f.b
	regs, a := m.Regs(f.ctx), f.m.o.Probe.Machine.Arch()
	if a.Link > 0 {
		return b.U64(regs, a.Link)
	}
	word := f.Temp("return", 8, 8)
	b.Store(word, 0, 8, f.konst(0)) // what is there if it cannot be read
	b.Call(int(asm.FnProbeReadUser), word, f.konst(8), b.U64(regs, a.SP))
	return b.U64(word, 0)
}
