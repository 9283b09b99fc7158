package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
)

// A step applies a rule: it goes from a frame to that of the caller. All ways lead through the same few
// reads, so that the verifier has few to walk through.
type step struct {
	w  *walk
	b  *ir.Builder
	pc *ir.Value

	links bool // the processor has a link register

	sp, fp, distance, below *ir.Value // registers, and what the rule says

	// cfa is the top of the frame, saved where the frame pointer was saved in it, caller the caller's
	// address: blocks hand them over to each other.
	cfa, saved, caller cell

	// found has the top; pair reads the saved frame pointer, single the return address that does not lie
	// behind it; linked is where only the return address was saved; done ends the round, over the walk.
	found, pair, single, linked, done, over, next, stop *ir.Block

	word *ir.Value // memory of read
}

// A cell is a word of memory.
type cell struct {
	b *ir.Builder
	p *ir.Value
}

func (v cell) get() *ir.Value  { return v.b.U64(v.p, 0) }
func (v cell) set(x *ir.Value) { v.b.Store(v.p, 0, 8, x) }

// A stepRule is what one kind of rules does. It is emitted into its block.
type stepRule struct {
	kind int64
	cold bool
	emit func()
	blk  *ir.Block
}

// caller applies a rule.
func (w *walk) caller(r, pc *ir.Value, next, stop *ir.Block) {
	f := w.f
	b := f.b
	s := &step{w: w, b: b, pc: pc, next: next, stop: stop, word: f.Temp("word", 8, 8)}
	s.links = f.m.o.Probe.Machine.Arch().Link > 0
	kind := b.And(r, 1<<object.RuleKindBits-1)
	field := func(shift int) *ir.Value { return b.Shl(b.And(b.LShr(r, int64(shift)), object.RuleMost), 3) }
	s.sp, s.fp = f.carried(w.sp), f.carried(w.fp)
	s.distance, s.below = field(object.RuleCFAShift), field(object.RuleFPShift)
	for i, c := range []*cell{&s.cfa, &s.saved, &s.caller} {
		*c = cell{b, b.Addr(b.NewObject([]string{"cfa", "saved", "caller"}[i], 8, 8), 0)}
	}
	s.found, s.pair, s.single, s.done, s.over =
		b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	s.over.Cold = true
	if s.links {
		s.linked = b.NewBlock()
	}
	rules := append(s.rules(), s.ownRules()...)
	for i := range rules {
		rules[i].blk = b.NewBlock()
		rules[i].blk.Cold = rules[i].cold
		s.either(b.Eq(kind, rules[i].kind), rules[i].blk)
	}
	b.Jump(stop)
	for _, rule := range rules {
		b.Begin(rule.blk)
		rule.emit()
	}
	b.Begin(s.over)
	f.carry(w.cut, f.konst(0))
	b.Jump(stop)
	s.fromTop()
	s.readWords()
}

// read is for what is rarely needed, or lies elsewhere than the words around it.
func (s *step) read(addr *ir.Value) *ir.Value {
	b := s.b
	on := b.NewBlock()
	b.If(b.Call(int(asm.FnProbeReadUser), s.word, b.Const(8), addr), s.stop, on)
	b.Begin(on)
	return b.U64(s.word, 0)
}

// either continues in block yes or falls through.
func (s *step) either(cond *ir.Value, yes *ir.Block) {
	no := s.b.NewBlock()
	s.b.If(cond, yes, no)
	s.b.Begin(no)
}

// above is a rule that says how far above a register the top of the frame is.
func (s *step) above(kind int64, register *ir.Value, to *ir.Block) stepRule {
	return stepRule{kind: kind, emit: func() {
		s.cfa.set(s.b.Arith(ir.Add, register, s.distance))
		s.b.Jump(to)
	}}
}

