package lower

import (
	"strconv"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Flags of bpf_map_update_elem.
const (
	updateAny = 0
	noExist   = 1
)

// changed forgets the elements of a map.
func (f *fn) changed(s *object.ScriptMap) { f.mapGen[s.Name]++ }

// scriptMap is the script map of a name, with the @.
func (f *fn) scriptMap(name string) *object.ScriptMap { return f.m.obj.Scripts[f.m.maps[name]] }

// mapOf splits a map expression.
func (f *fn) mapOf(e syntax.Expr) (*object.ScriptMap, []syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Paren:
		return f.mapOf(e.X)
	case *syntax.MapIndex:
		return f.scriptMap("@" + e.Map.Name), e.Keys
	case *syntax.Map:
		return f.scriptMap("@" + e.Name), nil
	}
	panic("not a map expression")
}

// quietly lowers what a printing call does not show as it is: values behind a NUL count when they
// are compared, indexed, stored or kept.
func (f *fn) quietly(fill func()) { f.forUse(false, fill) }

// keeping is quietly for what the kernel copies into a map.
func (f *fn) keeping(fill func()) { f.forUse(true, fill) }

// forUse emits what fill does with printing off, and puts both modes back.
func (f *fn) forUse(kept bool, fill func()) {
	printing, old := f.printing, f.kept
	f.printing, f.kept = false, kept
	fill()
	f.printing, f.kept = printing, old
}

// keyText names a key whose value cannot change within a run, "" for others.
func (f *fn) keyText(keys []syntax.Expr) string {
	if f.given != nil {
		return "" // another one each time
	}
	text := []byte(".")
	for _, k := range keys {
		var ok bool
		if text, ok = f.appendFixed(text, k); !ok {
			return ""
		}
		text = append(text, 0)
	}
	return string(text)
}

// appendFixed names an expression of fixed value. It goes by what the parts
// mean: the same words can mean two variables.
func (f *fn) appendFixed(text []byte, e syntax.Expr) ([]byte, bool) {
	if k, ok := f.info.Consts[e]; ok {
		if k.Kind == builtin.StrConst {
			return strconv.AppendQuote(text, k.Str), true
		}
		return strconv.AppendUint(text, k.Int, 10), true
	}
	switch e := e.(type) {
	case *syntax.Paren:
		return f.appendFixed(text, e.X)
	case *syntax.Ident:
		c, ok := f.info.Calls[e]
		return append(text, e.Name...), ok && c.Func != nil && c.Func.Fixed
	case *syntax.Var:
		// In a loop the same variable has another value in each round.
		n, ok := f.settled[f.info.Vars[e]]
		return strconv.AppendInt(append(text, '$'), int64(n), 10), ok && len(f.loops) == 0
	case *syntax.Field:
		return append(append(text, "args."...), e.Name.Name...), f.isArgs(e.X)
	}
	return text, false
}

// settle notes that a variable has been given the only value it ever gets.
func (f *fn) settle(decl *check.Var) {
	if decl.Assigns == 1 && !decl.Loop {
		f.settled[decl] = len(f.settled)
	}
}

// element is the pointer to a map's element, null if there is none. made is false if it was known, so
// that the key was not needed.
func (f *fn) element(s *object.ScriptMap, keys []syntax.Expr) (p *ir.Value, key mapKey, made bool) {
	name := f.keyText(keys)
	if name != "" {
		if p, ok := f.lookups.get(s.Name+name, f.mapGen[s.Name]); ok {
			return p, mapKey{}, false
		}
	}
	key = f.key(s, keys)
	p = f.lookup(s, key)
	if name != "" {
		f.lookups.note(s.Name+name, p, f.mapGen[s.Name])
	}
	return p, key, true
}

// lookup asks the kernel for an element.
func (f *fn) lookup(s *object.ScriptMap, key mapKey) *ir.Value {
	return f.tables(s)(key, func(table, key *ir.Value) *ir.Value {
		return f.b.CallPtr(int(asm.FnMapLookupElem), table, key)
	})
}

