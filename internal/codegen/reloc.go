package codegen

import (
	"fmt"
	"math"
	"slices"

	"github.com/cilium/ebpf/asm"
)

// A Reloc is an instruction to which the value of a relocation is added before
// it is loaded: to the offset of a load from memory, to the constant of others.
type Reloc struct {
	Insn   int // index in Code.Insns
	Number int // of the relocation, as in ir.Reloc
}

// Relocate is the code with the values of relocations, by number, added to the
// instructions that wait for them; the code itself stays as it is.
func (c *Code) Relocate(values []int64) (*Code, error) {
	// As mostly, but for scripts that were compiled ahead of time.
	if len(c.Relocs) == 0 {
		return c, nil
	}
	moved := *c
	moved.Insns, moved.Relocs = slices.Clone(c.Insns), nil
	for _, r := range c.Relocs {
		if r.Insn < 0 || r.Insn >= len(c.Insns) || r.Number < 0 || r.Number >= len(values) {
			return nil, fmt.Errorf("relocation %d of instruction %d does not exist", r.Number, r.Insn)
		}
		in, n := &moved.Insns[r.Insn], values[r.Number]
		switch {
		case in.OpCode.Class().IsLoad() && in.OpCode != loadImm:
			// The offset of the compiler's machine is not in the instruction: what is there counts
			// from the member.
			if n += int64(in.Offset); n != int64(int16(n)) {
				return nil, fmt.Errorf("relocation %d of instruction %d: %d is too far for a load", r.Number, r.Insn, n)
			}
			in.Offset = int16(n)
		// These are additions to an address, whose immediate has 32 bits.
		case in.OpCode.Class() == asm.ALU64Class:
			if n += in.Constant; n < math.MinInt32 || n > math.MaxInt32 {
				return nil, fmt.Errorf("relocation %d of instruction %d: %d is too far", r.Number, r.Insn, n)
			}
			in.Constant = n
		case in.OpCode == loadImm:
			in.Constant += n
		default:
			return nil, fmt.Errorf("instruction %d can not be relocated", r.Insn)
		}
	}
	return &moved, nil
}
