// Package irgen makes up programs in IR, of the shape that lowering writes:
// variables as objects, blocks that meet without phis, bounded loops, memory
// that is cleared before it is read. They are valid for the kernel's verifier
// and end soon, so that tests can compare what they compute before and after
// a pass, and in the kernel.
package irgen

import (
	"math/rand/v2"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// The world that programs expect.
// Offsets that are made up stay inside of these, so that a fault is always one of the pass.
const (
	ContextSize = 96  // bytes of context, read only
	DataSize    = 256 // bytes of the data map that programs touch
	Map         = 0   // number of an array map with u32 keys
	MapEntries  = 4
	ValueSize   = 64 // bytes of its values
	Scratch     = 1  // number of the scratch map
	Missed      = DataSize
)

// Options chooses what programs may contain.
// Each switch takes away what some kernel or some run of a test cannot do.
type Options struct {
	Statements int  // how many, roughly
	Big        bool // objects of hundreds of bytes, so that some go to scratch memory
	Callbacks  bool // bpf_loop with a callback
	NoFetch    bool // no atomic operations that return a value
}

// A generator is the state of making up one program.
// It embeds the builder that lowering uses, so that programs have the shape of lowered ones.
type generator struct {
	*ir.Builder
	r      *rand.Rand
	opts   Options
	prog   *ir.Prog
	ctx    *ir.Value
	vars   []variable
	mem    []*ir.Object
	budget int
	nest   int // of loops
	depth  int // of statements
}

// A variable is an object that holds one integer.
// Assigning to a loop's counter could keep it from ending, which lock prevents.
type variable struct {
	obj  *ir.Object
	size int
	sign bool
	lock bool // a loop counter: not for assignment
}

// Program makes a program from the random numbers of r.
// The same numbers make the same program: a test that fails names its seed.
func Program(r *rand.Rand, o Options) *ir.Prog {
	b := ir.NewBuilder("main", 1)
	g := &generator{Builder: b, r: r, opts: o, prog: &ir.Prog{Name: "random", Funcs: []*ir.Func{b.Fn}},
		budget: o.Statements}
	g.ctx = g.Param(0, ir.Ptr)
	if o.Big && r.IntN(3) == 0 {
		// An early way out, shared or not, before the body.
		skip, body := g.NewBlock(), g.NewBlock()
		g.If(g.Arith(ir.Eq, g.Load(g.ctx, 0, 8, false), g.Const(3)), skip, body)
		g.Begin(skip)
		g.Ret(g.Const(77))
		g.Begin(body)
		g.Fn.Body = body
	}
	g.declare()
	g.statements()
	g.finish()
	return g.prog
}

// declare makes variables and memory, and gives all of it a value: the verifier refuses reads
// of what nobody wrote.
func (g *generator) declare() {
	for range 2 + g.r.IntN(5) {
		size := []int{8, 8, 8, 4, 2, 1}[g.r.IntN(6)]
		// Half of the variables are 8 bytes wide, as most of a script's are.
		v := variable{obj: g.NewObject("$v", size, size), size: size, sign: g.r.IntN(2) == 0}
		g.vars = append(g.vars, v)
		g.Store(g.Addr(v.obj, 0), 0, size, g.constant())
	}
	for range g.r.IntN(4) {
		size := 8 * (1 + g.r.IntN(8))
		if g.opts.Big && g.r.IntN(2) == 0 {
			size = 8 * (8 + g.r.IntN(40))
		}
		o := g.NewObject("mem", size, 8)
		g.mem = append(g.mem, o)
		g.Zero(g.Addr(o, 0), 0, size)
	}
}

// statements makes up a few statements. At the outermost level it goes on until the budget is
// spent; a statement that returns ends the block.
func (g *generator) statements() {
	for n := 1 + g.r.IntN(6); n > 0 && g.budget > 0 && !g.Ended(); n-- {
		// The budget counts statements at any depth, so that a program ends.
		g.budget--
		g.depth++
		g.statement()
		g.depth--
	}
	if g.depth == 0 && g.budget > 0 && !g.Ended() {
		g.statements()
	}
}

// finish folds everything into one number. A wrong value anywhere shows in the result.
func (g *generator) finish() {
	if g.Ended() {
		return
	}
	sum := g.Const(0)
	for _, v := range g.vars {
		sum = g.Arith(ir.Xor, g.Arith(ir.Mul, sum, g.Const(31)), g.read(v))
	}
	for _, o := range g.mem {
		sum = g.Arith(ir.Add, sum, g.Load(g.Addr(o, 0), 8*g.r.IntN(o.Size/8), 8, false))
	}
	g.Store(g.Data(0), 0, 8, sum)
	g.Ret(g.Ext(sum, 4, false))
}

// constant prefers the borders of types, where mistakes are.
func (g *generator) constant() *ir.Value {
	switch g.r.IntN(6) {
	case 0:
		return g.Const(int64(g.r.Uint64()))
	case 1:
		return g.Const([]int64{-1, 1 << 31, -1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 32, -1 << 63,
			1<<63 - 1, 255, 65535}[g.r.IntN(10)])
	case 2:
		return g.Const(1 << g.r.IntN(63))
	}
	return g.Const(int64(g.r.IntN(16)) - 4)
}

// read loads a variable with the width and sign that it was declared with.
func (g *generator) read(v variable) *ir.Value {
	return g.Load(g.Addr(v.obj, 0), 0, v.size, v.sign && v.size < 8)
}

// Division is among them without a test for 0, which the machine defines.
var binaryOps = []ir.Op{
	ir.Add, ir.Sub, ir.Mul, ir.UDiv, ir.SDiv, ir.UMod, ir.SMod, ir.And, ir.Or, ir.Xor, ir.Shl, ir.LShr, ir.AShr,
	ir.UMin, ir.Eq, ir.Ne, ir.ULt, ir.ULe, ir.SLt, ir.SLe,
}

// expr makes up a value; depth bounds its operands.
// Helpers among the operands are those whose answer is constant during a run: gvn joins them.
func (g *generator) expr(depth int) *ir.Value {
	if depth <= 0 {
		switch g.r.IntN(4) {
		case 0:
			return g.constant()
		case 1:
			return g.context()
		}
		return g.read(g.vars[g.r.IntN(len(g.vars))])
	}
	switch n := g.r.IntN(24); {
	case n < 14:
		return g.arith(depth)
	case n < 16:
		return g.Ext(g.expr(depth-1), []int{1, 2, 4}[g.r.IntN(3)], g.r.IntN(2) == 0)
	case n < 17:
		v := g.Emit(ir.Bswap, ir.I64, g.expr(depth-1))
		v.Size = uint8([]int{2, 4, 8}[g.r.IntN(3)])
		return v
	case n < 18:
		return g.Emit(ir.Neg, ir.I64, g.expr(depth-1))
	case n < 20:
		size := []int{1, 2, 4, 8}[g.r.IntN(4)]
		return g.Load(g.Data(8+8*g.r.IntN(DataSize/8-1)), 0, size, g.r.IntN(2) == 0)
	case n < 21 && len(g.mem) > 0:
		o := g.mem[g.r.IntN(len(g.mem))]
		size := []int{1, 2, 4, 8}[g.r.IntN(4)]
		return g.Load(g.Addr(o, 8*g.r.IntN(o.Size/8)), 0, size, g.r.IntN(2) == 0)
	case n < 22:
		return g.Call([]int{8, 14}[g.r.IntN(2)])
	case n < 23:
		return g.index()
	}
	return g.expr(0)
}

// arith makes up an operation. Shifts by 64 and more are undefined in IR, and are kept out.
func (g *generator) arith(depth int) *ir.Value {
	op := binaryOps[g.r.IntN(len(binaryOps))]
	x := g.expr(depth - 1)
	if g.r.IntN(3) == 0 {
		y := g.constant()
		if op == ir.Shl || op == ir.LShr || op == ir.AShr {
			y = g.Const(int64(g.r.IntN(64)))
		}
		return g.Arith(op, x, y)
	}
	y := g.expr(depth - 1)
	if op == ir.Shl || op == ir.LShr || op == ir.AShr {
		y = g.Arith(ir.And, y, g.Const(63))
	}
	return g.Arith(op, x, y)
}

// context reads what passes may take for constant during a run.
func (g *generator) context() *ir.Value {
	size := []int{8, 8, 4, 2, 1}[g.r.IntN(5)]
	return g.Load(g.ctx, size*g.r.IntN(ContextSize/size), size, g.r.IntN(2) == 0)
}

// index reads the data map at an offset known only at run time, within bounds
// that the verifier can see.
// Such an access may touch what others store at fixed offsets, which forward has to know.
func (g *generator) index() *ir.Value { return g.Load(g.slot(), 0, 8, false) }

// slot is the address that index reads at, and statements write to.
func (g *generator) slot() *ir.Value {
	i := g.Arith(ir.And, g.expr(1), g.Const(7))
	return g.Arith(ir.Add, g.Data(64), g.Arith(ir.Shl, i, g.Const(3)))
}

// statement makes up a store, a branch, a loop, a look-up, a callback or a return.
// Numbers above the last case make none, so that bodies differ in length.
func (g *generator) statement() {
	switch n := g.r.IntN(30); {
	case n < 8:
		v := g.vars[g.r.IntN(len(g.vars))]
		if !v.lock {
			x := g.expr(3)
			g.Store(g.Addr(v.obj, 0), 0, v.size, x)
		}
	case n < 12 && g.depth < 5:
		g.branch()
	case n < 14 && g.nest < 2 && g.depth < 4:
		g.loop()
	case n < 16:
		size := []int{1, 2, 4, 8}[g.r.IntN(4)]
		g.Store(g.Data(8), 8*g.r.IntN(20), size, g.expr(2))
	case n < 17:
		g.AtomicAdd(g.Data(8+8*g.r.IntN(20)), 0, []int{4, 8}[g.r.IntN(2)], g.expr(2))
	case n < 18:
		x := g.expr(2)
		g.Store(g.slot(), 0, 8, x)
	case n < 19 && !g.opts.NoFetch:
		g.atomic()
	case n < 23 && len(g.mem) > 0:
		g.memory()
	case n < 26:
		g.lookup()
	case n < 27 && g.opts.Callbacks && g.nest == 0:
		g.callback()
	case n < 28 && g.depth > 1:
		g.Ret(g.Ext(g.expr(1), 4, false))
	}
}

// condition is sometimes "a && b" or "a || b", by way of a variable.
// That shape is what thread is for.
func (g *generator) condition() *ir.Value {
	if g.r.IntN(3) > 0 {
		return g.expr(2)
	}
	o := g.NewObject("cond", 8, 8)
	and := int64(g.r.IntN(2))
	g.Store(g.Addr(o, 0), 0, 8, g.Const(1-and))
	second, join := g.NewBlock(), g.NewBlock()
	if c := g.expr(2); and == 1 {
		g.If(c, second, join)
	} else {
		g.If(c, join, second)
	}
	g.Begin(second)
	g.Store(g.Addr(o, 0), 0, 8, g.Arith(ir.Ne, g.expr(2), g.Const(0)))
	g.Jump(join)
	g.Begin(join)
	return g.Load(g.Addr(o, 0), 0, 8, false)
}

// branch is an if with two arms, of which either may return.
func (g *generator) branch() {
	c := g.condition()
	then, els, join := g.NewBlock(), g.NewBlock(), g.NewBlock()
	els.Cold = g.r.IntN(5) == 0
	g.If(c, then, els)
	for _, b := range []*ir.Block{then, els} {
		g.Begin(b)
		g.statements()
		if !g.Ended() {
			g.Jump(join)
		}
	}
	if len(join.Preds) == 0 {
		g.drop(join)
		return
	}
	g.Begin(join)
}

// drop removes a block that nothing leads to.
// An unreachable block would be valid, but no program of lowering begins with one.
func (g *generator) drop(b *ir.Block) {
	for i, x := range g.Fn.Blocks {
		if x == b {
			g.Fn.Blocks = append(g.Fn.Blocks[:i], g.Fn.Blocks[i+1:]...)
			return
		}
	}
}

// loop runs at most three times, and may be left early: the verifier walks all rounds.
func (g *generator) loop() {
	o := g.NewObject("i", 8, 8)
	g.Store(g.Addr(o, 0), 0, 8, g.Const(0))
	head, body, out := g.NewBlock(), g.NewBlock(), g.NewBlock()
	g.Jump(head)
	g.Begin(head)
	g.If(g.Arith(ir.ULt, g.Load(g.Addr(o, 0), 0, 8, false), g.Const(int64(1+g.r.IntN(3)))), body, out)
	g.Begin(body)
	g.vars = append(g.vars, variable{obj: o, size: 8, lock: true})
	g.nest++
	g.statements()
	g.nest--
	g.vars = g.vars[:len(g.vars)-1]
	if !g.Ended() {
		if g.r.IntN(4) == 0 {
			next := g.NewBlock()
			g.If(g.expr(1), out, next)
			g.Begin(next)
		}
		g.Store(g.Addr(o, 0), 0, 8, g.Add(g.Load(g.Addr(o, 0), 0, 8, false), 1))
		g.Jump(head)
	}
	g.Begin(out)
}

// atomic is an operation on shared data that yields the old value. Kernels from 5.12 on have
// it.
func (g *generator) atomic() {
	size := []int{4, 8}[g.r.IntN(2)]
	x := g.expr(2)
	var old *ir.Value
	p := g.Data(8 + 8*g.r.IntN(20))
	switch g.r.IntN(3) {
	case 0:
		old = g.Emit(ir.AtomicXchg, ir.I64, p, x)
	case 1:
		old = g.Emit(ir.AtomicFetchAdd, ir.I64, p, x)
	default:
		old = g.Emit(ir.AtomicCmpXchg, ir.I64, p, g.Load(p, 0, size, false), x)
	}
	old.Size = uint8(size)
	v := g.vars[g.r.IntN(len(g.vars))]
	if !v.lock {
		g.Store(g.Addr(v.obj, 0), 0, v.size, old)
	}
}

// memory works on an object by pieces, some of which overlap: passes have to see which bytes
// change.
func (g *generator) memory() {
	o := g.mem[g.r.IntN(len(g.mem))]
	size := []int{1, 2, 4, 8}[g.r.IntN(4)]
	off := size * g.r.IntN(o.Size/size)
	switch g.r.IntN(6) {
	case 0:
		n := 1 + g.r.IntN(o.Size-off)
		g.Zero(g.Addr(o, off), 0, n)
	case 1:
		p := g.mem[g.r.IntN(len(g.mem))]
		n := 1 + g.r.IntN(min(o.Size, p.Size))
		if p != o {
			g.Copy(g.Addr(o, 0), 0, g.Addr(p, 0), n)
		}
	case 2: // the address is known at run time only
		i := g.Arith(ir.And, g.expr(1), g.Const(int64(pow2(o.Size/8)-1)))
		p := g.Arith(ir.Add, g.Addr(o, 0), g.Arith(ir.Shl, i, g.Const(3)))
		g.Store(p, 0, 8, g.expr(1))
	default:
		g.Store(g.Addr(o, 0), off, size, g.expr(2))
	}
}

// pow2 is the greatest power of two up to n.
// It masks an index into memory of any size.
func pow2(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// lookup changes a value of the map, if there is one for the key.
// The key may be beyond the map, which has four elements, so that both ways out are taken.
func (g *generator) lookup() {
	// Its address goes to a helper, so that it stays in memory.
	key := g.NewObject("key", 4, 4)
	g.Store(g.Addr(key, 0), 0, 4, g.Arith(ir.And, g.expr(2), g.Const(7)))
	p := g.CallPtr(int(asm.FnMapLookupElem), g.MapPtr(Map), g.Addr(key, 0))
	hit, miss, join := g.NewBlock(), g.NewBlock(), g.NewBlock()
	g.If(g.Arith(ir.Ne, p, g.Const(0)), hit, miss)
	g.Begin(hit)
	for range 1 + g.r.IntN(3) {
		off := 8 * g.r.IntN(ValueSize/8)
		switch g.r.IntN(5) {
		case 0:
			g.AtomicAdd(p, off, 8, g.expr(2))
		case 1:
			if len(g.mem) > 0 {
				o := g.mem[g.r.IntN(len(g.mem))]
				g.Copy(p, 0, g.Addr(o, 0), min(o.Size, ValueSize))
			}
		case 2:
			if len(g.mem) > 0 {
				o := g.mem[g.r.IntN(len(g.mem))]
				g.Copy(g.Addr(o, 0), 0, p, min(o.Size, ValueSize))
			}
		case 3:
			x := g.Load(p, off, 8, false)
			v := g.vars[g.r.IntN(len(g.vars))]
			if !v.lock {
				g.Store(g.Addr(v.obj, 0), 0, v.size, x)
			}
		default:
			x := g.expr(2)
			g.Store(p, off, 8, g.Arith(ir.Add, g.Load(p, off, 8, false), x))
		}
	}
	g.Jump(join)
	g.Begin(miss)
	g.AtomicAdd(g.Data(248), 0, 8, g.Const(1))
	g.Jump(join)
	g.Begin(join)
}

// callback runs a small function a few times by bpf_loop; it works on a
// context in this frame.
// Functions are what placing on the stack has to add up.
// bpf_loop came with Linux 5.17.
func (g *generator) callback() {
	ctx := g.NewObject("loop context", 16, 8)
	// The kernel takes the context of a callback on the stack alone.
	ctx.Stack = true
	g.Store(g.Addr(ctx, 0), 0, 8, g.expr(2))
	g.Store(g.Addr(ctx, 0), 8, 8, g.expr(1))
	cb := ir.NewBuilder("callback"+string(rune('a'+len(g.prog.Funcs))), 2)
	cb.Fn.Static = true
	g.prog.Funcs = append(g.prog.Funcs, cb.Fn)
	i, p := cb.Param(0, ir.I64), cb.Param(1, ir.Ptr)
	sum := cb.Arith(ir.Add, cb.Load(p, 0, 8, false), cb.Arith(ir.Mul, i, cb.Load(p, 8, 8, false)))
	cb.Store(p, 0, 8, sum)
	cb.AtomicAdd(cb.Data(16), 0, 8, cb.Call(int(asm.FnGetSmpProcessorId)))
	o := cb.NewObject("local", 8, 8)
	cb.Store(cb.Addr(o, 0), 0, 8, sum)
	yes, no := cb.NewBlock(), cb.NewBlock()
	cb.If(cb.Arith(ir.And, cb.Load(cb.Addr(o, 0), 0, 8, false), cb.Const(64)), yes, no)
	cb.Begin(yes)
	cb.Ret(cb.Const(1))
	cb.Begin(no)
	cb.Ret(cb.Const(0))
	n := g.Call(181, g.Const(int64(1+g.r.IntN(4))), g.FuncPtr(cb.Fn), g.Addr(ctx, 0), g.Const(0))
	v := g.vars[g.r.IntN(len(g.vars))]
	if !v.lock {
		g.Store(g.Addr(v.obj, 0), 0, v.size, g.Arith(ir.Add, n, g.Load(g.Addr(ctx, 0), 0, 8, false)))
	}
}
