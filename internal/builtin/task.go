package builtin

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// sameNumbers reports whether the numbers asked for are those of the initial pid
// namespace.
func sameNumbers(g Gen, initial bool) bool {
	ns, err := g.Context().O.Machine.PIDNamespace()
	return initial || err != nil || ns.Initial
}

// pidTgid is the packed ids of the current task: in hawk's own pid namespace, or in the initial
// one. The kernel answers 0 for a task that hawk's namespace does not contain. In a container users
// see other numbers than the kernel: pid and -p mean those.
func pidTgid(g Gen, c *Call, initial bool) *ir.Value {
	if sameNumbers(g, initial) {
		return Helper(g, asm.FnGetCurrentPidTgid)
	}
	ns, _ := g.Context().O.Machine.PIDNamespace()
	// struct bpf_pidns_info {u32 pid; u32 tgid}: the packed order of the plain
	// helper is tgid<<32|pid, and so is this one read as a little-endian word.
	info := g.Temp("pidns", 8, 8)
	b := g.B()
	b.Store(info, 0, 8, Number(g, 0))
	r := Helper(g, asm.FnGetNsCurrentPidTgid, Number(g, int64(ns.Dev)), Number(g, int64(ns.Ino)), info, Number(g, 8))
	g.Rarely(b.Ne(r, 0), func() {
		b.Store(info, 0, 8, Number(g, 0))
		g.Failed(c.Expr, object.HelperFailed, "get_ns_current_pid_tgid", r)
	})
	return b.U64(info, 0)
}

// inInit reports whether a call asks for numbers of the initial pid namespace: pid(init).
func inInit(c *Call) bool { return len(c.Words) > 0 && c.Words[0] == "init" }

var _ = Define(Func{
	Name: "pid", Bare: true, Fixed: true, Params: []Param{{"namespace", Word}}, Words: []string{"curr_ns", "init"},
	Doc: "The process ID (thread group ID) of the current task, as seen from hawk's pid namespace; `pid(init)` " +
		"as seen from the initial one.",
	Example: `tracepoint:syscalls:sys_enter_openat { @[pid] = count(); }`,
	Named:   "the name of the process is comm",
	Result:  types.Uint32,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		// A process is a thread group to the kernel, and its pid is a thread.
		if v, ok := ofTask(g, "tgid"); ok && sameNumbers(g, inInit(c)) {
			return v()
		}
		return high32(g, pidTgid(g, c, inInit(c)))
	},
})

var _ = Define(Func{
	Name: "tid", Bare: true, Fixed: true, Params: []Param{{"namespace", Word}}, Words: []string{"curr_ns", "init"},
	Doc: "The thread ID of the current task, as seen from hawk's pid namespace; `tid(init)` as seen from the " +
		"initial one.",
	Example: `tracepoint:syscalls:sys_enter_read { @[tid] = count(); }`,
	Named:   "the name of the process is comm",
	Result:  types.Uint32,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if v, ok := ofTask(g, "pid"); ok && sameNumbers(g, inInit(c)) {
			return v()
		}
		return low32(g, pidTgid(g, c, inInit(c)))
	},
})

var _ = Define(Func{
	Name: "uid", Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The real user ID of the current task in the initial user namespace.",
	Example: `tracepoint:syscalls:sys_enter_execve / uid == 0 / { @[comm] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return userOfTask(g)
	},
})

var _ = Define(Func{
	Name: "gid", Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The real group ID of the current task in the initial user namespace.",
	Example: `tracepoint:syscalls:sys_enter_execve { @[gid] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if v, ok := ofTask(g, "cred", "gid", "val"); ok {
			return v()
		}
		return high32(g, Helper(g, asm.FnGetCurrentUidGid))
	},
})

// userOfTask is the real user of the current task.
func userOfTask(g Gen) *ir.Value {
	if v, ok := ofTask(g, "cred", "uid", "val"); ok {
		return v()
	}
	return low32(g, Helper(g, asm.FnGetCurrentUidGid))
}

// username is {u64 user}: the name is looked up where the text is made.
var username = &types.Deferred{Name: "username_t", By: 6, Bytes: 8, Algn: 8, Int: true}

var _ = Define(Func{
	Name: "username", Label: "user", Bare: true, Fixed: true, Result: username, Renders: username,
	Doc:     "The name of the current task's user, looked up when printed; the number if there is no name.",
	Example: `tracepoint:syscalls:sys_enter_execve { @[username] = count(); }`,
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, username, dst)
		g.B().Store(p, 0, 8, userOfTask(g))
		return p
	},
	Render: func(e Env, _ *types.Deferred, raw []byte) value.Value {
		return value.Text(e.Username(Uint64(raw)))
	},
})

