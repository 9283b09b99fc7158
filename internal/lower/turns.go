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
	key := f.Temp("turn", 8, 8)
	b.Store(key, 0, 8, f.konst(0))
	p := b.CallPtr(int(asm.FnMapLookupElem), b.MapPtr(s.Turns.Outer), key)
	// It is never null, but the verifier cannot know. A record that is being written has to
	// be finished; elsewhere the end is better, as the kernel inlines look-ups in one map.
	if f.reserved {
		p = f.Choose(b.Arith(ir.Ne, p, f.konst(0)), func() *ir.Value { return p },
			func() *ir.Value { return b.MapPtr(s.Map) })
	} else {
		f.unless(b.Arith(ir.Eq, p, f.konst(0)))
	}
	return func() *ir.Value { return p }
}

// data is the cell of a script map in the data map, of the first CPU.
func (f *fn) data(s *object.ScriptMap) *ir.Value {
	b := f.b
	if s.Turns.Bytes == 0 {
		return b.Data(s.Offset)
	}
	turn := b.Arith(ir.And, b.Load(b.Data(s.Turns.Word), 0, 8, false), f.konst(1))
	return b.Arith(ir.Add, b.Data(s.Offset), b.Arith(ir.Mul, turn, f.konst(int64(s.Turns.Bytes))))
}
