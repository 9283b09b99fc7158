// Package regalloc assigns the registers of the eBPF machine.
//
// It sees code as blocks of machine instructions over virtual registers
// (Func, Block, Instr) and replaces those by r0 to r9, with loads and stores
// of frame slots where registers run out. Registers with a role are named by
// the code itself: moves to r1…r5 before a call, from r0 after it. A call
// clobbers r0…r5, so what lives across one ends up in r6…r9 or in a slot.
//
// The algorithm is graph colouring with conservative coalescing: build the
// interference graph, merge the two sides of moves where that cannot make the
// graph harder to colour (the tests of Briggs and of George), colour
// optimistically, and if something is left over, spill it and start again
// (Briggs, Cooper, Torczon, "Improvements to Graph Coloring Register
// Allocation", 1994). A register that holds a constant or the address of a
// map or frame byte is never stored: its definition is repeated at each use.
package regalloc

import (
	"errors"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/source"
)

// A Reg is a machine register (0 to 10) or a virtual one (from Virtual on).
type Reg int32

// The registers with names of their own.
const (
	R0      Reg = 0
	FP      Reg = 10 // the frame pointer, read only
	NoReg   Reg = -1
	Virtual Reg = 16 // the first virtual register
)

// colours is the number of registers to give out: r0…r9.
const colours = 10

// A Form says which fields of an Instr mean what.
type Form uint8

// The forms of instructions.
const (
	Mov      Form = iota // Dst = Src
	Set                  // Dst = Imm, or what Load and Fn say: a value that can be made anew at any place
	Frame                // Dst = FP + Imm
	Unary                // Dst = Op(Src) without reading Dst: 32-bit and sign-extending moves
	ALU                  // Dst = Dst Op Src, or Imm if Src is NoReg
	Least                // Dst = the smaller, unsigned, of Dst and Src, or Imm if Src is NoReg
	Load                 // Dst = memory at Src+Off
	Store                // memory at Dst+Off = Src
	StoreImm             // memory at Dst+Off = Imm
	Atomic               // memory at Dst+Off Op Src; Src receives the old value if Fetch
	CmpXchg              // memory at Dst+Off compared with R0, replaced by Src; R0 receives the old value
	Call                 // Imm is the helper or kfunc, reads R1…RN, gives R0
	Jump                 // to Succs[0]
	CondJump             // to Succs[0] if Dst Op Src (or Imm), else to Succs[1]
	MayGoto              // to Succs[0] while the budget lasts, else to Succs[1]
	Exit                 // returns R0
)

// An Instr is one instruction; Frame and Least become two. Op holds the complete
// eBPF opcode.
type Instr struct {
	Form     Form
	Op       asm.OpCode
	Dst, Src Reg
	Off      int16
	Imm      int64
	Pseudo   asm.Register // Set: what the 64-bit immediate is (map, map value, function); Call: helper or kfunc
	Fn       *ir.Func     // Set of a function's address
	N        int          // Call: number of argument registers
	Fetch    bool         // Atomic: Src is written too
	// number plus one of the relocation whose value is added to Off of a Load, Imm of the others;
	// 0: none
	Reloc int
	At    source.Span
}

// A Block is a straight run of instructions; the last one leaves it.
type Block struct {
	ID     int // index in Func.Blocks
	Instrs []Instr
	Succs  []*Block
	Weight float64 // how often it runs, relative to the entry
	Cold   bool
	Loops  int // that it is in
}

// A Func is the code of one function.
type Func struct {
	Blocks  []*Block // Blocks[0] is the entry
	NumRegs Reg      // exclusive upper bound of the virtual registers; at least Virtual
	Frame   int      // bytes of the frame in use by objects; Allocate adds its slots below
	// Precious marks virtual registers, by number minus Virtual, that feed
	// pointer arithmetic: old verifiers forget the bounds of a spilled scalar.
	Precious []bool
}

// New makes a virtual register.
func (f *Func) New() Reg {
	r := f.NumRegs
	f.NumRegs++
	return r
}

// ErrPressure means that the code cannot be coloured even with everything
// spilled; no code made from IR gets there.
var ErrPressure = errors.New("register allocation does not converge")

// maxRounds bounds spilling; two or three rounds are common, more are not.
const maxRounds = 20

// Allocate replaces the virtual registers of f by machine registers. Moves of
// a register to itself are removed.
func Allocate(f *Func) error {
	var fixed int // registers below this one were spilled or made by spilling
	for round := range maxRounds {
		g := build(f, Reg(fixed))
		g.coalesce()
		spilled := g.colour()
		if len(spilled) == 0 {
			g.rewrite()
			return nil
		}
		if fixed == 0 {
			fixed = int(f.NumRegs)
		}
		window := 6
		if round > 3 {
			window = 0 // longer lives may be what does not fit
		}
		g.spill(spilled, window)
	}
	return ErrPressure
}

// uses calls fn with the virtual and machine registers that in reads.
func (in *Instr) uses(fn func(Reg)) {
	switch in.Form {
	case Mov, Unary, Load:
		fn(in.Src)
	case ALU, Least, CondJump:
		fn(in.Dst)
		if in.Src != NoReg {
			fn(in.Src)
		}
	case Store, Atomic:
		fn(in.Dst)
		fn(in.Src)
	case CmpXchg:
		fn(in.Dst)
		fn(in.Src)
		fn(R0)
	case StoreImm:
		fn(in.Dst)
	case Call:
		for i := range in.N {
			fn(Reg(i + 1))
		}
	case Exit:
		fn(R0)
	}
}

// def is the register that in writes, NoReg if none. A Call clobbers more.
func (in *Instr) def() Reg {
	switch in.Form {
	case Mov, Set, Frame, Unary, ALU, Least, Load:
		return in.Dst
	case Atomic:
		if in.Fetch {
			return in.Src
		}
	case CmpXchg, Call:
		return R0
	}
	return NoReg
}
