package builtin

import (
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/types"
)

// shortNeedle is up to how many bytes a literal is compared with at every
// place of a string by instructions without a branch.
const shortNeedle = 32

// offStack is more than fits the stack: kernels before 5.12 permit loads at
// variable offsets elsewhere only.
const offStack = 520

// searched is memory for a copy that is loaded from at variable offsets.
// Such memory lies in scratch memory, which kernels before 5.12 let programs index.
func searched(g Gen, n int) *ir.Value {
	return g.Temp("searched", types.RoundUp(max(n, offStack), 8), 8)
}

// byteAt is the byte of p at i, which is known to be below limit but not to the
// verifier.
func byteAt(g Gen, p, i *ir.Value, limit int) *ir.Value {
	// The verifier wants to see the bound where the byte is loaded.
	return g.B().Arith(ir.Add, p, g.B().UMin(i, int64(limit-1)))
}

// checkNeedle refuses what needs to compare a string of unknown length at every place of another one:
// a loop in a loop, which old kernels would walk through when they verify.
func checkNeedle(c *Call) {
	lit, ok := c.Str(1)
	if ok && len(lit) <= shortNeedle || c.Machine.Has(machine.BPFLoop) == nil {
		return
	}
	c.Errorf(c.Args[1], "missing-feature", "%s(): this kernel can only search for a literal of at most %d bytes",
		c.Name, shortNeedle).
		Hint("kernels from 5.17 on search for any string")
}

// index is where the second string begins in the first, or -1.
// A short literal is compared byte by byte in one expression, so that a round of the loop has
// no branch but its own.
func index(g Gen, c *Call) *ir.Value {
	b := g.B()
	limit := textBytes(c, 0)
	// The comparison at the last places reads behind the string, into room that is there.
	hay := searched(g, limit+shortNeedle)
	b.Store(hay, 0, 8, Number(g, 0))
	n := copyText(g, c, 0, hay)
	if lit, ok := strLit(c, 1); ok && len(lit) <= shortNeedle {
		if lit == "" {
			return Number(g, 0)
		}
		places := b.Add(n, int64(1-len(lit))) // 0 or less: it is too short
		places = atLeastZero(g, places)
		return g.Search(c.Expr, places, limit, []*ir.Value{hay}, func(i *ir.Value, vals []*ir.Value) *ir.Value {
			b := g.B()
			p := byteAt(g, vals[0], i, limit)
			var differ *ir.Value
			for j := range len(lit) {
				d := b.Xor(b.U8(p, j), int64(lit[j]))
				if differ == nil {
					differ = d
				} else {
					differ = b.Arith(ir.Or, differ, d)
				}
			}
			return b.Eq(differ, 0)
		})
	}
	most := textBytes(c, 1)
	needle := searched(g, most+spareByte(c, 1))
	b.Store(needle, 0, 8, Number(g, 0))
	m := copyText(g, c, 1, needle)
	places := atLeastZero(g, b.Add(b.Arith(ir.Sub, n, m), 1))
	return g.Search(c.Expr, places, limit, []*ir.Value{hay, needle, m}, func(i *ir.Value, vals []*ir.Value) *ir.Value {
		inner := []*ir.Value{vals[0], vals[1], i}
		differ := g.Search(c.Expr, vals[2], most, inner, func(j *ir.Value, vals []*ir.Value) *ir.Value {
			b := g.B()
			x := b.U8(byteAt(g, vals[0], b.Arith(ir.Add, vals[2], j), limit), 0)
			y := b.U8(byteAt(g, vals[1], j, most), 0)
			return b.Arith(ir.Ne, x, y)
		})
		return g.B().SLt(differ, 0)
	})
}

// atLeastZero is n, or 0 if it is negative.
func atLeastZero(g Gen, n *ir.Value) *ir.Value {
	return g.Choose(g.B().SLt(n, 0), func() *ir.Value {
		return Number(g, 0)
	}, func() *ir.Value { return n })
}

// strLit is a literal argument up to its NUL.
// Bytes behind the NUL are no part of a string at run time either.
func strLit(c *Call, i int) (string, bool) {
	s, ok := c.Str(i)
	s, _, _ = strings.Cut(s, "\x00")
	return s, ok
}

// needleParams are a string and what is looked for in it.
var needleParams = []Param{{"string", StringLike}, {"part", StringLike}}

