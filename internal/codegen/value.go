package codegen

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/regalloc"
)

var aluOps = map[ir.Op]asm.ALUOp{
	ir.Add: asm.Add, ir.Sub: asm.Sub, ir.Mul: asm.Mul, ir.UDiv: asm.Div, ir.UMod: asm.Mod,
	ir.And: asm.And, ir.Or: asm.Or, ir.Xor: asm.Xor, ir.Shl: asm.LSh, ir.LShr: asm.RSh, ir.AShr: asm.ArSh,
}

// sizeOf is the width of an access of 1, 2, 4 or 8 bytes.
func sizeOf(n uint8) asm.Size {
	switch n {
	case 1:
		return asm.Byte
	case 2:
		return asm.Half
	case 4:
		return asm.Word
	}
	return asm.DWord
}

// value emits the instructions of one value.
func (s *selector) value(v *ir.Value) {
	if (v.Op.Pure() || v.Op.Reads()) && s.uses[v.ID] == 0 || remakable(v) {
		return
	}
	switch v.Op {
	case ir.Param, ir.Phi: // filled at entry, and at the end of predecessors
	case ir.Add, ir.Sub, ir.Mul, ir.UDiv, ir.UMod, ir.And, ir.Or, ir.Xor, ir.Shl, ir.LShr, ir.AShr:
		s.arith(v)
	case ir.SDiv, ir.SMod:
		s.signedDiv(v)
	case ir.UMin:
		s.umin(v)
	case ir.Neg:
		d := s.reg(v)
		s.into(d, v.Args[0])
		s.aluImm(asm.Neg, d, 0)
	case ir.Ext:
		s.ext(s.reg(v), v.Args[0], v.Size, v.Sign)
	case ir.Bswap:
		d := s.reg(v)
		s.into(d, v.Args[0])
		s.emit(regalloc.Instr{Form: regalloc.ALU, Op: s.swapOp(), Dst: d, Src: regalloc.NoReg, Imm: int64(v.Size) * 8})
	case ir.Eq, ir.Ne, ir.ULt, ir.ULe, ir.SLt, ir.SLe:
		s.compare(v)
	case ir.Load:
		s.load(v)
	case ir.Store:
		s.store(v)
	case ir.Zero:
		s.zero(v)
	case ir.Copy:
		s.copy(v)
	case ir.AtomicAdd, ir.AtomicXchg, ir.AtomicFetchAdd, ir.AtomicCmpXchg:
		s.atomic(v)
	case ir.Call, ir.CallKfunc, ir.CallPiece:
		s.call(v)
	default:
		s.fail("%s: no code for %s", s.fn.Name, v)
	}
}

// fail keeps the first error: others may follow from it.
func (s *selector) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// umin is one instruction up to the end, when it becomes a test and a move: no spill gets in between.
// A verifier before Linux 6.9 learns of a test only what it tells of the register, and not of the
// place in memory that the register was loaded from.
func (s *selector) umin(v *ir.Value) {
	x, y, d := v.Args[0], v.Args[1], s.reg(v)
	in := regalloc.Instr{Form: regalloc.Least, Op: asm.JLE.Op(asm.RegSource), Dst: d}
	if imm32(y) {
		in.Op, in.Src, in.Imm = asm.JLE.Op(asm.ImmSource), regalloc.NoReg, y.Imm
	} else {
		in.Src = s.operand(y)
	}
	s.into(d, x)
	s.emit(in)
}

// swapOp reverses bytes. The machine's instruction converts to a byte order, and does nothing if
// that is its own.
func (s *selector) swapOp() asm.OpCode {
	// "To big endian" swaps on a little-endian machine and the other way round.
	end := asm.BE
	if s.opts.BigEndian {
		end = asm.LE
	}
	return asm.OpCode(asm.ALUClass).SetALUOp(asm.Swap).SetSource(asm.Source(end))
}

