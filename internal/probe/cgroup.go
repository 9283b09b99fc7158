package probe

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// GuardCgroups emits the test for the control groups that are traced: whether one of
// them is that of the current task or above it. The kernel names what is above a task by its level.
func (c *Context) GuardCgroups() {
	if len(c.O.Cgroups) == 0 {
		return
	}
	b := c.B
	run := b.NewBlock()
	above := map[int]*ir.Value{} // by level
	for _, g := range c.O.Cgroups {
		id := above[g.Level]
		if id == nil {
			id = b.Call(int(asm.FnGetCurrentAncestorCgroupId), b.Const(int64(g.Level)))
			above[g.Level] = id
		}
		other := b.NewBlock()
		b.If(b.Arith(ir.Eq, id, b.Const(int64(g.ID))), run, other)
		b.Begin(other)
	}
	b.Jump(c.Skip)
	b.Begin(run)
}
