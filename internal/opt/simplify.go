package opt

import (
	"math"
	"math/bits"

	"github.com/hawktrace/hawk/internal/ir"
)

// simplify folds constants, removes arithmetic without effect, prefers cheap
// operations to dear ones, folds constant offsets into memory accesses, and
// turns branches on constants into jumps, until nothing changes.
// Values of a block are looked at in reverse postorder of blocks: arguments of all but phis are
// simple by then.
func simplify(f *ir.Func) {
	f.RemoveUnreachable()
	for range 20 { // nothing needs more; a bound in case two rules disagree
		s := &simplifier{f: f, same: make(map[*ir.Value]*ir.Value)}
		for _, b := range f.ReversePostorder() {
			s.block(b)
		}
		s.replaceAll()
		if s.branches() {
			f.RemoveUnreachable()
			s.changed = true
		}
		if !s.changed {
			return
		}
	}
}

// A simplifier is the state of a walk over the values of a function.
type simplifier struct {
	f       *ir.Func
	same    map[*ir.Value]*ir.Value // value → what it equals
	out     []*ir.Value             // the block's new values
	cur     *ir.Value
	changed bool
}

// find is the value that stands for another in the end.
func (s *simplifier) find(v *ir.Value) *ir.Value {
	for {
		to, ok := s.same[v]
		if !ok {
			return v
		}
		v = to
	}
}

// replaceAll reaches the arguments of phis from blocks further down, which block has not seen.
func (s *simplifier) replaceAll() {
	if len(s.same) > 0 {
		s.f.ReplaceUses(s.find)
	}
}

// block simplifies the values of a block in their order, so that operands are simple already.
func (s *simplifier) block(b *ir.Block) {
	s.out = make([]*ir.Value, 0, len(b.Values)+4)
	phis := len(b.Phis())
	for i, v := range b.Values {
		if i < phis {
			// Constants may not come between phis.
			if x := s.phi(v); x != nil {
				s.same[v], s.changed = x, true
			} else {
				s.out = append(s.out, v)
			}
			continue
		}
		for k, a := range v.Args {
			v.Args[k] = s.find(a)
		}
		s.cur = v
		if x := s.value(v); x != nil && x != v {
			s.same[v], s.changed = x, true
			continue
		}
		s.out = append(s.out, v)
	}
	b.Values = s.out
	if b.Ctl != nil {
		b.Ctl = s.find(b.Ctl)
	}
}

// phi returns what v equals if all its arguments are the same.
func (s *simplifier) phi(v *ir.Value) *ir.Value {
	var only *ir.Value
	for i, a := range v.Args {
		a = s.find(a)
		v.Args[i] = a
		if a == v || a == only {
			continue
		}
		if only != nil {
			return nil
		}
		only = a
	}
	return only
}

// constant adds a constant in front of the current value.
func (s *simplifier) constant(n int64) *ir.Value {
	c := s.f.NewValue(ir.Const, ir.I64)
	c.Imm = n
	s.place(c)
	return c
}

// place puts a new value in front of the current one.
func (s *simplifier) place(v *ir.Value) {
	v.At, v.Block = s.cur.At, s.cur.Block
	s.out = append(s.out, v)
}

// become turns the current value into another operation.
// The value keeps its name, so that nothing else has to be changed.
func (s *simplifier) become(op ir.Op, args ...*ir.Value) *ir.Value {
	v := s.cur
	v.Op, v.Args, v.Imm, v.Size, v.Sign = op, args, 0, 0, false
	s.changed = true
	return v
}

