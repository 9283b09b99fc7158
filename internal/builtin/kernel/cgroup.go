package kernel

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = builtin.Define(builtin.Func{
	Name: "cgroupid", Min: 1, Params: []builtin.Param{builtin.StringLit.Named("path")}, Yields: "uint64",
	Doc:     "The ID of the control group of a directory in the version 2 hierarchy, to compare with `cgroup`.",
	Example: `tracepoint:syscalls:sys_enter_openat / cgroup == cgroupid("/sys/fs/cgroup") / { @[comm] = count(); }`,
	Check: func(c *builtin.Call) types.Type {
		cgroupOf(c)
		return types.Uint64
	},
	Const: func(c *builtin.Call) (builtin.Const, bool) {
		id, ok := cgroupOf(c)
		return builtin.Const{Kind: builtin.IntConst, Int: id}, ok && !c.Machine.Portable()
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		path, _ := c.Str(0)
		id, _ := cgroupOf(c)
		return builtin.FactOf(g, machine.Fact{Kind: machine.Cgroup, Of: path}, int64(id))
	},
})

// cgroupOf is the ID of the control group that a call names; the number is that of the directory's
// inode.
// A portable program looks it up where it runs, as a fact that is asked anew.
func cgroupOf(c *builtin.Call) (uint64, bool) {
	path, ok := c.Str(0)
	if !ok || c.Machine.Portable() {
		return 0, ok
	}
	id, err := c.Machine.CgroupID(path)
	if err != nil {
		c.Errorf(c.Args[0], "bad-cgroup", "cgroupid(): %s: %s", path, errno.Message(err))
	}
	return id, err == nil
}

// cgroupPathType is {u64 id; u64 0}; the pattern is in the type.
// The second word keeps the size that programs of the reference expect.
var cgroupPathType = &types.Deferred{Name: "cgroup_path_t", By: 5, Bytes: 16, Algn: 8, Open: true}

var _ = builtin.Define(builtin.Func{
	Name: "cgroup_path", LabelOf: builtin.FirstArg, Min: 1,
	Params: []builtin.Param{builtin.Integer.Named("id"), builtin.StringLit.Named("hierarchy")},
	Yields: "cgroup_path_t", Renders: cgroupPathType,
	Doc: "The path of a control group by its ID, looked up when printed, in every hierarchy or those whose " +
		"name matches a pattern; `unified` is the version 2 hierarchy.",
	Example: `tracepoint:syscalls:sys_enter_openat { @[cgroup_path(cgroup, "unified")] = count(); }`,
	Check: func(c *builtin.Call) types.Type {
		pattern := "*"
		if text, ok := c.Str(1); ok {
			pattern = text
		}
		return cgroupPathType.With(pattern)
	},
	Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, c.Result, dst)
		g.B().Store(p, 0, 8, g.Scalar(c.Args[0]))
		g.B().Store(p, 8, 8, builtin.Number(g, 0))
		return p
	},
	Render: func(e builtin.Env, t *types.Deferred, raw []byte) value.Value {
		return value.Text(e.CgroupPaths(builtin.Uint64(raw), t.Arg))
	},
})
