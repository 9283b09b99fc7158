package lower

import (
	"cmp"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

const (
	headerBytes = 8
	// Strings that together may be longer than inlineText are sent behind the
	// record at the length they have; reserving their capacity for each record
	// would fill the ring with padding.
	inlineText = 128
	longText   = 64
)

// Flags of bpf_ringbuf_submit and bpf_ringbuf_output.
const (
	noWakeup    = 1
	forceWakeup = 2
)

// enter gives an event of a call its number. The builtin called acts on its records, unless
// the event says another.
func (f *fn) enter(c *builtin.Call, ev *object.Event) (id int) {
	ev.At, ev.Builtin = c.Expr.Span(), cmp.Or(ev.Builtin, c.Func.Name)
	f.m.obj.Events = append(f.m.obj.Events, ev)
	return len(f.m.obj.Events) - 1
}

// Event sends a record of an asynchronous call. Layout of a record, behind its time where there are
// several ring buffers: its number, the arguments aligned to 8 bytes in order, then the stamp if there
// is one, then long texts of which the fixed part holds {u32 offset; u32 length}.
func (f *fn) Event(c *builtin.Call, ev *object.Event, args []syntax.Expr) {
	id := f.enter(c, ev)
	text := 0
	for _, a := range args {
		if s, ok := f.info.Types[a].(*types.String); ok {
			text += s.Cap
		}
	}
	off := headerBytes
	tails := 0
	for _, a := range args {
		t := f.argType(a)
		arg := object.Arg{Type: t}
		s, isText := t.(*types.String)
		_, literal := f.info.Consts[a]
		if isText && !literal && text > inlineText && s.Cap > longText {
			arg.Tail = true
			arg.Offset = types.RoundUp(off, 8)
			off = arg.Offset + 8
			tails += s.Cap
		} else {
			arg.Offset = types.RoundUp(off, 8)
			off = arg.Offset + f.argBytes(t)
		}
		ev.Args = append(ev.Args, arg)
	}
	ev.Bytes = types.RoundUp(off, 8)
	if f.m.o.Stamp {
		ev.Stamp, ev.Bytes = ev.Bytes, ev.Bytes+object.StampBytes
	}
	old := f.printing
	// Padding of texts need not be zeroed: user space reads up to the NUL.
	f.printing = true
	// Side effects of an argument have to happen even if there is no room for
	// the record.
	if tails == 0 && !slices.ContainsFunc(args, f.changes) && !slices.ContainsFunc(args, f.mayEnd) &&
		!slices.ContainsFunc(args, f.waits) {
		f.sendInPlace(id, ev, args)
	} else {
		f.sendTail(id, ev, args, tails)
	}
	f.printing = old
}

// mayEnd reports whether the run of the program may end while e is evaluated:
// the kernel does not let go of a record that was reserved and not sent.
func (f *fn) mayEnd(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok && f.g.Mech().NullSkip {
			c := f.info.Calls[x]
			found = found || c != nil && c.Func != nil && c.Func.Probes&probe.HasCtx != 0
		}
		return !found
	})
	return found
}

// argType is the type an argument travels as.
func (f *fn) argType(a syntax.Expr) types.Type { return builtin.Travels(f.info.Types[a]) }

// argBytes is the room an argument takes in a record.
func (f *fn) argBytes(t types.Type) int {
	if agg, ok := t.(*types.Agg); ok {
		kind, _ := builtin.LookupAgg(agg.Kind)
		return kind.CellBytes(agg)
	}
	return t.Size()
}

// front is the size of what stands in front of a record.
func (m *module) front() int {
	if len(m.rings) == 1 {
		return 0
	}
	return object.TimeBytes
}

