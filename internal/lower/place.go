package lower

import (
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A place is where a value of the traced world, or part of one of ours, lies.
type place struct {
	base *ir.Value // address, or the value itself when value is set
	off  int
	kind placeKind
	// space is the address space of a remote place.
	space types.Space
	field types.Field // bit-field, if BitSize is not 0
}

// A placeKind is where a value is kept.
type placeKind uint8

const (
	// direct is memory that the program may load from: its own, map values,
	// the context.
	direct placeKind = iota
	// typed is kernel memory behind a pointer whose type the verifier knows:
	// scalars load directly, the rest is read by a helper.
	typed
	// remote is memory that only helpers may read.
	remote
	// register is a value that has no memory: an argument.
	register
)

// place finds where an expression of any type lies, without reading it. A place is computed before
// it is read, so that a.b[3].c is one read at one address.
func (f *fn) place(e syntax.Expr) place {
	switch e := f.info.Evaluated(e).(type) {
	case *syntax.Paren:
		return f.place(e.X)
	case *syntax.Field:
		return f.fieldPlace(e)
	case *syntax.TupleIndex:
		return f.elementPlace(e.X, int(e.Index.Value))
	case *syntax.Index:
		return f.indexPlace(e)
	case *syntax.Unary:
		if e.Op == syntax.Mul {
			if f.isArgs(e.X) {
				return f.place(e.X)
			}
			return f.pointee(e.X, 0)
		}
	}
	return place{base: f.Mem(e), kind: direct}
}

// pointee is the memory that a pointer, followed through levels more of them,
// points to.
func (f *fn) pointee(e syntax.Expr, levels int) place {
	p := f.Scalar(e)
	space := f.space(e)
	for range levels {
		if p.Kind == ir.Ptr {
			p = f.b.LoadPtr(p, 0)
			continue
		}
		tmp := f.Temp("pointer", 8, 8)
		f.ReadMem(e, space, tmp, 0, f.konst(8), p)
		p = f.b.U64(tmp, 0)
	}
	if p.Kind == ir.Ptr && f.typedPointer(e) {
		return place{base: p, kind: typed, space: types.Kernel}
	}
	return place{base: p, kind: remote, space: space}
}

// typedPointer reports whether e still has the type under which the verifier
// knows the pointer: a cast to another struct hides it.
func (f *fn) typedPointer(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Paren:
		return f.typedPointer(e.X)
	case *syntax.Cast:
		return types.Same(f.info.Types[e], f.info.Types[e.X]) && f.typedPointer(e.X)
	}
	return true
}

// isArgs reports whether an expression is args, or *args.
func (f *fn) isArgs(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Paren:
		return f.isArgs(e.X)
	case *syntax.Unary:
		return e.Op == syntax.Mul && f.isArgs(e.X)
	}
	c, ok := f.info.Calls[e]
	return ok && c.Func != nil && c.Func.Fields
}

// fieldPlace is a member: behind pointers, which are followed by reads, in a struct or a record
// that lies somewhere, or of args.
func (f *fn) fieldPlace(e *syntax.Field) place {
	field := f.info.Fields[e]
	if f.isArgs(e.X) {
		_, text := f.info.Types[e].(*types.String)
		return f.argument(field, text)
	}
	t := f.info.Types[e.X]
	var pl place
	if p, ok := t.(*types.Pointer); ok {
		pl = f.pointee(e.X, f.info.Derefs[e.X])
		for ok {
			t = p.Elem
			p, ok = t.(*types.Pointer)
		}
	} else {
		pl = f.place(e.X)
	}
	if r, ok := t.(*types.Record); ok {
		i, _, _ := r.Lookup(e.Name.Name)
		pl.off += r.Offsets[i]
		return pl
	}
	if field.Reloc != 0 {
		pl.base = probe.Member(f.b, pl.base, field)
	} else {
		pl.off += field.Offset
	}
	pl.field = field
	if s, ok := t.(*types.Struct); ok && pl.kind == typed && orNull[s.Name+"."+field.Name] {
		pl.kind = remote
	}
	return pl
}

// orNull are the members of the kernel that the verifier follows behind a test for null only. They are read as any
// other memory, which needs none.
var orNull = map[string]bool{"sk_buff.sk": true, "request_sock.sk": true}

