package probe

import (
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
)

// Member is the address of a member of what p points to. Where only the kernel
// that runs the program knows its offset, the loader fills it in.
func Member(b *ir.Builder, p *ir.Value, f types.Field) *ir.Value {
	if f.Reloc != 0 {
		return b.Arith(ir.Add, p, b.Reloc(f.Reloc-1))
	}
	return b.Add(p, int64(f.Offset))
}