// value returns what v equals: another value, v itself after a change, or nil
// if there is nothing to do.
func (s *simplifier) value(v *ir.Value) *ir.Value {
	if v.Op.Accesses() {
		s.address(v)
	}
	switch v.Op {
	case ir.Store:
		s.narrowStore(v)
		return nil
	case ir.Ext:
		return s.ext(v)
	}
	if !v.Op.Pure() || len(v.Args) == 0 {
		return nil
	}
	x := v.Args[0]
	if len(v.Args) == 1 {
		if x.Op == ir.Const {
			n, _ := fold(v, x.Imm, 0)
			return s.constant(n)
		}
		if v.Op == ir.Neg && x.Op == ir.Neg {
			return x.Args[0]
		}
		return nil
	}
	y := v.Args[1]
	if x.Op == ir.Const && y.Op == ir.Const {
		if n, ok := fold(v, x.Imm, y.Imm); ok {
			return s.constant(n)
		}
	}
	if v.Op.Commutative() && x.Op == ir.Const && y.Kind != ir.Nothing {
		v.Args[0], v.Args[1], s.changed = y, x, true
		x, y = y, x
	}
	if v.Op.Compares() {
		return s.compare(v, x, y)
	}
	if y.Op == ir.Const {
		if r := s.withConst(v, x, y, y.Imm); r != nil {
			return r
		}
	}
	if x == y && x.Kind == ir.I64 {
		switch v.Op {
		case ir.Sub, ir.Xor:
			return s.constant(0)
		case ir.And, ir.Or:
			return x
		}
	}
	return nil
}

// withConst simplifies x op n.
func (s *simplifier) withConst(v, x, y *ir.Value, n int64) *ir.Value {
	switch v.Op {
	case ir.Add:
		switch {
		case n == 0:
			return x
		case x.Op == ir.Addr && x.Imm+n >= 0 && x.Imm+n <= int64(x.Obj.Size):
			obj, off := x.Obj, x.Imm+n
			s.become(ir.Addr)
			v.Obj, v.Imm = obj, off
			return v
		case x.Op == ir.DataPtr && x.Imm+n >= 0 && x.Imm+n <= math.MaxInt32:
			off := x.Imm + n
			s.become(ir.DataPtr)
			v.Imm = off
			return v
		case x.Op == ir.State && x.Imm+n >= 0 && x.Imm+n <= math.MaxInt32:
			off := x.Imm + n
			s.become(ir.State)
			v.Imm = off
			return v
		case x.Op == ir.Add && x.Args[1].Op == ir.Const:
			return s.become(ir.Add, x.Args[0], s.constant(x.Args[1].Imm+n))
		}
	case ir.Sub:
		if n == 0 {
			return x
		}
		return s.become(ir.Add, x, s.constant(-n))
	case ir.Mul:
		switch {
		case n == 0:
			return y
		case n == 1:
			return x
		case n == -1:
			return s.become(ir.Neg, x)
		case n > 0 && n&(n-1) == 0:
			return s.become(ir.Shl, x, s.constant(int64(bits.TrailingZeros64(uint64(n)))))
		}
	// Division by zero is 0 in the kernel's machine, and the remainder of one the dividend; a
	// script's own rule, 1, is made by lower.
	case ir.UDiv:
		switch {
		case n == 0:
			return y
		case n == 1:
			return x
		case n&(n-1) == 0:
			return s.become(ir.LShr, x, s.constant(int64(bits.TrailingZeros64(uint64(n)))))
		}
	case ir.UMod:
		switch {
		case n == 0:
			return x
		case n&(n-1) == 0:
			return s.become(ir.And, x, s.constant(n-1))
		}
	case ir.SDiv:
		switch n {
		case 0:
			return y
		case 1:
			return x
		case -1:
			return s.become(ir.Neg, x)
		}
	case ir.SMod:
		switch n {
		case 0:
			return x
		case 1, -1:
			return s.constant(0)
		}
	case ir.And:
		switch {
		case n == 0:
			return y
		case n == -1:
			return x
		case x.Op == ir.And && x.Args[1].Op == ir.Const:
			return s.become(ir.And, x.Args[0], s.constant(x.Args[1].Imm&n))
		case n > 0 && n&(n+1) == 0 && width(x) <= bits.Len64(uint64(n)):
			return x
		case n == math.MaxUint32:
			s.become(ir.Ext, x)
			v.Size = 4
			return v
		}
	case ir.Or:
		switch {
		case n == 0:
			return x
		case n == -1:
			return y
		case x.Op == ir.Or && x.Args[1].Op == ir.Const:
			return s.become(ir.Or, x.Args[0], s.constant(x.Args[1].Imm|n))
		}
	case ir.Xor:
		switch {
		case n == 0:
			return x
		case x.Op == ir.Xor && x.Args[1].Op == ir.Const:
			return s.become(ir.Xor, x.Args[0], s.constant(x.Args[1].Imm^n))
		}
	case ir.Shl, ir.LShr, ir.AShr:
		n &= 63
		switch {
		case n == 0:
			return x
		case x.Op == v.Op && x.Args[1].Op == ir.Const:
			sum := x.Args[1].Imm&63 + n
			if sum < 64 {
				return s.become(v.Op, x.Args[0], s.constant(sum))
			}
			if v.Op != ir.AShr {
				return s.constant(0)
			}
			return s.become(ir.AShr, x.Args[0], s.constant(63))
		case v.Op == ir.LShr && width(x) <= int(n):
			return s.constant(0)
		}
	}
	return nil
}