// argument is a field of args: in the context record, or from wherever the
// mechanism has it. Of a field that refers to its data, text tells whether the
// data is wanted or its address.
func (f *fn) argument(field types.Field, text bool) place {
	mech := f.g.Mech()
	if s, ok := field.Type.(*types.Struct); ok && mech.Field != nil && mech.Record == nil && mech.Memory == nil {
		return f.structArgument(field, s)
	}
	if mech.Field != nil {
		if v := mech.Field(f.ctx, field); v != nil || mech.Record == nil && mech.Memory == nil {
			return place{base: v, kind: register, field: field}
		}
	}
	if mech.Memory != nil {
		base, user := mech.Memory(f.ctx, field)
		if user {
			return place{base: base, kind: remote, space: types.User, field: field}
		}
		return place{base: base, kind: direct, field: field}
	}
	base := mech.Record(f.ctx)
	at, fixed := base, field.Offset
	if field.Reloc != 0 {
		at, fixed = probe.Member(f.b, base, field), 0
	}
	if field.DataLoc == types.NoDataLoc {
		return place{base: at, off: fixed, kind: direct, field: field}
	}
	// The 32-bit word holds length<<16 | offset, counted from the record or
	// from the end of the word.
	b := f.b
	loc := b.U32(at, fixed)
	off := b.And(loc, 0xffff)
	if field.DataLoc == types.DataLocRel {
		off = b.Add(off, int64(fixed+4))
		if field.Reloc != 0 {
			off = b.Arith(ir.Add, off, b.Reloc(field.Reloc-1))
		}
	}
	// The context pointer becomes a plain address for the helper to read at.
	addr := b.Arith(ir.Add, f.number(base), off)
	if !text {
		return place{base: addr, kind: register, field: types.Field{Name: field.Name}}
	}
	return place{base: addr, kind: remote, space: types.Kernel, field: field}
}

// structArgument is a struct that is an argument itself: its words are
// gathered from where they travel.
func (f *fn) structArgument(field types.Field, s *types.Struct) place {
	b := f.b
	n := types.RoundUp(s.Size(), 8)
	p := f.Temp("argument", n, 8)
	for off := 0; off < n; off += 8 {
		word := types.Field{Name: field.Name, Type: types.Uint64, Arg: field.Arg + off/8}
		b.Store(p, off, 8, f.g.Mech().Field(f.ctx, word))
	}
	return place{base: p, kind: direct}
}

// argsInto writes args as a whole: a record with the fields of args.
func (f *fn) argsInto(at syntax.Expr, t *types.Record, p *ir.Value, off int) {
	f.b.Zero(p, off, t.Size())
	for i, name := range t.Names {
		field, ok := f.p.Args.Field(name)
		if !ok {
			continue
		}
		elem := t.Elems[i]
		_, text := elem.(*types.String)
		pl := f.argument(field, text)
		if types.IsScalar(elem) {
			f.b.Store(p, off+t.Offsets[i], elem.Size(), f.plain(f.loadPlace(at, pl, elem)))
		} else {
			f.readPlace(at, pl, elem, p, off+t.Offsets[i])
		}
	}
}

// elementPlace is element i of a tuple or record.
func (f *fn) elementPlace(x syntax.Expr, i int) place {
	pl := f.place(x)
	switch t := f.info.Types[x].(type) {
	case *types.Tuple:
		pl.off += t.Offsets[i]
	case *types.Record:
		pl.off += t.Offsets[i]
	}
	return pl
}

