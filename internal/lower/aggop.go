package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// updateAgg is @m[k] = agg(x). Where the program has many such statements, a routine does it for
// those that follow, see routine.go.
func (f *fn) updateAgg(at syntax.Node, lhs syntax.Expr, c *builtin.Call) {
	s, keys := f.mapOf(lhs)
	var x *ir.Value
	if len(c.Args) > 0 {
		x = f.number(f.integer(c.Args[0]))
	}
	if !f.byRoutine(at, s, keys, "update", x, func(x *ir.Value) { f.updateElement(at, s, nil, c, x) }) {
		f.updateElement(at, s, keys, c, x)
	}
}

// updateElement updates the aggregation of a key by x, nil for one that only counts.
func (f *fn) updateElement(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr, c *builtin.Call, x *ir.Value) {
	b := f.b
	update := func(p *ir.Value) { c.Agg.Update(f, s.Agg, p, x) }
	switch {
	case s.Parts != 0:
		f.updatePart(at, s, keys, c.Agg, x)
		return
	case s.Map < 0:
		p := f.cpuCell(s, b.Call(int(asm.FnGetSmpProcessorId)))
		update(b.Add(p, 8))
		// Written last: a cell that says that it was written has a value.
		b.Store(p, 0, 8, f.konst(1))
		return
	}
	f.eitherWay(at, s, keys, func() *ir.Value { return b.Data(f.m.zeroBlock(s.Cell)) }, update)
}

// eitherWay emits use for the element of a key, which is first made if there is
// none: fresh yields where its value is then.
func (f *fn) eitherWay(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr, fresh func() *ir.Value,
	use func(p *ir.Value)) {
	p, key, made := f.element(s, keys)
	// The key is made again only where it was not at hand: an element that was looked up before in
	// this run needs none.
	f.upsert(at, s, func() tables { return f.tables(s) }, p, func() mapKey {
		if !made {
			key = f.key(s, keys)
		}
		return key
	}, fresh, func() { f.changed(s) }, use)
}

// upsert is eitherWay for any kernel map, as in yields it: p is what a look-up
// found, and changed is told when the map has another element.
func (f *fn) upsert(at syntax.Node, s *object.ScriptMap, in func() tables, p *ir.Value, key func() mapKey,
	fresh func() *ir.Value, changed func(), use func(p *ir.Value)) {
	b := f.b
	found, absent := b.NewBlock(), b.NewBlock()
	// Both ways meet in one use, so that the update is emitted once: the pointer goes through
	// memory, as the IR that lowering makes has no phis (package opt makes them).
	cell := b.NewObject("cell", 8, 8)
	ready, done := b.NewBlock(), b.NewBlock()
	b.If(b.Ne(p, 0), found, absent)
	b.Begin(found)
	b.Store(b.Addr(cell, 0), 0, 8, p)
	b.Jump(ready)
	b.Begin(absent)
	f.scoped(func() {
		k := key()
		in := in()
		val := fresh()
		// A nested program may insert the same key first: that is as good.
		r := in(k, func(table, key *ir.Value) *ir.Value {
			return b.Call(int(asm.FnMapUpdateElem), table, key, val, f.konst(noExist))
		})
		changed()
		again := in(k, func(table, key *ir.Value) *ir.Value {
			return b.CallPtr(int(asm.FnMapLookupElem), table, key)
		})
		// The kernel does not return the new element. If it is not there after all, the map was
		// full.
		there, full := b.NewBlock(), b.NewBlock()
		full.Cold = true
		b.If(b.Ne(again, 0), there, full)
		b.Begin(full)
		f.refused(at, s, r)
		b.Jump(done)
		b.Begin(there)
		b.Store(b.Addr(cell, 0), 0, 8, again)
		b.Jump(ready)
	})
	b.Begin(ready)
	use(b.LoadPtr(b.Addr(cell, 0), 0))
	b.Jump(done)
	b.Begin(done)
}

