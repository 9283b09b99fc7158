package probe

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// Guard ends the current block with a test and goes on where it holds; other
// events are skipped.
func (c *Context) Guard(cond *ir.Value) {
	next := c.B.NewBlock()
	c.B.If(cond, next, c.Skip)
	c.B.Begin(next)
}

// GuardPID emits the test of -p for kinds that the kernel does not filter: the
// thread group, numbered as hawk's own PID namespace sees it.
func GuardPID(c *Context) {
	if c.O.Follow && c.O.PIDFilter {
		GuardFollowed(c)
		return
	}
	if !c.O.OnePID() || c.Own {
		return
	}
	b := c.B
	ns, err := c.O.Machine.PIDNamespace()
	if err != nil || ns.Initial {
		// Without /proc there are no namespaces to tell apart.
		id := b.Call(int(asm.FnGetCurrentPidTgid))
		tgid := b.LShr(id, 32)
		c.Guard(b.Eq(tgid, int64(c.O.PID)))
		return
	}
	// struct bpf_pidns_info { u32 pid, tgid; }; the helper zeroes it for tasks
	// outside of the namespace.
	info := b.NewObject("pidns", 8, 4)
	info.Stack = true
	p := b.Addr(info, 0)
	b.Zero(p, 0, 8)
	b.Call(int(asm.FnGetNsCurrentPidTgid), b.Const(int64(ns.Dev)), b.Const(int64(ns.Ino)), p, b.Const(8))
	c.Guard(b.Eq(b.U32(p, 4), int64(c.O.PID)))
}

// Set remembers a value that dominates the rest of the program.
func (c *Context) Set(name string, v *ir.Value) {
	if c.Data == nil {
		c.Data = map[string]*ir.Value{}
	}
	c.Data[name] = v
}