// indexPlace is an element of an array, a string or a tuple, or behind a pointer.
func (f *fn) indexPlace(e *syntax.Index) place {
	b := f.b
	lit, literal := f.info.Consts[e.I]
	elem := 1
	var pl place
	limit := -1
	switch t := f.info.Types[e.X].(type) {
	case *types.Tuple:
		return f.elementPlace(e.X, int(lit.Int))
	case *types.Array:
		pl, elem, limit = f.place(e.X), t.Elem.Size(), t.Len
		f.fix(t.Elem, false)
	case *types.String:
		pl = f.place(e.X)
		limit = pl.textBytes(t)
	case *types.Pointer:
		pl, elem = f.pointee(e.X, f.info.Derefs[e.X]), t.Elem.Size()
		f.fix(t.Elem, false)
	}
	if !literal && pl.kind == direct && pl.base == f.ctx.Ctx {
		// The verifier lets nobody into the context at an offset that it does
		// not know.
		whole := f.info.Types[e.X]
		p := f.Temp("indexed", types.RoundUp(whole.Size(), 8), 8)
		f.readPlace(e, pl, whole, p, 0)
		pl = place{base: p, kind: direct}
	}
	pl.field = types.Field{}
	if literal {
		pl.off += int(lit.Int) * elem
		return pl
	}
	i := f.number(f.integer(e.I))
	if pl.kind == direct || pl.kind == register {
		// The verifier must see the bound: an index out of range finds zeros
		// and is counted.
		zeros := f.Temp("outside", types.RoundUp(elem, 8), 8)
		pl.base = f.Choose(b.ULt(i, int64(limit)),
			func() *ir.Value {
				i := b.UMin(i, int64(limit-1))
				return b.Arith(ir.Add, b.Add(pl.base, int64(pl.off)), b.Mul(i, int64(elem)))
			},
			func() *ir.Value {
				f.Failed(e, object.IndexOutOfBounds, "", nil)
				b.Zero(zeros, 0, types.RoundUp(elem, 8))
				return zeros
			})
		pl.off = 0
		return pl
	}
	if _, ok := f.info.Types[e.X].(*types.Array); ok && limit > 0 {
		// The memory of others is read all the same: the array may be longer
		// than it was declared.
		f.Rarely(b.Arith(ir.ULt, f.konst(int64(limit-1)), i), func() { f.Failed(e, object.IndexBeyondEnd, "", nil) })
	}
	delta := b.Mul(i, int64(elem))
	if pl.kind == typed { // a variable offset is more than the verifier follows
		pl.base, pl.kind = f.number(pl.base), remote
	}
	pl.base = b.Arith(ir.Add, pl.base, delta)
	return pl
}

// loadPlace reads a scalar.
func (f *fn) loadPlace(at syntax.Node, pl place, t types.Type) *ir.Value {
	b := f.b
	size, signed := t.Size(), false
	if i, ok := types.IsInteger(t); ok {
		signed = i.Signed
	}
	var v *ir.Value
	switch pl.kind {
	case register:
		if _, ok := t.(*types.Pointer); ok {
			return pl.base
		}
		return b.Ext(pl.base, size, signed)
	case direct:
		if pl.field.BitSize == 0 {
			return b.Load(pl.base, pl.off, size, signed)
		}
		v = b.Load(pl.base, pl.off, storage(pl.field), false)
	case typed:
		if pl.field.BitSize == 0 {
			if p, ok := t.(*types.Pointer); ok && p.Space != types.User {
				if _, ok := p.Elem.(*types.Struct); ok {
					v := b.LoadPtr(pl.base, pl.off)
					// An iterator calls its program once more at the end, with null for the object:
					// there is nothing to do then.
					if f.inContext(pl.base) && f.g.Mech().NullSkip {
						f.unless(b.Eq(v, 0))
					}
					return v
				}
			}
			return b.Load(pl.base, pl.off, size, signed)
		}
		fallthrough
	case remote:
		n := size
		if pl.field.BitSize > 0 {
			n = storage(pl.field)
		}
		tmp := f.Temp("read", 8, 8)
		b.Store(tmp, 0, 8, f.konst(0))
		f.ReadMem(at, pl.space, tmp, 0, f.konst(int64(n)), b.Add(pl.base, int64(pl.off)))
		if pl.field.BitSize == 0 {
			return b.Load(tmp, 0, size, signed)
		}
		v = b.U64(tmp, 0)
	}
	return f.bits(v, pl.field, signed)
}

// storage is how many bytes hold a bit-field.
func storage(f types.Field) int {
	for _, n := range []int{1, 2, 4} {
		if f.BitOffset+f.BitSize <= 8*n {
			return n
		}
	}
	return 8
}

// bits extracts a bit-field from the word that holds it.
func (f *fn) bits(v *ir.Value, field types.Field, signed bool) *ir.Value {
	b := f.b
	// Shifted to the top first, so that the shift back extends the sign, or zeroes.
	v = b.Shl(v, int64(64-field.BitOffset-field.BitSize))
	shift := ir.LShr
	if signed {
		shift = ir.AShr
	}
	return b.Arith(shift, v, f.konst(int64(64-field.BitSize)))
}

