package builtin

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// mapKeys splits the arguments of delete and has_key: the old form names an
// element, @m[k]; the new one passes the key behind the map.
// has_key has the new form alone, which check sees to.
func mapKeys(c *Call) []syntax.Expr {
	if m, ok := c.Args[0].(*syntax.MapIndex); ok {
		return m.Keys
	}
	return c.Args[1:]
}

var _ = Define(Func{
	Name: "delete", Deletes: true, Ignorable: true, Min: 1, Params: []Param{{"map", MapOrValue}, {"key", Key}},
	Result: types.Bool,
	Doc: "Removes an element, `delete(@m, key)` or `delete(@m[key])`, or a scalar map's value. Yields whether " +
		"there was one.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read { ` +
		`delete(@at, tid); }`,
	Check: func(c *Call) types.Type {
		// The old form, delete(@m[k]), names an element and not a map.
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

var _ = Define(Func{
	Name: "has_key", Min: 2, Params: []Param{{"map", WholeMap}, {"key", Key}}, Result: types.Bool,
	Doc: "Whether a map has an element of a key.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read / ` +
		`has_key(@at, tid) / { @ns = hist(nsecs - @at[tid]); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.HasKey(c.Expr, c.MapArg(), mapKeys(c))
	},
})

var _ = Define(Func{
	Name: "find", Min: 3, Params: []Param{{"map", WholeMap}, {"key", Key}, {"variable", VarRef}}, Result: types.Bool,
	Doc: "Whether a map has an element of a key; if so its value goes to a variable, which keeps what it " +
		"had otherwise.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read { let ` +
		`$at: uint64; if (find(@at, tid, $at)) { @ns = hist(nsecs - $at); } }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.FindKey(c.Expr, c.MapArg(), c.Args[1:2], c.Args[2].(*syntax.Var))
	},
})

var _ = Define(Func{
	Name: "len", Also: []string{"stack_len"}, Min: 1, Params: []Param{{"of", MapOrValue}}, Result: types.Int64,
	Doc: "How many elements a map with keys has, or how many frames a stack, as many as printing it shows " +
		"without `<unwind failure>` and functions that are inlined: `len(kstack)`.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } interval:s:1 { print(len(@at)); }`,
	Check: func(c *Call) types.Type {
		if c.MapName != "" {
			if !c.MapKeyed {
				c.Errorf(c.Args[0], "map-sort", "call to len() expects a map with explicit keys (non-scalar map)").
					Hint("a scalar map has one value: %s", c.MapName)
			}
			return types.Int64
		}
		if _, ok := c.Types[0].(*types.Stack); !ok && c.Types[0] != nil {
			c.Errorf(c.Args[0], "argument-type", "len() expects a map or a stack, not %s", c.Types[0])
		} else if !ofThisRun(c.Args[0]) {
			c.Errorf(c.Args[0], "argument-type", "len() can not tell the length of a stack that was kept").
				Hint("keep the length beside it: (kstack, len(kstack))")
		}
		return types.Int64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if c.MapName != "" {
			return g.Len(c.Expr, c.MapName)
		}
		return stackLen(g, c, c.Types[0].(*types.Stack))
	},
})

var _ = Define(Func{
	Name: "check_key", Min: 3, Params: []Param{{"map", WholeMap}, {"key", Key}, {"name", StringLit}},
	Result: types.Void,
	Doc: "Makes sure that a value can be a key of a map with keys, on behalf of the macro that is named. It " +
		"does nothing when the script runs.",
	Example: `macro seen(@m, k) { check_key(@m, k, "seen"); has_key(@m, k) } begin { @m[1] = 2; print(seen(@m, 1)); }`,
	Lower:   func(Gen, *Call, *ir.Value) *ir.Value { return nil },
})

// ofThisRun reports whether a stack is that of the present run of the probe. A stack that was kept
// in a map is a number, whose frames a program cannot read back.
// A variable counts: it lives no longer than the run.
func ofThisRun(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Paren:
		return ofThisRun(e.X)
	case *syntax.Ident, *syntax.Call, *syntax.Var:
		return true
	}
	return false
}

// stackLen counts the frames of the stack at hand, which is captured once
// more: the value is but a number in a table that programs cannot read.
func stackLen(g Gen, c *Call, t *types.Stack) *ir.Value {
	if t.Limit == 0 {
		return Number(g, 0)
	}
	// A frame is an address of 8 bytes.
	n := 8 * t.Limit
	p := g.Temp("frames", n, 8)
	byPointers := func() *ir.Value {
		b := g.B()
		b.Zero(p, 0, n) // kernels before 6.3 take it for read if it is on the stack
		// It yields bytes, or a negative error, which as an unsigned number is larger than any
		// stack.
		r := Helper(g, asm.FnGetStack, g.Context().Ctx, p, Number(g, int64(n)), stackFlags(g, t.User))
		return g.Choose(b.ULe(r, int64(n)),
			func() *ir.Value { return b.LShr(r, 3) },
			func() *ir.Value { return Number(g, 0) })
	}
	if !t.User || !g.Unwinds() {
		return byPointers()
	}
	pid := high32(g, pidTgid(g, c, false))
	number, count, _ := g.Unwind(c.Expr, pid, p, t.Limit, func() { askForTables(g, c, pid) })
	return g.Choose(g.B().Ne(number, 0), func() *ir.Value { return count }, byPointers)
}

// MapArg is the name of the map that argument 0 names, with or without a key.
// MapName is set only where the argument names a map without a key.
func (c *Call) MapArg() string {
	switch m := c.Args[0].(type) {
	case *syntax.Map:
		return "@" + m.Name
	case *syntax.MapIndex:
		return "@" + m.Map.Name
	}
	return c.MapName
}

// mapAction defines clear and zero: an event with a map.
// A program cannot walk a hash and change all of it; user space can, a little later.
func mapAction(name, doc, example string, zero bool, act func(e Env, n int)) {
	Define(Func{
		Name: name, Clears: !zero, Zeroes: zero, Min: 1, Params: []Param{{"map", WholeMap}}, Result: types.Void,
		Doc: doc, Example: example,
		Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
			g.Event(c, &object.Event{Map: g.MapOf(c.MapName)}, nil)
			return nil
		},
		Handle: func(e Env, ev *object.Event, rec []byte) error {
			act(e, ev.Map)
			return nil
		},
	})
}

// Stores between the call and its handling are lost to clear, as the language says.
func init() {
	mapAction("clear", "Removes all elements of a map, when user space handles the event.",
		"tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@); clear(@); }",
		false, Env.ClearMap)
	mapAction("zero", "Sets all values of a map to zero and keeps the keys, when user space handles the event.",
		"tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@); zero(@); }",
		true, Env.ZeroMap)
}