// loadMap reads a scalar; an absent element reads as zero.
func (f *fn) loadMap(e syntax.Expr) *ir.Value {
	b := f.b
	s, keys := f.mapOf(e)
	i := f.asInt(s.Value)
	if _, ok := s.Value.(*types.Agg); ok {
		return f.readAgg(e)
	}
	if s.Map < 0 {
		return b.Load(f.data(s), 8, i.Bytes, i.Signed)
	}
	p, _, _ := f.element(s, keys)
	if f.m.o.Warnings {
		f.Rarely(b.Eq(p, 0), func() { f.Failed(e, object.HelperFailed, "map_lookup_elem", nil) })
	}
	return f.orZero(p, func() *ir.Value { return b.Load(p, 0, i.Bytes, i.Signed) })
}

// orZero is value() if p is not null, else 0.
func (f *fn) orZero(p *ir.Value, value func() *ir.Value) *ir.Value {
	return f.Choose(f.b.Ne(p, 0), value, func() *ir.Value { return f.konst(0) })
}

// mapInto copies a value that lives in memory.
func (f *fn) mapInto(e syntax.Expr, t types.Type, p *ir.Value, off int) {
	b := f.b
	s, keys := f.mapOf(e)
	elem, _, _ := f.element(s, keys)
	found, absent, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(b.Ne(elem, 0), found, absent)
	b.Begin(found)
	b.Copy(p, off, elem, t.Size())
	b.Jump(done)
	b.Begin(absent)
	b.Zero(p, off, t.Size())
	if f.m.o.Warnings {
		f.Failed(e, object.HelperFailed, "map_lookup_elem", nil)
	}
	b.Jump(done)
	b.Begin(done)
}

// storeMap assigns to a map.
func (f *fn) storeMap(at syntax.Node, lhs, rhs syntax.Expr) {
	s, keys := f.mapOf(lhs)
	if types.IsScalar(s.Value) {
		// The right side comes first: it may read the element.
		v := f.scalarAs(rhs, s.Value)
		f.storeScalar(at, s, keys, v)
		return
	}
	b := f.b
	val := f.Temp("element", s.Cell, 8)
	f.keeping(func() { f.Into(rhs, s.Value, val, 0) })
	b.Zero(val, s.Value.Size(), s.Cell-s.Value.Size())
	f.update(at, s, f.key(s, keys), val)
}

// update inserts or replaces an element as a whole, so that no reader on
// another CPU sees half of it.
func (f *fn) update(at syntax.Node, s *object.ScriptMap, key mapKey, val *ir.Value) {
	r := f.tables(s)(key, func(table, key *ir.Value) *ir.Value {
		return f.b.Call(int(asm.FnMapUpdateElem), table, key, val, f.konst(updateAny))
	})
	f.changed(s)
	f.updateFailed(at, s, r)
}

// updateFailed counts an update that failed: the map is full, or memory could not be had in this
// context.
func (f *fn) updateFailed(at syntax.Node, s *object.ScriptMap, r *ir.Value) {
	f.Rarely(f.b.Ne(r, 0), func() { f.refused(at, s, r) })
}

// refused counts an update of a map that the kernel refused.
func (f *fn) refused(at syntax.Node, s *object.ScriptMap, r *ir.Value) {
	f.failedAt(f.updateSite(bare(at), s), r)
}

// updateSite is a place where updates of a map may fail.
func (f *fn) updateSite(at source.Span, s *object.ScriptMap) object.Site {
	return object.Site{At: at, Kind: object.HelperFailed, Helper: object.UpdateHelper, Map: f.m.maps[s.Name]}
}

// storeScalar writes a register to an element: in place where there is one.
func (f *fn) storeScalar(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr, v *ir.Value) {
	b := f.b
	if s.Map < 0 {
		p := f.data(s)
		b.Store(p, 8, 8, v)
		b.Store(p, 0, 8, f.konst(1))
		return
	}
	if f.byRoutine(at, s, keys, "store", v, func(v *ir.Value) { f.storeScalar(at, s, nil, v) }) {
		return
	}
	p, key, made := f.element(s, keys)
	found, absent, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(b.Ne(p, 0), found, absent)
	b.Begin(found)
	b.Store(p, 0, 8, v)
	if s.Soft {
		b.Store(p, 8, 8, f.konst(1))
	}
	b.Jump(done)
	b.Begin(absent)
	// Not present: insert. Another CPU may insert the same key in between; the last value wins, as
	// with any store.
	f.scoped(func() {
		if !made {
			key = f.key(s, keys)
		}
		f.insert(at, s, f.tables(s), key, v, updateAny)
	})
	b.Jump(done)
	b.Begin(done)
}

