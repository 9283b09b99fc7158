// Package show has the builtins that print: text by a format, values, maps, rows, files.
package show

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// formatParams are those of every call with a format.
// The last one repeats, in the calls that are variadic.
var formatParams = []builtin.Param{builtin.StringLit.Named("format"), builtin.AnyValue.Named("argument")}

var _ = builtin.Define(builtin.Func{
	Name: "printf", Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkPrintf, Lower: lowerPrintf,
	Doc: "Prints text by a format: `%d %i %u %o %x %X %c %p %s`, `%r %rx %rh` for buffers, `%gr` for GFP flags. " +
		"Integers are 32 bits wide unless the conversion says `l`, `ll`, `h` or `hh`. `%/ms.3d` is a number " +
		"divided by a unit, with digits behind the point, rounded: `ns`, `us`, `ms` and `s` are of nanoseconds, " +
		"`K`, `M` and `G` powers of 1024, and any integer is a unit; a width stands in front, `%9/ms.3d`.",
	Example: `tracepoint:syscalls:sys_enter_kill { printf("%s sends %d to %d\n", comm, args.sig, args.pid); }`,
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		e.Printf(ev, rec)
		return nil
	},
})

// message defines a function that sends a line of text to standard error.
// Its text is escaped by the rules for standard error, which may be a terminal where
// standard output is a file.
func message(name, doc, example string, item func(at source.Span, text string) output.Item) {
	builtin.Define(builtin.Func{
		Name: name, Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkFormat, Lower: lowerFormat,
		Doc: doc, Example: example,
		Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
			e.Emit(item(ev.At, e.FormatMessage(ev, rec)))
			return nil
		},
	})
}

// complaint makes messages of a severity.
// The sink draws them like messages of the compiler, with the place of the call.
func complaint(severity source.Severity) func(at source.Span, text string) output.Item {
	return func(at source.Span, text string) output.Item {
		return output.Message{Severity: severity, Span: at, Text: text}
	}
}

// notef is hawk's own: what tools say about themselves must not stand among the rows of a
// table.
func init() {
	message("errorf", "Prints an error with its place in the script to standard error.",
		`tracepoint:syscalls:sys_exit_openat / args.ret == -24 / { errorf("%s has too many open files", comm); }`,
		complaint(source.Error))
	message("warnf", "Prints a warning with its place in the script to standard error.",
		`tracepoint:syscalls:sys_exit_openat / args.ret < 0 / { warnf("%s: error %d", comm, args.ret); }`,
		complaint(source.Warning))
	message("notef", "Prints a line to standard error, about what the script prints otherwise; not with `-q`.",
		`tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read `+
			`{ delete(@at, tid); } interval:s:1 { notef("%d threads are reading", len(@at)); exit(); }`,
		func(at source.Span, text string) output.Item { return output.Note{Span: at, Text: text} })
}

var _ = builtin.Define(builtin.Func{
	Name: "print", Emits: true, Min: 1,
	Params: []builtin.Param{
		builtin.MapOrValue.Named("value"), builtin.IntLit.Named("top"), builtin.IntLit.Named("div"),
	},
	Doc: "Prints a map, or any value and a newline. For a map with keys, `top` limits the output to the largest " +
		"entries and `div` divides the printed numbers.",
	Example: `tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@, 10); }`,
	Check: func(c *builtin.Call) types.Type {
		if c.MapName == "" && len(c.Args) > 1 {
			c.Errorf(c.Args[1], "argument-count", "print() takes one argument unless it prints a map")
		}
		if agg, whole := builtin.Whole(c.Types[0]); whole && c.MapName == "" {
			d := c.Errorf(c.Args[0], "argument-type", "print() can only show a map of %s as a whole", agg.Kind)
			if _, keyed := syntax.Unparen(c.Args[0]).(*syntax.MapIndex); keyed {
				d.Hint("leave out the key")
			} else {
				d.Hint("name the map itself: print(@name)")
			}
		}
		for i := 1; i < len(c.Args); i++ {
			if c.Consts[i].Neg {
				c.Errorf(c.Args[i], "bad-argument", "print() needs a number that is not negative here")
			}
		}
		if agg, ok := c.MapValue.(*types.Agg); ok && agg.Kind == "stats" && len(c.Args) > 1 {
			c.Warnf(c.Args[1], "ignored-argument",
				"print()'s top and div arguments are ignored when used on stats() maps.")
		}
		if c.MapName != "" && c.InLoop {
			c.Warnf(c.Expr, "print-in-loop",
				"print() of a map shows it as it is when the output is made, most likely after the loop").
				Hint("print one element, which is read at once: print(%s[…])", c.MapName)
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		if c.MapName == "" {
			g.Event(c, &object.Event{Map: -1}, c.Args)
			return nil
		}
		// Literals of the event: how many entries, 0 for all, and the divisor. A map is read when
		// the event is handled, not when it is sent.
		ev := &object.Event{Map: g.MapOf(c.MapName), Extra: []int64{0, 1}}
		for i := 1; i < len(c.Args); i++ {
			ev.Extra[i-1], _ = c.Int(i)
		}
		// check has warned: both are left out for stats, as in the reference.
		if agg, ok := c.MapValue.(*types.Agg); ok && agg.Kind == "stats" {
			ev.Extra = []int64{0, 1}
		}
		g.Event(c, ev, nil)
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		// An event comes from a file, if the script was compiled ahead of time.
		if ev.Map >= 0 && len(ev.Extra) < 2 || ev.Map < 0 && len(ev.Args) < 1 {
			return nil
		}
		if ev.Map >= 0 {
			e.PrintMap(ev.Map, ev.At, ev.Extra[0], ev.Extra[1])
			return nil
		}
		e.Emit(output.Print{Value: e.Decode(ev.Args[0], rec), Type: ev.Args[0].Type, At: ev.At})
		return nil
	},
})

var _ = builtin.Define(builtin.Func{
	Name: "system", Emits: true, Min: 1, Params: formatParams, Variadic: true, Unsafe: true, Waits: true,
	Check: checkFormat, Lower: lowerFormat,
	Doc:     "Runs a shell command, made by a format, when user space handles the event.",
	Example: `interval:s:10 { system("uptime"); }`,
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		// The shell reads what traced programs have named: so the script needs --unsafe.
		// The command is waited for: output of the script stands still meanwhile, see Waits.
		status, err := e.System(string(e.Format(nil, ev, rec)))
		if err != nil {
			return err
		}
		if status != 0 {
			e.Warnf(ev.At, "command exited with code %d", status)
		}
		return nil
	},
})

// PrintedType is the type of the value that a call prints as one, nil if it does not. It is that
// of the argument of an event that PrintsValue.
// The library asks, which decodes such values into variables of Go.
func PrintedType(c *builtin.Call) types.Type {
	if c.Func == nil || c.Func.Name != "print" || c.MapName != "" || len(c.Types) != 1 {
		return nil
	}
	return builtin.Travels(c.Types[0])
}

// PrintsValue reports whether an event is that of a value being printed.
// A map that is printed has a number; what was read of it in the probe is a value.
func PrintsValue(ev *object.Event) bool {
	return ev.Builtin == "print" && ev.Map < 0 && len(ev.Args) == 1
}

// RunsCommands reports whether a script has user space run commands.
// Public for sessions: the library does not run commands in the process that embeds it.
func RunsCommands(o *object.Object) bool {
	return prints(o, "system")
}
