package show

import (
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = builtin.Define(builtin.Func{
	Name: "cat", Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkFormat, Lower: lowerFormat,
	Waits: true,
	Doc: "Prints a file, its path made by a format, when user space handles the event; at most " +
		"`max_cat_bytes` bytes. A file that is no regular one, or that does not answer within a second, is an error.",
	Example: `tracepoint:syscalls:sys_enter_execve { cat("/proc/%d/cmdline", pid); }`,
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		path := string(e.Format(nil, ev, rec))
		// The path may name a file that a traced program controls: reading has a bound in time, see
		// docs/design/files-of-others.md.
		text, err := e.ReadFile(path, e.Config().MaxCatBytes)
		if err != nil {
			e.Errorf("failed to open file '%s' (%s)", e.Message(value.Str(path)), errno.Message(err))
			return nil
		}
		e.Emit(output.Raw{Type: "cat", Text: text, Data: true, At: ev.At})
		return nil
	},
})

// The bounds are those of the reference's default; each record of join is as large as all of
// them together.
const (
	joinMost  = 16   // strings
	joinBytes = 1024 // of each, with its NUL
)

var _ = builtin.Define(builtin.Func{
	Name: "join", Emits: true, Min: 1,
	Params: []builtin.Param{builtin.Address.Named("array"), builtin.StringLit.Named("separator")}, Result: types.Void,
	Doc: "Prints the strings of an array of pointers that ends with a null pointer, at most 16, with a " +
		"separator between them, a space by default, and a newline.",
	Example: `tracepoint:syscalls:sys_enter_execve { join(args.argv); }`,
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		sep := " "
		if len(c.Args) > 1 {
			sep, _ = c.Str(1)
		}
		// The record has room for the most, and is sent as long as it became.
		array, space := g.Scalar(c.Args[0]), g.Space(c.Args[0])
		ev := &object.Event{Text: sep, Map: -1}
		g.Send(c, ev, 8+joinMost*joinBytes, func(rec *ir.Value) *ir.Value {
			return joinStrings(g, c.Expr, space, rec, array)
		})
		return nil
	},
	Handle: func(e builtin.Env, ev *object.Event, rec []byte) error {
		text := joined(rec[min(8, len(rec)):], ev.Text, e.Escapes().Output)
		e.Emit(output.Raw{Type: "join", Text: text, Line: true, At: ev.At})
		return nil
	},
})

// joinStrings writes the strings one behind the other, each with its NUL, and
// yields where they end.
// A null pointer ends the array, and so does one that cannot be read.
func joinStrings(g builtin.Gen, at syntax.Node, space types.Space, rec, array *ir.Value) *ir.Value {
	b := g.B()
	end, ptr := g.Temp("end", 8, 8), g.Temp("string", 8, 8)
	b.Store(end, 0, 8, builtin.Number(g, 8))
	// It is unrolled, since each string begins where the one before has ended.
	var next func(i int)
	next = func(i int) {
		b.Store(ptr, 0, 8, builtin.Number(g, 0))
		g.ReadMem(at, space, ptr, 0, builtin.Number(g, 8), b.Add(array, int64(8*i)))
		addr := b.U64(ptr, 0)
		g.When(b.Ne(addr, 0), func() {
			// The verifier is told of the bound that the sizes so far imply.
			from := b.UMin(b.U64(end, 0), int64(8+i*joinBytes))
			to := b.Arith(ir.Add, rec, from)
			b.Store(to, 0, 1, builtin.Number(g, 0))
			n := g.ReadStr(at, space, to, 0, builtin.Number(g, joinBytes), addr)
			// A string that cannot be read is an empty one.
			n = g.Choose(b.ULt(b.Add(n, -1), joinBytes),
				func() *ir.Value { return n }, func() *ir.Value { return builtin.Number(g, 1) })
			b.Store(end, 0, 8, b.Arith(ir.Add, from, n))
			if i+1 < joinMost {
				next(i + 1)
			}
		})
	}
	next(0)
	return b.U64(end, 0)
}

// joined puts a separator in the place of every NUL but the last.
// The separator is the script's and is not escaped, the strings are the traced program's.
// An empty string between two separators is one of the array.
func joined(text []byte, sep string, escape bool) []byte {
	all := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if escape {
		for i := range all {
			all[i] = value.Escape(all[i])
		}
	}
	return []byte(strings.Join(all, sep))
}