// insert adds an element that was not there a moment ago and yields the
// kernel's answer.
func (f *fn) insert(
	at syntax.Node, s *object.ScriptMap, in tables, key mapKey, v *ir.Value, flags int64,
) *ir.Value {
	b := f.b
	val := f.Temp("element", f.m.obj.Maps[s.Map].ValueSize, 8)
	b.Store(val, 0, 8, v)
	if s.Soft {
		b.Store(val, 8, 8, f.konst(1))
	}
	r := in(key, func(table, key *ir.Value) *ir.Value {
		return b.Call(int(asm.FnMapUpdateElem), table, key, val, f.konst(flags))
	})
	f.changed(s)
	if s.Soft {
		// The count of elements in the table decides when deleted ones are removed for good.
		f.When(b.Eq(r, 0), func() { b.AtomicAdd(b.Data(s.Offset), 0, 8, f.konst(1)) })
	}
	if flags == updateAny {
		f.updateFailed(at, s, r)
	}
	return r
}

// addMap adds n to an element atomically and yields the old value if want is
// set, else nil.
func (f *fn) addMap(at syntax.Node, e syntax.Expr, n *ir.Value, want bool) *ir.Value {
	b := f.b
	s, keys := f.mapOf(e)
	if !want && f.byRoutine(at, s, keys, "add", n, func(n *ir.Value) { f.addMap(at, e, n, false) }) {
		return nil
	}
	add := func(p *ir.Value, off int) *ir.Value {
		if !want {
			b.AtomicAdd(p, off, 8, n)
			return nil
		}
		if !f.m.has(machine.AtomicFetch) { // the sum is right, the value may be another CPU's
			old := b.U64(p, off)
			b.AtomicAdd(p, off, 8, n)
			return old
		}
		v := b.Emit(ir.AtomicFetchAdd, ir.I64, p, n)
		v.Imm, v.Size = int64(off), 8
		return v
	}
	if s.Map < 0 {
		p := f.data(s)
		old := add(p, 8)
		b.Store(p, 0, 8, f.konst(1))
		return old
	}
	out := f.Temp("old", 8, 8)
	b.Store(out, 0, 8, f.konst(0))
	keep := func(old *ir.Value) {
		if want {
			b.Store(out, 0, 8, old)
		}
	}
	p, key, made := f.element(s, keys)
	hit := func(p *ir.Value) {
		keep(add(p, 0))
		if s.Soft {
			b.Store(p, 8, 8, f.konst(1))
		}
	}
	found, absent, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.If(b.Ne(p, 0), found, absent)
	b.Begin(found)
	hit(p)
	b.Jump(done)
	b.Begin(absent)
	if f.m.o.Warnings {
		f.Failed(at, object.HelperFailed, "map_lookup_elem", nil)
	}
	f.scoped(func() {
		if !made {
			key = f.key(s, keys)
		}
		in := f.tables(s)
		r := f.insert(at, s, in, key, n, noExist)
		f.Rarely(b.Ne(r, 0), func() {
			// Another CPU was faster, or the map is full.
			again := in(key, func(table, key *ir.Value) *ir.Value {
				return b.CallPtr(int(asm.FnMapLookupElem), table, key)
			})
			there, full, end := b.NewBlock(), b.NewBlock(), b.NewBlock()
			b.If(b.Ne(again, 0), there, full)
			b.Begin(there)
			hit(again)
			b.Jump(end)
			b.Begin(full)
			f.refused(at, s, r)
			b.Jump(end)
			b.Begin(end)
		})
	})
	b.Jump(done)
	b.Begin(done)
	return b.U64(out, 0)
}

