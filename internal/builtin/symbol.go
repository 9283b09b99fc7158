package builtin

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// withOffset is the word by which ksym() shows how far behind the symbol an address is.
const withOffset = "offset"

var (
	ksymType = &types.Deferred{Name: "ksym_t", By: 1, Bytes: 8, Algn: 8}
	// ksymOffset is the same with another text.
	ksymOffset = ksymType.With(withOffset)

	usymType = &types.Deferred{Name: "usym_t", By: 2, Bytes: 16, Algn: 8}
)

var _ = Define(Func{
	Name: "ksym", LabelOf: FirstArg, Old: []string{"sym"}, Min: 1,
	Params: []Param{{"address", Address}, {"form", Word}}, Words: []string{withOffset},
	Yields: "ksym_t", Renders: ksymType,
	Doc: "The name of the kernel symbol that an address lies in, found when printed; with `offset`, and how " +
		"many bytes behind its start: `vfs_read+4`.",
	Example: `tracepoint:timer:hrtimer_start { @[ksym(args.function)] = count(); }`,
	Check: func(c *Call) types.Type {
		if len(c.Args) > 1 {
			return ksymOffset
		}
		return ksymType
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, c.Result, dst)
		g.B().Store(p, 0, 8, g.Scalar(c.Args[0]))
		return p
	},
	Render: func(e Env, t *types.Deferred, raw []byte) value.Value {
		addr := Uint64(raw)
		if name, off, ok := e.KernelSymbol(addr); ok && t.Arg == withOffset {
			return value.Symbol{Name: fmt.Sprintf("%s+%d", name, off), Addr: addr}
		} else if ok {
			return value.Symbol{Name: name, Addr: addr}
		}
		return nameless(addr)
	},
})

// nameless is the text of an address that no symbol is known for. That of
// address 0 has no prefix.
func nameless(addr uint64) value.Value {
	if addr == 0 {
		return value.Symbol{Name: "0"}
	}
	return value.Symbol{Name: fmt.Sprintf("%#x", addr), Addr: addr}
}

// storeUsym writes {u64 address; u32 pid; u32 0}.
func storeUsym(g Gen, c *Call, p, addr *ir.Value) {
	b := g.B()
	b.Store(p, 0, 8, addr)
	b.Store(p, 8, 8, high32(g, pidTgid(g, c, false)))
}

var _ = Define(Func{
	Name: "usym", LabelOf: FirstArg, Min: 1, Params: []Param{{"address", Address}}, Result: usymType,
	Renders: usymType, UserSymbols: true,
	Doc:     "The name of the symbol of the current process that an address lies in, found when printed.",
	Example: `uprobe:libc:qsort { @[usym(arg3)] = count(); }`,
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, usymType, dst)
		storeUsym(g, c, p, g.Scalar(c.Args[0]))
		return p
	},
	Render: func(e Env, _ *types.Deferred, raw []byte) value.Value {
		if len(raw) < 16 {
			return value.Null{}
		}
		addr, pid := Uint64(raw), int(binary.LittleEndian.Uint32(raw[8:]))
		if text, ok := e.UserName(pid, addr); ok {
			return value.Symbol{Name: text, Addr: addr}
		}
		return nameless(addr)
	},
})

var _ = Define(Func{
	Name: "func", Also: []string{"__builtin_func"}, Bare: true, Fixed: true, Probes: probe.HasFunc,
	Doc:     "The name of the traced function.",
	Example: `kprobe:vfs_* { @[func] = count(); }`,
	Yields:  "ksym_t; string in probes on user functions, usym_t in those at addresses",
	Check: func(c *Call) types.Type {
		if c.Kind.Space != types.User {
			return ksymType
		}
		if !namedFuncs(c.Points) {
			return usymType
		}
		longest := 0
		for _, p := range c.Points {
			longest = max(longest, len(funcName(p, c.Config)))
		}
		return &types.String{Cap: longest + 1}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		// The process may be gone when the name is printed, so the symbol that
		// the probe was put on is better than a look-up of the address.
		if t, ok := c.Result.(*types.String); ok {
			return storePointText(g, t, dst, func(p *probe.Point) string { return funcName(p, g.Config()) })
		}
		p := Place(g, c.Result, dst)
		addr := g.Context().Group.Mech().Func(g.Context())
		if c.Result == types.Type(usymType) {
			storeUsym(g, c, p, addr)
		} else {
			g.B().Store(p, 0, 8, addr)
		}
		return p
	},
})

// namedFuncs reports whether all points are on functions, not at addresses.
func namedFuncs(points []*probe.Point) bool {
	for _, p := range points {
		if p.Func == "" {
			return false
		}
	}
	return len(points) > 0
}