// textBytes is how many bytes of a string there are to be read: a member may
// have fewer than its type, which has room for a NUL.
func (pl place) textBytes(t *types.String) int {
	if s, ok := pl.field.Type.(*types.String); ok && s.Cap > 0 {
		return min(s.Cap, t.Cap)
	}
	return t.Cap
}

// fix notes that the program depends on the size or the layout of a type.
func (f *fn) fix(t types.Type, whole bool) { f.m.o.Probe.Machine.Fix(t, whole) }

// readPlace reads a value that lives in memory to p+off.
func (f *fn) readPlace(at syntax.Node, pl place, t types.Type, p *ir.Value, off int) {
	f.fix(t, true)
	b := f.b
	n := t.Size()
	s, text := t.(*types.String)
	have := n
	if text {
		have = pl.textBytes(s)
	}
	switch {
	case pl.kind == register: // an array or string that an argument points to is read where it is used
		f.wordInto(pl.base, p, off, min(n, 8))
	case pl.kind == direct && f.inContext(pl.base) && (!text || f.printing):
		f.copyContext(pl, p, off, have)
		b.Zero(p, off+have, n-have)
	case pl.kind == direct:
		if pl.off != 0 {
			pl.base = b.Add(pl.base, int64(pl.off))
		}
		if text && !f.printing && pl.field.Name != "" {
			f.copyText(pl.base, have, s.Cap, p, off)
			return
		}
		b.Copy(p, off, pl.base, have)
		b.Zero(p, off+have, n-have)
	case text:
		if !f.printing {
			b.Zero(p, off, n)
		} else {
			b.Store(p, off, 1, f.konst(0))
		}
		addr := b.Add(pl.base, int64(pl.off))
		r := f.ReadStr(at, pl.space, p, off, f.konst(int64(n)), addr)
		if have == n && pl.field.DataLoc == types.NoDataLoc { // else it is text that may go on
			f.readLast(pl.space, p, off, n, addr, r)
		}
	default:
		f.ReadMem(at, pl.space, p, off, f.konst(int64(n)), b.Add(pl.base, int64(pl.off)))
	}
}

// readLast reads the last byte of a char array of n bytes that r bytes of text were read from. An
// array may be full, where the kernel's reading of text writes a NUL in place of its last byte.
func (f *fn) readLast(space types.Space, p *ir.Value, off, n int, addr, r *ir.Value) {
	b, last := f.b, int64(n-1)
	helper, _ := readHelper(space, false)
	f.Rarely(b.Eq(r, int64(n)), func() {
		b.Call(int(helper), b.Add(p, int64(off)+last), f.konst(1), b.Add(addr, last))
	})
}

// inContext reports whether p is the program's context, or a field of it whose
// offset the loader fills in.
func (f *fn) inContext(p *ir.Value) bool {
	return p == f.ctx.Ctx || p.Op == ir.Add && p.Args[0] == f.ctx.Ctx && p.Args[1].Op == ir.Reloc
}

// copyContext copies n bytes of a place in the program's context. The verifier
// wants aligned loads at fixed offsets there, none through a moved pointer.
func (f *fn) copyContext(pl place, p *ir.Value, off, n int) {
	from, widest := pl.off, 8
	if pl.base != f.ctx.Ctx {
		// Records are packed by the rules of C: on another kernel the field may
		// be aligned to four bytes only.
		from, widest = pl.field.Offset, 4
	}
	for i := 0; i < n; {
		width := widest
		for ((from+i)|(off+i))%width != 0 || i+width > n {
			width /= 2
		}
		f.b.Store(p, off+i, width, f.b.Load(pl.base, pl.off+i, width, false))
		i += width
	}
}

// copyText copies a character array of the traced world that the program can
// load from, clearing what lies behind the NUL, to where it has room for n bytes.
func (f *fn) copyText(src *ir.Value, have, n int, p *ir.Value, off int) {
	b := f.b
	b.Zero(p, off, n)
	helper, _ := readHelper(types.Kernel, true)
	r := b.Call(int(helper), b.Add(p, int64(off)), f.konst(int64(n)), src)
	if have == n {
		f.readLast(types.Kernel, p, off, n, src, r)
	}
}

// Address is where the value of e lies, for helpers that are given kernel
// objects.
func (f *fn) Address(e syntax.Expr) *ir.Value {
	if types.IsScalar(f.info.Types[e]) {
		return f.Scalar(e)
	}
	pl := f.place(e)
	return f.b.Add(pl.base, int64(pl.off))
}
