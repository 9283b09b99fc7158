package builtin

import (
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
)

// textBytes is how many bytes a copy of a string-like argument takes, its NUL
// included.
func textBytes(c *Call, i int) int {
	switch t := c.Types[i].(type) {
	case *types.String:
		return t.Cap
	case *types.Array:
		return t.Size() + 1 // which may have no NUL of its own
	}
	return c.Config.MaxStrlen
}

// spareByte is 1 for a string that may have no NUL, as an array of char that is full, else 0.
func spareByte(c *Call, i int) int {
	s, ok := c.Types[i].(*types.String)
	if _, literal := c.Str(i); !ok || literal || s.Trunc || s.Cap < 2 {
		return 0
	}
	return 1
}

// copyText writes a string-like argument to p, which has room for textBytes and spareByte,
// and yields its length without the NUL. What lies behind it is undefined.
func copyText(g Gen, c *Call, i int, p *ir.Value) *ir.Value {
	b := g.B()
	n := textBytes(c, i)
	var size *ir.Value
	switch {
	case n <= 1 && !types.IsScalar(c.Types[i]):
		g.Mem(c.Args[i]) // an empty string, but it may have effects
		return Number(g, 0)
	case types.IsScalar(c.Types[i]):
		size = g.ReadStr(c.Args[i], g.Space(c.Args[i]), p, 0, Number(g, int64(n)), g.Scalar(c.Args[i]))
	default:
		src := g.Mem(c.Args[i])
		size = Helper(g, asm.FnProbeReadKernelStr, p, Number(g, int64(n)), src)
		// The helper writes a NUL over the last byte of an array of char that is full.
		if spareByte(c, i) > 0 {
			last := b.U8(src, n-1)
			b.Store(p, n-1, 1, last)
			b.Store(p, n, 1, Number(g, 0))
			size = b.Arith(ir.Add, size, b.Arith(ir.And, b.Eq(size, int64(n)), b.Ne(last, 0)))
		}
	}
	// An error is far above the limit once the NUL is taken off.
	size = b.Add(size, -1)
	return g.Choose(b.ULt(size, int64(n+spareByte(c, i))),
		func() *ir.Value { return size },
		func() *ir.Value { return Number(g, 0) })
}

// textTemp is memory for a copy of a string-like argument.
func textTemp(g Gen, c *Call, i int) *ir.Value {
	p := g.Temp("text", types.RoundUp(textBytes(c, i)+spareByte(c, i), 8), 8)
	g.B().Store(p, 0, 8, Number(g, 0)) // a failed read may leave the target alone
	return p
}

// strLits are the literals that all arguments are, cut at a NUL.
func strLits(c *Call) ([]string, bool) {
	out := make([]string, len(c.Args))
	for i := range c.Args {
		s, ok := c.Str(i)
		if !ok {
			return nil, false
		}
		out[i], _, _ = strings.Cut(s, "\x00")
	}
	return out, true
}

var _ = Define(Func{
	Name: "strlen", Min: 1, Params: []Param{{"string", StringLike}}, Result: types.Uint64,
	Doc:     "How many bytes a string has in front of its NUL.",
	Example: `tracepoint:syscalls:sys_enter_openat { @ = hist(strlen(str(args.filename))); }`,
	Const: func(c *Call) (Const, bool) {
		s, ok := strLits(c)
		if !ok {
			return Const{}, false
		}
		return Const{Kind: IntConst, Int: uint64(len(s[0]))}, true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return copyText(g, c, 0, textTemp(g, c, 0))
	},
})

var _ = Define(Func{
	Name: "strcap", Min: 1, Params: []Param{{"string", StringLike}}, Result: types.Uint64,
	Doc: "How many bytes a string or array has room for, with the NUL; of a pointer: the length of the " +
		"string there.",
	Example: `begin { print(strcap("hello")); }`,
	// The type of a value says it; only a pointer has to be followed.
	Const: func(c *Call) (Const, bool) {
		if len(c.Types) == 0 || c.Types[0] == nil || types.IsScalar(c.Types[0]) {
			return Const{}, false
		}
		return Const{Kind: IntConst, Int: uint64(c.Types[0].Size())}, true
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		return copyText(g, c, 0, textTemp(g, c, 0))
	},
})

