package builtin

import (
	"errors"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

const (
	// Kernel functions that programs may call, from Linux 6.2 on (kernel/bpf/helpers.c).
	taskFromPID = "bpf_task_from_pid"
	taskRelease = "bpf_task_release"
)

// otherComm is the type of the name of a task that is looked up. It has room for the words that
// stand in for one.
var otherComm = &types.String{Cap: 64}

var _ = Define(Func{
	Name: "comm", Also: []string{"__builtin_comm"}, Bare: true, Fixed: true, Params: []Param{{"pid", Integer}},
	Kfunc: taskFromPID,
	Doc: "The name of the current task, at most 15 bytes. `comm(pid)` is that of any live task by its number in " +
		"the initial pid namespace, " +
		"in probes that the kernel lets look tasks up: fentry, fexit, rawtracepoint, tracepoints of system calls. " +
		"It is `N/A` if there is no such task and `[unknown]` if the kernel (before Linux 6.2) has no way to look, " +
		"both with a warning.",
	Example: `tracepoint:syscalls:sys_enter_kill { printf("%s sends %d to %s\n", comm, args.sig, comm(args.pid)); }`,
	Yields:  "string[16]; string[64] of another task",
	Check: func(c *Call) types.Type {
		if len(c.Args) == 0 {
			return commType
		}
		var denied *machine.KfuncDenied
		if c.Diags != nil && c.Machine.HasKfunc(taskFromPID) == nil {
			if err := kfuncAllowed(c, taskFromPID); errors.As(err, &denied) {
				c.Errorf(c.Expr, "not-in-probe", "comm(pid) can not be used here: %s", errno.Message(err)).
					Hint("fentry, fexit and rawtracepoint probes can look up tasks")
			}
		}
		return otherComm
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		if len(c.Args) == 0 {
			return lowerComm(g, c, dst)
		}
		return lookUpComm(g, c, Place(g, otherComm, dst))
	},
})

// lookUpComm writes the name of the task whose number is the argument.
func lookUpComm(g Gen, c *Call, out *ir.Value) *ir.Value {
	b := g.B()
	pid := g.Scalar(c.Args[0])
	find, err := c.Machine.KfuncID(taskFromPID)
	release, err2 := c.Machine.KfuncID(taskRelease)
	field, ok := taskField(g, "comm")
	if err != nil || err2 != nil || !ok {
		StoreBytes(g, out, []byte("[unknown]"), otherComm.Cap)
		g.Failed(c.Expr, object.NoKfunc, taskFromPID, nil)
		return out
	}
	StoreBytes(g, out, []byte("N/A"), otherComm.Cap)
	// The kernel hands the task out with a reference, which must be given back on every way to the
	// end: the verifier refuses the program else. So the name is read in between, and nothing that
	// may leave the program.
	task := b.Kfunc(find, taskFromPID, ir.Ptr, pid)
	missing := b.Eq(task, 0)
	found, none, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	none.Cold = true
	b.If(missing, none, found)
	b.Begin(found)
	name := probe.Member(b, task, field)
	w0, w1 := clearTail(g, b.U64(name, 0), b.U64(name, 8))
	b.Kfunc(release, taskRelease, ir.Nothing, task)
	storeWord(g, out, 0, w0)
	storeWord(g, out, 8, w1)
	b.Jump(done)
	b.Begin(none)
	g.Failed(c.Expr, object.NoTask, c.Name, nil)
	b.Jump(done)
	b.Begin(done)
	return out
}
