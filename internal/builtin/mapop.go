package builtin

import (
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// mapKeys splits the arguments of delete and has_key: the old form names an
// element, @m[k]; the new one passes the key behind the map.
func mapKeys(c *Call) []syntax.Expr {
	if m, ok := c.Args[0].(*syntax.MapIndex); ok {
		return m.Keys
	}
	return c.Args[1:]
}

var _ = define(Func{
	Name: "delete", Deletes: true, Min: 1, Params: []Param{{"map", MapOrValue}, {"key", Key}}, Result: types.Bool,
	Doc:     "Removes an element, `delete(@m, key)` or `delete(@m[key])`, or a scalar map's value. Yields whether there was one.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read { delete(@at, tid); }`,
	Check: func(c *Call) types.Type {
		if c.MapName == "" {
			if _, ok := c.Args[0].(*syntax.MapIndex); !ok {
				c.Errorf(c.Args[0], "argument-type", "delete() expects a map argument")
			}
		}
		return types.Bool
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.DeleteKey(c.Expr, c.MapArg(), mapKeys(c))
	},
})

var _ = define(Func{
	Name: "has_key", Min: 2, Params: []Param{{"map", WholeMap}, {"key", Key}}, Result: types.Bool,
	Doc:     "Whether a map has an element of a key.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read / has_key(@at, tid) / { @ns = hist(nsecs - @at[tid]); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.HasKey(c.Expr, c.MapArg(), mapKeys(c))
	},
})

// MapArg is the name of the map that argument 0 names, with or without a key.
func (c *Call) MapArg() string {
	switch m := c.Args[0].(type) {
	case *syntax.Map:
		return "@" + m.Name
	case *syntax.MapIndex:
		return "@" + m.Map.Name
	}
	return c.MapName
}