// arith selects arithmetic of two operands, the first of which is overwritten.
func (s *selector) arith(v *ir.Value) {
	x, y := v.Args[0], v.Args[1]
	op, d := aluOps[v.Op], s.reg(v)
	// Overwrite the operand that nothing else wants. A pointer has to be the
	// one that is overwritten: adding a pointer to the stack of a callback to a
	// number, the verifier takes it for one to the caller's stack (up to 6.18,
	// adjust_ptr_min_max_vals copies all of the pointer but frameno).
	switch {
	case !v.Op.Commutative() || imm32(y) || x.Kind == ir.Ptr:
	case y.Kind == ir.Ptr, remakable(x), s.total[x.ID] > 1 && s.total[y.ID] == 1 && !remakable(y):
		x, y = y, x
	}
	// The verifier refuses division by a constant 0; by a register that holds 0 the result is
	// defined.
	if imm32(y) && !((v.Op == ir.UDiv || v.Op == ir.UMod) && y.Imm == 0) {
		n := y.Imm
		if v.Op == ir.Shl || v.Op == ir.LShr || v.Op == ir.AShr {
			// It refuses larger shifts by constants, too, which the IR takes modulo 64.
			n &= 63
		}
		s.into(d, x)
		s.aluImm(op, d, n)
		return
	}
	if moved(v) {
		s.into(d, x)
		s.emit(regalloc.Instr{Form: regalloc.ALU, Op: asm.Add.Op(asm.ImmSource), Dst: d,
			Src: regalloc.NoReg, Reloc: int(y.Imm) + 1})
		return
	}
	if x == y {
		s.into(d, x)
		s.alu(op, d, d)
		return
	}
	r := s.operand(y)
	s.into(d, x)
	s.alu(op, d, r)
}

// signedDiv divides magnitudes and gives the result its sign when the machine
// has no signed division. Division by 0 keeps the meaning of the unsigned one.
func (s *selector) signedDiv(v *ir.Value) {
	x, y, d := v.Args[0], v.Args[1], s.reg(v)
	if s.opts.CPUv4 {
		op := asm.SDiv
		if v.Op == ir.SMod {
			op = asm.SMod
		}
		if imm32(y) && y.Imm != 0 {
			s.into(d, x)
			s.aluImm(op, d, y.Imm)
			return
		}
		r := s.operand(y)
		s.into(d, x)
		s.alu(op, d, r)
		return
	}
	// |x| = (x ^ sx) - sx where sx is 0 or -1.
	sign := func(v *ir.Value) regalloc.Reg {
		r := s.out.New()
		s.into(r, v)
		s.aluImm(asm.ArSh, r, 63)
		return r
	}
	sx := sign(x)
	s.into(d, x)
	s.alu(asm.Xor, d, sx)
	s.alu(asm.Sub, d, sx)
	op := asm.Div
	if v.Op == ir.SMod {
		op = asm.Mod
	}
	switch {
	case imm32(y) && y.Imm != 0 && y.Imm > -1<<31:
		s.aluImm(op, d, abs(y.Imm))
		if y.Imm < 0 && op == asm.Div {
			s.aluImm(asm.Xor, sx, -1)
		}
	default:
		sy, ay := sign(y), s.out.New()
		s.into(ay, y)
		s.alu(asm.Xor, ay, sy)
		s.alu(asm.Sub, ay, sy)
		s.alu(op, d, ay)
		if op == asm.Div {
			s.alu(asm.Xor, sx, sy)
		}
	}
	s.alu(asm.Xor, d, sx)
	s.alu(asm.Sub, d, sx)
}

// ext puts the low bytes of x into d, extended by zeros or by the sign.
func (s *selector) ext(d regalloc.Reg, x *ir.Value, size uint8, sign bool) {
	switch {
	case size == 8:
		s.into(d, x)
	case sign:
		s.into(d, x)
		s.signExtend(d, size)
	case size == 4:
		s.emit(regalloc.Instr{Form: regalloc.Unary, Op: asm.Mov.Op32(asm.RegSource), Dst: d, Src: s.operand(x)})
	default:
		s.into(d, x)
		s.aluImm(asm.And, d, 1<<(size*8)-1)
	}
}

