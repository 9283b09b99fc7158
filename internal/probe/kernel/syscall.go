package kernel

import (
	"encoding/binary"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/attach"
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// The tracepoints of single system calls are made by the kernel from two raw
// ones, sys_enter and sys_exit, with a perf event each. Hawk does the same in
// one typed program for all calls of a probe: attaching 360 of them takes
// microseconds instead of half a minute of detaching, and a hit costs half as
// much. The price is 40 ns more for calls that are not traced.
//
// Where raw tracepoints are preempted the program is one of the perf event
// raw_syscalls, which never is; those of single calls are.

const (
	enterPrefix = "sys_enter_"
	exitPrefix  = "sys_exit_"
)

// syscallsUsable reports whether the mechanisms of this file work: a kernel
// with type information has typed raw tracepoints too.
func syscallsUsable(o *probe.Options) bool {
	if o.NoFeature["raw_syscalls"] {
		return false
	}
	o.Machine.ExpectTask("sys_enter", "sys_exit")
	if _, _, ok := compatField(o); !ok {
		return false
	}
	_, _, err := o.Machine.RawTracepointID("", "sys_enter")
	return err == nil
}

// isSyscall reports whether a point is a system call tracepoint whose number
// is known.
func isSyscall(p *probe.Point, prefix string, o *probe.Options) bool {
	return p.Target == "syscalls" && callNumber(p, prefix, o) >= 0
}

// callNumber is the number of the call that a tracepoint is on, by the name of the event; -1 if it
// is not known.
func callNumber(p *probe.Point, prefix string, o *probe.Options) int {
	name, ok := strings.CutPrefix(p.Func, prefix)
	if !ok {
		return -1
	}
	return arch.SyscallNumber(o.Machine.Arch().GoArch, name)
}

// compatField finds the field of the current task that marks 32-bit programs,
// whose calls have numbers of their own: the way there, and its size.
func compatField(o *probe.Options) (way []types.Field, size int, ok bool) {
	t, err := o.Machine.TypeByName("struct", "task_struct")
	if err != nil {
		return nil, 0, false
	}
	for _, name := range o.Machine.Arch().Compat.Field {
		s, ok := t.(*types.Struct)
		if !ok {
			return nil, 0, false
		}
		f, ok := s.Field(name)
		if !ok {
			return nil, 0, false
		}
		way = append(way, f)
		t = f.Type
	}
	_, ok = types.IsInteger(t)
	return way, t.Size(), ok
}

// preempted reports whether programs on raw tracepoints are preempted and those of perf events stand in
// for them, which need tracefs. What is to run on many kernels is for the most of them.
func preempted(o *probe.Options) bool {
	if o.Machine.Portable() || !o.Has(machine.PreemptedTracepoints) {
		return false
	}
	_, err := o.Machine.TracepointID("raw_syscalls", "sys_enter")
	return err == nil
}

var sysEnter = &probe.Mechanism{
	Name:    "system call entry",
	Whole:   "sys_enter",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID:   kernelEvent("sys_enter"),
	Guard: func(c *probe.Context) {
		// sys_enter(struct pt_regs *regs, long id)
		guardCall(c, c.B.Load(c.Ctx, 8, 8, true), enterPrefix)
	},
	Index: pointIndex,
	Field: syscallField(func(c *probe.Context, f types.Field) *ir.Value {
		if n := argument(f); n >= 0 {
			return c.B.U64(callRegs(c), c.O.Machine.Arch().SyscallArgs[n])
		}
		return nil
	}),
	Link: linkTracing,
}

var sysExit = &probe.Mechanism{
	Name:    "system call exit",
	Whole:   "sys_exit",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID:   kernelEvent("sys_exit"),
	Guard: func(c *probe.Context) {
		guardCall(c, callID(c), exitPrefix)
	},
	Index: pointIndex,
	Field: syscallField(func(c *probe.Context, f types.Field) *ir.Value {
		if f.Offset == 16 {
			// sys_exit(struct pt_regs *regs, long ret)
			return c.B.Load(c.Ctx, 8, 8, true)
		}
		return nil
	}),
	Link: linkTracing,
}

// syscallField is Field of a call: what the guard knows, then what value yields, nil for fields that it
// has not, then what records start with.
func syscallField(value func(c *probe.Context, f types.Field) *ir.Value) func(*probe.Context, types.Field) *ir.Value {
	return func(c *probe.Context, f types.Field) *ir.Value {
		if f.Offset == 8 {
			return c.Data["call"]
		}
		if v := value(c, f); v != nil {
			return v
		}
		return commonOrZero(c, f)
	}
}

// callArgs is how many arguments a system call can have.
const callArgs = 6

// argument is which argument of a call a field is, -1 for other fields.
func argument(f types.Field) int {
	if n := (f.Offset - 16) / 8; f.Offset >= 16 && n < callArgs && f.DataLoc == types.NoDataLoc {
		return n
	}
	return -1
}

// perfSysEnter is sysEnter by the record of raw_syscalls:sys_enter: id at 8, six arguments from 16 on.
var perfSysEnter = perfCall("sys_enter", enterPrefix, func(f types.Field) bool { return argument(f) >= 0 })

// perfSysExit is sysExit by the record of raw_syscalls:sys_exit: id at 8, the returned value at 16.
var perfSysExit = perfCall("sys_exit", exitPrefix, func(f types.Field) bool { return f.Offset == 16 })

// perfCall follows system calls by one of the two perf events of all of them; inRecord tells which
// fields of a call are where that event has them.
func perfCall(event, prefix string, inRecord func(types.Field) bool) probe.Mechanism {
	return probe.Mechanism{
		Name:    "perf tracepoint of all system calls",
		Whole:   "raw_syscalls/" + event,
		Program: bpf.Tracepoint,
		Slow:    true,
		Guard: func(c *probe.Context) {
			guardCall(c, c.B.Load(c.Ctx, 8, 8, true), prefix)
		},
		Index: pointIndex,
		Field: syscallField(func(c *probe.Context, f types.Field) *ir.Value {
			if inRecord(f) {
				return c.B.Load(c.Ctx, f.Offset, 8, true)
			}
			return nil
		}),
		Link: func(progFD int, _ *probe.Group, o *probe.Options) ([]probe.Link, error) {
			l, err := linkPerf(progFD, "raw_syscalls", event, 0, o)
			if err != nil {
				return nil, err
			}
			return []probe.Link{l}, nil
		},
	}
}

// rawSysEnter is raw_syscalls:sys_enter with its fields.
var rawSysEnter = &probe.Mechanism{
	Name:    "typed raw tracepoint",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID:   kernelEvent("sys_enter"),
	Guard:   probe.GuardPID,
	// The record is put together on the stack: args is an array.
	Record: func(c *probe.Context) *ir.Value {
		b := c.B
		args := c.O.Machine.Arch().SyscallArgs
		rec := b.Addr(b.NewObject("record", 16+8*len(args), 8), 0)
		b.Store(rec, 8, 8, b.Load(c.Ctx, 8, 8, true))
		regs := callRegs(c)
		others := c.O.Machine.Arch().Compat.Args
		var narrowed *ir.Value
		if others != nil {
			narrowed = compatFlag(c)
		}
		if narrowed == nil {
			for i, off := range args {
				b.Store(rec, 16+8*i, 8, b.U64(regs, off))
			}
			return rec
		}
		// Programs of 32 bits pass arguments in other registers. Choosing without a branch is
		// cheap, and spares the verifier a path.
		mask := b.Arith(ir.Sub, b.Const(0), b.Ne(narrowed, 0))
		for i, off := range args {
			wide, narrow := b.U64(regs, off), b.U32(regs, others[i])
			differ := b.Arith(ir.And, b.Arith(ir.Xor, wide, narrow), mask)
			b.Store(rec, 16+8*i, 8, b.Arith(ir.Xor, wide, differ))
		}
		return rec
	},
	Field: func(c *probe.Context, f types.Field) *ir.Value {
		if f.Offset == 8 {
			return c.B.Load(c.Ctx, 8, 8, true)
		}
		return commonField(c, f)
	},
	Link: linkTracing,
}

// rawSysExit is raw_syscalls:sys_exit with its fields.
var rawSysExit = &probe.Mechanism{
	Name:    "typed raw tracepoint",
	Program: bpf.Tracing,
	Attach:  bpf.AttachRawTracepoint,
	BTFID:   kernelEvent("sys_exit"),
	Guard:   probe.GuardPID,
	Field: func(c *probe.Context, f types.Field) *ir.Value {
		switch f.Offset {
		case 8:
			return callID(c)
		case 16:
			return c.B.Load(c.Ctx, 8, 8, true)
		}
		return commonOrZero(c, f)
	},
	Link: linkTracing,
}

// kernelEvent is BTFID of programs on a raw tracepoint of the kernel image.
func kernelEvent(name string) func(*probe.Group, *probe.Options) (uint32, string, error) {
	return func(_ *probe.Group, o *probe.Options) (uint32, string, error) {
		return o.Machine.RawTracepointID("", name)
	}
}

// linkTracing attaches a program to what it was loaded for.
func linkTracing(progFD int, g *probe.Group, _ *probe.Options) ([]probe.Link, error) {
	l, err := attach.LinkRaw("", progFD)
	if err != nil {
		return nil, err
	}
	return []probe.Link{l}, nil
}

// callRegs is the registers of the program that calls the kernel.
func callRegs(c *probe.Context) *ir.Value { return c.B.LoadPtr(c.Ctx, 0) }

// callID reads the number of the call from the registers, as sys_exit must.
func callID(c *probe.Context) *ir.Value {
	nr := c.O.Machine.Arch().SyscallNumber
	return c.B.Load(callRegs(c), nr.Offset, nr.Width/8, true)
}

// guardCall lets calls of the group's points through: by number, then only
// those of 64-bit programs, then those of the wanted process.
func guardCall(c *probe.Context, id *ir.Value, prefix string) {
	c.Set("call", id)
	c.Group.Numbered = true
	b := c.B
	if len(c.Group.Points) == 1 {
		c.Guard(b.Eq(id, int64(callNumber(c.Group.Points[0], prefix, c.O))))
	} else {
		// The table has one more than the number of the point, 0 for calls that
		// are not traced. Its size is a power of two so that a mask shows the
		// verifier the bound that the comparison before it has established.
		size := 1
		for _, p := range c.Group.Points {
			for size <= callNumber(p, prefix, c.O) {
				size *= 2
			}
		}
		table := make([]byte, size*2)
		for i, p := range c.Group.Points {
			binary.LittleEndian.PutUint16(table[2*callNumber(p, prefix, c.O):], uint16(i+1))
		}
		c.Guard(b.ULt(id, int64(size)))
		at := b.Shl(b.And(id, int64(size-1)), 1)
		entry := b.Load(b.Arith(ir.Add, b.Data(c.Table(table)), at), 0, 2, false)
		c.Guard(entry)
		c.Set("point", b.Arith(ir.Sub, entry, b.Const(1)))
	}
	guardCompat(c)
	probe.GuardPID(c)
}

// pointIndex is Index where the guard has found the point.
func pointIndex(c *probe.Context) *ir.Value { return c.Data["point"] }

// guardCompat skips calls of 32-bit programs.
func guardCompat(c *probe.Context) {
	if flag := compatFlag(c); flag != nil {
		c.Guard(c.B.Arith(ir.Eq, flag, c.B.Const(0)))
	}
}

// compatFlag is not 0 in a 32-bit program; nil if nothing tells.
func compatFlag(c *probe.Context) *ir.Value {
	way, size, ok := compatField(c.O)
	if !ok {
		return nil
	}
	b := c.B
	field := func(p *ir.Value) *ir.Value {
		for _, f := range way {
			p = probe.Member(b, p, f)
		}
		return p
	}
	mask := b.Const(int64(c.O.Machine.Arch().Compat.Mask))
	var flags *ir.Value
	if c.O.Has(machine.TaskBTF) {
		c.Task = true
		flags = b.Load(field(b.CallPtr(int(asm.FnGetCurrentTaskBtf))), 0, size, false)
	} else {
		tmp := b.Addr(b.NewObject("flags", 8, 8), 0)
		b.Zero(tmp, 0, 8)
		task := b.Call(int(asm.FnGetCurrentTask))
		b.Call(int(asm.FnProbeReadKernel), tmp, b.Const(int64(size)), field(task))
		flags = b.U64(tmp, 0)
	}
	return b.Arith(ir.And, flags, mask)
}

// commonField makes up the fields that every record starts with, and yields
// nil for all others. The two bytes between type and pid say whether the
// event came from an interrupt, which nothing tells a program.
func commonField(c *probe.Context, f types.Field) *ir.Value {
	b := c.B
	switch {
	case f.Offset >= 8:
		return nil
	case f.Offset >= 4: // common_pid: the thread, numbered as the kernel does
		return b.Ext(b.Call(int(asm.FnGetCurrentPidTgid)), 4, true)
	case f.Offset == 0 && len(c.Group.Points) == 1: // common_type
		p := c.Group.Points[0]
		if n, ok := c.O.Machine.Defer(machine.Fact{Kind: machine.EventID, Module: p.Target, Of: p.Func}); ok {
			return b.Reloc(n)
		}
		if format, err := c.O.Machine.TracepointFormat(p.Target, p.Func); err == nil {
			return b.Const(int64(format.ID))
		}
	}
	return b.Const(0)
}

// commonOrZero is commonField for mechanisms without a record.
func commonOrZero(c *probe.Context, f types.Field) *ir.Value {
	if v := commonField(c, f); v != nil {
		return v
	}
	return c.B.Const(0)
}
