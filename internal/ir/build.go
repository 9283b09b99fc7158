package ir

import "github.com/hawktrace/hawk/internal/source"

// A Builder appends values to the current block of a function. Every value
// takes the current position, so that verifier messages lead to script lines.
type Builder struct {
	Fn  *Func
	Cur *Block
	At  source.Span
}

// NewBuilder starts a function with an empty entry block.
func NewBuilder(name string, nparams int) *Builder {
	f := &Func{Name: name, NParams: nparams}
	b := &Builder{Fn: f}
	b.Cur = b.NewBlock()
	return b
}

// NewBlock adds a block that is not yet reachable.
//
//go:noinline
func (b *Builder) NewBlock() *Block { return b.Fn.NewBlock(b.At) }

// NewBlock adds a block that is not yet reachable.
func (f *Func) NewBlock(at source.Span) *Block {
	// Numbers only grow, so that tables by number need no more room than the next one.
	blk := &Block{ID: f.nextBlock, Func: f, At: at}
	f.nextBlock++
	f.Blocks = append(f.Blocks, blk)
	return blk
}

// NewObject adds memory of size bytes.
//
//go:noinline
func (b *Builder) NewObject(name string, size, align int) *Object {
	o := &Object{ID: b.Fn.nextObject, Name: name, Size: size, Align: align}
	b.Fn.nextObject++
	b.Fn.Objects = append(b.Fn.Objects, o)
	return o
}

// NewValue makes a value of f that is in no block yet.
func (f *Func) NewValue(op Op, kind Kind, args ...*Value) *Value {
	v := &Value{ID: f.nextValue, Op: op, Kind: kind, Args: args}
	f.nextValue++
	return v
}

//go:noinline
func (b *Builder) add(v *Value) *Value {
	v.At, v.Block = b.At, b.Cur
	b.Cur.Values = append(b.Cur.Values, v)
	return v
}

// Emit appends an operation to the current block. Neither it nor the others that are called most are
// inlined: there are thousands of calls, which took 0.9 MB of a program with hawk in it.
//
//go:noinline
func (b *Builder) Emit(op Op, kind Kind, args ...*Value) *Value {
	return b.add(b.Fn.NewValue(op, kind, args...))
}

// Const is an integer constant.
//
//go:noinline
func (b *Builder) Const(n int64) *Value {
	v := b.Emit(Const, I64)
	v.Imm = n
	return v
}

// Param is parameter n of the function.
func (b *Builder) Param(n int, kind Kind) *Value {
	v := b.Emit(Param, kind)
	v.Imm = int64(n)
	return v
}

// Addr is the address of byte off of an object.
//
//go:noinline
func (b *Builder) Addr(o *Object, off int) *Value {
	v := b.Emit(Addr, Ptr)
	v.Obj, v.Imm = o, int64(off)
	return v
}

// Data is the address of a byte of the data map.
//
//go:noinline
func (b *Builder) Data(off int) *Value {
	v := b.Emit(DataPtr, Ptr)
	v.Imm = int64(off)
	return v
}

// MapPtr is the map numbered n in the object, as a helper's argument.
//
//go:noinline
func (b *Builder) MapPtr(n int) *Value {
	v := b.Emit(MapPtr, Ptr)
	v.Imm = int64(n)
	return v
}

// FuncPtr is the address of a callback.
func (b *Builder) FuncPtr(f *Func) *Value {
	v := b.Emit(FuncPtr, Ptr)
	v.Fn = f
	return v
}

// Reloc is a number that the loader puts in place of relocation n.
func (b *Builder) Reloc(n int) *Value {
	v := b.Emit(Reloc, I64)
	v.Imm = int64(n)
	return v
}

// Arith is x op y for an arithmetic op or comparison. The result is a pointer
// if op is Add or Sub and x is one.
func (b *Builder) Arith(op Op, x, y *Value) *Value {
	// The verifier lets nothing but sums and differences stay pointers.
	kind := I64
	if (op == Add || op == Sub) && x.Kind == Ptr {
		kind = Ptr
	}
	return b.Emit(op, kind, x, y)
}

