package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A level is the part of a fn that belongs to one function of the program: the
// main one, or the body of a loop that the kernel calls back for each round.
type level struct {
	b       *ir.Builder
	ctx     *probe.Context
	vars    map[*check.Var]*variable
	exit    *ir.Block // ends this run of the program
	exits   []exit    // to blocks of functions around
	frames  int       // functions on the stack here, this one included
	around  *level    // of the function that calls this one, nil in the main function
	loops   []loop
	lookups lookups
	cb      *callback // nil in the main function
	given   *given    // nil but in a routine
	budgets int       // loops on the loop budget around the present place
	capped  int       // loops that the verifier walks through round by round, likewise
}

// A callback is the body of a loop as a function of its own. What it shares
// with the function around it lies in a frame on that one's stack, whose
// address is the callback's last parameter.
type callback struct {
	frame    *ir.Value // the parameter
	prologue *ir.Block // fetches from the frame; ends in the body
	bytes    int       // of the frame
	setup    []func(frame *ir.Value)
	imported []imported
	exits    []exit
	ctx      *ir.Value // fetched from the frame
}

// An imported scalar is copied into the callback at its start and back at its
// end.
type imported struct {
	decl *check.Var
	at   int // in the frame
	here *variable
}

// Words of every frame.
const (
	frameLeave = 0 // u64: number of the exit that the body took, 0 for none
	frameCtx   = 8 // the program's context
	frameFree  = 16
)

// inCallback lowers body into a function of its own with nparams parameters,
// the last of which is the frame. body begins in an open block; running off
// its end asks for the next round. next and stop end the round otherwise.
func (f *fn) inCallback(at syntax.Node, nparams int, body func(next, stop *ir.Block)) (*callback, *ir.Func) {
	outer := f.level
	name := fmt.Sprintf("%s_loop%d", f.root.Fn.Name, len(f.callbacks)+1)
	b := ir.NewBuilder(name, nparams)
	// A function of this program alone: the verifier looks at it with what the caller knows, not by
	// itself.
	b.Fn.Static = true
	b.At = at.Span()
	cb := &callback{prologue: b.Cur, bytes: frameFree}
	cb.frame = b.Param(nparams-1, ir.Ptr)
	if f.m.o.Pieces {
		b.Fn.SlotAt = cb.slot()
		cb.setup = append(cb.setup, func(frame *ir.Value) { f.b.Store(frame, b.Fn.SlotAt, 8, f.b.Slot()) })
	}
	next, stop, start := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.level = level{
		b: b, vars: map[*check.Var]*variable{}, cb: cb, frames: outer.frames + 1, around: &outer,
		loops: []loop{{next, stop}}, lookups: newLookups(),
	}
	f.exit = f.reach(outer.exit)
	cb.ctx = b.LoadPtr(cb.frame, frameCtx)
	f.ctx = &probe.Context{
		B: b, Ctx: cb.ctx, Group: f.g, O: outer.ctx.O, Skip: f.exit,
		Table: f.m.table, Data: map[string]*ir.Value{}, Task: outer.ctx.Task,
	}
	for _, name := range slices.Sorted(maps.Keys(outer.ctx.Data)) {
		at, v := cb.slot(), outer.ctx.Data[name]
		cb.setup = append(cb.setup, func(frame *ir.Value) { f.b.Store(frame, at, 8, v) })
		f.ctx.Data[name] = b.U64(cb.frame, at)
	}
	// The prologue, into which the body puts what it fetches from the frame, is closed at the end.
	b.Begin(start)
	body(next, stop)
	if !b.Ended() {
		b.Jump(next)
	}
	// Whichever way the round ends, variables go back to the frame.
	end := func(blk *ir.Block, result, leave int64) {
		b.Begin(blk)
		for _, im := range cb.imported {
			b.Store(cb.frame, im.at, 8, b.U64(im.here.addr(f), 0))
		}
		if leave != 0 {
			b.Store(cb.frame, frameLeave, 8, f.konst(leave))
		}
		b.Ret(f.konst(result))
	}
	// bpf_loop() and bpf_for_each_map_elem() go on for 0 and stop for 1.
	end(next, 0, 0)
	end(stop, 1, 0)
	for i, e := range f.exits {
		end(e.here, 1, int64(i+1))
	}
	b.Begin(cb.prologue)
	b.Jump(start)
	cb.exits = f.exits
	// A context that nobody uses need not be kept in the frame, which may not hold one of every
	// type.
	if b.Fn.UseCounts()[cb.ctx.ID] == 0 {
		cb.ctx = nil
	}
	f.level = outer
	f.callbacks = append(f.callbacks, b.Fn)
	return cb, b.Fn
}