// ext drops an extension that changes nothing, and joins two of them.
func (s *simplifier) ext(v *ir.Value) *ir.Value {
	x, size := v.Args[0], v.Size
	switch {
	case x.Op == ir.Const:
		return s.constant(extend(x.Imm, size, v.Sign))
	case size == 8,
		!v.Sign && width(x) <= 8*int(size),
		v.Sign && width(x) < 8*int(size),
		v.Sign && (x.Op == ir.Ext || x.Op == ir.Load) && x.Sign && x.Size <= size:
		return x
	case x.Op == ir.Ext && x.Size >= size,
		x.Op == ir.And && x.Args[1].Op == ir.Const && x.Args[1].Imm&lowBytes(size) == lowBytes(size):
		v.Args[0], s.changed = x.Args[0], true
		return v
	}
	return nil
}

// lowBytes has the bits of size bytes set.
func lowBytes(size uint8) int64 { return int64(^uint64(0) >> (64 - 8*uint(size))) }

// narrowStore drops work on bits that the store does not write.
func (s *simplifier) narrowStore(v *ir.Value) {
	for {
		x := v.Args[1]
		switch {
		case x.Op == ir.Ext && x.Size >= v.Size:
		case x.Op == ir.And && x.Args[1].Op == ir.Const && x.Args[1].Imm&lowBytes(v.Size) == lowBytes(v.Size):
		default:
			return
		}
		v.Args[1], s.changed = x.Args[0], true
	}
}

// address folds a constant offset of v's address into v.
// An offset has 16 bits in an instruction; a larger one stays an addition.
func (s *simplifier) address(v *ir.Value) {
	p := v.Args[0]
	if p.Op == ir.Add && p.Args[1].Op == ir.Const && p.Args[0].Kind == ir.Ptr {
		off := v.Imm + p.Args[1].Imm
		if off == int64(int16(off)) {
			v.Args[0], v.Imm, s.changed = p.Args[0], off, true
		}
	}
}

// neverNull reports whether v is a pointer that is not null.
// Lookups are not among them, whose null is what scripts test.
func neverNull(v *ir.Value) bool {
	switch v.Op {
	case ir.Addr, ir.DataPtr, ir.MapPtr, ir.FuncPtr, ir.State:
		return true
	}
	return false
}

// isBool reports whether a value is 0 or 1 and not known.
func isBool(v *ir.Value) bool { return width(v) == 1 && v.Op != ir.Const }

