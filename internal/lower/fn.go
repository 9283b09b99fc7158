package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A fn lowers one probe for one group of attach points. It implements
// builtin.Gen.
type fn struct {
	m    *module
	p    *check.Probe
	info *check.Info
	g    *probe.Group
	level
	inline    *inlined    // the call of a function whose body this is
	root      *ir.Builder // of the main function
	callbacks []*ir.Func  // and pieces
	state     int         // bytes that the functions share; see ir.State
	stretch   int         // nodes of a stretch of statements that becomes a piece
	// mapGen counts what may have removed or added elements of a map; see
	// mapop.go.
	mapGen   map[string]int
	routines map[routineKey]*routine
	walked   int                // rounds over the cells of all processors, see manyRounds
	settled  map[*check.Var]int // variables that do not change any more, numbered
	printing bool               // the value goes into a record: bytes behind a NUL do not matter
	kept     bool               // the value goes into a map: the program does not read it where it is now
	copies   bool               // Mem yields no address of a variable, which is about to change
	sleeps   bool               // it waits for pages of user memory
	reserved bool               // a record in the ring buffer is reserved
	discards bool               // the script says that it does not want a value
	unused   syntax.Expr        // the call that is a statement of its own
}

// A variable is where a scratch variable lives: in an object of the function,
// or at an address that the function was given.
type variable struct {
	// One of obj, base and shared says where it is.
	obj  *ir.Object
	base *ir.Value // if obj is nil
	// shared: it is neither, but at an offset in the state of the program.
	shared bool
	at     int
	size   int  // bytes
	ptr    bool // holds a pointer that the verifier follows
}

// addr is the address of the variable here and now.
func (v *variable) addr(f *fn) *ir.Value {
	switch {
	case v.shared:
		return f.b.State(v.at)
	case v.obj == nil:
		return v.base
	}
	return f.b.Addr(v.obj, 0)
}

// A loop is where continue and break go.
type loop struct{ next, out *ir.Block }

// newFn makes the function for a probe and one group of its points.
func newFn(m *module, p *check.Probe, g *probe.Group) *fn {
	b := ir.NewBuilder(identifier(g.Points[0].Name()), 1)
	b.At = p.At
	return &fn{
		m: m, p: p, info: p.Info, g: g, root: b, mapGen: map[string]int{}, settled: map[*check.Var]int{},
		routines: map[routineKey]*routine{},
		level:    level{b: b, vars: map[*check.Var]*variable{}, exit: b.NewBlock(), lookups: newLookups(), frames: 1},
	}
}

// program emits the whole function: tests for events of no interest, the
// predicate, the body.
func (f *fn) program() {
	b := f.b
	ctx := b.Param(0, ir.Ptr)
	f.ctx = &probe.Context{
		B: b, Ctx: ctx, Group: f.g, O: f.m.o.Probe, Skip: f.exit,
		Table: f.m.table, Data: map[string]*ir.Value{}, Marks: f.marks,
		Followed: func() *ir.Value { return f.b.MapPtr(f.m.follow) },
		Own:      f.m.prog.Config.OwnFilter(),
	}
	// A program that hawk leaves behind has to run without it, and an iteration
	// that has begun goes on after exit().
	if f.p.Kind.Ours == probe.NotOurs && f.g.Mech().Reader == nil && f.g.Mech().Walk == nil {
		run, ended := b.NewBlock(), f.exit
		// exit() sets it on one CPU; programs elsewhere stop here from then on, so that nothing is
		// counted after the end.
		exited := b.U64(b.Data(object.DataExited), 0)
		if f.sharesStack() {
			ended = b.NewBlock()
			ended.Cold = true
		}
		b.If(exited, ended, run)
		f.exit.Cold = true
		if ended != f.exit {
			b.Begin(ended)
			f.keepStack()
		}
		b.Begin(run)
	}
	if f.g.Mech().Guard != nil {
		// The guard leaves out events of others: those of other processes than -p, and hawk's own.
		f.g.Mech().Guard(f.ctx)
	}
	if f.p.Kind.Ours == probe.NotOurs && f.g.Mech().Reader == nil && f.g.Mech().Walk == nil && !f.p.Kind.Nobodys {
		f.ctx.GuardTasks()
	}
	if f.p.Predicate != nil {
		run := b.NewBlock()
		f.branch(f.p.Predicate, run, f.exit)
		b.Begin(run)
	}
	body := b.NewBlock()
	b.Jump(body)
	b.Begin(body)
	b.Fn.Body = body
	if f.m.o.Pieces {
		f.stretch = stretchOf(f.p.Body)
	}
	f.block(f.p.Body)
	if !b.Ended() {
		b.Jump(f.exit)
	}
	b.Begin(f.exit)
	b.Ret(b.Const(f.result(f.p.Kind.Return)))
}

