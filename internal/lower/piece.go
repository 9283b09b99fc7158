package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
)

// A script in pieces is lowered for a verifier that gave up on it. The bodies of
// loops, and stretches of long blocks, become functions with global linkage,
// each of which the verifier looks at once and by itself. All variables live in
// the state, a piece of scratch memory that the functions share and of which it
// knows nothing: wherever two paths meet, they are one.

// mostFrames is how many functions may be on the stack at once; the kernel has
// room for eight, one of which can be codegen.Either's.
const mostFrames = 7

// mostFuncs is how many functions a program may have in all; the kernel has
// room for 256.
const mostFuncs = 240

// A stretch of statements becomes a piece if it has at least so many nodes of
// the tree: leastStretch, and more where the body of the probe would have too
// many of these. The verifier takes longer for one large function than for two
// small ones, but loops need functions too.
const (
	leastStretch  = 150
	mostStretches = 200 // of a body without loops
	fewStretches  = 80  // of one with many
)

// stretchOf is how many nodes make a stretch in a probe of this body.
func stretchOf(body syntax.Node) int {
	loops := 0
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ForStmt, *syntax.WhileStmt, *syntax.UnrollStmt:
			loops++
		}
		return true
	})
	return max(leastStretch, nodes(body)/max(fewStretches, mostStretches-loops))
}

// An exit leads from a function to a block of one that called it.
type exit struct{ to, here *ir.Block }

// reach is the block of this function that leads to blk, which may be one of a
// function around.
func (f *fn) reach(blk *ir.Block) *ir.Block {
	if blk.Func == f.b.Fn {
		return blk
	}
	for _, e := range f.exits {
		if e.to == blk {
			return e.here
		}
	}
	here := f.b.NewBlock()
	here.Cold = blk.Cold
	f.exits = append(f.exits, exit{blk, here})
	return here
}

// leave goes on where a function has said: at exit number code, from 1 on, or
// here if that is 0.
func (f *fn) leave(code *ir.Value, exits []exit) {
	b := f.b
	on := b.NewBlock()
	taken := 0
	for _, e := range exits {
		if len(e.here.Preds) > 0 {
			taken++
		}
	}
	if taken > 1 {
		some := b.NewBlock()
		some.Cold = true
		b.If(code, some, on)
		b.Begin(some)
	}
	for i, e := range exits {
		if len(e.here.Preds) == 0 {
			continue
		}
		next := on
		if taken--; taken > 0 {
			next = b.NewBlock()
		}
		b.If(b.Eq(code, int64(i+1)), f.reach(e.to), next)
		if next != on {
			b.Begin(next)
		}
	}
	if len(on.Preds) == 0 {
		b.Jump(on)
	}
	b.Begin(on)
}

// share reserves bytes of the state.
func (f *fn) share(n int) (at int) {
	at = f.state
	f.state += n
	return at
}

// A part is a function made of statements.
type part struct {
	fn    *ir.Func
	ctx   *ir.Value // the parameter, nil if it is not used
	end   *ir.Block // where it returns 0
	exits []exit
	data  map[string]int // offsets in the state of what the guard has found out
}

// piece lowers body into a function of its own and calls it, or lowers it in
// place if the script is not in pieces or no more calls have room.
func (f *fn) piece(at syntax.Node, body func()) {
	if !f.m.o.Pieces || !f.room(at) {
		body()
		return
	}
	p := f.part(at, body)
	if f.callable(p) {
		f.callPart(p)
	} else {
		f.absorb(p)
	}
}

// room reports whether one function more can be made of what n contains.
func (f *fn) room(n syntax.Node) bool {
	return len(f.callbacks) < mostFuncs && f.frames+1+nesting(n) <= mostFrames
}

// nesting is how many functions more may be on the stack while n runs: for each
// of its loops one, and one that a builtin calls back.
func nesting(n syntax.Node) int {
	most := 1
	syntax.Walk(n, func(c syntax.Node) bool {
		switch c.(type) {
		case *syntax.ForStmt, *syntax.WhileStmt:
			if c != n {
				most = max(most, 1+nesting(c))
				return false
			}
		}
		return true
	})
	return most
}

