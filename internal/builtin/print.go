package builtin

import (
	"errors"
	"slices"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// checkFormat parses the literal format of a printf-like call and checks its
// arguments; the parsed format becomes the call's payload.
func checkFormat(c *Call) types.Type {
	text, ok := c.Str(0)
	if !ok {
		return types.Void
	}
	format, err := value.ParseFormat(text)
	var wrong *value.FormatError
	if errors.As(err, &wrong) {
		c.Errorf(conversionAt(c.Args[0], wrong), "bad-format", "%s: %v", c.Name, err).
			Hint("numbers are integers and take %%d, %%u or %%x; %%s prints any value")
		return types.Void
	}
	if have, want := len(c.Args)-1, format.Conversions(); have != want {
		many := "too many"
		if have < want {
			many = "too few"
		}
		d := c.Errorf(c.Expr, "format-arguments", "%s arguments for format string (%d supplied, %d expected)", many, have, want)
		if format.Odd != "" && have > want {
			d.Hint("%s is no conversion and is printed as it is", format.Odd)
		}
		return types.Void
	}
	args := make([]types.Type, len(c.Args)-1)
	for i, t := range c.Types[1:] {
		if t == nil {
			return types.Void
		}
		args[i] = Travels(t)
		if agg, ok := t.(*types.Agg); ok && aggs[agg.Kind].Whole {
			c.Errorf(c.Args[1+i], "format-type", "%s: a map of %s can only be shown as a whole", c.Name, agg.Kind).
				Hint("write print(@name)")
			return types.Void
		}
	}
	for _, e := range format.Check(args) {
		d := c.Errorf(conversionAt(c.Args[0], &e), "format-type", "%s: %s", c.Name, e.Msg)
		d.Note(c.Args[1+e.Index].Span(), "this is the argument")
	}
	for i := range format.Convs {
		warnCut(c, text, &format.Convs[i], c.Args[1+i], args[i])
	}
	c.Payload = format
	return types.Void
}

// warnCut warns of a conversion that shows 32 bits, or fewer, of what is known
// to need more. That a type has 64 bits says little: counts, results and
// descriptors have it, and are small.
func warnCut(c *Call, text string, conv *value.Conv, arg syntax.Expr, t types.Type) {
	switch conv.Verb {
	case value.Signed, value.Unsigned, value.Octal, value.Hex, value.UpperHex, value.Char:
	default:
		return
	}
	if _, address := t.(*types.Pointer); conv.Bits == 64 || !address && !wide(arg) {
		return
	}
	at := conversionAt(c.Args[0], &value.FormatError{Start: conv.Start, End: conv.End})
	whole := "%ll" + text[conv.End-1:conv.End]
	bits := conv.Bits
	if conv.Verb == value.Char {
		bits, whole = 8, "%lld"
	}
	c.Warnf(at, "value-cut", "%s: %s shows the low %d bits of a value that needs more", c.Name, text[conv.Start:conv.End], bits).
		Hint("write %s", whole).Note(arg.Span(), "this is the argument")
}

// wide reports whether a number needs more than 32 bits: a clock, an address,
// and sums and differences with one. A quotient of it may be small.
func wide(e syntax.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *syntax.Paren:
		return wide(e.X)
	case *syntax.Binary:
		switch e.Op {
		case syntax.Add, syntax.Sub, syntax.Mul:
			return wide(e.X) || wide(e.Y)
		}
		return false
	case *syntax.Ident:
		name = e.Name
	case *syntax.Call:
		name = e.Func.Name
	}
	f, ok := Lookup(name)
	return ok && f.Wide
}

// Travels is the type as which a value of type t is sent to user space: an
// aggregation that reads as an integer is read in the probe.
func Travels(t types.Type) types.Type {
	agg, ok := t.(*types.Agg)
	if !ok {
		return t
	}
	if kind := aggs[agg.Kind]; kind.Castable {
		return types.IntOf(8, agg.Signed && !kind.Unsigned)
	}
	return t
}

// conversionAt is what a mistake in a format is about: the conversion where it
// is written, or else the whole format.
func conversionAt(format syntax.Expr, e *value.FormatError) syntax.Node {
	if lit, ok := format.(*syntax.StringLit); ok {
		if at, ok := lit.Part(e.Start, e.End); ok {
			return syntax.Pos{At: at}
		}
	}
	return format
}

// lowerFormat sends the arguments behind the format.
func lowerFormat(g Gen, c *Call, _ *ir.Value) *ir.Value {
	text, _ := c.Str(0)
	g.Event(c, &object.Event{Text: text, Payload: c.Payload}, c.Args[1:])
	return nil
}

var formatParams = []Param{{"format", StringLit}, {"argument", AnyValue}}

var _ = define(Func{
	Name: "printf", Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkPrintf, Lower: lowerPrintf,
	Doc: "Prints text by a format: `%d %i %u %o %x %X %c %p %s`, `%r %rx %rh` for buffers, `%gr` for GFP flags. " +
		"Integers are 32 bits wide unless the conversion says `l`, `ll`, `h` or `hh`. `%/ms.3d` is a number " +
		"divided by a unit, with digits behind the point, rounded: `ns`, `us`, `ms` and `s` are of nanoseconds, " +
		"`K`, `M` and `G` powers of 1024, and any integer is a unit; a width stands in front, `%9/ms.3d`.",
	Example: `tracepoint:syscalls:sys_enter_kill { printf("%s sends %d to %d\n", comm, args.sig, args.pid); }`,
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		e.Printf(ev, rec)
		return nil
	},
})

