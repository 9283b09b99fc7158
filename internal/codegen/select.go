package codegen

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/regalloc"
	"github.com/hawktrace/hawk/internal/source"
)

// A selector turns the IR of one function into machine instructions over
// virtual registers. What can be made anew for the price of a move
// (constants, addresses of objects, of the data map, of maps) is made where it
// is used, and shared only up to the next call.
type selector struct {
	opts  Options
	fn    *ir.Func
	out   *regalloc.Func
	regs  []regalloc.Reg    // by value ID; NoReg until asked for
	uses  []int             // by value ID: uses that need the value in a register
	total []int             // by value ID: all uses
	start []*regalloc.Block // by IR block ID
	cur   *regalloc.Block
	at    source.Span

	consts map[int64]regalloc.Reg // constants in registers since the last call
	data   map[int64]regalloc.Reg // addresses in the data map likewise
	err    error
}

// selectFunc selects the instructions of a function, block by block, each behind those that
// dominate it. Blocks weigh eight times as much for each loop around them, up to six; regalloc
// spills what weighs least.
func selectFunc(f *ir.Func, opts Options) (*regalloc.Func, error) {
	s := &selector{
		opts: opts, fn: f,
		out:   &regalloc.Func{NumRegs: regalloc.Virtual, Frame: frameOf(f)},
		regs:  make([]regalloc.Reg, f.NumValues()),
		start: make([]*regalloc.Block, f.NumBlocks()),
		total: f.UseCounts(),
	}
	for i := range s.regs {
		s.regs[i] = regalloc.NoReg
	}
	for _, o := range f.Objects {
		// Offsets count down from the frame pointer, so that one is at least as large as what
		// lies there.
		if o.Offset < o.Size {
			return nil, fmt.Errorf("%s: object o%d %q has no place in the frame", f.Name, o.ID, o.Name)
		}
	}
	dom := f.Dominators()
	depth := dom.LoopDepths()
	s.countUses(dom.Order)
	for _, b := range dom.Order {
		mb := s.newBlock(b)
		mb.Loops = depth[b.ID]
		mb.Weight = math.Pow(8, float64(min(depth[b.ID], 6)))
		if b.Cold {
			mb.Weight /= 16
		}
		s.start[b.ID] = mb
	}
	s.precious(dom.Order)
	for i, b := range dom.Order {
		s.begin(s.start[b.ID])
		if i == 0 {
			s.params(dom.Order)
		}
		for _, v := range b.Values {
			s.at = v.At
			s.value(v)
		}
		// The end of a block belongs to its own place in the script: the condition, the closing
		// brace.
		s.at = b.At
		s.end(b)
	}
	// The vector was made before expansion added registers of its own.
	if grow := int(s.out.NumRegs-regalloc.Virtual) - len(s.out.Precious); grow > 0 {
		s.out.Precious = append(s.out.Precious, make([]bool, grow)...)
	}
	return s.out, s.err
}

// frameOf is the number of frame bytes that placed objects take.
func frameOf(f *ir.Func) int {
	n := 0
	for _, o := range f.Objects {
		n = max(n, o.Offset)
	}
	return n
}

// newBlock makes the block that an IR block begins with.
func (s *selector) newBlock(b *ir.Block) *regalloc.Block {
	mb := &regalloc.Block{ID: len(s.out.Blocks), Weight: 1, Cold: b.Cold}
	s.out.Blocks = append(s.out.Blocks, mb)
	return mb
}

// split begins a block with the weight of the current one.
func (s *selector) split() *regalloc.Block {
	mb := &regalloc.Block{ID: len(s.out.Blocks), Weight: s.cur.Weight, Cold: s.cur.Cold, Loops: s.cur.Loops}
	s.out.Blocks = append(s.out.Blocks, mb)
	return mb
}

// begin goes on in a block. It may be reached by other ways, on which registers do not hold the
// shared constants.
func (s *selector) begin(b *regalloc.Block) {
	s.cur = b
	s.forget()
}

// forget drops the shared constants: a call destroys r1 to r5, and to keep them in others costs
// more than to make them anew.
func (s *selector) forget() { s.consts, s.data = nil, nil }