// with is x op a constant.
//
//go:noinline
func (b *Builder) with(op Op, x *Value, n int64) *Value { return b.Arith(op, x, b.Const(n)) }

// The operations below have a constant on the right, as most have that routines of the kernel's side
// are made of. Two values are for Arith.

// Eq is 1 if x is n, else 0.
func (b *Builder) Eq(x *Value, n int64) *Value { return b.with(Eq, x, n) }

// Ne is 1 if x is not n, else 0.
func (b *Builder) Ne(x *Value, n int64) *Value { return b.with(Ne, x, n) }

// ULt is 1 if x is below n, both without a sign, else 0.
func (b *Builder) ULt(x *Value, n int64) *Value { return b.with(ULt, x, n) }

// ULe is 1 if x is n or below, both without a sign, else 0.
func (b *Builder) ULe(x *Value, n int64) *Value { return b.with(ULe, x, n) }

// SLt is 1 if x is below n, both with a sign, else 0.
func (b *Builder) SLt(x *Value, n int64) *Value { return b.with(SLt, x, n) }

// And is x & n.
func (b *Builder) And(x *Value, n int64) *Value { return b.with(And, x, n) }

// Or is x | n.
func (b *Builder) Or(x *Value, n int64) *Value { return b.with(Or, x, n) }

// Xor is x ^ n.
func (b *Builder) Xor(x *Value, n int64) *Value { return b.with(Xor, x, n) }

// Mul is x * n.
func (b *Builder) Mul(x *Value, n int64) *Value { return b.with(Mul, x, n) }

// Shl is x << n.
func (b *Builder) Shl(x *Value, n int64) *Value { return b.with(Shl, x, n) }

// LShr is x >> n, with zeroes from above.
func (b *Builder) LShr(x *Value, n int64) *Value { return b.with(LShr, x, n) }

// AShr is x >> n, with the sign from above.
func (b *Builder) AShr(x *Value, n int64) *Value { return b.with(AShr, x, n) }

// UMin is the smaller of x and n, unsigned.
func (b *Builder) UMin(x *Value, n int64) *Value { return b.with(UMin, x, n) }

// Add is x + a constant; it returns x itself for 0.
func (b *Builder) Add(x *Value, n int64) *Value {
	if n == 0 {
		return x
	}
	return b.Arith(Add, x, b.Const(n))
}

// Ext keeps the low size bytes of x and extends them by sign.
func (b *Builder) Ext(x *Value, size int, sign bool) *Value {
	v := b.Emit(Ext, I64, x)
	v.Size, v.Sign = uint8(size), sign
	return v
}

// Load reads size bytes at p+off.
func (b *Builder) Load(p *Value, off, size int, sign bool) *Value {
	v := b.Emit(Load, I64, p)
	v.Imm, v.Size, v.Sign = int64(off), uint8(size), sign
	return v
}

// U64 reads eight bytes at p+off.
//
//go:noinline
func (b *Builder) U64(p *Value, off int) *Value { return b.Load(p, off, 8, false) }

// U32 reads four bytes at p+off, without a sign.
//
//go:noinline
func (b *Builder) U32(p *Value, off int) *Value { return b.Load(p, off, 4, false) }

// U8 reads the byte at p+off, without a sign.
//
//go:noinline
func (b *Builder) U8(p *Value, off int) *Value { return b.Load(p, off, 1, false) }

// LoadPtr reads a pointer at p+off that the verifier knows as one.
func (b *Builder) LoadPtr(p *Value, off int) *Value {
	v := b.Emit(Load, Ptr, p)
	v.Imm, v.Size = int64(off), 8
	return v
}

// Store writes the low size bytes of x to p+off.
//
//go:noinline
func (b *Builder) Store(p *Value, off, size int, x *Value) *Value {
	v := b.Emit(Store, Nothing, p, x)
	v.Imm, v.Size = int64(off), uint8(size)
	return v
}