// runCallback calls a helper that calls the callback back: fill yields its
// arguments, given the frame.
func (f *fn) runCallback(cb *callback, call func(frame *ir.Value)) {
	b := f.b
	frame := b.NewObject("frame", cb.bytes, 8)
	// The kernel hands the address of the frame to the callback: it must be memory of the stack.
	frame.Stack = true
	p := b.Addr(frame, 0)
	b.Store(p, frameLeave, 8, f.konst(0))
	if cb.ctx != nil {
		b.Store(p, frameCtx, 8, f.ctx.Ctx)
	}
	for _, fill := range cb.setup {
		fill(p)
	}
	for _, im := range cb.imported {
		b.Store(p, im.at, 8, b.U64(f.variableOf(im.decl).addr(f), 0))
	}
	call(p)
	for _, im := range cb.imported {
		b.Store(f.variableOf(im.decl).addr(f), 0, 8, b.U64(p, im.at))
	}
	// break out of an outer loop, exit() and return end this function as well.
	f.leave(b.U64(p, frameLeave), cb.exits)
	f.lookups.forget() // the body may have removed what was found before
}

// slot reserves a word of the frame.
func (cb *callback) slot() int {
	at := cb.bytes
	cb.bytes += 8
	return at
}

// carried is a word of the frame that the round before has left there.
func (f *fn) carried(slot int) *ir.Value { return f.b.U64(f.cb.frame, slot) }

// carry leaves a word for the next round, as a number that the verifier does not
// know. Each mix of numbers that it knows would be a state of its own, from which
// it walks through the rounds once more.
func (f *fn) carry(slot int, v *ir.Value) {
	f.b.Store(f.cb.frame, slot, 8, f.b.Arith(ir.Add, v, f.unknownZero()))
}

// fetch yields what the prologue loads from a word of the frame.
func (f *fn) fetch(at int) *ir.Value {
	b := f.b
	cur := b.Cur
	b.Begin(f.cb.prologue)
	p := b.LoadPtr(f.cb.frame, at)
	b.Begin(cur)
	return p
}

// importVar makes a variable of the function around the callback its own:
// numbers are copied both ways, what lives in memory is shared by address.
func (f *fn) importVar(decl *check.Var) *variable {
	cb, b := f.cb, f.b
	at := cb.slot()
	outer := f.outerVariable(decl)
	x := &variable{size: outer.size, ptr: outer.ptr}
	switch {
	case outer.ptr:
		cb.setup = append(cb.setup, func(frame *ir.Value) {
			f.b.Store(frame, at, 8, f.b.LoadPtr(f.variableOf(decl).addr(f), 0))
		})
		x.obj = b.NewObject("$"+decl.Name, 8, 8)
		f.inPrologue(func() { b.Store(b.Addr(x.obj, 0), 0, 8, b.LoadPtr(cb.frame, at)) })
	case types.IsScalar(decl.Type):
		x.obj = b.NewObject("$"+decl.Name, 8, 8)
		f.inPrologue(func() {
			// As in a plain loop, a number that the verifier knows would be a
			// different one in every round; see forgetAssigned.
			v := b.Arith(ir.Add, b.U64(cb.frame, at), f.unknownZero())
			b.Store(b.Addr(x.obj, 0), 0, 8, v)
		})
		cb.imported = append(cb.imported, imported{decl, at, x})
	// A string or a tuple is not copied in and out of every round: the callback is given its
	// address.
	default:
		cb.setup = append(cb.setup, func(frame *ir.Value) {
			f.b.Store(frame, at, 8, f.variableOf(decl).addr(f))
		})
		x.base = f.fetch(at)
	}
	return x
}

// outerVariable is the variable as the nearest function around knows it.
func (f *fn) outerVariable(decl *check.Var) *variable {
	for l := f.around; l != nil; l = l.around {
		if x := l.vars[decl]; x != nil {
			return x
		}
	}
	return nil
}

// inPrologue emits code where the callback begins.
func (f *fn) inPrologue(fill func()) {
	cur := f.b.Cur
	f.b.Begin(f.cb.prologue)
	fill()
	f.b.Begin(cur)
}

// largeTemp is how many bytes an object of a callback may have on the
// callback's own stack, which adds to that of its caller.
const largeTemp = 32

// outerTemp is memory that the function around the callback provides.
func (f *fn) outerTemp(temp func() *ir.Value) *ir.Value {
	at := f.cb.slot()
	f.cb.setup = append(f.cb.setup, func(frame *ir.Value) { f.b.Store(frame, at, 8, temp()) })
	return f.fetch(at)
}

