package lower

import (
	"slices"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// Mem lowers an expression that lives in memory and yields its address. The
// memory must not be written. Strings are padded with zeroes.
func (f *fn) Mem(e syntax.Expr) *ir.Value {
	var p *ir.Value
	f.quietly(func() { p = f.mem(e) })
	return p
}

// mem is Mem with the present mode of printing: the value's own memory where it has some that can
// be lent, else a copy.
func (f *fn) mem(e syntax.Expr) *ir.Value {
	b := f.b
	e = f.info.Evaluated(e)
	if v, ok := e.(*syntax.Paren); ok {
		return f.mem(v.X)
	}
	if _, folded := f.info.Consts[e]; !folded {
		switch e := e.(type) {
		case *syntax.Var:
			if !f.copies {
				return f.variable(e).addr(f)
			}
		case *syntax.Field, *syntax.TupleIndex, *syntax.Index:
			if pl := f.place(e); pl.kind == direct && pl.field.Name == "" {
				return b.Add(pl.base, int64(pl.off))
			}
		}
		if c, ok := f.info.Calls[e]; ok {
			var p *ir.Value
			f.at(e, func() { p = f.call(c, nil) })
			return p
		}
		if call, ok := e.(*syntax.Inlined); ok {
			var p *ir.Value
			f.at(e, func() { p = f.inlinedCall(call) })
			return p
		}
	}
	t := f.info.Types[e]
	p := f.Temp("value", types.RoundUp(max(t.Size(), 1), 8), 8)
	f.Into(e, t, p, 0)
	return p
}

// before lowers an expression in front of others. If they change something, the
// variable that it is now must not become another one: Mem makes copies.
func (f *fn) before(lower func(), others ...syntax.Expr) {
	old := f.copies
	defer func() { f.copies = old }()
	f.copies = f.copies || slices.ContainsFunc(others, f.changes)
	lower()
}

// changes reports whether the value of a variable or map can be another one
// when e has been evaluated.
func (f *fn) changes(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IncDec, *syntax.AssignStmt, *syntax.ExprStmt:
			found = true
		case *syntax.Call:
			c := f.info.Calls[n]
			found = found || c != nil && c.Func != nil && c.Func.Changes()
		}
		return !found
	})
	return found
}

// Into lowers e, converted to t, to memory at p+off.
func (f *fn) Into(e syntax.Expr, t types.Type, p *ir.Value, off int) {
	f.at(e, func() { f.into(e, t, p, off) })
}

// into is Into at the present position, by the sort of the expression.
func (f *fn) into(e syntax.Expr, t types.Type, p *ir.Value, off int) {
	b := f.b
	e = f.info.Evaluated(e)
	from := f.info.Types[e]
	if r, ok := t.(*types.Record); ok && f.isArgs(e) {
		f.argsInto(e, r, p, off)
		return
	}
	if types.IsScalar(t) {
		b.Store(p, off, t.Size(), f.plain(f.hide(f.scalarAs(e, t))))
		return
	}
	if agg, ok := from.(*types.Agg); ok { // a snapshot of an aggregation
		f.aggInto(e, agg, p, off)
		return
	}
	if k, ok := f.info.Consts[e]; ok && k.Kind == builtin.StrConst {
		builtin.StoreString(f, b.Add(p, int64(off)), k.Str, t.Size())
		return
	}
	switch e := e.(type) {
	case *syntax.Paren:
		f.into(e.X, t, p, off)
		return
	case *syntax.Comptime:
		f.into(e.X, t, p, off)
		return
	case *syntax.Tuple:
		f.tupleInto(e.Elems, t.(*types.Tuple), p, off)
		return
	case *syntax.Record:
		f.recordInto(e, t.(*types.Record), p, off)
		return
	case *syntax.Cond:
		f.eitherInto(e.Cond, e.Then, e.Else, t, p, off)
		return
	case *syntax.If:
		f.eitherInto(e.Cond, e.Then, e.Else, t, p, off)
		return
	case *syntax.Block:
		f.blockValue(e, func(x syntax.Expr) *ir.Value { f.Into(x, t, p, off); return nil })
		return
	}
	// A narrower string, or a tuple of narrower elements, is lowered as it is and then widened.
	if !types.Same(from, t) {
		f.reshape(f.Mem(e), from, p, off, t)
		return
	}
	if c, ok := f.info.Calls[e]; ok {
		f.call(c, b.Add(p, int64(off)))
		return
	}
	switch e := e.(type) {
	case *syntax.Var:
		b.Copy(p, off, f.variable(e).addr(f), t.Size())
	case *syntax.Map, *syntax.MapIndex:
		f.mapInto(e, t, p, off)
	case *syntax.Cast:
		f.castInto(e, t, p, off)
	case *syntax.Inlined:
		b.Copy(p, off, f.inlinedCall(e), t.Size())
	default:
		f.readPlace(e, f.place(e), t, p, off)
	}
}

// plain is v for memory: a number where the program may compute with what is there, since the
// verifier knows a pointer again that it has been given back from memory.
func (f *fn) plain(v *ir.Value) *ir.Value {
	if f.printing || f.kept {
		return v
	}
	return f.number(v)
}