// DeleteKey removes an element and yields whether there was one. That there was none is worth a
// warning only if nobody looks at the result.
func (f *fn) DeleteKey(at syntax.Node, name string, keys []syntax.Expr) *ir.Value {
	b := f.b
	s := f.scriptMap(name)
	warn := f.m.o.Warnings && f.unused == at
	if s.Map < 0 {
		was := f.deleteData(s)
		if warn {
			f.Rarely(b.Eq(was, 0), func() {
				f.Failed(at, object.HelperFailed, "map_delete_elem", f.konst(-int64(unix.ENOENT)))
			})
		}
		return was
	}
	if !s.Soft {
		key := f.key(s, keys)
		r := f.tables(s)(key, func(table, key *ir.Value) *ir.Value {
			return b.Call(int(asm.FnMapDeleteElem), table, key)
		})
		f.changed(s)
		f.Rarely(b.Ne(r, 0), func() { f.deleteFailed(at, r, warn) })
		return b.Eq(r, 0)
	}
	// A soft map: the element stays in the table with value 0 and is marked absent. That costs a
	// store instead of a removal with its lock, and the next insertion of the key is a store as
	// well.
	p, key, made := f.element(s, keys)
	return f.orZero(p, func() *ir.Value {
		was := b.U64(p, 8)
		b.Store(p, 0, 8, f.konst(0))
		b.Store(p, 8, 8, f.konst(0))
		// Once half of the table is used up, elements are removed for good.
		limit := f.m.obj.Maps[s.Map].MaxEntries / 2
		used := b.U64(b.Data(s.Offset), 0)
		f.Rarely(b.Arith(ir.SLe, f.konst(int64(limit)), used), func() {
			if !made {
				key = f.key(s, keys)
			}
			r := b.Call(int(asm.FnMapDeleteElem), b.MapPtr(s.Map), key.whole)
			f.When(b.Eq(r, 0), func() { b.AtomicAdd(b.Data(s.Offset), 0, 8, f.konst(-1)) })
		})
		f.changed(s)
		return was
	})
}

// deleteFailed counts a deletion that failed. That there was no such element is a failure only if
// absent says so: any other reason leaves one behind that should be gone.
func (f *fn) deleteFailed(at syntax.Node, r *ir.Value, absent bool) {
	count := func() { f.Failed(at, object.HelperFailed, "map_delete_elem", r) }
	if absent {
		count()
		return
	}
	b := f.b
	code := b.Shl(r, 32) // before Linux 6.4 it is 32 bits, without sign extension
	f.Rarely(b.Ne(code, -int64(unix.ENOENT)<<32), count)
}

// deleteData clears a scalar in the data map.
func (f *fn) deleteData(s *object.ScriptMap) *ir.Value {
	b := f.b
	if s.Agg == nil || s.Parts != 0 {
		p := f.data(s)
		was := b.U64(p, 0)
		if s.Parts != 0 {
			b.AtomicAdd(p, 8, 8, f.konst(1)) // its parts belong to nobody any more
		} else {
			b.Store(p, 8, 8, f.konst(0))
		}
		b.Store(p, 0, 8, f.konst(0))
		return was
	}
	was := f.Temp("was", 8, 8)
	b.Store(was, 0, 8, f.unknownZero()) // as for a sum over cells, see start
	cells := f.m.obj.Data.CPUSlots
	if !s.PerCPU {
		cells = 1
	}
	f.count(int64(cells), func(i *ir.Value) {
		p := f.cpuCell(s, i)
		b.Store(was, 0, 8, b.Arith(ir.Or, b.U64(was, 0), b.U64(p, 0)))
		b.Zero(p, 0, 8+s.Cell)
	})
	return b.U64(was, 0)
}

// HasKey asks for an element.
func (f *fn) HasKey(at syntax.Node, name string, keys []syntax.Expr) *ir.Value {
	s := f.scriptMap(name)
	p, _, _ := f.element(s, keys)
	if s.Soft {
		return f.orZero(p, func() *ir.Value { return f.b.U64(p, 8) })
	}
	return f.b.Ne(p, 0)
}

// FindKey copies an element's value to a variable if there is one, and yields
// whether there is.
func (f *fn) FindKey(at syntax.Node, name string, keys []syntax.Expr, to *syntax.Var) *ir.Value {
	b := f.b
	s := f.scriptMap(name)
	v, t := f.variable(to), f.info.Vars[to].Type
	out := f.Temp("found", 8, 8)
	b.Store(out, 0, 8, f.konst(0))
	p, _, _ := f.element(s, keys)
	f.When(b.Ne(p, 0), func() {
		// An element that is marked absent leaves the variable alone.
		copied := b.NewBlock()
		f.skipDeleted(s, p, copied)
		if types.IsScalar(t) {
			i := f.asInt(s.Value)
			b.Store(v.addr(f), 0, 8, f.convert(b.Load(p, 0, i.Bytes, i.Signed), s.Value, t))
		} else {
			f.reshape(p, s.Value, v.addr(f), 0, t)
		}
		b.Store(out, 0, 8, f.konst(1))
		b.Jump(copied)
		b.Begin(copied)
	})
	return b.U64(out, 0)
}
