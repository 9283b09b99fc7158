package builtin

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
)

// mostAddresses is how many frames kframes() has at most: they are on the program's stack.
const mostAddresses = 32

var _ = Define(Func{
	Name: "kframes", Min: 1, Params: []Param{{"n", IntLit}}, Yields: "uint64[n]",
	Doc: "Where the innermost n functions of the kernel stack are, at most 32: an array of addresses, 0 where " +
		"there are fewer. `ksym(address, offset)` names one as stacks do.",
	Example: `tracepoint:sched:sched_switch { @[ksym(kframes(4)[2], offset)] = count(); }`,
	Check: func(c *Call) types.Type {
		n, ok := c.Int(0)
		if !ok || c.Consts[0].Neg || n < 1 || n > mostAddresses {
			c.Errorf(c.Args[0], "bad-argument", "kframes() needs a number from 1 to %d here", mostAddresses)
			n = 1
		}
		return &types.Array{Elem: types.Uint64, Len: int(n)}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, c.Result, dst)
		size := c.Result.Size()
		g.B().Zero(p, 0, size)
		Helper(g, asm.FnGetStack, g.Context().Ctx, p, Number(g, int64(size)), stackFlags(g, false))
		return p
	},
})