// updatePart is updateAgg for a cell in parts.
func (f *fn) updatePart(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr, kind *builtin.Agg, x *ir.Value) {
	b := f.b
	update := func(number *ir.Value) {
		part, use := kind.Part(f, s.Agg)
		// A part is an element of another map: its key is the number of the cell, and which part it
		// is.
		key := f.Temp("part", 16, 8)
		b.Store(key, 0, 8, number)
		b.Store(key, 8, 8, part)
		p := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(s.Parts), key)
		_, bytes := kind.Split(s.Agg)
		parts := func(k mapKey, op func(table, key *ir.Value) *ir.Value) *ir.Value {
			return op(b.MapPtr(s.Parts), k.whole)
		}
		f.upsert(at, s, func() tables { return parts }, p, func() mapKey { return mapKey{whole: key} },
			func() *ir.Value { return b.Data(f.m.zeroBlock(bytes)) },
			func() {}, func(p *ir.Value) { use(p, x) })
	}
	if s.Map < 0 {
		p := b.Data(s.Offset)
		b.Store(p, 0, 8, f.konst(1))
		update(b.U64(p, 8))
		return
	}
	f.eitherWay(at, s, keys, func() *ir.Value {
		// No two cells begin on one CPU at the same time.
		cpu := b.And(b.Call(int(asm.FnGetSmpProcessorId)), 1<<cpuBits-1)
		val := f.Temp("number", 8, 8)
		b.Store(val, 0, 8, b.Arith(ir.Or, b.Shl(b.Call(int(asm.FnKtimeGetNs)), cpuBits), cpu))
		return val
	}, func(p *ir.Value) { update(b.U64(p, 0)) })
}

// cpuBits are those of the number of a cell that tell CPUs apart.
const cpuBits = 12

// cpuCell is the cell of a CPU of an aggregation in the data map, or the one of all CPUs.
func (f *fn) cpuCell(s *object.ScriptMap, cpu *ir.Value) *ir.Value {
	b := f.b
	if !s.PerCPU {
		return f.data(s)
	}
	slots := f.m.obj.Data.CPUSlots
	// A mask and not a test: slots is a power of two above the number of CPUs, and the verifier
	// sees the bound.
	index := b.And(cpu, int64(slots-1))
	return b.Arith(ir.Add, f.data(s), b.Mul(index, int64(s.Stride)))
}

// readAgg is the integer that an aggregation, or a block that ends in one,
// comes to over all CPUs.
func (f *fn) readAgg(e syntax.Expr) *ir.Value {
	switch x := f.info.Evaluated(e).(type) {
	case *syntax.Paren:
		return f.readAgg(x.X)
	case *syntax.Block:
		return f.blockValue(x, f.readAgg)
	}
	s, keys := f.mapOf(e)
	if v := f.readByRoutine(e, s, keys); v != nil {
		return v
	}
	return f.readCells(e.Span(), s, f.cellKey(s, keys))
}

// cellKey is the key of an aggregation's cells, none in the data map.
func (f *fn) cellKey(s *object.ScriptMap, keys []syntax.Expr) mapKey {
	if s.Map < 0 {
		return mapKey{}
	}
	return f.key(s, keys)
}

// readCells reduces the cells of all CPUs to an integer.
func (f *fn) readCells(at source.Span, s *object.ScriptMap, key mapKey) *ir.Value {
	kind, _ := builtin.LookupAgg(s.Agg.Kind)
	n := kind.CellBytes(s.Agg)
	acc := f.Temp("total", n, 8)
	f.start(acc, n)
	f.eachCell(at, s, key, func(cell *ir.Value) { f.accumulate(kind, s.Agg, acc, cell) })
	return kind.Read(f, s.Agg, acc)
}