// signExtend extends the sign in place: by one instruction (Linux 6.6) or two shifts.
func (s *selector) signExtend(d regalloc.Reg, size uint8) {
	if s.opts.CPUv4 {
		op := map[uint8]asm.ALUOp{1: asm.MovSX8, 2: asm.MovSX16, 4: asm.MovSX32}[size]
		s.emit(regalloc.Instr{Form: regalloc.Unary, Op: op.Op(asm.RegSource), Dst: d, Src: d})
		return
	}
	shift := int64(64 - 8*int(size))
	s.aluImm(asm.LSh, d, shift)
	s.aluImm(asm.ArSh, d, shift)
}

// compare puts the truth of v into a register: 1, or 0 if the branch is not taken.
func (s *selector) compare(v *ir.Value) {
	d := s.reg(v)
	if v.Op == ir.SLt && isConst(v.Args[1], 0) {
		s.into(d, v.Args[0])
		s.aluImm(asm.RSh, d, 63)
		return
	}
	set, join := s.split(), s.split()
	s.setConst(d, 1)
	s.branch(v, join, set)
	s.begin(set)
	s.setConst(d, 0)
	s.emit(regalloc.Instr{Form: regalloc.Jump, Src: regalloc.NoReg})
	set.Succs = []*regalloc.Block{join}
	s.begin(join)
}

// load selects a read of memory; the machine fills the rest with zeros, or with the sign since
// Linux 6.6.
func (s *selector) load(v *ir.Value) {
	p, reloc := v.Args[0], 0
	if moved(p) {
		p, reloc = p.Args[0], int(p.Args[1].Imm)+1
	}
	at := s.place(p, v.Imm)
	d := s.reg(v)
	mode := asm.MemMode
	if v.Sign && v.Size < 8 && s.opts.CPUv4 {
		mode = asm.MemSXMode
	}
	s.emit(regalloc.Instr{
		Form: regalloc.Load, Op: asm.OpCode(asm.LdXClass).SetMode(mode).SetSize(sizeOf(v.Size)),
		Dst: d, Src: at.base, Off: at.off, Reloc: reloc,
	})
	if v.Sign && v.Size < 8 && !s.opts.CPUv4 {
		s.signExtend(d, v.Size)
	}
}

// store selects a write of memory; constants of 32 bits need no register.
func (s *selector) store(v *ir.Value) {
	at, x := s.place(v.Args[0], v.Imm), v.Args[1]
	if x.Op == ir.Const {
		n := x.Imm
		if v.Size < 8 {
			n = int64(int32(n)) // the low bytes are what counts
		}
		if n == int64(int32(n)) {
			s.storeImm(at.base, at.off, v.Size, n)
			return
		}
	}
	s.storeReg(at.base, at.off, v.Size, s.operand(x))
}

// storeReg stores the low bytes of a register.
func (s *selector) storeReg(base regalloc.Reg, off int16, size uint8, x regalloc.Reg) {
	s.emit(regalloc.Instr{Form: regalloc.Store, Op: asm.StoreMemOp(sizeOf(size)), Dst: base, Src: x, Off: off})
}

// storeImm stores a sign-extended 32-bit immediate. The library's constructor
// refuses eight bytes, the machine does not.
func (s *selector) storeImm(base regalloc.Reg, off int16, size uint8, n int64) {
	op := asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(sizeOf(size))
	s.emit(regalloc.Instr{Form: regalloc.StoreImm, Op: op, Dst: base, Src: regalloc.NoReg, Off: off, Imm: n})
}

// maxInline bounds what Zero and Copy unroll, in bytes.
const maxInline = 4096

// pieces calls fn for the widest aligned accesses that cover n bytes of both
// places (which may be the same).
func pieces(a, b place, n int, fn func(size uint8, done int)) {
	for done := 0; done < n; {
		size := int64(8)
		for size > int64(n-done) || !a.aligned(done, size) || !b.aligned(done, size) {
			size /= 2
		}
		fn(uint8(size), done)
		done += int(size)
	}
}

// aligned reports whether size bytes at p+done can be accessed at once.
func (p place) aligned(done int, size int64) bool {
	return size <= p.align && (p.phase+int64(done))%size == 0
}

