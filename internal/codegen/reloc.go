package codegen

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
)

// A Reloc is an instruction to which the value of a relocation is added before
// it is loaded: to the offset of a load from memory, to the constant of others.
type Reloc struct {
	Insn   int // index in Code.Insns
	Number int // of the relocation, as in ir.Reloc
}

// Relocate adds the values of relocations, by number, to the instructions that
// wait for them, in place; it can be done once.
func (c *Code) Relocate(values []int64) error {
	for _, r := range c.Relocs {
		if r.Insn < 0 || r.Insn >= len(c.Insns) || r.Number < 0 || r.Number >= len(values) {
			return fmt.Errorf("relocation %d of instruction %d does not exist", r.Number, r.Insn)
		}
		in, n := &c.Insns[r.Insn], values[r.Number]
		switch {
		case in.OpCode.Class().IsLoad() && in.OpCode != loadImm:
			if n += int64(in.Offset); n != int64(int16(n)) {
				return fmt.Errorf("relocation %d of instruction %d: %d is too far for a load", r.Number, r.Insn, n)
			}
			in.Offset = int16(n)
		case in.OpCode.Class() == asm.ALU64Class:
			if n += in.Constant; n < math.MinInt32 || n > math.MaxInt32 {
				return fmt.Errorf("relocation %d of instruction %d: %d is too far", r.Number, r.Insn, n)
			}
			in.Constant = n
		case in.OpCode == loadImm:
			in.Constant += n
		default:
			return fmt.Errorf("instruction %d can not be relocated", r.Insn)
		}
	}
	return nil
}
