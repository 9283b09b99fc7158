package builtin

import (
	"strconv"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// WholeText is the type of a string that is read at whatever length it has.
// max_strlen characters of it are kept, and with the byte for the NUL it can
// be told that there were more; strings of the default limit and above are one
// character shorter instead, so that their size stays a round number.
func WholeText(cfg *config.Config) *types.String {
	const round = 1024
	n := cfg.MaxStrlen
	if n < round {
		n++
	}
	return &types.String{Cap: n, Trunc: true, Marked: true}
}

// strLimit is the capacity of str()'s result and how many bytes with the NUL
// are read, for a literal length or none.
func strLimit(c *Call) (capacity, read int) {
	limit := c.Config.MaxStrlen
	if len(c.Args) < 2 {
		n := WholeText(c.Config).Cap
		return n, n
	}
	n, ok := c.Int(1)
	if !ok {
		return limit, limit
	}
	n = min(max(n, 0), int64(limit))
	return min(int(n)+1, limit), int(n)
}

var _ = Define(Func{
	Name: "str", LabelOf: FirstArg, Min: 1, Params: []Param{{"address", Bytes}, {"length", Integer}},
	Doc: "The NUL-terminated string at an address, at most `max_strlen` bytes. With a length n at most n-1 " +
		"characters are read. What is not in memory when the probe fires cannot be read, but for probes of user " +
		"programs from Linux 6.1 on, which wait for it; the string is empty then, and shown as `<unreadable>` " +
		"(setting `str_unreadable`), in JSON as `null`. Of a string: the string, likewise; of a literal: the " +
		"literal, cut to n characters; of an array of bytes: the text that it begins with.",
	Example: `tracepoint:syscalls:sys_enter_execve { printf("%s\n", str(args.filename)); }`,
	Yields:  "string",
	Check: func(c *Call) types.Type {
		if c.Types[0] == nil {
			return nil
		}
		n, known := c.Int(1)
		negative := known && c.Consts[1].Neg
		if negative {
			c.Errorf(c.Args[1], "bad-argument", "str() can not read a negative number of bytes")
		}
		if s, ok := c.Types[0].(*types.String); ok {
			switch {
			// A string is a value already: nothing is read, and nothing copied.
			case !cutsText(c, s):
				return s
			case known && !negative:
				return &types.String{Cap: int(n) + 1}
			}
			return &types.String{Cap: s.Cap}
		}
		if n, ok := byteArray(c.Types[0]); ok {
			// Its bytes are at hand, but may have no NUL of their own.
			if limit, known := c.Int(1); known && !negative {
				n = min(n, int(limit))
			}
			return &types.String{Cap: n + 1}
		}
		if !types.IsScalar(c.Types[0]) {
			c.Errorf(c.Args[0], "argument-type", "str() expects an integer or a pointer, not %s", c.Types[0])
			return &types.String{Cap: c.Config.MaxStrlen}
		}
		if known && !negative && n > int64(c.Config.MaxStrlen) {
			c.Warnf(c.Args[1], "string-capped", "length %d is above max_strlen and shortened to %d", n,
				c.Config.MaxStrlen).
				Hint("set max_strlen in the config block or the environment to read more")
		}
		capacity, _ := strLimit(c)
		return &types.String{Cap: capacity, Trunc: len(c.Args) < 2, Marked: true}
	},
	Const: func(c *Call) (Const, bool) {
		if len(c.Consts) == 0 {
			return Const{}, false
		}
		text := ""
		switch k := c.Consts[0]; k.Kind {
		case StrConst:
			text = k.Str
		case IntConst:
			text = strconv.FormatUint(k.Int, 10)
			if k.Neg {
				text = strconv.FormatInt(int64(k.Int), 10)
			}
		default:
			return Const{}, false
		}
		if len(c.Args) > 1 {
			n, ok := c.Int(1)
			if !ok || n < 0 {
				return Const{}, false
			}
			text = text[:min(int(n), len(text))]
		}
		return Const{Kind: StrConst, Str: text}, true
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		t := c.Result.(*types.String)
		if s, ok := c.Types[0].(*types.String); ok {
			p := Place(g, t, dst)
			if !cutsText(c, s) {
				g.Into(c.Args[0], t, p, 0)
				return p
			}
			from, n := g.Mem(c.Args[0]), readLength(g, c)
			g.B().Zero(p, 0, t.Cap)
			Helper(g, asm.FnProbeReadKernelStr, p, Clamp(g, n, t.Cap), from)
			return p
		}
		if room, ok := byteArray(c.Types[0]); ok {
			from, n := g.Mem(c.Args[0]), Number(g, int64(room)+1)
			if len(c.Args) > 1 {
				n = Clamp(g, readLength(g, c), t.Cap)
			}
			p := Place(g, t, dst)
			g.B().Zero(p, 0, t.Cap)
			Helper(g, asm.FnProbeReadKernelStr, p, n, from)
			return p
		}
		addr, n := strSource(g, c)
		p := Place(g, t, dst)
		// Kept or compared, a string is followed by zeroes, or two of the same text would differ.
		// What is only printed ends at its NUL.
		if !g.Printing() {
			g.B().Zero(p, 0, t.Cap)
		} else {
			// A failed read may leave the target alone, and what is left there
			// from before must not read as the mark.
			for i := range min(t.Cap, len(types.Unreadable)) {
				g.B().Store(p, i, 1, Number(g, 0))
			}
		}
		readText(g, c, t, p, addr, n)
		return p
	},
	Text: func(g Gen, c *Call, p *ir.Value) *ir.Value {
		read := textSource(g, c)
		if read == nil {
			return nil
		}
		return read(p, c.Result.Size())
	},
	Source: textSource,
})

// textSource evaluates what str() reads, and yields what reads it; nil if that is a string already.
func textSource(g Gen, c *Call) (read func(p *ir.Value, n int) *ir.Value) {
	if !types.IsScalar(c.Types[0]) {
		return nil
	}
	addr, n := strSource(g, c)
	return func(p *ir.Value, limit int) *ir.Value {
		return readText(g, c, &types.String{Cap: limit}, p, addr, n)
	}
}

// byteArray is the length of an array of bytes, as the kernel has texts in: unsigned char d_iname[40].
func byteArray(t types.Type) (n int, ok bool) {
	a, ok := t.(*types.Array)
	if !ok || a.Len < 1 {
		return 0, false
	}
	elem, ok := types.IsInteger(a.Elem)
	return a.Len, ok && elem.Size() == 1
}

// cutsText reports whether str() of a string has a length for which it may not
// be the whole string.
func cutsText(c *Call, s *types.String) bool {
	n, known := c.Int(1)
	return len(c.Args) > 1 && (!known || n < int64(s.Cap))
}

// TextCall is the call that reads n characters at an address.
func TextCall(pos syntax.Pos, addr, n syntax.Expr) *syntax.Call {
	end := &syntax.Binary{Pos: pos, Op: syntax.Add, OpPos: pos.At, X: n,
		Y: &syntax.IntLit{Pos: pos, Text: "1", Value: 1}}
	return &syntax.Call{Pos: pos, Func: &syntax.Ident{Pos: pos, Name: "str"}, Args: []syntax.Expr{addr, end}}
}

// readText reads a string to p and yields its length with the NUL, that of the
// mark if it is in user memory and could not be read. Text that has no
// characters by its length is read nowhere, since it may have any address.
func readText(g Gen, c *Call, t *types.String, p, addr, n *ir.Value) *ir.Value {
	b := g.B()
	space := g.Space(c.Args[0])
	read := func() *ir.Value {
		// Bounded only here: some verifiers forget the bounds at another test.
		r := g.ReadStr(c.Expr, space, p, 0, Clamp(g, n, t.Cap), addr)
		if space != types.User || t.Cap < len(types.Unreadable) {
			return r
		}
		// User memory may be swapped out or not yet read from its file, and a probe in the kernel
		// cannot wait for it: the text says so instead of being empty. Kernel memory is there or
		// the address is wrong.
		return g.Choose(b.Arith(ir.SLe, Number(g, 0), r),
			func() *ir.Value { return r },
			func() *ir.Value { return g.Unreadable(p, addr) })
	}
	if n.Op == ir.Const {
		return read()
	}
	return g.Choose(b.Arith(ir.ULt, Number(g, 1), n), read, func() *ir.Value {
		b.Store(p, 0, 1, Number(g, 0))
		return Number(g, 1)
	})
}

// strSource is where str() reads and how many bytes the script asks for.
func strSource(g Gen, c *Call) (addr, n *ir.Value) {
	addr = g.Scalar(c.Args[0])
	return addr, readLength(g, c)
}

// readLength is how many bytes the script has str() read; a number that is
// known is within bounds.
func readLength(g Gen, c *Call) *ir.Value {
	if _, literal := c.Int(1); len(c.Args) > 1 && !literal {
		return g.Scalar(c.Args[1])
	}
	_, read := strLimit(c)
	return Number(g, int64(read))
}

// Clamp bounds a run-time length to 0…limit in a way the verifier follows.
func Clamp(g Gen, n *ir.Value, limit int) *ir.Value { return g.B().UMin(n, int64(limit)) }

var _ = Define(Func{
	Name: "buf", LabelOf: FirstArg, Min: 1, Params: []Param{{"data", Bytes}, {"length", Integer}},
	Doc:     "A buffer of bytes at an address or of an array or string. The length may be left out for arrays.",
	Example: `tracepoint:syscalls:sys_enter_write { printf("%r\n", buf(args.buf, args.count)); }`,
	Yields:  "buffer",
	Check: func(c *Call) types.Type {
		// The length in front of the bytes counts.
		limit := c.Config.MaxStrlen - 4
		if c.Types[0] == nil {
			return nil
		}
		if _, ok := c.Types[0].(*types.Agg); ok {
			c.Errorf(c.Args[0], "argument-type", "buf() can not copy the bytes of %s", c.Types[0])
		}
		n := limit
		if lit, ok := c.Int(1); ok {
			if c.Consts[1].Neg {
				c.Errorf(c.Args[1], "bad-argument", "buf() can not read a negative number of bytes")
			}
			n = int(min(max(lit, 0), int64(limit)))
		}
		if len(c.Args) < 2 {
			a, ok := c.Types[0].(*types.Array)
			if !ok {
				c.Errorf(c.Expr, "argument-count", "buf() needs a length unless its argument is an array that has one")
				return &types.Buffer{Cap: 1}
			}
			n = min(a.Size(), limit)
		}
		return &types.Buffer{Cap: max(n, 1)}
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		b := g.B()
		t := c.Result.(*types.Buffer)
		p := Place(g, t, dst)
		n := Number(g, int64(t.Cap))
		if lit, ok := c.Int(1); ok {
			n = Number(g, min(lit, int64(t.Cap)))
		} else if len(c.Args) > 1 {
			n = Clamp(g, g.Scalar(c.Args[1]), t.Cap)
		}
		b.Store(p, 0, 4, n)
		if !g.Printing() || n.Op != ir.Const {
			b.Zero(p, 4, t.Cap)
		}
		if lit, ok := c.Str(0); ok && n.Op == ir.Const { // all its bytes, those behind a NUL too
			StoreBytes(g, b.Add(p, 4), []byte(lit)[:min(len(lit), int(n.Imm))], int(n.Imm))
			return p
		}
		src, space, copied := memory(g, c.Args[0], c.Types[0])
		if copied && n.Op == ir.Const {
			take := min(int(n.Imm), c.Types[0].Size())
			b.Copy(p, 4, src, take)
			if take < int(n.Imm) {
				b.Zero(p, 4+take, int(n.Imm)-take)
			}
			return p
		}
		if copied { // nobody knows what lies behind the value
			n = Clamp(g, n, c.Types[0].Size())
		}
		g.ReadMem(c.Expr, space, p, 4, n, src)
		return p
	},
})

// memory yields an address of what e holds: of the program's own copy for
// strings and arrays (own is true), of the traced world for addresses.
func memory(g Gen, e syntax.Expr, t types.Type) (addr *ir.Value, space types.Space, own bool) {
	if types.IsScalar(t) {
		return g.Scalar(e), g.Space(e), false
	}
	return g.Mem(e), types.Kernel, true
}

var _ = Define(Func{
	Name: "strncmp", Min: 3, Params: []Param{{"a", StringLike}, {"b", StringLike}, {"n", IntLit}}, Result: types.Uint64,
	Doc: "0 if the first n bytes of two strings are equal, else 1.",
	Example: `tracepoint:syscalls:sys_enter_openat / strncmp(str(args.filename), "/etc/", 5) == 0 / { @[comm] ` +
		`= count(); }`,
	Check: func(c *Call) types.Type {
		if len(c.Consts) == 3 && c.Consts[2].Neg {
			c.Errorf(c.Args[2], "bad-argument", "strncmp() can not compare a negative number of bytes")
		}
		return types.Uint64
	},
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		n, _ := c.Int(2)
		a, an := stringBytes(g, c, 0, int(n))
		s, sn := stringBytes(g, c, 1, int(n))
		return CompareBytes(g, a, s, min(int(n), an, sn), true)
	},
})

