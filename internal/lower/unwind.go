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
		f.When(b.Arith(ir.Eq, there, f.konst(0)), true, func() {
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
		f.When(b.Arith(ir.Eq, identity, f.konst(noProgram)), true, func() { f.b.Store(out, 0, 8, f.konst(someStack)) })
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
		b.If(b.Arith(ir.Eq, b.Load(space, object.UnwindIdentity, 8, false), identity), same, done)
		b.Begin(same)
	}
	ready := b.NewBlock()
	state := b.Load(space, object.UnwindState, 4, false)
	b.Store(out, 16, 8, b.Arith(ir.And, state, f.konst(object.UnwindFrames)))
	b.If(b.Arith(ir.Eq, state, f.konst(object.UnwindReady)), ready, done)
	b.Begin(ready)
	w := &walk{f: f, maps: maps, limit: limit}
	w.run(at, space, frames)
	f.When(b.Arith(ir.Eq, w.isLost, f.konst(0)), false, func() {
		f.b.Store(out, 0, 8, w.hash)
		f.b.Store(out, 8, 8, w.found)
	})
	// A program that maps code while it runs is looked at again, ever more rarely.
	f.When(w.strayed, true, func() {
		b := f.b
		b.AtomicAdd(space, object.UnwindStrays, 8, f.konst(1))
		n := b.Load(space, object.UnwindStrays, 8, false)
		f.When(b.Arith(ir.Eq, b.Arith(ir.And, n, b.Add(n, -1)), f.konst(0)), true, func() {
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
	doubt = b.Arith(ir.Xor, b.Load(out, 16, 8, false), f.konst(object.UnwindFrames))
	doubt = b.Arith(ir.Shl, doubt, f.konst(int64(bits.TrailingZeros(object.StackDoubted/object.UnwindFrames))))
	return b.Load(out, 0, 8, false), b.Load(out, 8, 8, false), doubt
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
	window     int // the address of what is in the window, or noWindow

	win *ir.Value // the memory of the window, see words

	hash, strayed, isLost, found *ir.Value // the outcome
}

func (w *walk) run(at syntax.Node, space, frames *ir.Value) {
	f := w.f
	window := f.farTemp("window", windowSize+wordPair, 8)
	cb, fn := f.inCallback(at, 2, func(next, stop *ir.Block) { w.frame(next, stop, space, frames, window) })
	regs := f.b.CallPtr(int(asm.FnTaskPtRegs), f.b.CallPtr(int(asm.FnGetCurrentTaskBtf)))
	a := f.m.o.Probe.Machine.Arch()
	cb.setup = append(cb.setup, func(frame *ir.Value) {
		b := f.b
		for _, r := range []struct{ slot, reg int }{{w.pc, a.IP}, {w.sp, a.SP}, {w.fp, a.FP}} {
			b.Store(frame, r.slot, 8, b.Load(regs, r.reg, 8, false))
		}
		for _, slot := range []int{w.back, w.mapping, w.sum, w.stray, w.count, w.cut, w.lost} {
			b.Store(frame, slot, 8, f.unknownZero())
		}
		b.Store(frame, w.window, 8, b.Add(f.unknownZero(), noWindow))
		link := f.unknownZero()
		if a.Link > 0 {
			link = b.Load(regs, a.Link, 8, false)
		}
		b.Store(frame, w.link, 8, link)
	})
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		b.Call(int(asm.FnLoop), f.konst(int64(w.limit)), b.FuncPtr(fn), frame, f.konst(0))
		sum, cut := b.Load(frame, w.sum, 8, false), b.Load(frame, w.cut, 8, false)
		sum = b.Arith(ir.Xor, b.Arith(ir.LShr, sum, f.konst(2)), cut)
		w.hash = b.Arith(ir.Or, sum, f.konst(someStack))
		w.strayed, w.isLost = b.Load(frame, w.stray, 8, false), b.Load(frame, w.lost, 8, false)
		n := b.Load(frame, w.count, 8, false)
		w.found = n
		// Where frames are missing, an address of all ones says so.
		f.When(cut, true, func() {
			f.When(f.b.Arith(ir.ULt, n, f.konst(int64(w.limit))), true, func() {
				f.b.Store(f.b.Arith(ir.Add, frames, f.b.Arith(ir.Shl, n, f.konst(3))), 0, 8, f.konst(-1))
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
		&w.cut, &w.lost, &w.window} {
		*slot = cb.slot()
	}
	get, put, when := f.carried, f.carry, f.goOn

	pc := get(w.pc)
	when(pc, stop)
	round := b.Ext(b.Param(0, ir.I64), 4, false)
	when(b.Arith(ir.ULt, round, f.konst(int64(w.limit))), stop)
	b.Store(b.Arith(ir.Add, frames, b.Arith(ir.Shl, round, f.konst(3))), 0, 8, pc)
	put(w.count, b.Add(round, 1))
	put(w.cut, f.konst(1))
	sum := b.Arith(ir.Xor, get(w.sum), pc)
	sum = b.Arith(ir.Mul, sum, f.konst(-0x61c8864680b583eb)) // 2^64 divided by the golden ratio
	put(w.sum, b.Arith(ir.Xor, sum, b.Arith(ir.LShr, sum, f.konst(32))))

	// The rule for the address.
	rule := b.NewObject("rule", 8, 8)
	unwind := b.NewBlock()
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	look := b.Arith(ir.Sub, pc, get(w.back))
	// in reports whether the mapping at a distance from the first has the address.
	in := func(at *ir.Value) *ir.Value {
		m := b.Arith(ir.Add, space, at)
		start, end := b.Load(m, object.UnwindMappings+object.UnwindStart, 8, false),
			b.Load(m, object.UnwindMappings+object.UnwindEnd, 8, false)
		return b.Arith(ir.ULt, b.Arith(ir.Sub, look, start), b.Arith(ir.Sub, end, start))
	}
	// Most callers are in the mapping of what they call.
	lastMapping := func() *ir.Value {
		return b.Arith(ir.And, get(w.mapping), f.konst((object.UnwindMost-1)*object.UnwindMapping))
	}
	inside, other, outside := b.NewBlock(), b.NewBlock(), b.NewBlock()
	outside.Cold = true
	b.If(in(lastMapping()), inside, other)
	b.Begin(other)
	at := w.search(space, object.UnwindMappings, object.UnwindMost, object.UnwindMapping, 8, look)
	put(w.mapping, at)
	b.If(in(at), inside, outside)
	b.Begin(outside)
	put(w.stray, f.konst(1))
	// No code is there, or it has been mapped since.
	put(w.lost, b.Arith(ir.Eq, round, f.konst(0)))
	when(b.Arith(ir.ULt, b.Load(space, object.UnwindCount, 4, false), f.konst(object.UnwindMost)), unwind)
	b.Store(b.Arith(ir.Add, frames, b.Arith(ir.Shl, round, f.konst(3))), 0, 8, f.konst(0))
	put(w.count, round)
	b.Jump(stop) // a guess led there
	b.Begin(inside)
	m := b.Arith(ir.Add, space, lastMapping())
	position := b.Ext(b.Arith(ir.Sub, look, b.Load(m, object.UnwindMappings+object.UnwindDelta, 8, false)), 4, false)
	chunk := b.Load(m, object.UnwindMappings+object.UnwindIndex, 4, false)

	// Stacks have most addresses in common with others: a rule that was found is kept. All
	// processors share what is kept, so that its halves may be of two rules; this shows.
	place := b.Arith(ir.Or, b.Arith(ir.Shl, chunk, f.konst(32)), position)
	hash := b.Arith(ir.Mul, place, f.konst(object.UnwindMix))
	number := f.Temp("number", 4, 4)
	b.Store(number, 0, 4, b.Arith(ir.LShr, hash, f.konst(int64(64-bits.TrailingZeros(object.UnwindMaxKept)))))
	kept := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(w.maps.rules), number)
	when(kept, unwind)
	mix := func(rule *ir.Value) *ir.Value { return b.Arith(ir.Mul, rule, f.konst(object.UnwindMix)) }
	known, unknown, apply := b.NewBlock(), b.NewBlock(), b.NewBlock()
	was := b.Load(kept, object.UnwindKeptRule, 8, false)
	b.Store(b.Addr(rule, 0), 0, 8, was)
	its := b.Arith(ir.Xor, b.Load(kept, object.UnwindKeptPlace, 8, false), mix(was))
	b.If(b.Arith(ir.Eq, its, place), known, unknown)
	b.Begin(unknown)
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	for range 2 { // the file's index, then the rows
		b.Store(number, 0, 4, chunk)
		p := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(w.maps.chunks), number)
		when(p, unwind)
		row := b.Arith(ir.Add, p, w.search(p, 0, object.UnwindRows, object.UnwindRowSize, 4, position))
		chunk = b.Load(row, 4, 4, false)
	}
	b.Store(kept, object.UnwindKeptPlace, 8, b.Arith(ir.Xor, place, mix(chunk)))
	b.Store(kept, object.UnwindKeptRule, 8, chunk)
	b.Store(b.Addr(rule, 0), 0, 8, chunk)
	b.Jump(known)
	b.Begin(known)
	found := b.Arith(ir.And, b.Load(b.Addr(rule, 0), 0, 8, false), f.konst(1<<object.RuleKindBits-1))
	b.If(b.Arith(ir.Ne, found, f.konst(object.RuleNone)), unwind, apply)
	b.Begin(apply)
	b.Store(b.Addr(rule, 0), 0, 8, f.konst(object.RuleGuess))
	b.Jump(unwind)

	b.Begin(unwind)
	r := b.Load(b.Addr(rule, 0), 0, 8, false)
	w.caller(r, pc, next, stop)
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
	off := b.Arith(ir.And, addr, f.konst(windowSize-1))
	at := b.Arith(ir.Add, w.win, off)
	piece := b.Arith(ir.Sub, addr, off)
	within, across, fill, done := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(b.Arith(ir.ULe, off, f.konst(windowSize-wordPair)), within, across)
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
		above := b.Arith(ir.AShr, b.Arith(ir.Sub, want, v), f.konst(63)) // all ones if v is above
		lo = b.Arith(ir.Add, lo, b.Arith(ir.And, b.Arith(ir.Xor, above, f.konst(-1)), f.konst(int64(step))))
	}
	return lo
}

// caller applies a rule.
func (w *walk) caller(r, pc *ir.Value, next, stop *ir.Block) {
	f := w.f
	b, get, put := f.b, f.carried, f.carry
	a := f.m.o.Probe.Machine.Arch()
	word := f.Temp("word", 8, 8)
	// read is for what is rarely needed, or lies elsewhere than the words around it.
	read := func(addr *ir.Value) *ir.Value {
		on := b.NewBlock()
		b.If(b.Call(int(asm.FnProbeReadUser), word, f.konst(8), addr), stop, on)
		b.Begin(on)
		return b.Load(word, 0, 8, false)
	}
	field := func(shift int) *ir.Value {
		rule := b.Arith(ir.And, b.Arith(ir.LShr, r, f.konst(int64(shift))), f.konst(object.RuleMost))
		return b.Arith(ir.Shl, rule, f.konst(3))
	}
	kind := b.Arith(ir.And, r, f.konst(1<<object.RuleKindBits-1))
	// either continues in block yes or falls through.
	either := func(cond *ir.Value, yes *ir.Block) {
		no := b.NewBlock()
		b.If(cond, yes, no)
		b.Begin(no)
	}
	sp, fp, distance, below := get(w.sp), get(w.fp), field(object.RuleCFAShift), field(object.RuleFPShift)
	// Blocks hand over to each other the top of the frame, where the frame pointer was saved in it, and the
	// caller's address.
	variable := func(name string) (get func() *ir.Value, set func(*ir.Value)) {
		p := b.Addr(b.NewObject(name, 8, 8), 0)
		return func() *ir.Value { return b.Load(p, 0, 8, false) }, func(v *ir.Value) { b.Store(p, 0, 8, v) }
	}
	cfa, set := variable("cfa")
	saved, setSaved := variable("saved")
	caller, setCaller := variable("caller")
	// pair reads the saved frame pointer, single the return address that does not lie behind it, and done ends
	// the round. All ways lead through the same few reads, so that the verifier has few to walk through.
	found, pair, single, done, over := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	over.Cold = true
	var linked *ir.Block // where only the return address was saved
	type rule struct {
		kind int64
		cold bool
		emit func()
		blk  *ir.Block
	}
	rules := []rule{
		{kind: object.RuleSP, emit: func() { set(b.Arith(ir.Add, sp, distance)); b.Jump(found) }},
		{kind: object.RuleFP, emit: func() { set(b.Arith(ir.Add, fp, distance)); b.Jump(found) }},
		{kind: object.RuleGuess, emit: func() {
			// The chain ends with 0. It need not go up: Go's goroutines have stacks of
			// their own.
			either(b.Arith(ir.Eq, fp, f.konst(0)), over)
			setSaved(fp)
			set(b.Add(fp, 16))
			b.Jump(pair)
		}},
		{kind: object.RuleEnd, emit: func() { b.Jump(over) }},
		{kind: object.RuleSignal, cold: true, emit: func() {
			frame := a.Unwind
			newSP, newFP := read(b.Add(sp, int64(frame.SP))), read(b.Add(sp, int64(frame.FP)))
			if a.Link > 0 {
				put(w.link, read(b.Add(sp, int64(frame.Link))))
			}
			put(w.pc, read(b.Add(sp, int64(frame.PC))))
			put(w.sp, newSP)
			put(w.fp, newFP)
			put(w.back, f.konst(0))
			put(w.cut, f.konst(0))
			b.Jump(next)
		}},
	}
	if a.Link > 0 {
		linked = b.NewBlock()
		rules = append(rules, []rule{
			{kind: object.RuleSPLink, emit: func() { set(b.Arith(ir.Add, sp, distance)); b.Jump(linked) }},
			{kind: object.RuleFPLink, emit: func() { set(b.Arith(ir.Add, fp, distance)); b.Jump(linked) }},
		}...)
	} else {
		rules = append(rules, []rule{
			{kind: object.RuleSaved, cold: true, emit: func() {
				at := read(b.Arith(ir.Sub, fp, distance))
				put(w.fp, read(fp))
				set(at)
				b.Jump(found)
			}},
			{kind: object.RulePLT, cold: true, emit: func() {
				pushed := b.Arith(ir.ULe, distance, b.Arith(ir.Shl, b.Arith(ir.And, pc, f.konst(15)), f.konst(3)))
				set(b.Arith(ir.Add, b.Add(sp, 8), b.Arith(ir.Shl, pushed, f.konst(3))))
				b.Jump(found)
			}},
		}...)
	}
	for i := range rules {
		rules[i].blk = b.NewBlock()
		rules[i].blk.Cold = rules[i].cold
		either(b.Arith(ir.Eq, kind, f.konst(rules[i].kind)), rules[i].blk)
	}
	b.Jump(stop)
	for _, rule := range rules {
		b.Begin(rule.blk)
		rule.emit()
	}
	b.Begin(over)
	put(w.cut, f.konst(0))
	b.Jump(stop)

	// The caller's frame is above, since stacks grow downwards. Only on arm64 a function that calls none
	// needs no stack.
	b.Begin(found)
	above := ir.ULt
	if a.Link > 0 {
		above = ir.ULe
	}
	f.goOn(b.Arith(above, sp, cfa()), stop)
	keeps, bare := b.NewBlock(), b.NewBlock()
	b.If(below, keeps, bare)
	b.Begin(keeps)
	setSaved(b.Arith(ir.Sub, cfa(), below))
	b.Jump(pair)
	b.Begin(bare)
	if a.Link > 0 {
		link := get(w.link)
		either(b.Arith(ir.Eq, link, f.konst(0)), stop)
		setCaller(link)
		b.Jump(done)
	} else {
		b.Jump(single)
	}

	b.Begin(pair)
	at := w.words(saved(), stop)
	put(w.fp, b.Load(at, 0, 8, false))
	setCaller(b.Load(at, 8, 8, false))
	if a.Link > 0 {
		b.Jump(done)
		b.Begin(linked)
		f.goOn(b.Arith(ir.ULt, sp, cfa()), stop)
		setSaved(b.Arith(ir.Sub, cfa(), below))
		b.Jump(single)
		b.Begin(single)
		setCaller(b.Load(w.words(saved(), stop), 0, 8, false))
	} else {
		b.If(b.Arith(ir.Eq, b.Arith(ir.Sub, cfa(), saved()), f.konst(wordPair)), done, single)
		b.Begin(single)
		setCaller(b.Load(w.words(b.Add(cfa(), -8), stop), 0, 8, false))
	}
	b.Jump(done)

	b.Begin(done) // with the caller's address, which a call is in front of
	ret := caller()
	if a.CodeBits > 0 {
		ret = b.Arith(ir.And, ret, f.konst(1<<a.CodeBits-1))
	}
	put(w.pc, ret)
	put(w.sp, cfa())
	put(w.back, f.konst(1))
	put(w.link, f.konst(0))
	put(w.cut, f.konst(0))
	b.Jump(next)
}