// countUses counts what needs a value in a register: a comparison that only
// ends blocks is part of the branch.
func (s *selector) countUses(blocks []*ir.Block) {
	s.uses = make([]int, s.fn.NumValues())
	for _, b := range blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				if v.Op == ir.Load && moved(a) {
					a = a.Args[0] // the load does the addition
				}
				s.uses[a.ID]++
			}
		}
		if b.Ctl != nil && !(b.Kind == ir.If && fusible(b.Ctl)) {
			s.uses[b.Ctl.ID]++
		}
	}
	// An And that is only tested, directly or against 0, is a bit test.
	for _, b := range blocks {
		if b.Kind != ir.If {
			continue
		}
		if t, _ := bitTest(b.Ctl); t != nil && t != b.Ctl && s.total[t.ID] == 1 && s.total[b.Ctl.ID] == 1 {
			s.uses[t.ID]--
		}
	}
}

// moved reports whether an address is another one plus a relocation.
func moved(p *ir.Value) bool { return p.Op == ir.Add && p.Args[1].Op == ir.Reloc }

// fusible reports whether a branch can do the work of its condition.
func fusible(c *ir.Value) bool { return c.Op.Compares() || c.Op == ir.And }

// bitTest recognises x&y, x&y != 0 and x&y == 0 as a condition; negated is
// true for the last.
func bitTest(c *ir.Value) (and *ir.Value, negated bool) {
	switch {
	case c.Op == ir.And:
		return c, false
	case (c.Op == ir.Ne || c.Op == ir.Eq) && c.Args[0].Op == ir.And && isConst(c.Args[1], 0):
		return c.Args[0], c.Op == ir.Eq
	}
	return nil, false
}

// isConst reports whether a value is the constant n.
func isConst(v *ir.Value, n int64) bool { return v.Op == ir.Const && v.Imm == n }

// imm32 reports whether a value fits the immediate of an instruction, which is sign-extended.
func imm32(v *ir.Value) bool { return v.Op == ir.Const && v.Imm == int64(int32(v.Imm)) }

// precious marks the scalars that end up in pointer arithmetic. Old verifiers forget the bounds of
// a scalar that was spilled, and refuse to add one without bounds to a pointer.
func (s *selector) precious(blocks []*ir.Block) {
	for _, b := range blocks {
		for _, v := range b.Values {
			if v.Kind != ir.Ptr || v.Op != ir.Add && v.Op != ir.Sub {
				continue
			}
			for a := v.Args[1]; a.Kind == ir.I64; a = a.Args[0] {
				if a.Op == ir.Const {
					break
				}
				i := int(s.reg(a) - regalloc.Virtual)
				for len(s.out.Precious) <= i {
					s.out.Precious = append(s.out.Precious, false)
				}
				s.out.Precious[i] = true
				if a.Op != ir.Shl && a.Op != ir.Mul && a.Op != ir.Add {
					break
				}
			}
		}
	}
}

// reg is the register that belongs to v throughout the function.
func (s *selector) reg(v *ir.Value) regalloc.Reg {
	if s.regs[v.ID] == regalloc.NoReg {
		s.regs[v.ID] = s.out.New()
	}
	return s.regs[v.ID]
}

// emit appends an instruction, at the present line of the script.
func (s *selector) emit(in regalloc.Instr) {
	in.At = s.at
	s.cur.Instrs = append(s.cur.Instrs, in)
}

// remakable reports whether a value costs no more to make than to move.
func remakable(v *ir.Value) bool {
	return v.Op.Remade()
}