var _ = Define(Func{
	Name: "strstr", Min: 2, Params: needleParams,
	Doc:     "Where a string first contains another one, counted from 0; -1 if nowhere.",
	Example: `tracepoint:syscalls:sys_enter_openat / strstr(str(args.filename), ".so") > 0 / { @[comm] = count(); }`,
	Yields:  "int64",
	Check: func(c *Call) types.Type {
		checkNeedle(c)
		return types.Int64
	},
	Const: func(c *Call) (Const, bool) {
		s, ok := strLits(c)
		if !ok {
			return Const{}, false
		}
		n := strings.Index(s[0], s[1])
		return Const{Kind: IntConst, Int: uint64(n), Neg: n < 0}, true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value { return index(g, c) },
})

var _ = Define(Func{
	Name: "strcontains", Min: 2, Params: needleParams, Yields: "bool",
	Doc:     "Whether a string contains another one.",
	Example: `tracepoint:syscalls:sys_enter_openat / strcontains(str(args.filename), "/etc/") / { @[comm] = count(); }`,
	Check: func(c *Call) types.Type {
		checkNeedle(c)
		return types.Bool
	},
	Const: func(c *Call) (Const, bool) {
		s, ok := strLits(c)
		if !ok {
			return Const{}, false
		}
		k := Const{Kind: BoolConst}
		if strings.Contains(s[0], s[1]) {
			k.Int = 1
		}
		return k, true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return g.B().Arith(ir.SLe, Number(g, 0), index(g, c))
	},
})

var _ = Define(Func{
	Name: "memcmp", Min: 3, Params: []Param{{"a", Bytes}, {"b", Bytes}, {"n", Integer}}, Result: types.Int32,
	Doc: "Compares the first n bytes of two values, or of what pointers lead to: 0 if they are equal, else the " +
		"difference of the first two that are not, as signed characters. n is at most the size of the smaller one.",
	Example: `tracepoint:syscalls:sys_enter_openat { $f = str(args.filename); if (memcmp($f, "/etc", 4) == 0) { ` +
		`@[comm] = count(); } }`,
	Check: func(c *Call) types.Type {
		for i, t := range c.Types[:2] {
			if _, ok := t.(*types.Agg); ok {
				c.Errorf(c.Args[i], "argument-type", "memcmp() can not compare the bytes of %s", t)
			}
		}
		if len(c.Consts) == 3 && c.Consts[2].Neg {
			c.Errorf(c.Args[2], "bad-argument", "memcmp() can not compare a negative number of bytes")
		}
		return types.Int32
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		b := g.B()
		// A value has a size beyond which nothing may be compared; what a pointer leads to has
		// none.
		limit := c.Config.MaxStrlen
		for _, t := range c.Types[:2] {
			if _, elsewhere := t.(*types.Pointer); !elsewhere {
				limit = min(limit, t.Size())
			}
		}
		n := Clamp(g, g.Scalar(c.Args[2]), limit)
		vals := make([]*ir.Value, 2)
		for i := range vals {
			vals[i] = searched(g, limit)
			t := c.Types[i]
			if _, elsewhere := t.(*types.Pointer); types.IsScalar(t) && !elsewhere {
				b.Store(vals[i], 0, t.Size(), g.Scalar(c.Args[i]))
				continue
			}
			src, space, own := memory(g, c.Args[i], t)
			if own {
				Helper(g, asm.FnProbeReadKernel, vals[i], Number(g, int64(limit)), src)
				continue
			}
			b.Zero(vals[i], 0, limit)
			g.ReadMem(c.Args[i], space, vals[i], 0, n, src)
		}
		differ := g.Search(c.Expr, n, limit, vals, func(i *ir.Value, vals []*ir.Value) *ir.Value {
			b := g.B()
			x := b.U8(byteAt(g, vals[0], i, limit), 0)
			return b.Arith(ir.Ne, x, b.U8(byteAt(g, vals[1], i, limit), 0))
		})
		return g.Choose(b.ULt(differ, int64(limit)),
			func() *ir.Value {
				x, y := b.Arith(ir.Add, vals[0], differ), b.Arith(ir.Add, vals[1], differ)
				return b.Arith(ir.Sub, b.Load(x, 0, 1, true), b.Load(y, 0, 1, true))
			},
			func() *ir.Value { return Number(g, 0) })
	},
})