// sharesStack reports whether the kernel would have all runs of the program on a CPU use one stack.
// It takes for granted that none begins while another is under way, which holds for kprobes but not
// for user probes, whose programs are preempted: two tasks then write into each other's variables.
func (f *fn) sharesStack() bool {
	if f.g.Mech().Program != bpf.Kprobe || f.p.Kind.Space != types.User {
		return false
	}
	if t := f.m.o.Probe.Machine; t.Portable() {
		return t.Arch().Name == "x86_64" // others take tail calls beside functions from 6.0 on only
	}
	return f.m.has(machine.PrivateStack)
}

// keepStack goes to the exit. A program with a tail call keeps to the stack of the task, be it one
// that the verifier takes out again, as it does behind this test: a byte is never above 255.
func (f *fn) keepStack() {
	b, never := f.b, f.b.NewBlock()
	never.Cold = true
	b.If(b.Arith(ir.ULt, b.Const(255), b.U8(b.Data(object.DataExited), 0)), never, f.exit)
	b.Begin(never)
	b.Call(int(asm.FnTailCall), f.ctx.Ctx, b.Data(object.DataExited), b.Const(0))
	b.Jump(f.exit)
}

// result is the value a program may return: trampolines insist on zero.
func (f *fn) result(n int64) int64 {
	if f.g.Mech().Program == bpf.Tracing {
		return 0
	}
	return n
}

// The hooks of builtins see the lowering through these (builtin.Gen).
func (f *fn) B() *ir.Builder                  { return f.b }
func (f *fn) Context() *probe.Context         { return f.ctx }
func (f *fn) Config() *config.Config          { return f.m.prog.Config }
func (f *fn) Type(e syntax.Expr) types.Type   { return f.info.Types[e] }
func (f *fn) Space(e syntax.Expr) types.Space { return f.space(e) }
func (f *fn) Table(data []byte) int           { return f.m.table(data) }
func (f *fn) StackMap(limit int) int          { return f.m.stackMap(limit) }
func (f *fn) SpillMap(limit int) int          { return f.m.spillMap(limit) }
func (f *fn) MapOf(name string) int           { return f.m.maps[name] }
func (f *fn) Has(t *machine.Feature) bool     { return f.m.has(t) }
func (f *fn) Printing() bool                  { return f.printing }

// space is the address space that e is read from: its own, or the probe's.
func (f *fn) space(e syntax.Expr) types.Space {
	if s := f.info.Spaces[e]; s != types.Unset {
		return s
	}
	if p, ok := f.info.Types[e].(*types.Pointer); ok && p.Space != types.Unset {
		return p.Space
	}
	if f.p.Kind.Space == types.Unset {
		f.m.unsetSpace(f.info, e)
	}
	return f.p.Kind.Space
}

// Temp reserves memory for the run. In a callback, what is large goes into the frame of the caller:
// the kernel allows 512 bytes of stack for all functions that are on it together.
func (f *fn) Temp(name string, size, align int) *ir.Value {
	if f.cb != nil && size > largeTemp && !f.m.o.Pieces {
		return f.outerTemp(func() *ir.Value { return f.Temp(name, size, align) })
	}
	return f.b.Addr(f.b.NewObject(name, size, align), 0)
}

// farTemp is a Temp off the stack, of which places may be taken that only the run knows.
func (f *fn) farTemp(name string, size, align int) *ir.Value {
	if f.cb != nil && !f.m.o.Pieces {
		return f.outerTemp(func() *ir.Value { return f.farTemp(name, size, align) })
	}
	obj := f.b.NewObject(name, size, align)
	obj.Far = true
	return f.b.Addr(obj, 0)
}

// konst is a constant of 64 bits.
func (f *fn) konst(n int64) *ir.Value { return f.b.Const(n) }

// at runs fill with the position of a node.
func (f *fn) at(n syntax.Node, fill func()) {
	old := f.b.At
	f.b.At = n.Span()
	fill()
	f.b.At = old
}