// zero clears memory by stores of constants.
func (s *selector) zero(v *ir.Value) {
	if v.Len > maxInline {
		s.fail("%s: %s clears more than %d bytes", s.fn.Name, v, maxInline)
		return
	}
	at := s.span(v.Args[0], v.Imm, v.Len)
	pieces(at, at, v.Len, func(size uint8, done int) {
		s.storeImm(at.base, at.off+int16(done), size, 0)
	})
}

// span is the place of n bytes, all of which can be reached by a 16-bit offset.
func (s *selector) span(p *ir.Value, off int64, n int) place {
	at := s.place(p, off)
	if int(at.off)+n > 1<<15-1 {
		r := s.out.New()
		s.move(r, at.base)
		s.aluImm(asm.Add, r, int64(at.off))
		at.base, at.off = r, 0
	}
	return at
}

// copy moves bytes by way of one register at a time, so that they may not overlap.
func (s *selector) copy(v *ir.Value) {
	if v.Len > maxInline {
		s.fail("%s: %s moves more than %d bytes", s.fn.Name, v, maxInline)
		return
	}
	src := s.span(v.Args[1], 0, v.Len)
	dst := s.span(v.Args[0], v.Imm, v.Len)
	pieces(dst, src, v.Len, func(size uint8, done int) {
		tmp := s.out.New()
		s.emit(regalloc.Instr{
			Form: regalloc.Load, Op: asm.LoadMemOp(sizeOf(size)), Dst: tmp, Src: src.base, Off: src.off + int16(done),
		})
		s.storeReg(dst.base, dst.off+int16(done), size, tmp)
	})
}

// atomic selects an atomic operation. One whose result nobody reads is the plain addition, which
// every kernel has.
func (s *selector) atomic(v *ir.Value) {
	at := s.place(v.Args[0], v.Imm)
	emit := func(form regalloc.Form, a asm.AtomicOp, x regalloc.Reg) {
		// The machine has the operation in the immediate, the library in the
		// opcode; its Marshal forgets to move it (v0.22), so that both are set.
		s.emit(regalloc.Instr{
			Form: form, Op: asm.OpCode(asm.StXClass).SetMode(asm.AtomicMode).SetSize(sizeOf(v.Size)).SetAtomicOp(a),
			Dst: at.base, Src: x, Off: at.off, Imm: int64(a >> 8), Fetch: form == regalloc.Atomic && a != asm.AddAtomic,
		})
	}
	d := s.reg(v)
	switch {
	case v.Op == ir.AtomicAdd || v.Op == ir.AtomicFetchAdd && s.uses[v.ID] == 0:
		emit(regalloc.Atomic, asm.AddAtomic, s.operand(v.Args[1]))
	case v.Op == ir.AtomicFetchAdd:
		s.into(d, v.Args[1])
		emit(regalloc.Atomic, asm.FetchAdd, d)
	case v.Op == ir.AtomicXchg:
		s.into(d, v.Args[1])
		emit(regalloc.Atomic, asm.Xchg, d)
	default:
		x := s.operand(v.Args[2])
		s.into(regalloc.R0, v.Args[1])
		emit(regalloc.CmpXchg, asm.CmpXchg, x)
		s.move(d, regalloc.R0)
	}
}

// call puts the arguments into r1 to r5 and moves the result out of r0.
func (s *selector) call(v *ir.Value) {
	if len(v.Args) > 5 {
		s.fail("%s: %s has more than five arguments", s.fn.Name, v)
		return
	}
	for i, a := range v.Args {
		s.into(regalloc.Reg(i+1), a)
	}
	in := regalloc.Instr{Form: regalloc.Call, Op: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Imm: v.Imm, N: len(v.Args)}
	switch v.Op {
	case ir.CallKfunc:
		in.Pseudo = asm.PseudoKfuncCall
	case ir.CallPiece:
		in.Pseudo, in.Fn = asm.PseudoCall, v.Fn
	}
	s.emit(in)
	s.forget()
	if v.Kind != ir.Nothing && s.uses[v.ID] > 0 {
		s.move(s.reg(v), regalloc.R0)
	}
}
