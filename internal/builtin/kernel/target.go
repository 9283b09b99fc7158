package kernel

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

var _ = builtin.Define(builtin.Func{
	Name: "is_target", Bare: true, Params: []builtin.Param{builtin.Integer.Named("pid")}, Yields: "bool",
	Doc: "Whether a process is the one that `-p` names, or that `-c` starts in a tool, or with `--follow` one " +
		"that it has started; true if none is named. Without a process the current task is meant. With " +
		"`config = { target_filter = own }` a script asks for itself, where events of a process come while others " +
		"run: completions, packets, switches.",
	Example: `tracepoint:sched:sched_switch / is_target(args.next_pid) / { @[args.next_comm] = count(); }`,
	Check: func(c *builtin.Call) types.Type {
		if len(c.Args) > 0 && c.Config.OwnFilter() && !c.Opts.Tasks.All() {
			c.Errorf(c.Expr, "other-task", "%s() is asked for a process by its number: name, user and control group "+
				"are known of the task that runs alone", c.Name).
				Hint("-p takes numbers of processes")
		}
		return types.Bool
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		b, ctx := g.B(), g.Context()
		var wanted *ir.Value
		if ctx.Own {
			wanted = ctx.OfTasks()
		}
		switch {
		case ctx.O.OnePID() || ctx.O.Follow:
		case wanted != nil:
			return wanted
		default:
			return builtin.Number(g, 1)
		}
		target := ofTarget(g, c)
		if wanted != nil {
			target = b.Arith(ir.And, target, wanted)
		}
		return target
	},
})

// ofTarget is whether a process is that of -p, or of its family.
// With --follow programs keep a map of the family, to which processes are added when they are
// forked.
func ofTarget(g builtin.Gen, c *builtin.Call) *ir.Value {
	b, ctx := g.B(), g.Context()
	var id *ir.Value
	switch {
	case len(c.Args) > 0:
		id = b.Ext(g.Scalar(c.Args[0]), 4, false)
	case ctx.O.Follow:
		id = builtin.Helper(g, asm.FnGetCurrentPidTgid)
	default:
		id = builtin.CurrentPID(g, c)
	}
	if !ctx.O.Follow {
		return b.Eq(id, int64(ctx.O.PID))
	}
	member := ctx.Follows(id)
	return g.Choose(b.Ne(member, 0), func() *ir.Value {
		return b.Eq(b.U32(member, 0), probe.FollowTraced)
	}, func() *ir.Value { return builtin.Number(g, 0) })
}
