package lower

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// manyUpdates is up to how many statements of a program change a map each with code of
// their own. Those that follow call a routine, which costs them a few nanoseconds and
// the verifier next to nothing: thousands of them would be too much for it.
const manyUpdates = 128

// A routine is a function with global linkage that changes an element of a map as many
// statements of the program do. The verifier looks at it once. Its parameters are numbers:
// the key, what to store or to add, and where a failure is counted.
type routine struct {
	uses int
	fn   *ir.Func  // nil until there are many
	last *ir.Value // constant: the greatest third parameter
}

// A routineKey names what a routine does.
type routineKey struct {
	of   *object.ScriptMap
	does string
}

// given is what a routine knows in place of the expressions of a statement.
type given struct {
	key  *ir.Value
	site *ir.Value // of failures: offset in the data map, in words
	last *ir.Value // no site is behind it
}

// byRoutine has a routine change the element of a key by x, which may be nil; update emits that. It
// reports false, and has emitted nothing, where the statement has to do it itself. The limits are
// those of global functions: at most five parameters, all of them numbers, and a frame of their own
// on the stack.
func (f *fn) byRoutine(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr, does string, x *ir.Value,
	update func(x *ir.Value)) bool {
	if s.Map < 0 || len(keys) != 1 || !types.IsScalar(s.Key) || f.given != nil || f.m.o.Warnings {
		return false
	}
	r := f.routines[routineKey{s, does}]
	if r == nil {
		r = &routine{}
		f.routines[routineKey{s, does}] = r
	}
	if r.uses++; r.uses <= manyUpdates || f.frames >= mostFrames {
		return false
	}
	if r.fn == nil {
		if len(f.callbacks) >= mostFuncs {
			return false
		}
		f.makeRoutine(at, s, r, does, x != nil, update)
	}
	b := f.b
	word := f.keyWord(s, keys[0])
	n := f.konst(0)
	if x != nil {
		n = f.number(x)
	}
	site := int64(f.m.site(f.updateSite(at.Span(), s)).Offset / 8)
	r.last.Imm = max(r.last.Imm, site)
	b.Piece(r.fn, word, n, f.konst(site))
	f.changed(s)
	return true
}

// manyRounds is how many rounds of loops over the cells of all processors a program may have that
// the verifier walks through one after the other, once on each way that leads there.
const manyRounds = 4096

// readByRoutine is byRoutine for what an aggregation comes to, nil where it is to be read in place.
func (f *fn) readByRoutine(at syntax.Node, s *object.ScriptMap, keys []syntax.Expr) *ir.Value {
	cpus := f.m.o.Probe.Machine.PossibleCPUs()
	if cpus <= unrolledCPUs || f.m.has(machine.MayGoto) || !s.PerCPU || f.given != nil ||
		len(keys) > 1 || len(keys) == 1 && !types.IsScalar(s.Key) {
		return nil
	}
	f.walked += cpus
	if f.walked <= manyRounds || f.frames >= mostFrames || len(f.callbacks) >= mostFuncs {
		return nil
	}
	key := routineKey{s, "read"}
	r := f.routines[key]
	if r == nil {
		r = &routine{}
		f.routines[key] = r
		f.makeRoutine(at, s, r, "read", false, nil)
	}
	none := f.konst(0)
	if len(keys) == 0 {
		return f.b.Piece(r.fn, none, none, none)
	}
	return f.b.Piece(r.fn, f.keyWord(s, keys[0]), none, none)
}

// makeRoutine lowers update as a function of its own; without it the function reads an aggregation.
func (f *fn) makeRoutine(at syntax.Node, s *object.ScriptMap, r *routine, does string, valued bool,
	update func(x *ir.Value)) {
	outer := f.level
	b := ir.NewBuilder(fmt.Sprintf("%s_%s%d", f.root.Fn.Name, does, len(f.callbacks)+1), 3)
	b.Fn.Piece = true
	b.At = at.Span()
	r.fn, r.last = b.Fn, b.Const(0)
	f.level = level{
		b: b, lookups: newLookups(), frames: outer.frames + 1, exit: b.NewBlock(),
		given: &given{key: b.Param(0, ir.I64), site: b.Param(2, ir.I64), last: r.last},
	}
	var x *ir.Value
	if valued {
		x = b.Param(1, ir.I64)
	}
	if update == nil {
		b.Ret(f.readCells(at.Span(), s, f.cellKey(s, nil)))
	} else {
		update(x)
		b.Jump(f.exit)
	}
	b.Begin(f.exit)
	b.Ret(b.Const(0))
	for _, o := range b.Fn.Objects {
		o.Stack = true // it has no part in the memory of the program
	}
	f.level = outer
	f.callbacks = append(f.callbacks, b.Fn)
}

// keyWord is a scalar key as the eight bytes that the map has of it.
func (f *fn) keyWord(s *object.ScriptMap, e syntax.Expr) (v *ir.Value) {
	f.quietly(func() { v = f.number(f.scalarAs(e, s.Key)) })
	if i, ok := types.IsInteger(s.Key); ok && i.Signed && i.Bytes < 8 {
		v = f.b.Ext(v, i.Bytes, false)
	}
	return v
}

// countGiven counts a failure where the routine's caller says.
func (f *fn) countGiven(code *ir.Value) {
	b := f.b
	f.Rarely(b.Arith(ir.ULe, f.given.site, f.given.last), func() {
		p := b.Arith(ir.Add, b.Data(0), b.Shl(f.given.site, 3))
		b.Store(p, 8, 8, code)
		b.AtomicAdd(p, 0, 8, f.konst(1))
	})
}