// stringBytes yields the address and capacity of a string-like argument,
// reading at most n bytes if it is a pointer.
func stringBytes(g Gen, c *Call, i, n int) (*ir.Value, int) {
	t := c.Types[i]
	if !types.IsScalar(t) {
		return g.Mem(c.Args[i]), t.Size()
	}
	n = min(max(n, 1), c.Config.MaxStrlen)
	whole := n + 1 // the last byte that is read is always NUL
	p := g.Temp("string", whole, 8)
	g.B().Zero(p, 0, whole)
	g.ReadStr(c.Args[i], g.Space(c.Args[i]), p, 0, Number(g, int64(whole)), g.Scalar(c.Args[i]))
	return p, n
}

// CompareBytes yields 0 if n bytes at two addresses are equal, else 1; with
// stop, bytes behind a common NUL do not count. Both sides must be padded with
// zeroes behind their NUL up to n, or stop must be set.
func CompareBytes(g Gen, a, s *ir.Value, n int, stop bool) *ir.Value {
	b := g.B()
	if n <= 0 {
		return Number(g, 0)
	}
	if stop {
		return compareStrings(g, a, s, n)
	}
	// Words are compared in groups, so that long strings leave early.
	out := g.Temp("differ", 8, 8)
	b.Store(out, 0, 8, Number(g, 0))
	// Eight words make 64 bytes without a branch in between.
	var group func(off int)
	group = func(off int) {
		var acc *ir.Value
		for words := 0; off < n && words < 8; words++ {
			w := min(width(n-off), ir.Alignment(a, off), ir.Alignment(s, off))
			d := b.Arith(ir.Xor, b.Load(a, off, w, false), b.Load(s, off, w, false))
			if acc == nil {
				acc = d
			} else {
				acc = b.Arith(ir.Or, acc, d)
			}
			off += w
		}
		b.Store(out, 0, 8, b.Ne(acc, 0))
		if off < n {
			g.When(b.Eq(acc, 0), func() { group(off) })
		}
	}
	group(0)
	return b.U64(out, 0)
}

// width is the widest load or store that n bytes allow.
func width(n int) int {
	switch {
	case n >= 8:
		return 8
	case n >= 4:
		return 4
	case n >= 2:
		return 2
	}
	return 1
}

// compareStrings goes byte by byte until a difference or a common NUL. It is unrolled: strncmp()
// has a literal length, and short ones are the rule.
func compareStrings(g Gen, a, s *ir.Value, n int) *ir.Value {
	b := g.B()
	out := g.Temp("differ", 8, 8)
	b.Store(out, 0, 8, Number(g, 0))
	done := b.NewBlock()
	for i := range n {
		x, y := b.U8(a, i), b.U8(s, i)
		same, differ, more := b.NewBlock(), b.NewBlock(), b.NewBlock()
		b.If(b.Arith(ir.Eq, x, y), same, differ)
		b.Begin(differ)
		b.Store(out, 0, 8, Number(g, 1))
		b.Jump(done)
		b.Begin(same)
		b.If(b.Eq(x, 0), done, more)
		b.Begin(more)
	}
	b.Jump(done)
	b.Begin(done)
	return b.U64(out, 0)
}
