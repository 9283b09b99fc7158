package builtin

import (
	"errors"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// kernelAddress is the address of the kernel symbol that argument i names.
func kernelAddress(c *Call, i int) (uint64, bool) {
	name, ok := c.Str(i)
	// A portable program asks when it is loaded (symbolAddress); there is no address to know now.
	if !ok || c.Machine.Portable() {
		return 0, ok
	}
	symbols, err := c.Machine.KernelSymbols()
	if err != nil {
		c.Errorf(c.Args[i], "no-symbols", "%s: %s", c.Name, errno.Message(err))
		return 0, false
	}
	addr, ok := symbols.Address(name)
	if !ok {
		c.Errorf(c.Args[i], "unknown-symbol", "Failed to resolve kernel symbol: %s", name)
	}
	return addr, ok
}

// inKernel is the address space of what lies in the kernel.
func inKernel(*Call) types.Space { return types.Kernel }

var _ = Define(Func{
	Name: "kaddr", Wide: true, Min: 1, Params: []Param{{"symbol", StringLit}}, Space: inKernel,
	Doc:     "The address of a kernel symbol.",
	Example: `interval:s:1 { print(*kaddr("jiffies_64")); }`,
	Yields:  "uint64",
	Check: func(c *Call) types.Type {
		kernelAddress(c, 0)
		return types.Uint64
	},
	// Known at once, the address folds: *kaddr("x") is one read.
	Const: func(c *Call) (Const, bool) {
		addr, ok := kernelAddress(c, 0)
		return Const{Kind: IntConst, Int: addr}, ok && !c.Machine.Portable()
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		name, _ := c.Str(0)
		return symbolAddress(g, name, 0)
	},
})

// symbolAddress is the address of a kernel symbol, which every start of the
// kernel has its own of.
func symbolAddress(g Gen, name string, addr uint64) *ir.Value {
	return FactOf(g, machine.Fact{Kind: machine.Symbol, Of: name}, int64(addr))
}

var _ = Define(Func{
	Name: "percpu_kaddr", Min: 1, Params: []Param{{"symbol", StringLit}, {"cpu", Integer}}, Space: inKernel,
	Doc: "The address of a processor's copy of a kernel variable, the current one's by default; 0 if there is " +
		"no such processor.",
	Example: `interval:s:1 { print(*(uint32 *)percpu_kaddr("process_counts")); }`,
	Yields:  "uint64",
	Check: func(c *Call) types.Type {
		if _, ok := kernelAddress(c, 0); !ok {
			return types.Uint64
		}
		if _, err := perCPUOffsets(c); err != nil {
			c.Errorf(c.Expr, "no-symbols", "percpu_kaddr: %s", errno.Message(err))
		}
		return types.Uint64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		name, _ := c.Str(0)
		addr, _ := kernelAddress(c, 0)
		offsets, _ := perCPUOffsets(c)
		// A variable of each processor lies at its address plus an offset of that processor, of
		// which the kernel has a table of longs: per_cpu_ptr() of include/linux/percpu-defs.h.
		read := func(cpu *ir.Value) *ir.Value {
			p := g.Temp("offset", 8, 8)
			b.Store(p, 0, 8, Number(g, 0))
			at := b.Arith(ir.Add, symbolAddress(g, perCPUTable, offsets), b.Shl(cpu, 3))
			g.ReadMem(c.Expr, types.Kernel, p, 0, Number(g, 8), at)
			return b.Arith(ir.Add, b.U64(p, 0), symbolAddress(g, name, addr))
		}
		if len(c.Args) < 2 {
			return read(Helper(g, asm.FnGetSmpProcessorId))
		}
		cpu := g.Scalar(c.Args[1])
		// Behind the possible processors the table has no offsets.
		return g.Choose(b.Arith(ir.ULt, cpu, FactOf(g, machine.Fact{Kind: machine.CPUs},
			int64(c.Machine.PossibleCPUs()))),
			func() *ir.Value { return read(cpu) }, func() *ir.Value { return Number(g, 0) })
	},
})

var errNoPerCPU = errors.New("the kernel does not say where its variables for each processor are")

// perCPUTable says where each processor's copies of the kernel's variables are.
const perCPUTable = "__per_cpu_offset"

// perCPUOffsets is the address of the kernel's table of where each processor's
// copies of variables lie.
func perCPUOffsets(c *Call) (uint64, error) {
	if c.Machine.Portable() {
		return 0, nil
	}
	symbols, err := c.Machine.KernelSymbols()
	if err != nil {
		return 0, err
	}
	addr, ok := symbols.Address(perCPUTable)
	if !ok {
		return 0, errNoPerCPU
	}
	return addr, nil
}

var _ = Define(Func{
	Name: "is_err", Min: 1, Params: []Param{{"pointer", Address}}, Result: types.Bool,
	Doc:     "Whether a pointer is an error number in disguise, from -4095 to -1.",
	Example: `kretprobe:do_file_open_root / is_err(retval) / { @[retval] = count(); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		// MAX_ERRNO of include/linux/err.h; as unsigned numbers these are the largest of all.
		const lowest = -4095
		return g.B().Arith(ir.ULe, Number(g, lowest), g.Scalar(c.Args[0]))
	},
})

var _ = Define(Func{
	Name: "path", LabelOf: FirstArg, Min: 1, Params: []Param{{"path", AnyValue}, {"size", IntLit}},
	Probes: probe.HasPaths,
	Doc: "The name of a file, of a `struct path` or a pointer to one. A name that does not fit the size, " +
		"`max_strlen` by default, is an error and reads as an empty string. The kernel permits it in some " +
		"functions only.",
	Example: `fentry:security_file_open { print(path(args.file.f_path)); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		t := c.Types[0]
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem
		}
		if s, ok := t.(*types.Struct); t != nil && (!ok || s.Name != "path") {
			c.Errorf(c.Args[0], "argument-type", "path() expects a struct path or a pointer to one, not %s", c.Types[0])
		}
		size := c.Config.MaxStrlen
		if n, ok := c.Int(1); ok {
			if n < 1 || n > int64(c.Config.MaxStrlen) {
				c.Errorf(c.Args[1], "bad-argument", "path(): the size must be from 1 to max_strlen (%d), not %d",
					c.Config.MaxStrlen, n)
			} else {
				size = int(n)
			}
		}
		return &types.String{Cap: size}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		t := c.Result.(*types.String)
		p := Place(g, t, dst)
		g.B().Zero(p, 0, t.Cap)
		// Behind the name the kernel leaves what it used the memory for.
		work := g.Temp("path", types.RoundUp(t.Cap, 8), 8)
		g.B().Zero(work, 0, t.Cap) // the kernel insists
		size := Number(g, int64(t.Cap))
		n := Helper(g, asm.FnDPath, g.Address(c.Args[0]), work, size)
		g.Choose(g.B().SLt(n, 0),
			func() *ir.Value {
				g.Failed(c.Expr, object.HelperFailed, "d_path", n)
				return n
			},
			func() *ir.Value { return Helper(g, asm.FnProbeReadKernelStr, p, size, work) })
		return p
	},
})