// commType is the name of a task, TASK_COMM_LEN bytes of include/linux/sched.h.
var commType = &types.String{Cap: 16}

// lowerComm copies the current task's name. Reading the task directly costs a
// fifth of the helper, but the bytes behind the NUL may be those of an
// earlier, longer name: they are cleared unless the text is only printed.
func lowerComm(g Gen, c *Call, dst *ir.Value) *ir.Value {
	b := g.B()
	p := Place(g, commType, dst)
	task := g.Task()
	field, ok := taskField(g, "comm")
	if !ok || task.Kind != ir.Ptr {
		Helper(g, asm.FnGetCurrentComm, p, Number(g, 16))
		return p
	}
	name := probe.Member(b, task, field)
	w0 := b.U64(name, 0)
	w1 := b.U64(name, 8)
	if !g.Printing() {
		w0, w1 = clearTail(g, w0, w1)
	}
	storeWord(g, p, 0, w0)
	storeWord(g, p, 8, w1)
	return p
}

// storeWord stores 8 bytes that may lie anywhere, in a key behind other text
// for one: the stack takes aligned stores only.
func storeWord(g Gen, p *ir.Value, off int, w *ir.Value) {
	width := ir.Alignment(p, off)
	for i := 0; i < 8; i += width {
		part := w
		if i > 0 {
			part = g.B().LShr(w, int64(8*i))
		}
		g.B().Store(p, off+i, width, part)
	}
}

// clearTail zeroes every byte behind the first NUL of 16 bytes held as two
// little-endian words, without a branch. (w-0x01…01) & ^w & 0x80…80 has its
// lowest bit set at the first zero byte of w.
func clearTail(g Gen, w0, w1 *ir.Value) (*ir.Value, *ir.Value) {
	b := g.B()
	zeros := func(w *ir.Value) *ir.Value {
		t := b.Arith(ir.Sub, w, Number(g, 0x0101010101010101))
		t = b.Arith(ir.And, t, b.Xor(w, -1))
		return b.And(t, -0x7f7f7f7f7f7f7f80)
	}
	// below(z) has the bits below the lowest set bit of z, all ones for 0.
	below := func(z *ir.Value) *ir.Value {
		low := b.Arith(ir.And, z, b.Emit(ir.Neg, ir.I64, z))
		return b.Arith(ir.Sub, low, Number(g, 1))
	}
	z0, z1 := zeros(w0), zeros(w1)
	// The second word counts only if the first has no NUL.
	any0 := b.Arith(ir.Or, z0, b.Emit(ir.Neg, ir.I64, z0))
	keep1 := b.Xor(b.AShr(any0, 63), -1)
	return b.Arith(ir.And, w0, below(z0)), b.Arith(ir.And, b.Arith(ir.And, w1, below(z1)), keep1)
}

// KernelMembers reports members of a struct of the kernel's that a function
// reads and the kernel's types do not have.
func KernelMembers(c *Call, name string, members ...string) {
	t, err := c.Machine.TypeByName("struct", name)
	if err != nil {
		c.Errorf(c.Expr, "no-kernel-types", "%s needs the kernel's types, which are not known: %s", c.Name,
			errno.Message(err)).
			Hint("they are in /sys/kernel/btf/vmlinux if the kernel is built with CONFIG_DEBUG_INFO_BTF; " +
				"BPFTRACE_BTF names another file")
		return
	}
	for _, m := range members {
		if _, ok := t.(*types.Struct).Field(m); !ok {
			c.Errorf(c.Expr, "no-kernel-types", "%s needs the member %s of the kernel's struct %s, which "+
				"is not there", c.Name, m, name)
		}
	}
}

// taskField is a member of struct task_struct.
func taskField(g Gen, name string) (types.Field, bool) {
	t, err := g.Context().O.Machine.TypeByName("struct", "task_struct")
	if err != nil {
		return types.Field{}, false
	}
	return t.(*types.Struct).Field(name)
}

// ofTask finds a number by way of members of struct task_struct and of what these
// lead to; v loads it from the current task. It is for programs that look at the
// task anyhow: in others the helper saves finding the kernel's types. Portable
// ones use the helper as well, which no kernel lays out otherwise.
func ofTask(g Gen, way ...string) (v func() *ir.Value, ok bool) {
	c := g.Context()
	if !c.Task || c.O.Machine.Portable() {
		return nil, false
	}
	t, err := c.O.Machine.TypeByName("struct", "task_struct")
	if err != nil {
		return nil, false
	}
	fields := make([]types.Field, len(way))
	for i, name := range way {
		if p, isPtr := t.(*types.Pointer); isPtr {
			t = p.Elem
		}
		s, isStruct := t.(*types.Struct)
		if !isStruct {
			return nil, false
		}
		if fields[i], ok = s.Field(name); !ok {
			return nil, false
		}
		t = fields[i].Type
	}
	if _, ok = types.IsInteger(t); !ok {
		return nil, false
	}
	// Offsets of members that lie in each other add up; a pointer begins anew.
	return func() *ir.Value {
		p, at := g.Task(), 0
		for _, f := range fields {
			at += f.Offset
			if _, leads := f.Type.(*types.Pointer); leads {
				p, at = g.B().LoadPtr(p, at), 0
			}
		}
		return g.B().Load(p, at, t.Size(), false)
	}, true
}

