package kernel

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// Programs of type tracing see the arguments of a function or tracepoint as
// an array of 64-bit slots whose types the verifier knows from BTF.

// slotStruct is the type of args where arguments are slots. A struct passed
// by value takes as many as its size needs.
func slotStruct(name string, params []types.Param) *types.Struct {
	fields := make([]types.Field, 0, len(params))
	slot := 0
	for _, p := range params {
		fields = append(fields, types.Field{Name: p.Name, Type: p.Type, Offset: 8 * slot, Arg: slot})
		slot += slotsOf(p.Type)
	}
	return types.NewStruct(types.ContextKind, name, 8*slot, 8, fields)
}

// slotsOf is how many slots a parameter takes, at least one.
func slotsOf(t types.Type) int { return max(1, (t.Size()+7)/8) }

// slotField is Field of such programs.
func slotField(c *probe.Context, f types.Field) *ir.Value { return loadSlot(c, f.Arg, f.Type) }

// loadSlot reads a slot. A pointer to a kernel struct is one the verifier
// follows; it takes pointers to anything else, and to user memory, for
// numbers. Bits above a narrow argument are undefined.
func loadSlot(c *probe.Context, slot int, t types.Type) *ir.Value {
	if p, ok := t.(*types.Pointer); ok {
		if s, ok := p.Elem.(*types.Struct); ok && s.Name != "" && p.Space != types.User {
			return c.B.LoadPtr(c.Ctx, 8*slot)
		}
		return c.B.U64(c.Ctx, 8*slot)
	}
	return narrow(c, c.B.U64(c.Ctx, 8*slot), t)
}

// narrow cuts a word down to the width of t, and extends its sign.
func narrow(c *probe.Context, v *ir.Value, t types.Type) *ir.Value {
	if n, ok := types.IsInteger(t); ok && n.Bytes < 8 {
		return c.B.Ext(v, n.Bytes, n.Signed)
	}
	if t == types.Bool {
		return c.B.Ext(v, 1, false)
	}
	return v
}

// rawSlot reads slot n as a plain number. The verifier would take what a
// direct load gives for a pointer, and refuse to calculate with it.
func rawSlot(c *probe.Context, n int) *ir.Value {
	b := c.B
	tmp := b.Addr(b.NewObject("arg", 8, 8), 0)
	b.Zero(tmp, 0, 8)
	b.Call(int(asm.FnProbeReadKernel), tmp, b.Const(8), b.Add(c.Ctx, int64(8*n)))
	return b.U64(tmp, 0)
}