// maxInline is how many bytes Zero and Copy move by instructions at most;
// codegen refuses more.
const maxInline = 4096

// readKernel is bpf_probe_read_kernel(dst, n, src), which serves where
// instructions would be too many: it copies, and a read that fails, as at
// address 0, leaves zeroes behind.
const readKernel = 113

// Zero clears n bytes at p+off.
func (b *Builder) Zero(p *Value, off, n int) {
	switch {
	case n > maxInline:
		b.Call(readKernel, b.Add(p, int64(off)), b.Const(int64(n)), b.Const(0))
	case n > 0:
		v := b.Emit(Zero, Nothing, p)
		v.Imm, v.Len = int64(off), n
	}
}

// Copy moves n bytes from src to dst+off; both are memory that programs may
// access directly, and they do not overlap.
func (b *Builder) Copy(dst *Value, off int, src *Value, n int) {
	switch {
	case n > maxInline:
		b.Call(readKernel, b.Add(dst, int64(off)), b.Const(int64(n)), src)
	case n > 0:
		v := b.Emit(Copy, Nothing, dst, src)
		v.Imm, v.Len = int64(off), n
	}
}

// AtomicAdd adds x to the size bytes at p+off.
func (b *Builder) AtomicAdd(p *Value, off, size int, x *Value) {
	v := b.Emit(AtomicAdd, Nothing, p, x)
	v.Imm, v.Size = int64(off), uint8(size)
}

// Call calls a helper that yields a number.
//
//go:noinline
func (b *Builder) Call(helper int, args ...*Value) *Value {
	v := b.Emit(Call, I64, args...)
	v.Imm = int64(helper)
	return v
}

// Kfunc calls a function of the kernel by its BTF ID; kind is that of the
// result.
func (b *Builder) Kfunc(id uint32, name string, kind Kind, args ...*Value) *Value {
	v := b.Emit(CallKfunc, kind, args...)
	v.Imm, v.Sym = int64(id), name
	return v
}

// State is the address of a byte of the state that all functions share.
func (b *Builder) State(off int) *Value {
	v := b.Emit(State, Ptr)
	v.Imm = int64(off)
	return v
}

// Slot is the number of the scratch slot that holds the state.
func (b *Builder) Slot() *Value { return b.Emit(Slot, I64) }

// Piece calls a function that is verified by itself.
func (b *Builder) Piece(fn *Func, args ...*Value) *Value {
	v := b.Emit(CallPiece, I64, args...)
	v.Fn = fn
	return v
}

// CallPtr calls a helper that yields a pointer or null.
//
//go:noinline
func (b *Builder) CallPtr(helper int, args ...*Value) *Value {
	v := b.Emit(Call, Ptr, args...)
	v.Imm = int64(helper)
	return v
}

// Jump ends the current block.
//
//go:noinline
func (b *Builder) Jump(to *Block) { b.end(Jump, nil, to) }

// If ends the current block with a branch on c != 0.
//
//go:noinline
func (b *Builder) If(c *Value, then, els *Block) { b.end(If, c, then, els) }

// MayGoto ends the current block with a branch on the loop budget.
func (b *Builder) MayGoto(more, out *Block) { b.end(MayGoto, nil, more, out) }

// Ret ends the current block and the function.
func (b *Builder) Ret(v *Value) { b.end(Ret, v) }

// end ends the current block. There is none until Begin.
func (b *Builder) end(kind BlockKind, ctl *Value, succs ...*Block) {
	b.Cur.Kind, b.Cur.Ctl, b.Cur.Succs, b.Cur.At = kind, ctl, succs, b.At
	for _, s := range succs {
		s.Preds = append(s.Preds, b.Cur)
	}
	b.Cur = nil
}

// Ended reports whether the current block has been ended and no other begun.
func (b *Builder) Ended() bool { return b.Cur == nil }

// Begin makes blk the current block.
//
//go:noinline
func (b *Builder) Begin(blk *Block) { b.Cur = blk }
