package lower

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
)

// Take reads a generation of a map that nobody updates any more: user space has
// programs use the other one, and waits for those that run. A program may meet both, each
// time that it asks, but what it does with one element it does in one generation.

// table yields the kernel map of a script map, as a helper's argument. It is asked for
// once for an element, and may be called again for the same.
func (f *fn) table(s *object.ScriptMap) func() *ir.Value {
	b := f.b
	if s.Turns.Outer == 0 {
		return func() *ir.Value { return b.MapPtr(s.Map) }
	}
	p := f.generation(s)
	// It is never null, but the verifier cannot know. A record that is being written has to
	// be finished; elsewhere the end is better, as the kernel inlines look-ups in one map.
	if f.reserved {
		p = f.Choose(b.Ne(p, 0), func() *ir.Value { return p },
			func() *ir.Value { return b.MapPtr(s.Map) })
	} else {
		f.unless(b.Eq(p, 0))
	}
	return func() *ir.Value { return p }
}

// generation is the kernel map in use of one that has two, null never but for the verifier.
func (f *fn) generation(s *object.ScriptMap) *ir.Value {
	key := f.Temp("turn", 8, 8)
	f.b.Store(key, 0, 8, f.konst(0))
	return f.b.CallPtr(int(asm.FnMapLookupElem), f.b.MapPtr(s.Turns.Outer), key)
}

// overTables calls over for the kernel maps that the elements of a script map are in. Helpers that
// call back take no map at one place that may be one or another on some kernels.
func (f *fn) overTables(s *object.ScriptMap, over func(table *ir.Value)) {
	if s.Turns.Outer != 0 {
		p := f.generation(s)
		f.When(f.b.Ne(p, 0), func() { over(p) })
		return
	}
	for _, n := range s.Tables() {
		over(f.b.MapPtr(n))
	}
}

// data is the cell of a script map in the data map, of the first CPU.
func (f *fn) data(s *object.ScriptMap) *ir.Value {
	b := f.b
	if s.Turns.Bytes == 0 {
		return b.Data(s.Offset)
	}
	turn := b.And(b.U64(b.Data(s.Turns.Word), 0), 1)
	return b.Arith(ir.Add, b.Data(s.Offset), b.Mul(turn, int64(s.Turns.Bytes)))
}
