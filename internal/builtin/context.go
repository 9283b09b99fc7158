package builtin

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/user"
	"github.com/hawktrace/hawk/internal/types"
)

// args itself emits nothing: check types it, and lowering follows its fields.
var _ = Define(Func{
	Name: "args", Bare: true, Fields: true, Probes: probe.HasArgs,
	Doc:     "The arguments of the event by name: `args.filename`.",
	Example: `tracepoint:syscalls:sys_enter_openat { printf("%s\n", str(args.filename)); }`,
	Yields:  "a struct",
	Check:   func(c *Call) types.Type { return c.Result },
	Space:   func(c *Call) types.Space { return c.Kind.Space },
	Lower:   func(g Gen, c *Call, dst *ir.Value) *ir.Value { return nil },
})

// argFunc stands for arg0, arg1, …; Lookup hands it out for all of them.
var argFunc = &Func{
	Name: "argN", Bare: true, Fixed: true, Result: types.Uint64, Probes: probe.HasArgN,
	Doc:     "The N-th argument of the traced function or USDT probe, from `arg0`.",
	Example: `kprobe:vfs_read { @bytes = hist(arg2); }`,
	Space:   func(c *Call) types.Space { return c.Kind.Space },
	Check: func(c *Call) types.Type {
		n := ArgNumber(c.Name)
		// Further arguments lie on the stack at places that depend on the types of all of them.
		limit := len(c.Machine.Arch().Args)
		if len(c.Points) > 0 {
			limit = user.ArgLimit(c.Points[0], c.Machine.Arch())
		}
		if c.Kind.RegisterArgs && n >= limit {
			c.Errorf(c.Expr, "bad-argument", "%s doesn't support %s", c.Machine.Arch().Name, c.Name).
				Hint("only %d arguments are passed in registers; read the others from the stack with "+
					"reg(\"sp\")", limit)
		}
		return types.Uint64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.Context().Group.Mech().Arg(g.Context(), ArgNumber(c.Name))
	},
}

// ArgNumber is N of argN, -1 for any other name.
func ArgNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "arg")
	// arg01 is a name like any other.
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return -1
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// stackArgFunc stands for sarg0, sarg1, …; Lookup hands it out for all of them.
var stackArgFunc = &Func{
	Name: "sargN", Bare: true, Result: types.Uint64, Probes: probe.HasArgN | probe.HasRegs,
	Doc: "The N-th argument on the stack of the traced function, from `sarg0`: an old way to write `*(uint64 " +
		"*)(reg(\"sp\") + 8)` and so on.",
	Example: `uprobe:/bin/bash:execute_command { print(sarg0); }`,
	Space:   func(c *Call) types.Space { return c.Kind.Space },
	Check: func(c *Call) types.Type {
		c.Warnf(c.Expr, "old-name", "%s is deprecated", c.Name).
			Hint("use *(uint64 *)(reg(\"sp\") + %d)", stackOffset(c))
		return types.Uint64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		p := g.Temp("argument", 8, 8)
		b.Store(p, 0, 8, Number(g, 0))
		sp := b.U64(g.Context().Group.Mech().Regs(g.Context()), c.Machine.Arch().SP)
		g.ReadMem(c.Expr, c.Kind.Space, p, 0, Number(g, 8), b.Add(sp, int64(stackOffset(c))))
		return b.U64(p, 0)
	},
}

// stackOffset is where the stack argument that a call names lies, from the
// stack pointer.
func stackOffset(c *Call) int { return c.Machine.Arch().Stack + 8*stackArgNumber(c.Name) }

// stackArgNumber is N of sargN, -1 for any other name.
func stackArgNumber(name string) int {
	rest, ok := strings.CutPrefix(name, "s")
	if !ok {
		return -1
	}
	return ArgNumber(rest)
}

var _ = Define(Func{
	Name: "retval", Also: []string{"__builtin_retval"}, Bare: true, Fixed: true, Probes: probe.HasRetval,
	Doc:     "What the traced function returned.",
	Example: `kretprobe:vfs_read { @bytes = hist(retval); }`,
	Yields:  "the type of the result, or an integer where it is not known",
	Check: func(c *Call) types.Type {
		if len(c.Points) == 0 || c.Kind.Retval == nil {
			return types.Uint64
		}
		t, err := c.Kind.Retval(c.Points[0], c.Opts)
		if err != nil {
			c.Errorf(c.Expr, "no-type", "%s", errno.Message(err))
			return types.Int64
		}
		if t == types.Void {
			c.Errorf(c.Expr, "no-retval", "%s returns nothing", c.Points[0].Func)
			return types.Int64
		}
		return t
	},
	Space: func(c *Call) types.Space { return c.Kind.Space },
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		v := g.Context().Group.Mech().Retval(g.Context())
		// The upper bits of the register belong to nobody.
		if i, ok := types.IsInteger(c.Result); ok && i.Bytes < 8 {
			return g.B().Ext(v, i.Bytes, i.Signed)
		}
		return v
	},
})

