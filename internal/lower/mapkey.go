package lower

import (
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// The kernel hashes and compares all of a key. A text takes max_strlen bytes of it, of which all but
// some twenty are zeroes mostly. So a map whose key ends in a text is two kernel maps, of which one
// is for short texts. Which of them an element is in follows from its key alone: if the key of
// the first, at the size of the second, ends in a zero and only zeroes come after that, it is short.

// shortText is how many bytes of a text a short key has at least, the NUL included.
const shortText = 64

// shortKey is where the text begins that a key ends in, and how many bytes the key has if that is
// short. The size is 0 for keys that are not worth two maps.
func shortKey(key types.Type) (at, size int) {
	if t, ok := key.(*types.Tuple); ok && len(t.Elems) > 0 {
		last := len(t.Elems) - 1
		key, at = t.Elems[last], t.Offsets[last]
	}
	if s, ok := key.(*types.String); !ok || s.Cap < 3*shortText {
		return 0, 0
	}
	return at, types.RoundUp(at+shortText, 8)
}

// A mapKey is the key of an element in memory.
type mapKey struct {
	// whole is padded with zeroes to the size that the map's keys have.
	whole *ir.Value
	// isShort says, of a map that keeps short keys apart, whether this is one. If it is, short holds
	// it, else whole.
	isShort, short *ir.Value
}

// tables do something by a key in the kernel map that the element belongs into.
type tables func(k mapKey, op func(table, key *ir.Value) *ir.Value) *ir.Value

// tables is asked for once for an element, and may be used several times for the same.
func (f *fn) tables(s *object.ScriptMap) tables {
	table := f.table(s)
	return func(k mapKey, op func(table, key *ir.Value) *ir.Value) *ir.Value {
		if s.Short == 0 {
			return op(table(), k.whole)
		}
		return f.Choose(k.isShort, func() *ir.Value { return op(f.b.MapPtr(s.Short), k.short) },
			func() *ir.Value {
				f.b.Cur.Cold = true
				return op(f.b.MapPtr(s.Map), k.whole)
			})
	}
}

// key lowers a map's key to memory.
func (f *fn) key(s *object.ScriptMap, keys []syntax.Expr) mapKey {
	if s.Short != 0 {
		if k, ok := f.keyByText(s, keys); ok {
			return k
		}
	}
	k := mapKey{whole: f.wholeKey(s, keys)}
	if s.Short != 0 {
		k.short, k.isShort = k.whole, f.isShort(s, k.whole)
	}
	return k
}

// wholeKey lowers a key, padded with zeroes to the map's key size.
func (f *fn) wholeKey(s *object.ScriptMap, keys []syntax.Expr) *ir.Value {
	b := f.b
	size := f.m.obj.Maps[s.Map].KeySize
	p := f.Temp("key", size, 8)
	if f.given != nil {
		b.Store(p, 0, 8, f.given.key)
		return p
	}
	f.keeping(func() {
		switch {
		case s.Key == nil:
			b.Store(p, 0, 8, f.konst(0))
		case len(keys) > 1:
			f.tupleInto(keys, s.Key.(*types.Tuple), p, 0)
		case types.IsScalar(s.Key) && s.Key.Size() < 8:
			// One store of the whole word instead of the value and its padding.
			b.Store(p, 0, 8, f.keyWord(s, keys[0]))
			return
		default:
			f.Into(keys[0], s.Key, p, 0)
		}
		if s.Key != nil {
			b.Zero(p, s.Key.Size(), size-s.Key.Size())
		}
	})
	return p
}

// isShort tells whether a whole key is a short one.
func (f *fn) isShort(s *object.ScriptMap, p *ir.Value) *ir.Value {
	b := f.b
	size := f.m.obj.Maps[s.Short].KeySize
	rest := b.U8(p, size-1)
	for at := size; at < f.m.obj.Maps[s.Map].KeySize; at += 8 {
		rest = b.Arith(ir.Or, rest, b.U64(p, at))
	}
	return b.Eq(rest, 0)
}

// keyByText is key for one that ends in a text of the traced world. As much of that is read as a
// short key holds, and all of it only if there is more. ok is false for other keys, and where failed
// reads are counted: none must be made twice.
func (f *fn) keyByText(s *object.ScriptMap, keys []syntax.Expr) (k mapKey, ok bool) {
	b := f.b
	at, _ := shortKey(s.Key)
	short, whole := f.m.obj.Maps[s.Short].KeySize, f.m.obj.Maps[s.Map].KeySize
	last := len(keys) - 1
	t, isTuple := s.Key.(*types.Tuple)
	if f.m.o.Warnings || last < 0 || isTuple != (last > 0) {
		return k, false
	}
	e := syntax.Unparen(f.info.Evaluated(keys[last]))
	c := f.info.Calls[e]
	text, isText := f.info.Types[e].(*types.String)
	if c == nil || c.Func == nil || c.Func.Source == nil || !isText || text.Cap <= short-at {
		return k, false
	}
	if _, constant := f.info.Consts[e]; constant {
		return k, false
	}
	f.keeping(func() {
		k.short = f.Temp("short", short, 8)
		end := 0
		for i, key := range keys[:last] {
			b.Zero(k.short, end, t.Offsets[i]-end)
			f.Into(key, t.Elems[i], k.short, t.Offsets[i])
			end = t.Offsets[i] + t.Elems[i].Size()
		}
		b.Zero(k.short, end, short-end)
		f.at(e, func() {
			read := c.Func.Source(f, c)
			k.whole = f.Temp("key", whole, 8)
			if read == nil {
				b.Copy(k.whole, 0, k.short, at)
				f.Into(e, text, k.whole, at)
				b.Zero(k.whole, at+text.Cap, whole-at-text.Cap)
				k.short, k.isShort = k.whole, f.isShort(s, k.whole)
				return
			}
			room := short - at
			n := read(b.Add(k.short, int64(at)), room)
			k.isShort = f.Choose(b.ULt(n, int64(room)), func() *ir.Value { return f.konst(1) },
				func() *ir.Value {
					f.b.Cur.Cold = true
					b.Copy(k.whole, 0, k.short, at)
					b.Zero(k.whole, at, whole-at)
					read(b.Add(k.whole, int64(at)), text.Cap)
					// It just fits, or has become another one. Behind its NUL there are zeroes.
					is := b.Eq(b.U8(k.whole, short-1), 0)
					f.Rarely(is, func() { b.Copy(k.short, 0, k.whole, short) })
					return is
				})
		})
	})
	return k, true
}