// make puts a value that can be made anywhere into d.
func (s *selector) make(d regalloc.Reg, v *ir.Value) {
	switch v.Op {
	case ir.Const:
		s.setConst(d, v.Imm)
	case ir.Addr:
		s.emit(regalloc.Instr{Form: regalloc.Frame, Dst: d, Src: regalloc.NoReg, Imm: v.Imm - int64(v.Obj.Offset)})
	case ir.DataPtr:
		s.emit(regalloc.Instr{Form: regalloc.Set, Op: loadImm, Dst: d, Src: regalloc.NoReg,
			Pseudo: asm.PseudoMapValue, Imm: v.Imm})
	case ir.MapPtr:
		s.emit(regalloc.Instr{Form: regalloc.Set, Op: loadImm, Dst: d, Src: regalloc.NoReg,
			Pseudo: asm.PseudoMapFD, Imm: v.Imm})
	case ir.FuncPtr:
		s.emit(regalloc.Instr{Form: regalloc.Set, Op: loadImm, Dst: d, Src: regalloc.NoReg,
			Pseudo: asm.PseudoFunc, Fn: v.Fn})
	case ir.Reloc:
		s.emit(regalloc.Instr{Form: regalloc.Set, Op: loadImm, Dst: d, Src: regalloc.NoReg, Reloc: int(v.Imm) + 1})
	default:
		s.fail("%s: %s has no place", s.fn.Name, v)
	}
}

var loadImm = asm.LoadImmOp(asm.DWord)

// setConst puts a constant into d by the shortest instruction.
func (s *selector) setConst(d regalloc.Reg, n int64) {
	op := asm.Mov.Op(asm.ImmSource)
	switch {
	case n == int64(int32(n)):
	case n == int64(uint32(n)):
		op = asm.Mov.Op32(asm.ImmSource) // zero-extends: one instruction less than a 64-bit immediate
		n = int64(int32(n))
	default:
		op = loadImm
	}
	s.emit(regalloc.Instr{Form: regalloc.Set, Op: op, Dst: d, Src: regalloc.NoReg, Imm: n})
}

// operand is a register that holds v and must not be written.
func (s *selector) operand(v *ir.Value) regalloc.Reg {
	switch {
	case !remakable(v):
		return s.reg(v)
	case v.Op == ir.Const:
		r, ok := s.consts[v.Imm]
		if !ok {
			r = s.out.New()
			s.setConst(r, v.Imm)
			if s.consts == nil {
				s.consts = map[int64]regalloc.Reg{}
			}
			s.consts[v.Imm] = r
		}
		return r
	case v.Op == ir.DataPtr:
		r, ok := s.data[v.Imm]
		if !ok {
			r = s.newData(v)
		}
		return r
	}
	r := s.out.New()
	s.make(r, v)
	return r
}

// newData makes the address of a byte of the data map, and notes the register.
func (s *selector) newData(v *ir.Value) regalloc.Reg {
	r := s.out.New()
	s.make(r, v)
	if s.data == nil {
		s.data = map[int64]regalloc.Reg{}
	}
	s.data[v.Imm] = r
	return r
}

// into puts v into d, a fresh or a machine register.
func (s *selector) into(d regalloc.Reg, v *ir.Value) {
	if remakable(v) {
		s.make(d, v)
		return
	}
	s.move(d, s.reg(v))
}

// move copies a register; regalloc drops copies of a register to itself.
func (s *selector) move(d, r regalloc.Reg) {
	s.emit(regalloc.Instr{Form: regalloc.Mov, Op: asm.Mov.Op(asm.RegSource), Dst: d, Src: r})
}

// alu computes d = d op r: the machine has two operands.
func (s *selector) alu(op asm.ALUOp, d, r regalloc.Reg) {
	s.emit(regalloc.Instr{Form: regalloc.ALU, Op: op.Op(asm.RegSource), Dst: d, Src: r})
}

// aluImm computes d = d op n.
func (s *selector) aluImm(op asm.ALUOp, d regalloc.Reg, n int64) {
	s.emit(regalloc.Instr{Form: regalloc.ALU, Op: op.Op(asm.ImmSource), Dst: d, Src: regalloc.NoReg, Imm: n})
}

