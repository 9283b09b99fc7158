package insn

// Registers is a set of general registers by the numbers that instructions give
// them: of x86-64 0 is rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi.
type Registers uint32

// The stack pointer, and the register where Go keeps what a goroutine is.
const (
	StackPointer Registers = 1 << 4
	GoroutineAt  Registers = 1 << 14
)

// Cheaper is how many bytes behind the start of a function a breakpoint meets the
// same calls with the same state, at a fraction of the cost: there is an
// instruction that the kernel emulates, and those in front of it, which it would
// step, do nothing but compute. They go on to the next, do not write memory, do
// not fail to read it, and leave the registers in keep as they are. 0 is the start
// itself, if there is no such place or no need of one. Of Go's functions goCode
// says so: one of its registers always points to memory.
//
// That nothing jumps to a place in between is for the caller to see.
func (s Set) Cheaper(code []byte, keep Registers, goCode bool) int {
	if s != AMD64 {
		return 0
	}
	for at := 0; at < len(code); {
		how, _ := s.Step(code[at:])
		if how == Emulated {
			return at
		}
		d, ok := decodeX86(code[at:], true)
		if !ok || how == Never {
			return 0
		}
		if written, computes := d.computes(goCode); !computes || written&keep != 0 {
			return 0
		}
		at += d.At
	}
	return 0
}

// computes reports whether an instruction does no more than to compute and to go
// on, and which general registers it may write. What it does not know does more.
func (d *x86) computes(goCode bool) (written Registers, ok bool) {
	op := d.op
	if d.enc != legacy || d.prefixes&^(segFS|rep) != 0 {
		return 0, false
	}
	if d.has(rep) {
		return 0, d.table == 1 && op == 0x1e && (d.modRM == 0xfa || d.modRM == 0xfb) // endbr64, endbr32
	}
	reg := Registers(1) << (d.reg() | d.rex&4<<1)
	rm := Registers(1) << (d.modRM&7 | d.rex&1<<3)
	switch {
	case d.table == 1 && op == 0x1f: // nop
		return 0, true
	case d.table == 1 && (op&0xf0 == 0x40 || op&0xf6 == 0xb6): // cmov, movzx, movsx
		return reg, d.readable(goCode)
	case d.table != 0:
		return 0, false
	case op == 0x90 && d.rex == 0, op == 0xa8, op == 0xa9: // nop, test of a constant
		return 0, true
	case op >= 0xb8 && op < 0xc0: // mov of a constant
		return Registers(1) << (op&7 | d.rex&1<<3), true
	case op == 0x8d: // lea
		return reg, d.inMemory()
	case op < 0x40 && (op&7 == 4 || op&7 == 5): // add and the like of a constant to rax
		return 1, true
	case op >= 0x38 && op < 0x3c, op == 0x84, op == 0x85, // cmp, test
		(op == 0x80 || op == 0x81 || op == 0x83) && d.reg() == 7, (op == 0xf6 || op == 0xf7) && d.reg() == 0:
		return 0, d.readable(goCode)
	case op < 0x40 && op&7 == 3, op == 0x8b, op == 0x63: // add and the like, mov, movsxd
		return reg, d.readable(goCode)
	case op < 0x40 && op&7 == 1, op == 0x89, // the same the other way
		op == 0x81, op == 0x83, op == 0xc7 && d.reg() == 0, op == 0xc1, op == 0xd1: // of a constant; shifts
		return rm, !d.inMemory()
	}
	return 0, false
}

// readable reports whether the operand of the ModRM byte can be read in any case:
// it is a register, or in memory of the file or of the thread, both of which are
// there as long as the code is.
func (d *x86) readable(goCode bool) bool {
	switch {
	case !d.inMemory():
		return true
	case d.has(segFS): // at a constant
		return d.modRM&0xc7 == 4 && d.sib&0x3f == 0x25 && d.rex&2 == 0
	case d.relative():
		return true
	}
	return goCode && d.modRM&0xc7 == 0x46 && d.rex&1 != 0 // near where r14 points
}

// ShortReach is more than how far away from its target a short jump starts, bytes.
const ShortReach = 192

// MayJumpInto reports whether a short jump somewhere in code may lead to one of the
// offsets from low to high. Where instructions start need not be known: all starts
// within the length of one are followed, and these soon meet.
func MayJumpInto(code []byte, low, high int) bool {
	seen := make([]bool, len(code))
	for start := range min(MaxLen, len(code)) {
		for at := start; at < len(code) && !seen[at]; {
			seen[at] = true
			d, ok := decodeX86(code[at:], true)
			if !ok {
				at++ // what comes after it may start anywhere
				continue
			}
			at += d.At
			short := d.enc == legacy && d.table == 0 && (d.op>>4 == 7 || d.op == 0xeb || d.op>>2 == 0xe0>>2)
			if to := at + int(int8(d.imm8)); short && to >= low && to <= high {
				return true
			}
		}
	}
	return false
}

// LeadsTo reports whether what follows two bytes may be the distance to an address
// that is jumped to, called, or computed, of 4 bytes.
func LeadsTo(a, b byte) bool {
	return b == 0xe8 || b == 0xe9 || a == 0x0f && b&0xf0 == 0x80 || a == 0xc7 && b == 0xf8 || // jumps, call, xbegin
		a == 0x8d && b&0xc7 == 0x05 // lea
}
