package user

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
)

// operand emits the read of one USDT argument; nil is 0.
func operand(c *probe.Context, a *probe.USDTArg) *ir.Value {
	b := c.B
	if a == nil {
		return b.Const(0)
	}
	switch a.Kind {
	case arch.USDTConst:
		return b.Const(a.Value)
	case arch.USDTReg:
		return extend(b, regPart(c, *a.Base, false), a)
	case arch.USDTSymbol:
		return operandAddr(c, a)
	case arch.USDTMem:
		tmp := b.Addr(b.NewObject("operand", 8, 8), 0)
		b.Zero(tmp, 0, 8) // stays so if the page is not there
		b.Call(int(asm.FnProbeReadUser), tmp, b.Const(int64(a.Size)), operandAddr(c, a))
		return extend(b, b.U64(tmp, 0), a)
	}
	return b.Const(0)
}

// extend gives a value of fewer than eight bytes its sign, or zeroes above it.
func extend(b *ir.Builder, v *ir.Value, a *probe.USDTArg) *ir.Value {
	if a.Size == 8 {
		return v
	}
	return b.Ext(v, a.Size, a.Signed)
}

// regPart reads a register or a part of one.
func regPart(c *probe.Context, r arch.Reg, signed bool) *ir.Value {
	b := c.B
	v := b.U64(c.Ctx, r.Offset)
	if r.Shift != 0 {
		v = b.LShr(v, int64(r.Shift))
	}
	if r.Width < 64 {
		v = b.Ext(v, r.Width/8, signed)
	}
	return v
}

// operandAddr is symbol + base + index·scale + value, as far as present.
func operandAddr(c *probe.Context, a *probe.USDTArg) *ir.Value {
	b := c.B
	// The constant parts are added up while compiling.
	disp := a.Value
	var sum *ir.Value
	add := func(v *ir.Value) {
		if sum == nil {
			sum = v
			return
		}
		sum = b.Arith(ir.Add, sum, v)
	}
	if a.Symbol != "" {
		add(probe.CurrentIP(c))
		disp += a.FromIP
	}
	if a.Base != nil {
		add(regPart(c, *a.Base, false))
	}
	if a.Index != nil {
		v := regPart(c, *a.Index, a.IndexSigned)
		if a.Scale > 1 {
			v = b.Mul(v, int64(a.Scale))
		}
		add(v)
	}
	if sum == nil {
		return b.Const(disp)
	}
	return b.Add(sum, disp)
}