// params moves the parameters that are read out of r1…r5.
func (s *selector) params(blocks []*ir.Block) {
	var first [5]*ir.Value
	for _, b := range blocks {
		for _, v := range b.Values {
			if v.Op != ir.Param || s.uses[v.ID] == 0 || v.Imm < 0 || v.Imm > 4 {
				continue
			}
			if p := first[v.Imm]; p != nil {
				s.regs[v.ID] = s.reg(p)
				continue
			}
			first[v.Imm] = v
			s.reg(v)
		}
	}
	for i, v := range first {
		if v != nil {
			s.move(s.reg(v), regalloc.Reg(i+1))
		}
	}
}

// A place is base register plus offset, as memory instructions take it.
type place struct {
	base regalloc.Reg
	off  int16
	// The address is phase modulo align, a power of two up to 8. Where the
	// verifier does not mind (memory other than the stack), any address
	// counts as aligned to 8.
	align, phase int64
}

// place is the address p+off.
func (s *selector) place(p *ir.Value, off int64) place {
	align, phase := int64(8), int64(0)
	if s.onStack(p, 0) {
		align = s.alignment(p, 0)
		if p.Op == ir.Addr {
			align, phase = 8, (p.Imm-int64(p.Obj.Offset)+off)&7
		} else {
			phase = off & (align - 1)
		}
	}
	switch {
	case p.Op == ir.Addr:
		if at := p.Imm - int64(p.Obj.Offset) + off; at >= math.MinInt16 && at < 0 {
			return place{regalloc.FP, int16(at), align, phase}
		}
	case p.Op == ir.DataPtr:
		if r, ok := s.data[p.Imm]; ok && off == int64(int16(off)) {
			return place{r, int16(off), align, phase}
		}
		// The nearest base before or after will do, whichever the map yields:
		// they are tried in order so that the code does not depend on chance.
		best, dist := int64(0), int64(math.MaxInt64)
		for base := range s.data {
			d := p.Imm + off - base
			if d == int64(int16(d)) && (abs(d) < dist || abs(d) == dist && base < best) {
				best, dist = base, abs(d)
			}
		}
		if dist != math.MaxInt64 {
			return place{s.data[best], int16(p.Imm + off - best), align, phase}
		}
	}
	if off == int64(int16(off)) {
		return place{s.operand(p), int16(off), align, phase}
	}
	r := s.out.New()
	s.into(r, p)
	s.aluImm(asm.Add, r, off)
	return place{r, 0, align, phase}
}

// abs is the distance from 0.
func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// onStack reports whether p may point into the frame or the context, where the
// verifier insists on aligned access.
func (s *selector) onStack(p *ir.Value, depth int) bool {
	switch p.Op {
	case ir.Addr:
		return true
	case ir.Add, ir.Sub:
		return s.onStack(p.Args[0], depth)
	case ir.Phi:
		// Phis can lead in circles; the answer that is always right costs a few narrower accesses.
		if depth > 4 {
			return true
		}
		for _, a := range p.Args {
			if s.onStack(a, depth+1) {
				return true
			}
		}
		return false
	case ir.Param:
		return true // the context, or in a callback its caller's frame
	case ir.Load:
		return s.fn.Static && p.Kind == ir.Ptr // its caller may have passed an address of its own
	}
	return false
}

// alignment is a power of two up to 8 that divides pointer p.
func (s *selector) alignment(p *ir.Value, depth int) int64 {
	low := func(n int64) int64 {
		if n&7 == 0 {
			return 8
		}
		return n & -n
	}
	switch p.Op {
	case ir.Addr:
		return low(p.Imm - int64(p.Obj.Offset))
	case ir.Add, ir.Sub:
		a, x := s.alignment(p.Args[0], depth), p.Args[1]
		switch {
		case x.Op == ir.Const:
			return min(a, low(x.Imm))
		case x.Op == ir.Shl && x.Args[1].Op == ir.Const && x.Args[1].Imm >= 0:
			return min(a, 1<<min(x.Args[1].Imm, 3))
		case x.Op == ir.Mul && x.Args[1].Op == ir.Const:
			return min(a, low(x.Args[1].Imm))
		}
		return 1
	case ir.Phi:
		if depth > 4 {
			return 1
		}
		a := int64(8)
		for _, x := range p.Args {
			a = min(a, s.alignment(x, depth+1))
		}
		return a
	}
	return 8
}