// Choose is cond ? then : els for values in registers.
func (f *fn) Choose(cond *ir.Value, then, els func() *ir.Value) *ir.Value {
	b := f.b
	// The arms meet in memory, which package opt turns into registers.
	out := b.NewObject("choice", 8, 8)
	t, e, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(cond, t, e)
	arm := func(blk *ir.Block, value func() *ir.Value) (kind ir.Kind) {
		b.Begin(blk)
		var v *ir.Value
		f.scoped(func() { v = value() })
		if b.Ended() {
			return ir.Nothing
		}
		b.Store(b.Addr(out, 0), 0, 8, v)
		b.Jump(done)
		return v.Kind
	}
	kt := arm(t, then)
	ke := arm(e, els)
	b.Begin(done)
	// A number in one arm makes both a number: the verifier would refuse a load through what is a
	// pointer on one way only.
	if kt == ir.Ptr && ke == ir.Ptr {
		return b.LoadPtr(b.Addr(out, 0), 0)
	}
	return b.U64(b.Addr(out, 0), 0)
}

// When runs then if cond is not zero.
func (f *fn) When(cond *ir.Value, then func()) { f.when(cond, false, then) }

// Rarely runs then if cond is not zero, for what is seldom the case: its code lies apart.
func (f *fn) Rarely(cond *ir.Value, then func()) { f.when(cond, true, then) }

func (f *fn) when(cond *ir.Value, cold bool, then func()) {
	b := f.b
	t, done := b.NewBlock(), b.NewBlock()
	t.Cold = cold
	b.If(cond, t, done)
	b.Begin(t)
	f.scoped(then)
	if !b.Ended() {
		b.Jump(done)
	}
	b.Begin(done)
}

// goOn goes on in a new block if cond is not zero, and elsewhere if it is.
func (f *fn) goOn(cond *ir.Value, elsewhere *ir.Block) {
	on := f.b.NewBlock()
	f.b.If(cond, on, elsewhere)
	f.b.Begin(on)
}

// unless ends this run of the program if cond is not zero.
func (f *fn) unless(cond *ir.Value) {
	next := f.b.NewBlock()
	f.b.If(cond, f.exit, next)
	f.b.Begin(next)
}

// Exit ends this run of the program; what follows is unreachable.
func (f *fn) Exit() {
	f.b.Jump(f.exit)
	// Code behind it is emitted all the same, and removed as unreachable.
	f.b.Begin(f.b.NewBlock())
}

// Task is the current task: a pointer that loads may follow where the kernel
// has one, else a number to read from.
func (f *fn) Task() *ir.Value {
	if f.m.has(machine.TaskBTF) {
		f.ctx.Task = true
		return f.b.CallPtr(int(asm.FnGetCurrentTaskBtf))
	}
	return f.b.Call(int(asm.FnGetCurrentTask))
}

// Errorf reports what the kernel would refuse.
func (f *fn) Errorf(at syntax.Node, format string, args ...any) {
	f.m.diags.Errorf("kernel", at.Span(), format, args...)
}

// Failed counts a failure at a node. Reads are counted only if asked for.
func (f *fn) Failed(at syntax.Node, kind object.SiteKind, helper string, code *ir.Value) {
	f.failedAt(object.Site{At: bare(at), Kind: kind, Helper: helper, Map: -1}, code)
}

// bare is where a node is without parentheses in front: programs that read the column of a failure
// know it so from bpftrace. An operand that a macro was given stands elsewhere, where the macro is
// used, and begins nothing.
func bare(at syntax.Node) source.Span {
	span := at.Span()
	e, ok := at.(syntax.Expr)
	if !ok {
		return span
	}
	for first := e; first != nil; {
		first = syntax.Unparen(first)
		in := first.Span()
		if in.File != span.File || in.From != span.From {
			break
		}
		span.Start = in.Start
		switch x := first.(type) {
		case *syntax.Field:
			first = x.X
		case *syntax.Index:
			first = x.X
		case *syntax.TupleIndex:
			first = x.X
		case *syntax.Binary:
			first = x.X
		default:
			first = nil
		}
	}
	return span
}

// failedAt counts a failure at a place: {u64 count; s64 code of the last one} in the data map.
func (f *fn) failedAt(at object.Site, code *ir.Value) {
	b := f.b
	if code == nil {
		code = f.konst(0)
	}
	if f.given != nil {
		f.countGiven(code)
		return
	}
	p := b.Data(f.m.site(at).Offset)
	b.Store(p, 8, 8, code)
	b.AtomicAdd(p, 0, 8, f.konst(1))
}