// funcName is the name of the function that a point is on, demangled if the setting cpp_demangle
// says so.
func funcName(p *probe.Point, cfg *config.Config) string {
	if cfg.CppDemangle {
		return exe.Demangle(p.Func)
	}
	return p.Func
}

const (
	userStackFlag = 1 << 8 // BPF_F_USER_STACK
	maxFrames     = 127    // unless the script says otherwise
	mostFrames    = 1024
)

// stackWords are the modes by which a stack can be shown; the first two are one.
var stackWords = []string{"bpftrace", "hawk", "perf", "raw", "build_id"}

// unwinding is what the kernel must offer for user stacks by tables.
var unwinding = []*machine.Feature{machine.BPFLoop, machine.TaskPtRegs, machine.NoPreallocPerf}

// stack defines a function that yields a stack, of which f has the name and the
// documentation. The frames go to a map of the kernel and the value is their
// number there, which as a map key is far cheaper than the frames.
func stack(f Func, user bool) {
	f.Bare, f.Uses, f.Words = true, probe.Uses{Stack: true, Kernel: !user}, stackWords
	f.Params = []Param{{"mode", WordOrIntLit}, {"limit", IntBehindWord}}
	f.Yields = "kstack"
	if user {
		f.Yields = "ustack"
		f.Handle = func(e Env, _ *object.Event, rec []byte) error {
			if len(rec) >= 8 {
				e.Unwind(int(binary.NativeEndian.Uint32(rec[4:])))
			}
			return nil
		}
	}
	f.Check = func(c *Call) types.Type { return stackType(c, user) }
	f.Lower = func(g Gen, c *Call, dst *ir.Value) *ir.Value { return takeStack(g, c, dst, user) }
	Define(f)
}

// stackType types a stack. The mode is part of it, not of the value: it only says how frames are written.
func stackType(c *Call, user bool) types.Type {
	t := &types.Stack{User: user, Limit: maxFrames, Mode: stackMode(c.Config.StackMode)}
	if len(c.Func.Needs) > 0 && c.Opts.NoFeature["unwind"] {
		c.Errorf(c.Expr, "unsupported", "%s is without unwinding tables for --no-feature unwind",
			c.Func.Name).Hint("use ustack")
	}
	for i := range c.Args {
		if w := c.Words[i]; w != "" {
			if i > 0 {
				c.Errorf(c.Args[i], "bad-argument", "%s(): the mode comes before the limit", c.Func.Name)
			}
			t.Mode = stackMode(w)
			continue
		}
		if i > 0 && c.Words[0] == "" {
			c.Errorf(c.Args[0], "bad-argument", "%s(): the first of two arguments is the mode", c.Func.Name)
		}
		n, ok := c.Int(i)
		if !ok || c.Consts[i].Neg {
			c.Errorf(c.Args[i], "literal-required", "%s(): the limit must be a positive literal", c.Func.Name)
			continue
		}
		if n > mostFrames {
			c.Errorf(c.Args[i], "bad-argument", "%s([int limit]): limit shouldn't exceed %d, %d given",
				c.Func.Name, mostFrames, n)
		}
		t.Limit = int(min(n, mostFrames))
	}
	if t.Mode == types.StackBuildID && !user {
		if len(c.Args) > 0 {
			c.Errorf(c.Expr, "bad-argument", "%s(): 'build_id' stack mode can only be used for ustack", c.Func.Name)
		} else {
			c.Warnf(c.Expr, "stack-mode", "'build_id' stack mode can only be used for ustack, falling back to "+
				"'raw' stack mode for %s", c.Func.Name)
		}
		t.Mode = types.StackRaw
	}
	return t
}

