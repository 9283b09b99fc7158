package probe

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
)

// Here is how programs of several kinds read the registers in their context.

// ContextRegs is Regs where the context starts with the registers: kprobe
// programs have nothing else, perf event programs have more behind them.
func ContextRegs(c *Context) *ir.Value { return c.Ctx }

// RegRetval is the register of results.
func RegRetval(c *Context) *ir.Value {
	return c.B.Load(c.Ctx, c.O.Machine.Arch().Ret, 8, true)
}

// FuncIP is the address of the probed function by helper, for contexts that
// do not hold it, or hold the address of the breakpoint's successor. Kernels
// without the helper run a program for each function, which knows its address.
func FuncIP(c *Context) *ir.Value {
	if !c.O.Has(machine.GetFuncIP) {
		if n, ok := c.O.Machine.Defer(machine.Fact{Kind: machine.Symbol, Of: c.Group.Points[0].Func}); ok {
			return c.B.Reloc(n)
		}
		if syms, err := c.O.Machine.KernelSymbols(); err == nil {
			addr, _ := syms.Address(c.Group.Points[0].Func)
			return c.B.Const(int64(addr))
		}
	}
	return c.B.Call(int(asm.FnGetFuncIp), c.Ctx)
}

// CurrentIP is where the probe was hit.
func CurrentIP(c *Context) *ir.Value { return c.B.U64(c.Ctx, c.O.Machine.Arch().IP) }
