package probe

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// The threads that --follow traces are in a hash map, u32 → u32, by their
// numbers in the machine's own PID namespace: those of the target, and whatever
// one of them begins.
const (
	FollowMost = 1 << 16 // threads at a time
	// FollowTraced is the value of threads. That of key 0, which is no thread's,
	// turns from 0 to FollowFull once there is no room for one.
	FollowTraced = 1
	FollowFull   = 2
)

// KernelPID is the process that the kernel is to filter by, 0 if there is none.
func (o *Options) KernelPID() int {
	if o.Follow {
		return 0 // the program itself tests
	}
	return o.PID
}

// SampledPID is the process whose threads have events of their own. For a tool it is 0: events count on the
// CPUs, and the program tests. Of many threads that run little, none may come to the end of a period while
// somebody looks, though together they are busy.
func (o *Options) SampledPID() int {
	if o.Tool && o.OnePID() && !o.Own {
		return 0
	}
	return o.KernelPID()
}

// GuardSampled is the Guard of kinds that ask for SampledPID.
func GuardSampled(c *Context) {
	switch {
	case c.O.Follow:
		GuardFollowed(c)
	case c.O.SampledPID() == 0:
		GuardPID(c)
	}
}

// GuardFollowed is the Guard of kinds that the kernel filters by process.
func GuardFollowed(c *Context) {
	if !c.O.Follow || c.Own {
		return
	}
	b := c.B
	member := c.Follows(b.Call(int(asm.FnGetCurrentPidTgid)))
	c.Guard(member)
	c.Guard(b.Eq(b.U32(member, 0), FollowTraced))
}

// Follows looks a thread up among those that --follow traces: a pointer to its value, or
// null.
func (c *Context) Follows(tid *ir.Value) *ir.Value {
	b := c.B
	key := b.NewObject("tid", 4, 4)
	key.Stack = true
	p := b.Addr(key, 0)
	b.Store(p, 0, 4, b.Ext(tid, 4, false))
	return b.CallPtr(int(asm.FnMapLookupElem), c.Followed(), p)
}