// eitherInto writes one of two values.
func (f *fn) eitherInto(cond, then, els syntax.Expr, t types.Type, p *ir.Value, off int) {
	b := f.b
	yes, no, done := b.NewBlock(), b.NewBlock(), b.NewBlock()
	f.branch(cond, yes, no)
	if then == nil {
		then = cond
	}
	for i, blk := range []*ir.Block{yes, no} {
		b.Begin(blk)
		f.scoped(func() { f.Into([]syntax.Expr{then, els}[i], t, p, off) })
		if !b.Ended() {
			b.Jump(done)
		}
	}
	b.Begin(done)
}

// tupleInto writes elements to their offsets and zeroes the padding between, which counts when
// tuples are keys.
func (f *fn) tupleInto(elems []syntax.Expr, t *types.Tuple, p *ir.Value, off int) {
	end := 0
	for i, e := range elems {
		f.b.Zero(p, off+end, t.Offsets[i]-end)
		f.Into(e, t.Elems[i], p, off+t.Offsets[i])
		end = t.Offsets[i] + t.Elems[i].Size()
	}
	f.b.Zero(p, off+end, t.Size()-end)
}

// recordInto writes fields by name, in the order in which the script evaluates them.
func (f *fn) recordInto(e *syntax.Record, t *types.Record, p *ir.Value, off int) {
	f.b.Zero(p, off, t.Size())
	places := placesOf(t.Names)
	for _, field := range e.Fields {
		if i, ok := places[field.Name.Name]; ok {
			f.Into(field.Value, t.Elems[i], p, off+t.Offsets[i])
		}
	}
}

// placesOf are the numbers of fields by name.
func placesOf(names []string) map[string]int {
	out := make(map[string]int, len(names))
	for i, name := range names {
		out[name] = i
	}
	return out
}

// castInto reinterprets a value as bytes of an array.
func (f *fn) castInto(e *syntax.Cast, t types.Type, p *ir.Value, off int) {
	if from := f.info.Types[e.X]; types.IsScalar(from) {
		// An integer narrower than the array extends into it.
		f.wordInto(f.Scalar(e.X), p, off, t.Size())
	} else {
		f.reshape(f.Mem(e.X), from, p, off, t)
	}
}

// wordInto writes the first n bytes of a number, at most 8 and not always as
// many as one store has, to memory that need not be aligned.
func (f *fn) wordInto(v *ir.Value, p *ir.Value, off, n int) {
	word := f.Temp("word", 8, 8)
	f.b.Store(word, 0, 8, f.number(v))
	f.b.Copy(p, off, word, n)
}

// reshape copies a value of one type to memory of another: a string of another
// capacity, a tuple of wider elements.
func (f *fn) reshape(src *ir.Value, from types.Type, p *ir.Value, off int, to types.Type) {
	b := f.b
	switch to := to.(type) {
	case *types.Tuple:
		if from, ok := from.(*types.Tuple); ok {
			f.reshapeElems(src, from, p, off, to)
			return
		}
	case *types.Record:
		if from, ok := from.(*types.Record); ok {
			b.Zero(p, off, to.Size())
			places := placesOf(from.Names)
			for i, name := range to.Names {
				if j, ok := places[name]; ok {
					f.reshape(b.Add(src, int64(from.Offsets[j])), from.Elems[j], p, off+to.Offsets[i], to.Elems[i])
				}
			}
			return
		}
	}
	if types.IsScalar(to) && types.IsScalar(from) {
		i := f.asInt(from)
		v := b.Load(src, 0, i.Bytes, i.Signed)
		b.Store(p, off, to.Size(), f.hide(f.convert(v, from, to)))
		return
	}
	if a, ok := from.(*types.Array); ok && a.IsText() {
		if _, ok := to.(*types.String); ok {
			// The text ends at the first NUL, and zeroes follow it, whatever the array has there.
			b.Zero(p, off, to.Size())
			f.copyText(src, a.Len, min(to.Size(), a.Len+1), p, off)
			return
		}
	}
	n := min(from.Size(), to.Size())
	b.Copy(p, off, src, n)
	b.Zero(p, off+n, to.Size()-n)
	if _, ok := to.(*types.String); ok && from.Size() > to.Size() {
		b.Store(p, off+n-1, 1, f.konst(0))
	}
}

// asInt is a type as the integer that is loaded: of a pointer, one without sign.
func (f *fn) asInt(t types.Type) *types.Int {
	if i, ok := types.IsInteger(t); ok {
		return i
	}
	return types.IntOf(t.Size(), false)
}

// reshapeElems copies a tuple element by element.
func (f *fn) reshapeElems(src *ir.Value, from *types.Tuple, p *ir.Value, off int, to *types.Tuple) {
	f.b.Zero(p, off, to.Size())
	for i := range to.Elems {
		f.reshape(f.b.Add(src, int64(from.Offsets[i])), from.Elems[i], p, off+to.Offsets[i], to.Elems[i])
	}
}
