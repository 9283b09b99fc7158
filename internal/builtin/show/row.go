package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = builtin.Define(builtin.Func{
	Name: "row", Emits: true, Min: 2, Variadic: true,
	Params: []builtin.Param{builtin.StringLit.Named("columns"), builtin.AnyValue.Named("argument")},
	Doc: "Prints a line in columns, under their names, which are printed once: as soon as everything is " +
		"attached, or before the first row if the script has rows of several forms. A column is " +
		"`NAME[:[<|>][width][/unit][.digits][x|o|t|e|z|%|q]][?[!]option]`. Numbers stand on the right, other values " +
		"on the left, unless `<` or `>` says so; what is longer than its column is not cut. A unit divides a " +
		"number: `ns`, `us`, `ms` and `s` one of nanoseconds, `K`, `M` and `G` by powers of 1024, or any " +
		"integer; digits are those behind the point, rounded. `x` and `o` are hexadecimal and octal; of a " +
		"point in time (`nsecs`) `t` is the wall clock and `e` the seconds since tracing began; with `z`, " +
		"0 is shown as `-`, and `null` in JSON, with `%`, a percent sign follows, and a negative number is shown " +
		"so; text with `q` is quoted where a shell would need that, words of `argv()` each by itself. In text " +
		"`ADDR PORT` with a colon in front of the second one is one column, `ADDR:PORT`, of which the names have " +
		"`ADDR` alone if there are two colons; a `>` or `->` between columns is shown there. `?option` " +
		"shows the column only if the option of that name, a bool that this declares, is set, `?!option` only " +
		"if it is not; the argument of a column that is not shown is not evaluated. Control characters are " +
		"escaped, so that a row is one line. Behind ` | ` stands a format like that of printf, whose text the last " +
		"column shows; its arguments stand behind those of the other columns. Stacks behind the arguments that " +
		"have columns are printed below, and so are buffers, as text, or with the option `--hexdump`, that this then " +
		"declares, in hexadecimal too; an integer behind a buffer is how many bytes there were, if it has the first " +
		"of them only. `-f json` makes an object of each row, `-f csv` a line of values.",
	Example: `tracepoint:syscalls:sys_exit_read ` +
		`{ row("TIME(s):>12e?timestamp PID:<7 COMM:<16 RET", nsecs, pid, comm, args.ret); }`,
	Options: func(c *builtin.Call) []*object.Option {
		text, _ := syntax.Text(c.Args[0])
		opts := columnOptions(c, text)
		if slices.ContainsFunc(c.Args, isBuf) {
			opts = append(opts, &object.Option{Name: hexdumpOption, Type: types.Bool, At: c.Expr.Span()})
		}
		return opts
	},
	Check: func(c *builtin.Call) types.Type {
		if text, ok := c.Str(0); ok {
			checkRow(c, text)
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		// Only columns that are shown are sent: the arguments of others are left out.
		g.Event(c, &object.Event{Text: c.Found.Text, Extra: c.Found.Extra}, c.Found.Args)
		return nil
	},
	Opening: func(ev *object.Event) output.Item {
		columns, _, _ := output.CutFormat(ev.Text)
		h := output.Header{Spec: columns}
		for _, a := range ev.Args[min(output.ColumnCount(columns)-1, len(ev.Args)):] {
			switch a.Type.(type) {
			case *types.Stack:
				h.Below += ",STACK_" + strconv.Itoa(strings.Count(h.Below, "STACK")+1)
			case *types.Buffer:
				h.Below += ",DATA"
			}
		}
		return h
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		columns, format, formatted := output.CutFormat(ev.Text)
		r := output.Row{Spec: columns, Boot: e.BootTime(), Start: e.Started(), At: ev.At}
		r.Hex = slices.Contains(ev.Extra, 1)
		args := ev.Args
		if formatted {
			plain := output.ColumnCount(columns) - 1 // the last column has none
			if plain > len(args) {
				return fmt.Errorf("row(): the columns are damaged")
			}
			n, text := e.FormatSome(format, ev, plain, rec)
			for _, a := range args[:plain] {
				r.Cells = append(r.Cells, e.Decode(a, rec))
			}
			r.Cells, args = append(r.Cells, value.Str(text)), args[plain+n:]
		}
		for _, a := range args {
			r.Cells = append(r.Cells, e.Decode(a, rec))
		}
		e.Emit(r)
		return nil
	},
})

// columnOptions are the options that decide which columns are shown.
// Options are declared before types are known, so that a mistake in the columns is not reported
// here but by checkRow.
func columnOptions(c *builtin.Call, spec string) []*object.Option {
	columns, _ := output.ParseColumns(spec)
	var out []*object.Option
	for i := range columns {
		if columns[i].Option != "" {
			out = append(out, &object.Option{Name: columns[i].Option, Type: types.Bool, At: c.Expr.Span()})
		}
	}
	return out
}

// hexdumpOption is the option that rows with data declare.
// One option serves all rows of a script.
const hexdumpOption = "hexdump"

// isBuf reports whether an argument is a call of buf().
// It goes by the name, since options are declared before anything has a type.
func isBuf(arg syntax.Expr) bool {
	call, ok := arg.(*syntax.Call)
	return ok && call.Func.Name == "buf"
}

// checkRow finds which columns are shown and what their arguments are, then the stacks below; nothing after an error,
// or while types are not known.
// Options are read here, while the script is compiled: what is not shown costs the program
// nothing.
func checkRow(c *builtin.Call, text string) {
	columns, err := output.ParseColumns(text)
	if err != nil {
		c.Errorf(c.Args[0], "bad-format", "row(): %v", err)
		return
	}
	args := c.Args[1:]
	_, format, formatted := output.CutFormat(text)
	ends := 0 // arguments of the format, which the last column has in place of one of its own
	if formatted {
		columns, ends = columns[:len(columns)-1], checkText(c, format, len(columns))
		if ends < 0 {
			return
		}
	}
	if len(args) < len(columns) {
		c.Errorf(c.Expr, "format-arguments", "row(): %d columns, but %d arguments", len(columns), len(args))
		return
	}
	var shown []string
	var sent []syntax.Expr
	for i := range columns {
		col, t := &columns[i], c.Types[1+i]
		if t == nil {
			return
		}
		visible, ok := visible(c, col)
		if !ok || !fits(c, col, args[i], builtin.Travels(t)) {
			return
		}
		if visible {
			shown, sent = append(shown, col.String()), append(sent, args[i])
		}
	}
	if formatted {
		all, _ := output.ParseColumns(text)
		last := &all[len(columns)]
		if last.Option != "" {
			c.Errorf(c.Args[0], "bad-format", "row(): column %s has a format, and is always shown", last.Name)
			return
		}
		shown, sent = append(shown, last.String()), append(sent, args[len(columns):][:ends]...)
	}
	plain := len(columns) + ends
	// Behind those that have columns: stacks, buffers, and behind a buffer how long it was.
	// An integer there is a length only behind a buffer.
	data := false // the argument in front is a buffer
	for i, a := range args[plain:] {
		t := c.Types[1+plain+i]
		_, length := t.(*types.Int)
		if t != nil && !isStack(t) && !isBuffer(t) && !(length && data) {
			c.Errorf(a, "format-arguments",
				"row(): an argument without a column has to be a stack or a buffer (%s provided)", t)
			return
		}
		sent, data = append(sent, a), isBuffer(t)
	}
	if len(shown) == 0 {
		c.Errorf(c.Args[0], "bad-format", "row(): the options leave no column to be shown")
		return
	}
	spec := strings.Join(shown, " ")
	if formatted {
		spec = output.WithFormat(spec, format)
	}
	hex := slices.ContainsFunc(c.Args, isBuf) && option(c, hexdumpOption) == "true"
	c.Found.Text, c.Found.Args, c.Found.Extra = spec, sent, []int64{number(hex)}
}

// checkText checks the format of the last column, whose arguments stand behind those of the first
// columns, and counts them; -1 if something is wrong or not known yet.
// Its text may have any length, and is therefore the last column.
func checkText(c *builtin.Call, text string, columns int) int {
	format, err := value.ParseFormat(text)
	if err != nil {
		c.Errorf(c.Args[0], "bad-format", "row(): %v", err)
		return -1
	}
	n := format.Conversions()
	if have := len(c.Args) - columns; have < n {
		c.Errorf(c.Expr, "format-arguments",
			"row(): not enough arguments for format string (%d supplied, %d expected)", max(have, 0), n)
		return -1
	}
	var args []types.Type
	for _, t := range c.Types[columns:][:n] {
		if t == nil {
			return -1
		}
		args = append(args, builtin.Travels(t))
	}
	for _, e := range format.Check(args) {
		c.Errorf(c.Args[0], "format-type", "row(): %s", e.Msg).
			Note(c.Args[columns+e.Index].Span(), "this is the argument")
		n = -1
	}
	return n
}

// isBuffer reports whether a type is that of buf().
func isBuffer(t types.Type) bool {
	_, ok := t.(*types.Buffer)
	return ok
}

// isStack reports whether a type is a stack.
func isStack(t types.Type) bool {
	_, ok := t.(*types.Stack)
	return ok
}

// visible reports whether a column is shown.
// Opts.Option is nil where nobody gives options: then all columns are shown.
func visible(c *builtin.Call, col *output.Column) (visible, ok bool) {
	if col.Option == "" || c.Opts.Option == nil {
		return true, true
	}
	set, err := c.Opts.Option(col.Option)
	if err != nil {
		c.Errorf(c.Args[0], "option-unknown", "%s(): %v", c.Name, err)
		return false, false
	}
	return (set == "true") != col.Unless, true
}

// fits checks a column against the type of its argument, which decides on which side
// values stand.
// It settles the side that the column left open, and so changes the column.
func fits(c *builtin.Call, col *output.Column, arg syntax.Expr, t types.Type) bool {
	_, number := t.(*types.Int)
	switch {
	case isStack(t):
		c.Errorf(arg, "format-type",
			"row(): a stack has many lines and stands below the row, behind the other arguments")
	case col.Quotes() && number:
		c.Errorf(arg, "format-type", "row(): column %s is for text (%s provided)", col.Name, t)
	case col.Number() && !number:
		c.Errorf(arg, "format-type", "row(): column %s is for integers (%s provided)", col.Name, t)
	default:
		if agg, whole := builtin.Whole(t); whole {
			c.Errorf(arg, "format-type", "row(): a map of %s can only be shown as a whole", agg.Kind)
			return false
		}
		if col.Align == 0 {
			if col.Align = '<'; number && col.Verb != 't' {
				col.Align = '>'
			}
		}
		return true
	}
	return false
}

// PrintsRows reports whether a script prints rows or tables.
// Forms for rows, such as CSV, are refused for scripts that have none.
func PrintsRows(o *object.Object) bool { return len(RowColumns(o)) > 0 }

// prints reports whether a script calls a builtin that prints.
func prints(o *object.Object, name string) bool {
	return slices.ContainsFunc(o.Events, func(ev *object.Event) bool { return ev.Builtin == name })
}

// RowColumns are the names of the columns that a script prints rows and tables in.
// The command checks --columns and --match against them before anything is attached.
func RowColumns(o *object.Object) []string {
	var names []string
	for _, ev := range o.Events {
		if f, _ := builtin.Lookup(ev.Builtin); f.Opening == nil && ev.Builtin != "table" {
			continue
		}
		columns, _ := output.ParseColumns(ev.Text)
		for i := range columns {
			if !slices.Contains(names, columns[i].Name) {
				names = append(names, columns[i].Name)
			}
		}
	}
	return names
}