// rules are those of all processors.
func (s *step) rules() []stepRule {
	b, w, put := s.b, s.w, s.w.f.carry
	return []stepRule{
		s.above(object.RuleSP, s.sp, s.found),
		s.above(object.RuleFP, s.fp, s.found),
		{kind: object.RuleGuess, emit: func() {
			// The chain ends with 0. It need not go up: Go's goroutines have stacks of
			// their own.
			s.either(b.Eq(s.fp, 0), s.over)
			s.saved.set(s.fp)
			s.cfa.set(b.Add(s.fp, 16))
			b.Jump(s.pair)
		}},
		{kind: object.RuleEnd, emit: func() { b.Jump(s.over) }},
		{kind: object.RuleSignal, cold: true, emit: func() {
			frame := w.f.m.o.Probe.Machine.Arch().Unwind
			newSP, newFP := s.read(b.Add(s.sp, int64(frame.SP))), s.read(b.Add(s.sp, int64(frame.FP)))
			if s.links {
				put(w.link, s.read(b.Add(s.sp, int64(frame.Link))))
			}
			put(w.pc, s.read(b.Add(s.sp, int64(frame.PC))))
			put(w.sp, newSP)
			put(w.fp, newFP)
			put(w.back, b.Const(0))
			put(w.cut, b.Const(0))
			b.Jump(s.next)
		}},
	}
}

// ownRules are those of processors with a link register, or of those without.
func (s *step) ownRules() []stepRule {
	b := s.b
	if s.links {
		return []stepRule{
			s.above(object.RuleSPLink, s.sp, s.linked),
			s.above(object.RuleFPLink, s.fp, s.linked),
		}
	}
	return []stepRule{
		{kind: object.RuleSaved, cold: true, emit: func() {
			at := s.read(b.Arith(ir.Sub, s.fp, s.distance))
			s.w.f.carry(s.w.fp, s.read(s.fp))
			s.cfa.set(at)
			b.Jump(s.found)
		}},
		{kind: object.RulePLT, cold: true, emit: func() {
			pushed := b.Arith(ir.ULe, s.distance, b.Shl(b.And(s.pc, 15), 3))
			s.cfa.set(b.Arith(ir.Add, b.Add(s.sp, 8), b.Shl(pushed, 3)))
			b.Jump(s.found)
		}},
	}
}

// fromTop goes on where the top of the frame is known. The caller's frame is above, since stacks grow
// downwards. Only on arm64 a function that calls none needs no stack.
func (s *step) fromTop() {
	b := s.b
	b.Begin(s.found)
	above := ir.ULt
	if s.links {
		above = ir.ULe
	}
	s.w.f.goOn(b.Arith(above, s.sp, s.cfa.get()), s.stop)
	keeps, bare := b.NewBlock(), b.NewBlock()
	b.If(s.below, keeps, bare)
	b.Begin(keeps)
	s.saved.set(b.Arith(ir.Sub, s.cfa.get(), s.below))
	b.Jump(s.pair)
	b.Begin(bare)
	if !s.links {
		b.Jump(s.single)
		return
	}
	link := s.w.f.carried(s.w.link)
	s.either(b.Eq(link, 0), s.stop)
	s.caller.set(link)
	b.Jump(s.done)
}

// codeAddress is an address of code as it is compared: without bits that sign it, and without those that the
// kernel's trampoline may have beyond the addresses of programs.
func (f *fn) codeAddress(addr *ir.Value) *ir.Value {
	if code := f.m.o.Probe.Machine.Arch().CodeBits; code > 0 {
		return f.b.And(addr, 1<<code-1)
	}
	return addr
}

// readWords reads the saved frame pointer and the return address, and leaves the registers of the caller for
// the next round.
func (s *step) readWords() {
	b, w, put := s.b, s.w, s.w.f.carry
	b.Begin(s.pair)
	at := w.words(s.saved.get(), s.stop)
	w.f.carry(w.fp, b.U64(at, 0))
	s.caller.set(b.U64(at, 8))
	if s.links {
		b.Jump(s.done)
		b.Begin(s.linked)
		w.f.goOn(b.Arith(ir.ULt, s.sp, s.cfa.get()), s.stop)
		s.saved.set(b.Arith(ir.Sub, s.cfa.get(), s.below))
		b.Jump(s.single)
		b.Begin(s.single)
		s.caller.set(b.U64(w.words(s.saved.get(), s.stop), 0))
	} else {
		b.If(b.Eq(b.Arith(ir.Sub, s.cfa.get(), s.saved.get()), wordPair), s.done, s.single)
		b.Begin(s.single)
		s.caller.set(b.U64(w.words(b.Add(s.cfa.get(), -8), s.stop), 0))
	}
	b.Jump(s.done)

	b.Begin(s.done) // with the caller's address, which a call is in front of
	put(w.pc, w.f.codeAddress(s.caller.get()))
	put(w.sp, s.cfa.get())
	put(w.back, b.Const(1))
	put(w.link, b.Const(0))
	put(w.cut, b.Const(0))
	b.Jump(s.next)
}