// ringNow yields the ring buffer for a record of this processor, as a helper's argument, and when the
// record is made, nil where there is one buffer. The time is taken before there is room for the
// record: so of two records of which one was there before the other was begun, that one has the
// smaller time, and the reader, which looks at all buffers after it has seen a record, never shows it
// too late.
func (f *fn) ringNow() (ring, now *ir.Value) {
	b := f.b
	if len(f.m.rings) == 1 {
		return b.MapPtr(object.RingMap), nil
	}
	mask := b.U64(b.Data(object.DataRings), 0)
	now = f.Choose(mask, func() *ir.Value { return b.Call(int(asm.FnKtimeGetNs)) },
		func() *ir.Value { return f.konst(0) })
	n := b.Arith(ir.And, b.Arith(ir.LShr, b.Call(int(asm.FnGetSmpProcessorId)),
		b.U64(b.Data(object.DataShift), 0)), mask)
	return f.ringNumber(n, f.m.rings), now
}

// ringNumber finds one of the ring buffers by halving. An array of maps would do it by a look-up, but
// putting maps into one makes the start wait for all processors.
func (f *fn) ringNumber(n *ir.Value, rings []int) *ir.Value {
	half := len(rings) / 2
	if half == 0 {
		return f.b.MapPtr(rings[0])
	}
	return f.Choose(f.b.And(n, int64(half)),
		func() *ir.Value { return f.ringNumber(n, rings[half:]) },
		func() *ir.Value { return f.ringNumber(n, rings[:half]) })
}

// record yields memory of the program's own for a record.
func (f *fn) record(size int) *ir.Value {
	front := f.m.front()
	return f.b.Add(f.Temp("record", front+types.RoundUp(size, 8), 8), int64(front))
}

// sendInPlace builds the record in the ring buffer itself, if there is room;
// else the arguments are not evaluated.
func (f *fn) sendInPlace(id int, ev *object.Event, args []syntax.Expr) {
	b := f.b
	ring, now := f.ringNow()
	front := f.m.front()
	whole := b.CallPtr(int(asm.FnRingbufReserve), ring, f.konst(int64(front+ev.Bytes)), f.konst(0))
	rec := whole
	got, lost, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	lost.Cold = true
	b.If(b.Ne(whole, 0), got, lost)
	b.Begin(got)
	if front > 0 {
		b.Store(whole, 0, 8, now)
		rec = b.Add(whole, int64(front))
	}
	// While it is, nothing may end the program without submitting: the verifier tracks the
	// reference.
	f.reserved = true
	f.scoped(func() {
		b.Store(rec, 0, 8, f.konst(int64(id)))
		f.stamp(ev, rec)
		for i, a := range args {
			f.Into(a, ev.Args[i].Type, rec, ev.Args[i].Offset)
		}
	})
	f.reserved = false
	f.ring(func(flags int64) {
		b.Emit(ir.Call, ir.Nothing, whole, f.konst(flags)).Imm = int64(asm.FnRingbufSubmit)
	}, done)
	b.Begin(lost)
	f.countLost()
	b.Jump(done)
	b.Begin(done)
}

// stamp writes when and by whom an event was sent, if that is wanted.
func (f *fn) stamp(ev *object.Event, rec *ir.Value) {
	if ev.Stamp == 0 {
		return
	}
	b := f.b
	b.Store(rec, ev.Stamp+object.StampTime, 8, b.Call(int(asm.FnKtimeGetBootNs)))
	b.Store(rec, ev.Stamp+object.StampTask, 8, b.Call(int(asm.FnGetCurrentPidTgid)))
	b.Store(rec, ev.Stamp+object.StampCPU, 8, b.Call(int(asm.FnGetSmpProcessorId)))
}

// countLost counts a record that found no room; user space reports how many there were.
func (f *fn) countLost() { f.b.AtomicAdd(f.b.Data(object.DataLost), 0, 8, f.konst(1)) }

// ring submits with or without waking the reader: it polls while events flow and leaves a word in
// the data map when it goes to sleep. It ends the current block and all of its successors at done.
// Without the flags the kernel decides by how far the reader is, and wakes it by an interrupt
// (irq_work) more often than it has to.
func (f *fn) ring(submit func(flags int64), done *ir.Block) {
	b := f.b
	awake, asleep := b.NewBlock(), b.NewBlock()
	asleep.Cold = true
	b.If(b.U64(b.Data(object.DataBell), 0), asleep, awake)
	b.Begin(asleep)
	// Two programs may both find it set and wake the reader twice, which costs a little; it is
	// never left asleep.
	b.Store(b.Data(object.DataBell), 0, 8, f.konst(0))
	submit(forceWakeup)
	b.Jump(done)
	b.Begin(awake)
	submit(noWakeup)
	b.Jump(done)
}

