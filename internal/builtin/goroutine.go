package builtin

import (
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/user"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = Define(Func{
	Name: "goid", Bare: true, Fixed: true, Result: types.Uint64, Probes: probe.HasGoroutine,
	Doc:     "The number of the goroutine that is running, in probes on functions of Go programs.",
	Example: `uprobe:/usr/bin/server:"net/http.(*conn).serve" { @start[goid] = nsecs; }`,
	Check: func(c *Call) types.Type {
		for _, p := range c.Points {
			if _, err := user.GoroutineID(p, c.Opts); err != nil {
				c.Errorf(c.Expr, "not-in-probe", "goid is only known in functions of Go programs: %s",
					errno.Message(err))
				break
			}
		}
		return types.Uint64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b, ctx := g.B(), g.Context()
		offset, err := user.GoroutineID(ctx.Group.Points[0], ctx.O)
		if err != nil {
			return Number(g, 0) // Check has said why
		}
		p := g.Temp("goid", 8, 8)
		b.Store(p, 0, 8, Number(g, 0))
		// Go's own calling convention keeps the running goroutine's descriptor in a register (R14
		// on amd64, R28 on arm64); the number is a field whose offset debug information has.
		descriptor := b.U64(ctx.Group.Mech().Regs(ctx), c.Machine.Arch().GoG)
		g.ReadMem(c.Expr, types.User, p, 0, Number(g, 8), b.Add(descriptor, int64(offset)))
		return b.U64(p, 0)
	},
})
