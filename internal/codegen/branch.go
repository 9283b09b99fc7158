package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/regalloc"
)

// end emits the way out of an IR block and the phi moves on its edges.
func (s *selector) end(b *ir.Block) {
	switch b.Kind {
	case ir.Ret:
		if b.Ctl != nil {
			s.into(regalloc.R0, b.Ctl)
		} else {
			s.setConst(regalloc.R0, 0)
		}
		s.emit(regalloc.Instr{Form: regalloc.Exit, Op: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Exit)})
	case ir.Jump:
		s.phiMoves(b, 0)
		s.jump(s.start[b.Succs[0].ID])
	case ir.If:
		yes, no := s.edge(b, 0), s.edge(b, 1)
		s.branch(b.Ctl, yes, no)
	case ir.MayGoto:
		more, out := s.edge(b, 0), s.edge(b, 1)
		s.cur.Succs = []*regalloc.Block{more, out}
		s.emit(regalloc.Instr{Form: regalloc.MayGoto, Op: asm.OpCode(asm.JumpClass).SetJumpOp(asm.JCOND)})
	}
}

// jump ends the current block with a jump. layout drops those to the next block.
func (s *selector) jump(to *regalloc.Block) {
	s.cur.Succs = []*regalloc.Block{to}
	s.emit(regalloc.Instr{Form: regalloc.Jump, Src: regalloc.NoReg})
}

// edge is where Succs[i] of a two-way block leads: the block itself, or one in between that makes
// its phi moves. A critical edge has no block of its own where moves could be: in b they would be
// made on the other way too, and in the successor for its other predecessors.
func (s *selector) edge(b *ir.Block, i int) *regalloc.Block {
	to := b.Succs[i]
	if len(to.Phis()) == 0 {
		return s.start[to.ID]
	}
	save, consts, data := s.cur, s.consts, s.data
	mid := s.split()
	mid.Weight = min(mid.Weight, s.start[to.ID].Weight)
	mid.Cold = mid.Cold || to.Cold
	mid.Loops = min(mid.Loops, s.start[to.ID].Loops)
	s.begin(mid)
	s.phiMoves(b, i)
	s.jump(s.start[to.ID])
	s.cur, s.consts, s.data = save, consts, data
	return mid
}

// phiMoves gives the phis of Succs[i] their values, as if all at once.
func (s *selector) phiMoves(b *ir.Block, i int) {
	to := b.Succs[i]
	k := b.PredIndex(i)
	type pending struct{ dst, src regalloc.Reg }
	// Registers are virtual here: two phis never have one, so that a destination is written once.
	var moves []pending
	var made []*ir.Value
	for _, phi := range to.Phis() {
		if s.uses[phi.ID] == 0 {
			continue
		}
		a := phi.Args[k]
		switch {
		// Constants come last: they read no register, so that no order is needed, and may overwrite
		// what moves read.
		case remakable(a):
			made = append(made, phi)
		case s.reg(a) != s.reg(phi):
			moves = append(moves, pending{s.reg(phi), s.reg(a)})
		}
	}
	for len(moves) > 0 {
		// A move is safe once no other still reads its destination.
		safe := -1
	search:
		for m := range moves {
			for o := range moves {
				if o != m && moves[o].src == moves[m].dst {
					continue search
				}
			}
			safe = m
			break
		}
		if safe >= 0 {
			s.move(moves[safe].dst, moves[safe].src)
			moves = append(moves[:safe], moves[safe+1:]...)
			continue
		}
		// Only cycles are left: free one destination by a copy.
		// One copy breaks one cycle, after which its other moves are safe.
		tmp := s.out.New()
		s.move(tmp, moves[0].dst)
		for o := range moves {
			if moves[o].src == moves[0].dst {
				moves[o].src = tmp
			}
		}
	}
	for _, phi := range made {
		s.make(s.reg(phi), phi.Args[k])
	}
}

// jumps has the jump for each comparison and the one with operands swapped.
var jumps = map[ir.Op][2]asm.JumpOp{
	ir.Eq: {asm.JEq, asm.JEq}, ir.Ne: {asm.JNE, asm.JNE},
	ir.ULt: {asm.JLT, asm.JGT}, ir.ULe: {asm.JLE, asm.JGE},
	ir.SLt: {asm.JSLT, asm.JSGT}, ir.SLe: {asm.JSLE, asm.JSGE},
}

// branch ends the current block: to yes if c is not 0, else to no.
func (s *selector) branch(c *ir.Value, yes, no *regalloc.Block) {
	if and, negated := bitTest(c); and != nil && (and == c || s.uses[and.ID] == 0) {
		if negated {
			yes, no = no, yes
		}
		s.test(asm.JSet, and.Args[0], and.Args[1])
		s.cur.Succs = []*regalloc.Block{yes, no}
		return
	}
	if !c.Op.Compares() {
		in := regalloc.Instr{Form: regalloc.CondJump, Op: asm.JNE.Op(asm.ImmSource), Dst: s.operand(c),
			Src: regalloc.NoReg}
		s.emit(in)
		s.cur.Succs = []*regalloc.Block{yes, no}
		return
	}
	x, y, op := c.Args[0], c.Args[1], jumps[c.Op][0]
	if imm32(x) && !imm32(y) {
		x, y, op = y, x, jumps[c.Op][1]
	}
	s.test(op, x, y)
	s.cur.Succs = []*regalloc.Block{yes, no}
}

// test ends the current block with a comparison. Of a constant it is y that can be an immediate;
// branch has swapped them if it was x.
func (s *selector) test(op asm.JumpOp, x, y *ir.Value) {
	if imm32(y) {
		s.emit(regalloc.Instr{Form: regalloc.CondJump, Op: op.Op(asm.ImmSource), Dst: s.operand(x),
			Src: regalloc.NoReg, Imm: y.Imm})
		return
	}
	a, b := s.operand(x), s.operand(y)
	s.emit(regalloc.Instr{Form: regalloc.CondJump, Op: op.Op(asm.RegSource), Dst: a, Src: b})
}