// takeStack takes the stack of where the program runs, by tables or by frame pointers.
func takeStack(g Gen, c *Call, dst *ir.Value, user bool) *ir.Value {
	t := c.Result.(*types.Stack)
	b := g.B()
	p := Place(g, t, dst)
	id := g.Temp("stack", 8, 8)
	b.Store(id, 0, 8, Number(g, -1))
	var pid *ir.Value
	if user {
		pid = high32(g, pidTgid(g, c, false))
	}
	// A stack map for more than kernel.perf_event_max_stack cannot be made (stack_map_alloc in
	// kernel/bpf/stackmap.c).
	depth := min(t.Limit, g.Context().O.Machine.MaxStack())
	byPointers := func() {
		flags := stackFlags(g, user)
		if user && g.Context().Group.Mech().AtReturn {
			// A frame has to be changed, which the kernel's map does not allow.
			spillStack(g, t, depth, flags, id)
			return
		}
		got := Helper(g, asm.FnGetStackid, g.Context().Ctx, b.MapPtr(g.StackMap(depth)), flags)
		b.Store(id, 0, 8, got)
		// The kernel's map has one place for each hash; another stack with the same one is
		// refused with EEXIST, or would replace the first, which keys of maps refer to.
		g.Rarely(b.Eq(got, -eexist), func() { spillStack(g, t, depth, flags, id) })
	}
	if t.Limit > 0 {
		if user && g.Unwinds() {
			doubt := unwindStack(g, c, t, pid, id)
			g.When(b.Eq(b.U64(id, 0), -1), func() {
				byPointers()
				if t.Limit > 1 { // else it is where the thread is, and nobody's caller
					b := g.B()
					b.Store(id, 0, 8, b.Arith(ir.Or, b.U64(id, 0), doubt)) // which errors have set
				}
			})
		} else {
			byPointers()
		}
		// A kernel thread has no user stack, and a program interrupted in
		// user code no kernel stack: EFAULT is no failure.
		now := b.U64(id, 0)
		g.Rarely(b.SLt(now, 0), func() {
			g.Rarely(b.Ne(now, -efault), func() {
				g.Failed(c.Expr, object.StackFailed, c.Func.Name, now)
			})
		})
	}
	b.Store(p, 0, 8, b.U64(id, 0))
	if user {
		b.Store(p, 8, 8, pid)
	} else {
		b.Store(p, 8, 8, Number(g, 0))
	}
	return p
}

// All three have one implementation, which frames of which space are asked for tells apart.
func init() {
	stack(Func{
		Name: "kstack", Old: []string{"stack"},
		Doc: "The kernel stack. `kstack(mode, limit)`: mode `bpftrace`, `perf` or `raw`, limit at most 1024 " +
			"frames, 127 if it is not given. Of kernel stacks, and of user stacks taken by frame pointers, the " +
			"kernel yields no more than `kernel.perf_event_max_stack` says, 127 unless changed.",
		Example: "profile:hz:99 { @[kstack(perf, 5)] = count(); }",
	}, false)
	stack(Func{
		Name: ustackName,
		Doc: "The user stack of the current thread: on x86-64 and arm64 from Linux 6.1 on complete without " +
			"frame pointers too, by the unwinding tables of the files (`.eh_frame`, and on x86-64 those of Go's " +
			"runtime); by frame pointers elsewhere, for `--no-feature unwind`, and for a process whose tables are " +
			"still being made. A stack that could not be followed to its end, or may be wrong since there were no " +
			"tables yet, has `<unwind failure>` as its last line. Arguments as for kstack; the mode may also be " +
			"`build_id`.",
		Example: "profile:hz:99 { @[comm, ustack] = count(); }",
	}, true)
	stack(Func{
		Name: "dw_ustack", Unstable: "dw_ustack", Needs: unwinding,
		Doc: "Another name of ustack, refused where the kernel cannot unwind by tables. No processes need to " +
			"be named for it.",
		Example: "profile:hz:99 { @[comm, dw_ustack(perf)] = count(); }",
	}, true)
}

// stackFlags is what the kernel is told of the stack it takes: whose it is, and how many frames to leave out.
func stackFlags(g Gen, user bool) *ir.Value {
	if user {
		return Number(g, userStackFlag)
	}
	return g.OwnFrames()
}

const (
	efault = 14
	eexist = 17
)

// spillStack keeps a stack whose place in the stack map another one has: the
// frames, at most depth, go to a hash by a number made of them, and that number to id. It is
// above 32 bits, where the numbers of the stack map end.
func spillStack(g Gen, t *types.Stack, depth int, flags, id *ir.Value) {
	b := g.B()
	frames := g.Temp("frames", 8*t.Limit, 8)
	b.Zero(frames, 0, 8*t.Limit)
	got := Helper(g, asm.FnGetStack, g.Context().Ctx, frames, Number(g, int64(8*depth)), flags)
	b.Store(id, 0, 8, got)
	g.When(b.Arith(ir.SLt, Number(g, 0), got), func() {
		// The function's own frame pointer is that of its caller again: the walk misses where that
		// goes on, and has the function in its place.
		if t.User {
			if ret := g.ReturnAddress(); ret != nil {
				b.Store(frames, 0, 8, ret)
			}
		}
		h := numberOf(g, frames, depth)
		h = b.Or(b.LShr(h, 2), 1<<61)
		keepStack(g, t, h, frames, id)
	})
}