func message(name, doc, example string, severity source.Severity) {
	define(Func{
		Name: name, Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkFormat, Lower: lowerFormat, Doc: doc, Example: example,
		Handle: func(e Env, ev *object.Event, rec []byte) error {
			e.Emit(output.Message{Severity: severity, Span: ev.At, Text: e.FormatMessage(ev, rec)})
			return nil
		},
	})
}

func init() {
	message("errorf", "Prints an error with its place in the script to standard error.",
		`tracepoint:syscalls:sys_exit_openat / args.ret == -24 / { errorf("%s has too many open files", comm); }`, source.Error)
	message("warnf", "Prints a warning with its place in the script to standard error.",
		`tracepoint:syscalls:sys_exit_openat / args.ret < 0 / { warnf("%s: error %d", comm, args.ret); }`, source.Warning)
}

var _ = define(Func{
	Name: "print", Emits: true, Min: 1, Params: []Param{{"value", MapOrValue}, {"top", IntLit}, {"div", IntLit}},
	Doc:     "Prints a map, or any value and a newline. For a map with keys, `top` limits the output to the largest entries and `div` divides the printed numbers.",
	Example: `tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@, 10); }`,
	Check: func(c *Call) types.Type {
		if c.MapName == "" && len(c.Args) > 1 {
			c.Errorf(c.Args[1], "argument-count", "print() takes one argument unless it prints a map")
		}
		if agg, ok := c.Types[0].(*types.Agg); ok && c.MapName == "" && aggs[agg.Kind].Whole {
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
			c.Warnf(c.Args[1], "ignored-argument", "top and div are ignored for stats maps")
		}
		if c.MapName != "" && c.InLoop {
			c.Warnf(c.Expr, "print-in-loop", "print() of a map shows it as it is when the output is made, most likely after the loop").
				Hint("print one element, which is read at once: print(%s[…])", c.MapName)
		}
		return types.Void
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if c.MapName == "" {
			g.Event(c, &object.Event{Map: -1}, c.Args)
			return nil
		}
		ev := &object.Event{Map: g.MapOf(c.MapName), Extra: []int64{0, 1}}
		for i := 1; i < len(c.Args); i++ {
			ev.Extra[i-1], _ = c.Int(i)
		}
		if agg, ok := c.MapValue.(*types.Agg); ok && agg.Kind == "stats" {
			ev.Extra = []int64{0, 1}
		}
		g.Event(c, ev, nil)
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		if ev.Map >= 0 {
			e.PrintMap(ev.Map, ev.Extra[0], ev.Extra[1])
			return nil
		}
		e.Emit(output.Print{Value: e.Decode(ev.Args[0], rec), Type: ev.Args[0].Type, At: ev.At})
		return nil
	},
})

// mapAction defines clear and zero: an event with a map.
func mapAction(name, doc, example string, zero bool, act func(e Env, n int)) {
	define(Func{
		Name: name, Clears: !zero, Zeroes: zero, Min: 1, Params: []Param{{"map", WholeMap}}, Result: types.Void, Doc: doc, Example: example,
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

func init() {
	mapAction("clear", "Removes all elements of a map, when user space handles the event.",
		"tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@); clear(@); }", false, Env.ClearMap)
	mapAction("zero", "Sets all values of a map to zero and keeps the keys, when user space handles the event.",
		"tracepoint:syscalls:sys_enter_read { @[comm] = count(); } interval:s:5 { print(@); zero(@); }", true, Env.ZeroMap)
}

var _ = define(Func{
	Name: "exit", Ends: true, Params: []Param{{"status", Integer}}, Result: types.Void,
	Doc:     "Ends this run of the probe at once and, when user space handles the event, the program; its status is the low 8 bits of the argument.",
	Example: `interval:s:10 { exit(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		status := konst(g, 0)
		if len(c.Args) > 0 {
			status = b.Ext(g.Scalar(c.Args[0]), 1, false)
		}
		// The status also goes into shared memory, so that a full ring buffer
		// cannot lose the end of the program.
		b.Store(b.Data(object.DataStatus), 0, 8, status)
		g.Event(c, &object.Event{Map: -1}, c.Args)
		b.Store(b.Data(object.DataExited), 0, 8, konst(g, 1))
		g.Exit()
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		code := 0
		if len(ev.Args) > 0 {
			code = int(lowByte(e.Decode(ev.Args[0], rec)))
		}
		e.Exit(code)
		return nil
	},
})

func lowByte(v value.Value) byte {
	switch v := v.(type) {
	case value.Int:
		return byte(v)
	case value.Uint:
		return byte(v)
	case value.Bool:
		if v {
			return 1
		}
	case value.Enum:
		return byte(v.Value)
	}
	return 0
}

var _ = define(Func{
	Name: "system", Emits: true, Min: 1, Params: formatParams, Variadic: true, Unsafe: true, Check: checkFormat, Lower: lowerFormat,
	Doc:     "Runs a shell command, made by a format, when user space handles the event.",
	Example: `interval:s:10 { system("uptime"); }`,
	Handle: func(e Env, ev *object.Event, rec []byte) error {
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

// PrintsValue reports whether an event is that of a value being printed.
func PrintsValue(ev *object.Event) bool {
	return ev.Builtin == "print" && ev.Map < 0 && len(ev.Args) == 1
}

// RunsCommands reports whether a script has user space run commands.
func RunsCommands(o *object.Object) bool {
	return slices.ContainsFunc(o.Events, func(ev *object.Event) bool { return ev.Builtin == "system" })
}
