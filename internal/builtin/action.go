package builtin

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ = Define(Func{
	Name: "exit", Ends: true, Params: []Param{{"status", Integer}}, Result: types.Void,
	Doc: "Ends this run of the probe at once and, when user space handles the event, the program; its status is " +
		"the low 8 bits of the argument.",
	Example: `interval:s:10 { exit(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		status := Number(g, 0)
		if len(c.Args) > 0 {
			status = b.Ext(g.Scalar(c.Args[0]), 1, false)
		}
		// The status also goes into shared memory, so that a full ring buffer
		// cannot lose the end of the program.
		b.Store(b.Data(object.DataStatus), 0, 8, status)
		g.Event(c, &object.Event{Map: -1}, c.Args)
		b.Store(b.Data(object.DataExited), 0, 8, Number(g, 1))
		g.Exit()
		return nil
	},
	// Records that were sent before are handled before, so that nothing printed in front of exit()
	// is lost.
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		code := 0
		if len(ev.Args) > 0 {
			n, _, _ := value.Integer(e.Decode(ev.Args[0], rec))
			code = int(byte(n))
		}
		e.Exit(code)
		return nil
	},
})

// sendsSignal defines signal() and signal_thread(), which differ in the helper: to the process, or
// to the thread that is running.
func sendsSignal(name, doc, example string, helper asm.BuiltinFunc, need *machine.Feature) {
	Define(Func{
		Name: name, Min: 1, Params: []Param{{"signal", AnyValue}}, Result: types.Void, Unsafe: true, Doc: doc,
		Example: example,
		Needs:   []*machine.Feature{need},
		Check: func(c *Call) types.Type {
			// The signal would go to hawk, which fires these probes itself.
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
				n = Number(g, int64(signalNumber(text)))
			} else {
				n = g.Scalar(c.Args[0])
			}
			// The kernel accepts 0 and sends nothing. As an unsigned number n-1 is below 64 for 1
			// to 64 alone.
			r := g.Choose(b.ULt(b.Add(n, -1), lastSignal),
				func() *ir.Value { return Helper(g, helper, n) },
				func() *ir.Value { return Number(g, -int64(unix.EINVAL)) })
			g.Rarely(b.Ne(r, 0), func() {
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

var _ = Define(Func{
	Name: "override", Min: 1, Params: []Param{{"result", Integer}}, Result: types.Void, Unsafe: true,
	Probes: probe.HasOverride,
	Needs:  []*machine.Feature{machine.Override},
	Doc: "Makes the function return at once with a result of its own. The kernel permits that for functions " +
		"made for error injection.",
	Example: `kprobe:__x64_sys_getuid / comm == "id" / { override(2); }`,
	// The kernel checks when the program is attached whether the function is made for that
	// (ALLOW_ERROR_INJECTION).
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		Helper(g, asm.FnOverrideReturn, g.Context().Ctx, g.Scalar(c.Args[0]))
		return nil
	},
})

var _ = Define(Func{
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
		// A buffer has its length in front of the bytes.
		src := g.Mem(c.Args[1])
		if t, ok := c.Types[1].(*types.Buffer); ok {
			src, size = b.Add(src, 4), t.Cap
		}
		r := Helper(g, asm.FnProbeWriteUser, g.Scalar(c.Args[0]), src, Clamp(g, g.Scalar(c.Args[2]), size))
		return b.Eq(r, 0)
	},
})

var _ = Define(Func{
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
		// As exit(): status, record, end, so that the message is there whatever happens to the ring
		// buffer.
		g.Rarely(b.Eq(g.Scalar(c.Args[0]), 0), func() {
			b.Store(b.Data(object.DataStatus), 0, 8, Number(g, 1))
			g.Event(c, &object.Event{Map: -1}, c.Args[1:])
			b.Store(b.Data(object.DataExited), 0, 8, Number(g, 1))
			g.Exit()
		})
		return nil
	},
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		text := "assert failed"
		if len(ev.Args) > 0 {
			text += ": " + e.Message(e.Decode(ev.Args[0], rec))
		}
		e.Emit(output.Message{Severity: source.Error, Span: ev.At, Text: text})
		e.Exit(1)
		return nil
	},
})