// numberOf yields a number made of n frames. It is for the rare case: a loop, which takes
// less to compile, verify and translate than to run.
func numberOf(g Gen, frames *ir.Value, n int) *ir.Value {
	const step = 8 // rounds of a loop cost the verifier more than instructions
	b := g.B()
	mix := func(h, frame *ir.Value) *ir.Value {
		h = b.Arith(ir.Xor, h, frame)
		h = b.Mul(h, -0x61c8864680b583eb) // 2^64 divided by the golden ratio
		return b.Arith(ir.Xor, h, b.LShr(h, 32))
	}
	h := Number(g, 0)
	for i := range n % step {
		h = mix(h, b.U64(frames, 8*i))
	}
	if n < step {
		return h
	}
	sum, at := g.Temp("sum", 8, 8), g.Temp("at", 8, 8)
	b.Store(sum, 0, 8, h)
	b.Store(at, 0, 8, Number(g, int64(8*(n%step))))
	round, done := b.NewBlock(), b.NewBlock()
	b.Jump(round)
	b.Begin(round)
	h, off := b.U64(sum, 0), b.U64(at, 0)
	part := b.Arith(ir.Add, frames, off)
	for i := range step {
		h = mix(h, b.U64(part, 8*i))
	}
	off = b.Add(off, 8*step)
	b.Store(sum, 0, 8, h)
	b.Store(at, 0, 8, off)
	b.If(b.ULt(off, int64(8*n)), round, done)
	b.Begin(done)
	return b.U64(sum, 0)
}

// keepStack puts the frames of a stack into the spill map by a number made of
// them, and the number to id, or what went wrong.
func keepStack(g Gen, t *types.Stack, number, frames, id *ir.Value) {
	b := g.B()
	key := g.Temp("key", 8, 8)
	b.Store(key, 0, 8, number)
	b.Store(id, 0, 8, number)
	there := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(g.SpillMap(t.Limit)), key)
	g.Rarely(b.Eq(there, 0), func() {
		failed := Helper(g, asm.FnMapUpdateElem, b.MapPtr(g.SpillMap(t.Limit)), key, frames, Number(g, 0))
		g.Rarely(b.Ne(failed, 0), func() { b.Store(id, 0, 8, failed) })
	})
}

// unwindStack takes a user stack by unwinding tables, if there are any for the
// process; else it leaves id alone. User space is asked for them by a record
// that holds the process ID. doubt belongs into the number of the stack then taken
// by frame pointers.
func unwindStack(g Gen, c *Call, t *types.Stack, pid, id *ir.Value) (doubt *ir.Value) {
	b := g.B()
	n := 8 * t.Limit
	frames := g.Temp("frames", n, 8)
	number, _, doubt := g.Unwind(c.Expr, pid, frames, t.Limit, func() { askForTables(g, c, pid) })
	g.When(b.Ne(number, 0), func() { keepStack(g, t, number, frames, id) })
	return doubt
}

// ustackName is the builtin whose records ask for tables, whatever takes the stack.
const ustackName = "ustack"

// askForTables sends the ID of a process that no unwinding tables are known for.
func askForTables(g Gen, c *Call, pid *ir.Value) {
	g.Send(c, &object.Event{Builtin: ustackName, Map: -1}, 8, func(rec *ir.Value) *ir.Value {
		g.B().Store(rec, 4, 4, pid)
		return Number(g, 8)
	})
}

// stackMode is the mode that a word, or the setting stack_mode, names.
func stackMode(word string) types.StackMode {
	switch word {
	case "perf":
		return types.StackPerf
	case "raw":
		return types.StackRaw
	case "build_id":
		return types.StackBuildID
	}
	return types.StackDefault
}

var _ = Define(Func{
	Name: "reg", Min: 1, Params: []Param{{"name", StringLit}}, Result: types.Uint64, Probes: probe.HasRegs,
	Doc:     "A register of the traced context, by the names of struct pt_regs.",
	Example: `profile:hz:99 { printf("%lx\n", reg("sp")); }`,
	Check: func(c *Call) types.Type {
		if name, ok := c.Str(0); ok {
			if _, ok := c.Machine.Arch().Reg(name); !ok {
				c.Errorf(c.Args[0], "bad-register", "'%s' is not a valid register on this architecture (%s)", name,
					c.Machine.Arch().Name)
			}
		}
		return types.Uint64
	},
	Space: func(c *Call) types.Space { return c.Kind.Space },
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		name, _ := c.Str(0)
		// Check has reported a name that is none.
		r, _ := c.Machine.Arch().Reg(name)
		return g.B().U64(g.Context().Group.Mech().Regs(g.Context()), r.Offset)
	},
})