var _ = Define(Func{
	Name: "str_concat", Min: 2, Params: []Param{{"a", StringLike}, {"b", StringLike}},
	Doc:     "Two strings one behind the other.",
	Example: `tracepoint:syscalls:sys_enter_openat { print(str_concat("/proc/self/root", str(args.filename))); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		if c.Types[0] == nil || c.Types[1] == nil {
			return nil
		}
		return &types.String{Cap: concatBytes(c)}
	},
	Const: func(c *Call) (Const, bool) {
		s, ok := strLits(c)
		if !ok {
			return Const{}, false
		}
		whole := s[0] + s[1]
		return Const{Kind: StrConst, Str: whole[:min(len(whole), max(c.Config.MaxStrlen, 1)-1)]}, true
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		b := g.B()
		t := c.Result.(*types.String)
		p := Place(g, t, dst)
		whole := p
		// Both with their NUL, of which one is left. The result may be cut at max_strlen, and is
		// then made in more room and copied.
		room := textBytes(c, 0) + spareByte(c, 0) + textBytes(c, 1) + spareByte(c, 1) - 1
		if room > t.Cap {
			whole = g.Temp("whole", types.RoundUp(room, 8), 8)
		}
		b.Zero(whole, 0, max(room, t.Cap))
		end := copyText(g, c, 0, whole)
		// The second string takes the place of the first one's NUL. A failed
		// read of the first leaves nothing but zeroes.
		copyText(g, c, 1, b.Arith(ir.Add, whole, end))
		if room > t.Cap {
			b.Copy(p, 0, whole, t.Cap)
			b.Store(p, t.Cap-1, 1, Number(g, 0))
		}
		return p
	},
})

// concatBytes is the capacity of str_concat: a power of two, so that a variable
// that is given itself with something behind it gets a type in a few rounds,
// and max_strlen at most.
func concatBytes(c *Call) int {
	most := max(c.Config.MaxStrlen, 1)
	n := 1
	for n < textBytes(c, 0)+textBytes(c, 1)-1 && n < most {
		n *= 2
	}
	return min(n, most)
}

var _ = Define(Func{
	Name: "bswap", LabelOf: FirstArg, Min: 1, Params: []Param{{"n", Integer}},
	Doc:     "An integer with its bytes in reverse order.",
	Example: `kprobe:inet_bind { printf("port %d\n", bswap(((struct sockaddr_in *)arg1)->sin_port)); }`,
	Yields:  "unsigned integer of the same width",
	Check: func(c *Call) types.Type {
		if c.Types[0] == nil {
			return nil
		}
		return types.IntOf(max(c.Types[0].Size(), 1), false)
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		v := g.Scalar(c.Args[0])
		size := c.Result.Size()
		if size == 1 {
			return g.B().Ext(v, 1, false)
		}
		// One instruction swaps 2, 4 or 8 bytes and clears what is above.
		out := g.B().Emit(ir.Bswap, ir.I64, v)
		out.Size = uint8(size)
		return out
	},
})

// inSpace defines kptr and uptr, which say where an address leads.
func inSpace(name, doc, example string, space types.Space) {
	Define(Func{
		Name: name, LabelOf: FirstArg, Min: 1, Params: []Param{{"address", Address}}, Doc: doc, Example: example,
		Yields: "type of the argument",
		Check: func(c *Call) types.Type {
			if p, ok := c.Types[0].(*types.Pointer); ok {
				return &types.Pointer{Elem: p.Elem, Space: space}
			}
			return c.Types[0]
		},
		Space: func(*Call) types.Space { return space },
		// Nothing happens to the address: the reads that follow ask for its space.
		Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value { return g.Scalar(c.Args[0]) },
	})
}

func init() {
	inSpace("kptr", "An address that is read as one of kernel memory.",
		`kprobe:do_sys_openat2 { print(str(kptr(arg1))); }`, types.Kernel)
	inSpace("uptr", "An address that is read as one of user memory.",
		`kprobe:do_sys_openat2 { print(str(uptr(arg1))); }`, types.User)
}