var _ = Define(Func{
	Name: "curtask", Bare: true, Fixed: true,
	Doc:     "The current task, to follow its fields: `curtask.prio`.",
	Example: `profile:hz:99 { @priority = lhist(curtask.prio, 0, 140, 10); }`,
	Yields:  "struct task_struct *",
	Check: func(c *Call) types.Type {
		t, err := c.Machine.TypeByName("struct", "task_struct")
		if err != nil {
			return types.Uint64
		}
		return &types.Pointer{Elem: t, Space: types.Kernel}
	},
	Space: func(*Call) types.Space { return types.Kernel },
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value { return g.Task() },
})

var _ = Define(Func{
	Name: "cpu", Also: []string{"__builtin_cpu"}, Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The number of the processor the probe fired on.",
	Example: `profile:hz:99 { @[cpu] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return Helper(g, asm.FnGetSmpProcessorId)
	},
})

var _ = Define(Func{
	Name: "ncpus", Also: []string{"__builtin_ncpus"}, Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The number of possible processors.",
	Example: `begin { printf("%d processors\n", ncpus); }`,
	Early:   true,
	Const: func(c *Call) (Const, bool) {
		// Compiled ahead of time it is the number of the machine that runs the script.
		known := c.Literal && c.Opts.Named != nil
		return Const{Kind: IntConst, Int: uint64(c.Machine.PossibleCPUs())}, known
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return FactOf(g, machine.Fact{Kind: machine.CPUs}, int64(c.Machine.PossibleCPUs()))
	},
})

var _ = Define(Func{
	Name: "numaid", Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The NUMA node the probe fired on.",
	Example: `profile:hz:99 { @[numaid] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return Helper(g, asm.FnGetNumaNodeId)
	},
})

var _ = Define(Func{
	Name: "jiffies", Bare: true, Result: types.Uint64,
	Doc:     "The kernel's tick counter.",
	Example: `interval:s:1 { print(jiffies); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return Helper(g, asm.FnJiffies64)
	},
})

var _ = Define(Func{
	Name: "cgroup", Wide: true, Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The ID of the current task's cgroup in the version 2 hierarchy.",
	Example: `tracepoint:syscalls:sys_enter_openat { @[cgroup] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if v, ok := ofTask(g, "cgroups", "dfl_cgrp", "kn", "id"); ok {
			return v()
		}
		return Helper(g, asm.FnGetCurrentCgroupId)
	},
})

var _ = Define(Func{
	Name: "rand", Bare: true, Result: types.Uint64,
	Doc:     "A random 32-bit number.",
	Example: `tracepoint:syscalls:sys_enter_read / rand % 100 == 0 / { @[comm] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return low32(g, Helper(g, asm.FnGetPrandomU32))
	},
})

var _ = Define(Func{
	Name: "cpid", Also: []string{"__builtin_cpid"}, Bare: true, Fixed: true, Result: types.Uint64,
	Doc:     "The process ID of the command started with `-c`, 0 without one.",
	Example: `tracepoint:syscalls:sys_enter_openat / pid == cpid / { printf("%s\n", str(args.filename)); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		child := g.B().U64(g.B().Data(object.DataCPID), 0)
		g.Rarely(g.B().Eq(child, 0), func() { g.Failed(c.Expr, object.NoChild, c.Name, nil) })
		return child
	},
})

var _ = Define(Func{
	Name: "has_cpid", Bare: true, Fixed: true, Result: types.Bool,
	Doc:     "Whether there is a command started with `-c`.",
	Example: `tracepoint:syscalls:sys_enter_openat / !has_cpid || pid == cpid / { @[comm] = count(); }`,
	Early:   true,
	Const: func(c *Call) (Const, bool) {
		if !c.Literal || c.Opts.Command == nil {
			return Const{}, false
		}
		return boolConst(*c.Opts.Command), true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		pid := g.B().U64(g.B().Data(object.DataCPID), 0)
		return g.B().Ne(pid, 0)
	},
})