// compare simplifies a comparison; nil if nothing is known of it.
// Constants stand on the right by then, as far as the comparison can be turned around.
func (s *simplifier) compare(v, x, y *ir.Value) *ir.Value {
	if x == y {
		if v.Op == ir.Eq || v.Op == ir.ULe || v.Op == ir.SLe {
			return s.constant(1)
		}
		return s.constant(0)
	}
	switch {
	case isConst(y, 0):
		switch v.Op {
		case ir.ULt:
			return y
		case ir.ULe:
			return s.become(ir.Eq, x, y)
		}
	case isConst(y, 1) && v.Op == ir.ULt:
		return s.become(ir.Eq, x, s.constant(0))
	case isConst(x, 0):
		switch v.Op {
		case ir.ULt:
			return s.become(ir.Ne, y, x)
		case ir.ULe:
			return s.constant(1)
		}
	}
	if y.Op != ir.Const || v.Op != ir.Eq && v.Op != ir.Ne {
		return nil
	}
	n := y.Imm
	switch {
	case n == 0 && neverNull(x):
		if v.Op == ir.Ne {
			return s.constant(1)
		}
		return y
	case isBool(x) && n != 0 && n != 1:
		if v.Op == ir.Ne {
			return s.constant(1)
		}
		return s.constant(0)
	case isBool(x) && (n == 1) == (v.Op == ir.Eq):
		return x
	case isBool(x) && n == 1: // x != 1
		return s.become(ir.Eq, x, s.constant(0))
	case isBool(x) && x.Op.Compares(): // x == 0
		return s.not(x)
	case (x.Op == ir.Xor || x.Op == ir.Sub && x.Kind == ir.I64) && n == 0 && x.Args[0].Kind == ir.I64 &&
		x.Args[1].Kind == ir.I64:
		return s.become(v.Op, x.Args[0], x.Args[1])
	case x.Op == ir.Add && x.Kind == ir.I64 && x.Args[1].Op == ir.Const && x.Args[0].Kind == ir.I64:
		return s.become(v.Op, x.Args[0], s.constant(n-x.Args[1].Imm))
	case width(x) < 64 && (n < 0 || bits.Len64(uint64(n)) > width(x)):
		if v.Op == ir.Ne {
			return s.constant(1)
		}
		return s.constant(0)
	}
	return nil
}

// not turns the current value into the opposite of comparison c.
func (s *simplifier) not(c *ir.Value) *ir.Value {
	x, y := c.Args[0], c.Args[1]
	switch c.Op {
	case ir.Eq:
		return s.become(ir.Ne, x, y)
	case ir.Ne:
		return s.become(ir.Eq, x, y)
	case ir.ULt:
		return s.become(ir.ULe, y, x)
	case ir.ULe:
		return s.become(ir.ULt, y, x)
	case ir.SLt:
		return s.become(ir.SLe, y, x)
	}
	return s.become(ir.SLt, y, x)
}

// branches simplifies the ends of blocks and reports whether an edge went away.
// A test of bits stays as it is: the machine has a jump for it, JSET.
func (s *simplifier) branches() bool {
	removed := false
	for _, b := range s.f.Blocks {
		if b.Kind != ir.If {
			continue
		}
		for {
			c := b.Ctl
			if c.Op == ir.Ne && isConst(c.Args[1], 0) && c.Args[0].Kind == ir.I64 && c.Args[0].Op != ir.And {
				b.Ctl, s.changed = c.Args[0], true
				continue
			}
			if c.Op == ir.Eq && isConst(c.Args[1], 0) && isBool(c.Args[0]) && b.Succs[0] != b.Succs[1] {
				b.Ctl, s.changed = c.Args[0], true
				b.Succs[0], b.Succs[1] = b.Succs[1], b.Succs[0]
				continue
			}
			break
		}
		switch {
		case b.Ctl.Op == ir.Const:
			i := 0
			if b.Ctl.Imm != 0 {
				i = 1
			}
			b.RemoveSucc(i)
			removed = true
		case neverNull(b.Ctl):
			b.RemoveSucc(1)
			removed = true
		case b.Succs[0] == b.Succs[1] && len(b.Succs[0].Phis()) == 0:
			b.RemoveSucc(1)
			removed = true
		}
	}
	return removed
}
