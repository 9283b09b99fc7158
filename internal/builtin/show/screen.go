package show

import (
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// keepOption is the option that screen() declares.
// Tools have it too, by this declaration.
const keepOption = "no-clear"

var _ = builtin.Define(builtin.Func{
	// The sink clears the terminal: a file or a pipe must not have escape sequences in it.
	Name: "screen", Result: types.Void,
	Doc: "Begins a page: a terminal is cleared, and tables that follow are cut where it ends. If text does not go " +
		"to a terminal, or with the option `--no-clear`, which this declares, it is an empty line; other formats " +
		"have nothing of it.",
	Example: `tracepoint:syscalls:sys_enter_read { @n[comm] = count(); } ` +
		`interval:s:1 { screen(); printf("%s\n", loadavg()); table("COMM:<16 READS", 20, @n); clear(@n); }`,
	Options: func(c *builtin.Call) []*object.Option {
		return []*object.Option{{Name: keepOption, Type: types.Bool, At: c.Expr.Span()}}
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		g.Event(c, &object.Event{Map: -1, Extra: []int64{number(option(c, keepOption) == "true")}}, nil)
		return nil
	},
	// An object without the number clears, as scripts did before the option was there.
	Handle: func(e builtin.Env, ev *object.Event, _ []byte) error {
		e.Emit(output.Screen{Keep: len(ev.Extra) > 0 && ev.Extra[0] != 0})
		return nil
	},
})

// loadType is {u64 0}: its text is that of the moment at which it is made.
var loadType = &types.Deferred{Name: "loadavg_t", By: 8, Bytes: 8, Algn: 8}

var _ = builtin.Define(builtin.Func{
	// The program sends eight bytes that mean nothing: a value has to have some size.
	Name: "loadavg", Result: loadType, Renders: loadType,
	Doc: "The load of the machine when the text is made, as `/proc/loadavg` has it: averages over 1, 5 and 15 " +
		"minutes, tasks that run of all tasks, and the newest process.",
	Example: `interval:s:1 { printf("%s\n", loadavg()); }`,
	Lower: func(g builtin.Gen, _ *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, loadType, dst)
		g.B().Store(p, 0, 8, builtin.Number(g, 0))
		return p
	},
	Render: func(e builtin.Env, _ *types.Deferred, _ []byte) value.Value {
		// The file is a line of five fields.
		text, err := e.ReadFile("/proc/loadavg", 256)
		if err != nil {
			return value.Null{}
		}
		return value.Text(strings.TrimSpace(string(text)))
	},
})