var _ = Define(Func{
	Name: "has_target", Bare: true, Fixed: true, Result: types.Bool,
	Doc:     "Whether `-p` names a process or `-c` starts a command.",
	Example: `profile:hz:99 / has_target && is_target || !has_target && cpu == 0 / { @[comm] = count(); }`,
	Early:   true,
	Const: func(c *Call) (Const, bool) {
		if !c.Literal || c.Opts.Command == nil {
			return Const{}, false
		}
		return boolConst(c.Opts.PID != 0 || *c.Opts.Command), true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		if g.Context().O.PID != 0 {
			return Number(g, 1)
		}
		pid := g.B().U64(g.B().Data(object.DataCPID), 0)
		return g.B().Ne(pid, 0)
	},
})

// relative defines ppid, pcomm, leader_tid and leader_comm: a member of a
// task that another task points to.
func relative(name, doc, example, link, member string, result types.Type) {
	Define(Func{
		Name: name, Bare: true, Params: []Param{{"task", Address}}, Result: result, Doc: doc, Example: example,
		Check: func(c *Call) types.Type {
			KernelMembers(c, "task_struct", link, member)
			return result
		},
		Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
			b := g.B()
			var task *ir.Value
			if len(c.Args) > 0 {
				task = g.Scalar(c.Args[0])
			} else {
				task = g.Task()
			}
			to, _ := taskField(g, link)
			field, _ := taskField(g, member)
			size := result.Size()
			var out *ir.Value
			if types.IsScalar(result) {
				out = g.Temp(name, 8, 8)
			} else {
				out = Place(g, result, dst)
			}
			// A typed pointer of the kernel's is read by plain loads, which the verifier turns into
			// safe ones; an address that a script has computed needs the helper.
			if task.Kind == ir.Ptr {
				at := probe.Member(b, b.LoadPtr(probe.Member(b, task, to), 0), field)
				if types.IsScalar(result) {
					return b.Load(at, 0, size, true)
				}
				w0, w1 := clearTail(g, b.U64(at, 0), b.U64(at, 8))
				storeWord(g, out, 0, w0)
				storeWord(g, out, 8, w1)
				return out
			}
			ptr := g.Temp("task", 8, 8)
			g.ReadMem(c.Expr, types.Kernel, ptr, 0, Number(g, 8), probe.Member(b, task, to))
			rel := probe.Member(b, b.U64(ptr, 0), field)
			if types.IsScalar(result) {
				g.ReadMem(c.Expr, types.Kernel, out, 0, Number(g, int64(size)), rel)
				return b.Load(out, 0, size, true)
			}
			b.Zero(out, 0, size)
			g.ReadStr(c.Expr, types.Kernel, out, 0, Number(g, int64(size)), rel)
			return out
		},
	})
}

// Each is a member of another task, to which curtask leads.
func init() {
	relative("ppid", "The process ID of the parent, in the initial pid namespace.",
		"tracepoint:syscalls:sys_enter_execve { @[ppid] = count(); }", "real_parent", "pid", types.Int32)
	relative("pcomm", "The name of the parent.",
		"tracepoint:syscalls:sys_enter_execve { @[pcomm] = count(); }", "real_parent", "comm", commType)
	relative("leader_tid", "The thread ID of the thread group's leader.",
		"tracepoint:syscalls:sys_enter_futex / tid != leader_tid / { @[comm] = count(); }", "group_leader",
		"pid", types.Int32)
	relative("leader_comm", "The name of the thread group's leader.",
		"tracepoint:syscalls:sys_enter_futex { @[leader_comm, comm] = count(); }", "group_leader", "comm", commType)
}

var _ = Define(Func{
	Name: "usermode", Also: []string{"__builtin_usermode"}, Bare: true, Result: types.Uint8,
	Doc: "1 if the probe interrupted user code, else 0. Known at compile time where the probe has no " +
		"registers: 1 in begin and end, 0 in the others.",
	Example: `profile:hz:99 { @[usermode] = count(); }`,
	Const: func(c *Call) (Const, bool) {
		if c.Kind.Has&probe.HasRegs != 0 {
			return Const{}, false
		}
		k := Const{Kind: IntConst}
		if c.Kind.Ours == probe.AtBegin || c.Kind.Ours == probe.AtEnd {
			k.Int = 1
		}
		return k, true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		// Which bits of which saved register say so is a matter of the processor: the privilege
		// level in CS, or the mode in PSTATE.
		b, user := g.B(), c.Machine.Arch().User
		w := b.U64(g.Context().Group.Mech().Regs(g.Context()), user.Offset)
		return b.Eq(b.And(w, int64(user.Mask)), int64(user.Equal))
	},
})

// CurrentPID is what pid yields.
func CurrentPID(g Gen, c *Call) *ir.Value { return high32(g, pidTgid(g, c, false)) }
