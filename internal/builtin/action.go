package builtin

import (
	"strings"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = define(Func{
	Name: "cat", Emits: true, Min: 1, Params: formatParams, Variadic: true, Check: checkFormat, Lower: lowerFormat,
	Doc: "Prints a file, its path made by a format, when user space handles the event; at most " +
		"`max_cat_bytes` bytes.",
	Example: `tracepoint:syscalls:sys_enter_execve { cat("/proc/%d/cmdline", pid); }`,
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		path := string(e.Format(nil, ev, rec))
		text, err := e.ReadFile(path, e.Config().MaxCatBytes)
		if err != nil {
			e.Errorf("failed to open file '%s' (%s)", e.Message(value.Str(path)), errno.Message(err))
			return nil
		}
		e.Emit(output.Raw{Type: "cat", Text: text, Data: true})
		return nil
	},
})

const (
	joinMost  = 16   // strings
	joinBytes = 1024 // of each, with its NUL
)

var _ = define(Func{
	Name: "join", Emits: true, Min: 1, Params: []Param{{"array", Address}, {"separator", StringLit}},
	Result: types.Void,
	Doc: "Prints the strings of an array of pointers that ends with a null pointer, at most 16, with a " +
		"separator between them, a space by default, and a newline.",
	Example: `tracepoint:syscalls:sys_enter_execve { join(args.argv); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		sep := " "
		if len(c.Args) > 1 {
			sep, _ = c.Str(1)
		}
		array, space := g.Scalar(c.Args[0]), g.Space(c.Args[0])
		ev := &object.Event{Text: sep, Map: -1}
		g.Send(c, ev, 8+joinMost*joinBytes, func(rec *ir.Value) *ir.Value {
			return joinStrings(g, c.Args[0], space, rec, array)
		})
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		e.Emit(output.Raw{Type: "join", Text: joined(rec[min(8, len(rec)):], ev.Text, e.Escapes().Output), Line: true})
		return nil
	},
})

// joinStrings writes the strings one behind the other, each with its NUL, and
// yields where they end.
func joinStrings(g Gen, at syntax.Node, space types.Space, rec, array *ir.Value) *ir.Value {
	b := g.B()
	end, ptr := g.Temp("end", 8, 8), g.Temp("string", 8, 8)
	b.Store(end, 0, 8, konst(g, 8))
	var next func(i int)
	next = func(i int) {
		b.Store(ptr, 0, 8, konst(g, 0))
		g.ReadMem(at, space, ptr, 0, konst(g, 8), b.Add(array, int64(8*i)))
		addr := b.Load(ptr, 0, 8, false)
		g.When(b.Arith(ir.Ne, addr, konst(g, 0)), false, func() {
			// What is bounded by the sizes so far, the verifier is told.
			limit := konst(g, int64(8+i*joinBytes))
			from := b.Load(end, 0, 8, false)
			from = g.Choose(b.Arith(ir.ULe, from, limit), func() *ir.Value {
				return from
			}, func() *ir.Value { return limit })
			to := b.Arith(ir.Add, rec, from)
			b.Store(to, 0, 1, konst(g, 0))
			n := g.ReadStr(at, space, to, 0, konst(g, joinBytes), addr)
			// A string that cannot be read is an empty one.
			n = g.Choose(b.Arith(ir.ULt, b.Add(n, -1), konst(g, joinBytes)),
				func() *ir.Value { return n }, func() *ir.Value { return konst(g, 1) })
			b.Store(end, 0, 8, b.Arith(ir.Add, from, n))
			if i+1 < joinMost {
				next(i + 1)
			}
		})
	}
	next(0)
	return b.Load(end, 0, 8, false)
}

// joined puts a separator in the place of every NUL but the last.
func joined(text []byte, sep string, escape bool) []byte {
	all := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if escape {
		for i := range all {
			all[i] = value.Escape(all[i])
		}
	}
	return []byte(strings.Join(all, sep))
}

// sendsSignal defines signal and signal_thread.
func sendsSignal(name, doc, example string, helper asm.BuiltinFunc, need *machine.Feature) {
	define(Func{
		Name: name, Min: 1, Params: []Param{{"signal", AnyValue}}, Result: types.Void, Unsafe: true, Doc: doc,
		Example: example,
		Needs:   []*machine.Feature{need},
		Check: func(c *Call) types.Type {
			if c.Kind.Ours != probe.NotOurs {
				c.Errorf(c.Expr, "not-in-probe", "%s can not be used with %q probes", name, c.Kind.Name)
			}
			if text, ok := c.Str(0); ok {
				if signalNumber(text) == 0 {
					c.Errorf(c.Args[0], "bad-argument", "%s(): %q is no signal", name, text)
				}
				return types.Void
			}
			if _, ok := types.IsInteger(c.Types[0]); !ok && c.Types[0] != nil {
				c.Errorf(c.Args[0], "argument-type", "%s() expects an integer or the name of a signal as a "+
					"literal, not %s", name, c.Types[0])
			}
			if n, ok := c.Int(0); ok && (n < 1 || n > lastSignal) {
				c.Errorf(c.Args[0], "bad-argument", "%s(): signals are from 1 to %d, not %d", name, lastSignal, n)
			}
			return types.Void
		},
		Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
			b := g.B()
			var n *ir.Value
			if text, ok := c.Str(0); ok {
				n = konst(g, int64(signalNumber(text)))
			} else {
				n = g.Scalar(c.Args[0])
			}
			r := g.Choose(b.Arith(ir.ULt, b.Add(n, -1), konst(g, lastSignal)),
				func() *ir.Value { return call(g, helper, n) },
				func() *ir.Value { return konst(g, -int64(unix.EINVAL)) })
			g.When(b.Arith(ir.Ne, r, konst(g, 0)), true, func() {
				g.Failed(c.Expr, object.HelperFailed, "send_"+name, r)
			})
			return nil
		},
	})
}

func init() {
	sendsSignal("signal", "Sends a signal to the current process, by number or name: `signal(\"KILL\")`.",
		`tracepoint:syscalls:sys_enter_execve / comm == "bash" / { signal("SIGINT"); }`, asm.FnSendSignal,
		machine.SendSignal)
	sendsSignal("signal_thread", "Sends a signal to the current thread, by number or name.",
		`tracepoint:syscalls:sys_enter_execve / comm == "bash" / { signal_thread("SIGINT"); }`,
		asm.FnSendSignalThread, machine.SendSignalThread)
}

var _ = define(Func{
	Name: "override", Min: 1, Params: []Param{{"result", Integer}}, Result: types.Void, Unsafe: true,
	Probes: probe.HasOverride,
	Needs:  []*machine.Feature{machine.Override},
	Doc: "Makes the function return at once with a result of its own. The kernel permits that for functions " +
		"made for error injection.",
	Example: `kprobe:__x64_sys_getuid / comm == "id" / { override(2); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		call(g, asm.FnOverrideReturn, g.Context().Ctx, g.Scalar(c.Args[0]))
		return nil
	},
})

var _ = define(Func{
	Name: "write_user", Min: 3, Params: []Param{{"to", Address}, {"data", AnyValue}, {"length", Integer}},
	Result: types.Bool, Unsafe: true,
	Needs: []*machine.Feature{machine.WriteUser},
	Doc: "Writes bytes of a string, array or buffer to memory of the current process; false if that failed. " +
		"The length is at most the size of the data.",
	Example: `uprobe:libc:getenv { $s = "HOME"; if (!write_user(arg0, $s, 5)) { warnf("not writable"); } }`,
	Check: func(c *Call) types.Type {
		if t := c.Types[1]; t != nil && types.IsScalar(t) {
			c.Errorf(c.Args[1], "argument-type", "write_user() expects a string, an array or a buffer, not %s", t)
		}
		return types.Bool
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		size := c.Types[1].Size()
		src := g.Mem(c.Args[1])
		if t, ok := c.Types[1].(*types.Buffer); ok {
			src, size = b.Add(src, 4), t.Cap
		}
		r := call(g, asm.FnProbeWriteUser, g.Scalar(c.Args[0]), src, clamp(g, g.Scalar(c.Args[2]), size))
		return b.Arith(ir.Eq, r, konst(g, 0))
	},
})

var _ = define(Func{
	Name: "assert", Emits: true, Min: 2, Params: []Param{{"condition", AnyValue}, {"message", StringLike}},
	Result:  types.Void,
	Doc:     "Ends the run with status 1 and prints the message as an error if a condition does not hold.",
	Example: `tracepoint:syscalls:sys_exit_read { assert(args.ret >= -4095, "no error number"); }`,
	Check: func(c *Call) types.Type {
		if t := c.Types[0]; t != nil && !types.IsScalar(t) {
			c.Errorf(c.Args[0], "argument-type", "assert() expects a condition, not %s", t)
		}
		if _, ok := c.Types[1].(*types.String); !ok && c.Types[1] != nil {
			c.Errorf(c.Args[1], "argument-type", "assert() expects a string as the message, not %s", c.Types[1])
		}
		return types.Void
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		g.When(b.Arith(ir.Eq, g.Scalar(c.Args[0]), konst(g, 0)), true, func() {
			b.Store(b.Data(object.DataStatus), 0, 8, konst(g, 1))
			g.Event(c, &object.Event{Map: -1}, c.Args[1:])
			b.Store(b.Data(object.DataExited), 0, 8, konst(g, 1))
			g.Exit()
		})
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		text := "assert failed: " + e.Message(e.Decode(ev.Args[0], rec))
		e.Emit(output.Message{Severity: source.Error, Span: ev.At, Text: text})
		e.Exit(1)
		return nil
	},
})