// sendTail builds the record in memory of the program's own: the fixed part,
// then the long strings one behind the other, and sends the bytes that are used.
func (f *fn) sendTail(id int, ev *object.Event, args []syntax.Expr, tails int) {
	b := f.b
	rec := f.record(ev.Bytes + tails)
	b.Store(rec, 0, 8, f.konst(int64(id)))
	f.stamp(ev, rec)
	end := b.NewObject("end", 8, 8)
	b.Store(b.Addr(end, 0), 0, 8, f.konst(int64(ev.Bytes)))
	limit := ev.Bytes
	for i, a := range args {
		arg := ev.Args[i]
		if !arg.Tail {
			f.Into(a, arg.Type, rec, arg.Offset)
			continue
		}
		at := b.U64(b.Addr(end, 0), 0)
		b.Store(rec, arg.Offset, 4, at)
		n := f.textInto(a, arg.Type.(*types.String), b.Arith(ir.Add, rec, at))
		b.Store(rec, arg.Offset+4, 4, n)
		limit += arg.Type.Size()
		// The sum is bounded by the capacities, of which the verifier knows nothing.
		b.Store(b.Addr(end, 0), 0, 8, b.UMin(b.Arith(ir.Add, at, n), int64(limit)))
	}
	f.output(rec, b.U64(b.Addr(end, 0), 0))
}

// textInto writes a string to p and yields its length with the NUL, at least
// 0 and at most its capacity.
func (f *fn) textInto(e syntax.Expr, t *types.String, p *ir.Value) *ir.Value {
	b := f.b
	var src *ir.Value
	if c, ok := f.info.Calls[syntax.Unparen(e)]; ok && c.Func != nil && c.Func.Text != nil {
		src = c.Func.Text(f, c, p)
	}
	if src == nil {
		helper, _ := readHelper(types.Kernel, true)
		from := f.mem(e)
		src = b.Call(int(helper), p, f.konst(int64(t.Cap)), from)
		if t.Marked && t.Cap >= len(types.Unreadable) {
			// An empty text whose second byte is not 0 is the mark of one that could not be read
			// (types.Unreadable).
			marked := b.Arith(ir.And, b.Eq(src, 1),
				b.Ne(b.U8(from, 1), 0))
			src = f.chooseCold(marked, func() *ir.Value { return f.mark(p) }, src)
		}
	}
	// Unsigned, a negative error is far above the limit.
	return f.Choose(b.ULe(src, int64(t.Cap)),
		func() *ir.Value { return src }, func() *ir.Value { return f.konst(0) })
}

// Send sends a record that the builtin fills itself, in scratch memory, at the
// length it turns out to have.
func (f *fn) Send(c *builtin.Call, ev *object.Event, limit int, fill func(rec *ir.Value) (end *ir.Value)) {
	b := f.b
	id := f.enter(c, ev)
	ev.Bytes = headerBytes
	rec := f.record(limit)
	b.Store(rec, 0, 8, f.konst(int64(id)))
	// The builtin bounds the length, of which the verifier may know nothing.
	f.output(rec, b.UMin(fill(rec), int64(limit)))
}

// output sends the first n bytes of memory that record has yielded.
func (f *fn) output(rec, n *ir.Value) {
	b := f.b
	done := b.NewBlock()
	ring, now := f.ringNow()
	if front := int64(f.m.front()); front > 0 {
		rec, n = b.Add(rec, -front), b.Add(n, front)
		b.Store(rec, 0, 8, now)
	}
	f.ring(func(flags int64) {
		r := b.Call(int(asm.FnRingbufOutput), ring, rec, n, f.konst(flags))
		f.Rarely(b.Ne(r, 0), f.countLost)
	}, done)
	b.Begin(done)
}