// start clears what a loop over cells is to add up. The verifier is not to know the zeroes: up to
// Linux 6.12 it takes them for what the sum is behind a loop on the budget, which may end before its
// first round, and takes out code that they rule out.
func (f *fn) start(acc *ir.Value, bytes int) {
	if f.m.o.Probe.Machine.PossibleCPUs() <= unrolledCPUs {
		f.b.Zero(acc, 0, bytes)
		return
	}
	zero := f.unknownZero()
	for w := 0; w < bytes; w += 8 {
		f.b.Store(acc, w, 8, zero)
	}
}

// unrolledCPUs is of how many processors the cells are read without a loop.
const unrolledCPUs = 8

// accumulate adds a cell to what the cells before it came to. Extremes compare: what the verifier
// learns from that would be another state after each cell, and with many processors more of them than
// it follows, so it is hidden.
func (f *fn) accumulate(kind *builtin.Agg, t *types.Agg, acc, cell *ir.Value) {
	kind.Accumulate(f, t, acc, cell)
	if kind.Additive {
		return
	}
	for w := 0; w < kind.CellBytes(t); w += 8 {
		f.b.Store(acc, w, 8, f.unknown(f.b.U64(acc, w)))
	}
}

// aggInto copies the cells of all CPUs, reduced to one, for print(@m[k]).
func (f *fn) aggInto(e syntax.Expr, t *types.Agg, p *ir.Value, off int) {
	switch x := f.info.Evaluated(e).(type) {
	case *syntax.Paren:
		f.aggInto(x.X, t, p, off)
		return
	case *syntax.Block:
		f.blockValue(x, func(x syntax.Expr) *ir.Value { f.aggInto(x, t, p, off); return nil })
		return
	}
	b := f.b
	kind, _ := builtin.LookupAgg(t.Kind)
	n := kind.CellBytes(t)
	acc := b.Add(p, int64(off))
	if kind.Accumulate != nil {
		f.start(acc, n)
	} else {
		b.Zero(p, off, n)
	}
	s, keys := f.mapOf(e)
	f.eachCell(e.Span(), s, f.cellKey(s, keys), func(cell *ir.Value) {
		if kind.Accumulate != nil {
			f.accumulate(kind, t, acc, cell)
			return
		}
		// An aggregation that does not read as a number adds up word by word, as histograms do.
		for w := 0; w < n; w += 8 {
			sum := b.Arith(ir.Add, b.U64(acc, w), b.U64(cell, w))
			b.Store(acc, w, 8, sum)
		}
	})
}

// eachCell emits use for the cell of every possible CPU. A few are unrolled,
// many are a loop.
func (f *fn) eachCell(at source.Span, s *object.ScriptMap, key mapKey, use func(cell *ir.Value)) {
	b := f.b
	cpus := f.m.o.Probe.Machine.PossibleCPUs()
	switch {
	case s.PerCPU:
	case s.Map < 0:
		use(b.Add(f.data(s), 8))
		return
	default:
		p := f.lookup(s, key)
		f.When(b.Ne(p, 0), func() { use(p) })
		return
	}
	if s.Map >= 0 && !f.m.has(machine.MapLookupPerCPU) {
		if f.m.sharable[s.Name] {
			mark(&f.m.wanted, s.Name)
			return
		}
		f.m.diags.Errorf("kernel", at, "this kernel can not read %s in a probe", s.Name).
			Hint("kernels from 5.19 on can; print(%s) works on all", s.Name)
		return
	}
	var in tables
	if s.Map >= 0 {
		in = f.tables(s)
	}
	one := func(cpu *ir.Value) {
		if s.Map < 0 {
			use(b.Add(f.cpuCell(s, cpu), 8))
			return
		}
		p := in(key, func(table, key *ir.Value) *ir.Value {
			return b.CallPtr(int(asm.FnMapLookupPercpuElem), table, key, cpu)
		})
		f.When(b.Ne(p, 0), func() { use(p) })
	}
	if cpus <= unrolledCPUs {
		for cpu := range cpus {
			one(f.konst(int64(cpu)))
		}
		return
	}
	// Unrolled, 256 CPUs would be a program of its own.
	f.count(int64(cpus), one)
}
