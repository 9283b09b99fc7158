package lower

import (
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// compareMemory yields 0 if two values in memory are equal. Their padding
// counts, so that they have it whatever the result is for.
func (f *fn) compareMemory(x, y syntax.Expr) (differ *ir.Value) {
	f.quietly(func() { differ = f.comparePadded(x, y) })
	return differ
}

// comparePadded compares two values of one size, byte by byte, or with a literal up to its NUL.
func (f *fn) comparePadded(x, y syntax.Expr) *ir.Value {
	tx, ty := f.info.Types[x], f.info.Types[y]
	if k, ok := f.info.Consts[x]; ok && k.Kind == builtin.StrConst {
		return f.compareLiteral(y, ty, k.Str)
	}
	if k, ok := f.info.Consts[y]; ok && k.Kind == builtin.StrConst {
		return f.compareLiteral(x, tx, k.Str)
	}
	t := tx
	if j, ok := types.Join(types.Flex{Type: tx}, types.Flex{Type: ty}); ok {
		t = j.Type
	}
	var a *ir.Value
	f.before(func() { a = f.memAs(x, t) }, y)
	s := f.memAs(y, t)
	return builtin.CompareBytes(f, a, s, t.Size(), false)
}

// memAs is the address of e as a value of type t.
func (f *fn) memAs(e syntax.Expr, t types.Type) *ir.Value {
	if types.Same(f.info.Types[e], t) {
		return f.Mem(e)
	}
	p := f.Temp("value", types.RoundUp(t.Size(), 8), 8)
	f.Into(e, t, p, 0)
	return p
}

// compareLiteral compares a string with a literal: the bytes of the literal
// and its NUL decide, whatever follows.
func (f *fn) compareLiteral(e syntax.Expr, t types.Type, lit string) *ir.Value {
	b := f.b
	n := t.Size()
	p := f.Mem(e)
	lit, _, _ = strings.Cut(lit, "\x00")
	if len(lit) > n {
		return f.konst(1)
	}
	want := append([]byte(lit), 0)
	want = want[:min(len(want), n)]
	var acc *ir.Value
	// As wide as alignment allows; bytes behind the NUL of the literal are masked. All differences
	// are gathered in one word, so that there is one branch.
	for off := 0; off < len(want); {
		w := ir.Alignment(p, off)
		for w > n-off {
			w /= 2
		}
		var bits, mask uint64
		for i := range w {
			if off+i < len(want) {
				bits |= uint64(want[off+i]) << (8 * i)
				mask |= 0xff << (8 * i)
			}
		}
		v := b.Load(p, off, w, false)
		if w == 8 && mask != 1<<64-1 || w < 8 && mask != 1<<(8*w)-1 {
			v = b.And(v, int64(mask))
		}
		v = b.Xor(v, int64(bits))
		if acc == nil {
			acc = v
		} else {
			acc = b.Arith(ir.Or, acc, v)
		}
		off += w
	}
	return acc
}