// rounds runs body as a loop by bpf_loop, for kernels that have it but no loop budget for plain
// loops. test is asked before every round. test and body may use variables of the function around:
// they are imported.
func (f *fn) rounds(at syntax.Node, counter *ir.Object, test func() *ir.Value, body, step func()) {
	cb, fn := f.inCallback(at, 2, func(next, stop *ir.Block) {
		f.loops = nil
		round := func() { f.round(stop, test, body, step) }
		if counter == nil {
			f.piece(at, round)
		} else {
			round()
		}
	})
	const most = 1 << 23 // what bpf_loop grants
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		done := b.Call(int(asm.FnLoop), f.konst(most), b.FuncPtr(fn), frame, f.konst(0))
		f.Rarely(b.Eq(done, most), func() { f.Failed(at, object.LoopTooLong, "", nil) })
	})
}

// forMap is for ($kv : @map).
func (f *fn) forMap(s *syntax.ForStmt) {
	m := f.scriptMap("@" + s.Over.Name)
	if !f.iterable(m, s.Over.Span()) {
		return
	}
	pair := f.info.Vars[s.Var].Type.(*types.Tuple)
	// The kernel passes the map, key, value and our frame (bpf_for_each_map_elem). Elements that
	// are added while it goes over a hash may be met or not; those that are removed are not freed
	// under it.
	cb, fn := f.inCallback(s, 4, func(next, stop *ir.Block) {
		b := f.b
		key, val := b.Param(1, ir.Ptr), b.Param(2, ir.Ptr)
		f.skipDeleted(m, val, next)
		kv := f.variable(s.Var).addr(f)
		b.Zero(kv, 0, pair.Size())
		f.reshape(key, m.Key, kv, pair.Offsets[0], pair.Elems[0])
		f.elementInto(s.Over.Span(), m, key, val, pair.Elems[1], kv, pair.Offsets[1])
		f.piece(s, func() { f.block(s.Body) })
	})
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		table := f.table(m)
		b.Call(int(asm.FnForEachMapElem), table(), b.FuncPtr(fn), frame, f.konst(0))
	})
	f.changed(m)
}

// iterable reports whether the kernel can go over a map's elements.
func (f *fn) iterable(m *object.ScriptMap, at source.Span) bool {
	if f.m.has(machine.ForEachMapElem) {
		return true
	}
	f.m.diags.Errorf("kernel", at, "this kernel can not iterate over maps in a probe").
		Hint("kernels from 5.13 on can; print(%s) works on all", m.Name)
	return false
}

// skipDeleted goes on to the next element if this one only seems to be there.
func (f *fn) skipDeleted(m *object.ScriptMap, val *ir.Value, next *ir.Block) {
	if m.Soft {
		b := f.b
		live := b.NewBlock()
		b.If(b.U64(val, 8), live, next)
		b.Begin(live)
	}
}

// Len counts a map's elements.
func (f *fn) Len(at syntax.Node, name string) *ir.Value {
	m := f.scriptMap(name)
	if !f.iterable(m, at.Span()) {
		return f.konst(0)
	}
	var count int // in the frame
	cb, fn := f.inCallback(at, 4, func(next, _ *ir.Block) {
		b := f.b
		val := b.Param(2, ir.Ptr)
		count = f.cb.slot()
		f.skipDeleted(m, val, next)
		b.Store(f.cb.frame, count, 8, b.Add(b.U64(f.cb.frame, count), 1))
	})
	// An unknown zero, since a count that the verifier knows would be another state in each round.
	cb.setup = append(cb.setup, func(frame *ir.Value) { f.b.Store(frame, count, 8, f.unknownZero()) })
	out := f.Temp("elements", 8, 8)
	f.runCallback(cb, func(frame *ir.Value) {
		b := f.b
		f.overTables(m, func(table *ir.Value) {
			b.Call(int(asm.FnForEachMapElem), table, b.FuncPtr(fn), frame, f.konst(0))
		})
		b.Store(out, 0, 8, b.U64(frame, count))
	})
	return f.b.U64(out, 0)
}

// elementInto writes the value of the element that the loop is at.
func (f *fn) elementInto(at source.Span, m *object.ScriptMap, key, val *ir.Value, t types.Type, p *ir.Value, off int) {
	b := f.b
	if m.Agg == nil {
		f.reshape(val, m.Value, p, off, t)
		return
	}
	b.Store(p, off, t.Size(), f.readCells(at, m, mapKey{whole: key}))
}