// part lowers body into a function.
func (f *fn) part(at syntax.Node, body func()) *part {
	outer := f.level
	b := ir.NewBuilder(fmt.Sprintf("%s_part%d", f.root.Fn.Name, len(f.callbacks)+1), 2)
	b.Fn.Piece = true
	b.At = at.Span()
	p := &part{fn: b.Fn, ctx: b.Param(1, ir.Ptr), end: b.NewBlock(), data: map[string]int{}}
	f.level = level{b: b, vars: outer.vars, loops: outer.loops, lookups: newLookups(), frames: outer.frames +
		1, around: &outer}
	f.exit = f.reach(outer.exit)
	f.ctx = &probe.Context{
		B: b, Ctx: p.ctx, Group: f.g, O: outer.ctx.O, Skip: f.exit,
		Table: f.m.table, Data: map[string]*ir.Value{},
	}
	for _, name := range slices.Sorted(maps.Keys(outer.ctx.Data)) {
		p.data[name] = f.share(8)
		f.ctx.Data[name] = b.U64(b.State(p.data[name]), 0)
	}
	body()
	if !f.b.Ended() {
		f.b.Jump(p.end)
	}
	b.Begin(p.end)
	b.Ret(b.Const(0))
	for i, e := range f.exits {
		b.Begin(e.here)
		b.Ret(b.Const(int64(i + 1)))
	}
	p.exits = f.exits
	if b.Fn.UseCounts()[p.ctx.ID] == 0 {
		p.ctx = nil
		b.Fn.NParams = 1
		b.Fn.Entry().Values = b.Fn.Entry().Values[1:]
	}
	f.level = outer
	return p
}

// callable reports whether the part can be given all that it needs.
func (f *fn) callable(p *part) bool { return p.ctx == nil || f.g.Mech().ContextType() != "" }

// callPart calls a part, which becomes a function of the program.
func (f *fn) callPart(p *part) {
	b := f.b
	if !slices.Contains(f.callbacks, p.fn) {
		f.callbacks = append(f.callbacks, p.fn)
	}
	f.giveData(p)
	args := []*ir.Value{b.Slot()}
	if p.ctx != nil {
		args = append(args, f.ctx.Ctx)
	}
	f.leave(b.Piece(p.fn, args...), p.exits)
}

func (f *fn) giveData(p *part) {
	for _, name := range slices.Sorted(maps.Keys(p.data)) {
		f.b.Store(f.b.State(p.data[name]), 0, 8, f.ctx.Data[name])
	}
}

// absorb puts a part in place of its call.
func (f *fn) absorb(p *part) {
	b := f.b
	f.giveData(p)
	slot := b.Slot()
	entry := b.Fn.Absorb(p.fn, func(n int) *ir.Value { return []*ir.Value{slot, f.ctx.Ctx}[n] })
	b.Jump(entry)
	on := b.NewBlock()
	b.Begin(p.end)
	b.Jump(on)
	for _, e := range p.exits {
		if len(e.here.Preds) > 0 {
			b.Begin(e.here)
			b.Jump(f.reach(e.to))
		}
	}
	b.Begin(on)
}

// unrollParts is unroll with one function for all rounds. It yields how many
// rounds are left to do.
func (f *fn) unrollParts(s *syntax.UnrollStmt, out *ir.Block) (left int) {
	left = f.info.Unrolls[s]
	if !f.m.o.Pieces || left == 0 || !f.room(s) {
		return left
	}
	p := f.part(s, func() { f.unrolled(s, out) })
	if !f.callable(p) {
		f.absorb(p)
		return left - 1
	}
	for ; left > 0 && f.copy(s); left-- {
		f.callPart(p)
	}
	return 0
}

// inPieces lowers the statements of a block, those of a long one in stretches
// that are pieces. A statement that is a stretch by itself is not: its blocks
// are.
func (f *fn) inPieces(list []syntax.Stmt) {
	sizes := make([]int, len(list))
	total := 0
	for i, s := range list {
		sizes[i] = nodes(s)
		total += sizes[i]
	}
	if total < 2*f.stretch {
		f.stmts(list)
		return
	}
	for len(list) > 0 && !f.b.Ended() {
		n, size := 0, 0
		for n < len(list) && size < f.stretch && sizes[n] < f.stretch {
			size += sizes[n]
			n++
		}
		if n == 0 {
			n = 1
			f.stmts(list[:1])
		} else {
			stretch := &syntax.Block{Pos: syntax.Pos{At: list[0].Span()}, Stmts: list[:n]}
			f.piece(stretch, func() { f.stmts(stretch.Stmts) })
		}
		list, sizes = list[n:], sizes[n:]
	}
}

// nodes is the size of a tree.
func nodes(n syntax.Node) (count int) {
	syntax.Walk(n, func(syntax.Node) bool { count++; return true })
	return count
}
