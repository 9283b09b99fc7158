package builtin

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

// call emits a helper call that yields a number.
func call(g Gen, fn asm.BuiltinFunc, args ...*ir.Value) *ir.Value {
	return g.B().Call(int(fn), args...)
}

func konst(g Gen, n int64) *ir.Value { return g.B().Const(n) }

// deferred is n, or in a portable program what the fact is on the machine that
// runs it.
func deferred(g Gen, f machine.Fact, n int64) *ir.Value {
	if number, ok := g.Context().O.Machine.Defer(f); ok {
		return g.B().Reloc(number)
	}
	return konst(g, n)
}

// low32 and high32 split a helper's packed result.
func low32(g Gen, v *ir.Value) *ir.Value { return g.B().Ext(v, 4, false) }
func high32(g Gen, v *ir.Value) *ir.Value {
	return g.B().Arith(ir.LShr, v, konst(g, 32))
}

// place returns dst, or new memory for a result of type t.
func place(g Gen, t types.Type, dst *ir.Value) *ir.Value {
	if dst != nil {
		return dst
	}
	return g.Temp(t.String(), types.RoundUp(t.Size(), 8), 8)
}