var _ = Define(Func{
	Name: "probe", Old: []string{"name"}, Also: []string{"__builtin_probe"}, Bare: true, Fixed: true,
	Uses:    probe.Uses{Probe: true},
	Doc:     "The full name of the attach point that fired.",
	Example: `tracepoint:syscalls:sys_enter_read, tracepoint:syscalls:sys_enter_write { @[probe] = count(); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		longest := 0
		for _, p := range c.Points {
			longest = max(longest, len(p.Name()))
		}
		return &types.String{Cap: longest + 1}
	},
	Const: func(c *Call) (Const, bool) {
		if len(c.Points) != 1 {
			return Const{}, false
		}
		return Const{Kind: StrConst, Str: c.Points[0].Name()}, true
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		return storePointText(g, c.Result.(*types.String), dst, (*probe.Point).Name)
	},
})

var _ = Define(Func{
	Name: "probe_name", Bare: true, Fixed: true, Uses: probe.Uses{Probe: true},
	Doc: "What the attach point that fired is on, in short: a function of the kernel, one of a program or library " +
		"with the file's name in front (`libc:malloc`), category and name of a tracepoint, file, provider and name " +
		"of a mark.",
	Example: `uprobe:libc:mem* { @[probe_name] = count(); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		longest := 0
		for _, p := range c.Points {
			longest = max(longest, len(shortName(p, c.Config)))
		}
		return &types.String{Cap: longest + 1}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		return storePointText(g, c.Result.(*types.String), dst, func(p *probe.Point) string {
			return shortName(p, g.Config())
		})
	},
})

// shortName is what a point is on, without the kind and the directories of a file.
func shortName(p *probe.Point, cfg *config.Config) string {
	_, name, several := strings.Cut(p.Name(), ":")
	file := cmp.Or(p.Memory, p.Target)
	if !several || !strings.Contains(file, "/") {
		return cmp.Or(name, p.Name())
	}
	// libc.so.6 is libc.
	base, _, _ := strings.Cut(path.Base(file), ".so")
	if p.Kind.Has&probe.HasFunc != 0 && p.Func != "" && p.Offset == 0 {
		return base + ":" + funcName(p, cfg)
	}
	return base + strings.TrimPrefix(name, file)
}

// storePointText stores a text of the point that fired, from a table where the
// program serves several.
func storePointText(g Gen, t *types.String, dst *ir.Value, text func(*probe.Point) string) *ir.Value {
	b, ctx := g.B(), g.Context()
	p := Place(g, t, dst)
	points := ctx.Group.Points
	// One program serves many points: the texts lie in a table by the index that the mechanism
	// tells.
	stride := types.RoundUp(t.Cap, 8)
	if len(points) == 1 || ctx.Group.Mech().Index == nil {
		StoreBytes(g, p, []byte(text(points[0])), t.Cap)
		return p
	}
	entry := entryOfPoint(g, len(points), stride, func(entry []byte, i int) { copy(entry, text(points[i])) })
	b.Copy(p, 0, entry, t.Cap)
	return p
}

// entryOfPoint is the address of what a table has for the point that fired; fill gives each of n points its
// entry of so many bytes. The point's number comes from outside of the program, and the verifier wants to see
// it bounded. What a comparison shows it is forgotten where the number was spilled before; a mask is not.
func entryOfPoint(g Gen, n, size int, fill func(entry []byte, point int)) *ir.Value {
	b := g.B()
	all := types.PowerOfTwo(n)
	table := make([]byte, size*all)
	for i := range n {
		fill(table[i*size:(i+1)*size], i)
	}
	at := g.Table(table)
	number := b.And(g.Context().Index(), int64(all-1))
	return b.Arith(ir.Add, b.Data(at), b.Mul(number, int64(size)))
}

// StoreBytes writes text and pads it with zeroes to n bytes, a word at a time.
func StoreBytes(g Gen, p *ir.Value, text []byte, n int) {
	b := g.B()
	padded := make([]byte, types.RoundUp(max(n, len(text)), 8))
	copy(padded, text)
	for off := 0; off < n; {
		if rest := len(text) - off; rest <= 0 {
			b.Zero(p, off, n-off)
			return
		}
		// Stores to the stack must be aligned: the verifier refuses others.
		w := min(width(n-off), ir.Alignment(p, off))
		var bits uint64
		for i := range w {
			bits |= uint64(padded[off+i]) << (8 * i)
		}
		b.Store(p, off, w, Number(g, int64(bits)))
		off += w
	}
}

// StoreString writes a literal to memory of n bytes up to its first NUL, cut if
// need be so that a NUL remains, and padded with zeroes.
func StoreString(g Gen, p *ir.Value, text string, n int) {
	text, _, _ = strings.Cut(text, "\x00")
	if len(text) > n-1 {
		text = text[:max(n-1, 0)]
	}
	StoreBytes(g, p, []byte(text), n)
}

var _ = Define(Func{
	Name: "probetype", Also: []string{"__builtin_probetype"}, Bare: true, Fixed: true,
	Doc:     "The kind of the probe by its long name; `special` for begin and end.",
	Example: `begin, end { print(probetype); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		return &types.String{Cap: len(c.Kind.TypeName()) + 1}
	},
	Const: func(c *Call) (Const, bool) { return Const{Kind: StrConst, Str: c.Kind.TypeName()}, true },
})

var _ = Define(Func{
	Name: "ctx", Bare: true, Probes: probe.HasCtx,
	Doc:     "The raw context of the program.",
	Example: `profile:hz:99 { printf("%p\n", ctx); }`,
	Yields: "a pointer to the struct that the kernel hands to such programs: `struct pt_regs`, `struct " +
		"bpf_perf_event_data`, `struct bpf_iter__task`, …",
	Check: func(c *Call) types.Type {
		elem := types.Void
		if c.Kind.Ctx != nil && len(c.Points) > 0 {
			if t, err := c.Kind.Ctx(c.Points[0], c.Opts); err == nil {
				elem = t
			}
		}
		return &types.Pointer{Elem: elem, Space: types.Kernel}
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value { return g.Context().Ctx },
})
