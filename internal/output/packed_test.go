package output

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

type wordings struct{ value.Env }

func (wordings) Trailer() string    { return ".." }
func (wordings) Unreadable() string { return "<?>" }

// bytesOf is memory of so many bytes that begins with integers, 8 bytes each.
func bytesOf(size int, words ...int) []byte {
	raw := make([]byte, size)
	for i, w := range words {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(w))
	}
	return raw
}

// TestPacked compares entries kept as bytes with the same ones kept as values.
func TestPacked(t *testing.T) {
	pair := types.NewTuple(types.Int64, &types.String{Cap: 16, Trunc: true})
	pairOf := func(i int) []byte {
		raw := bytesOf(24, i%9-4)
		copy(raw[8:23], fmt.Sprint("abcdefghij"[:i%11], i))
		return raw
	}
	average := func(c []byte) value.Value {
		return value.Avg{Total: int64(binary.LittleEndian.Uint64(c)), Count: 2, Signed: true}
	}
	decode := func(typ types.Type) func([]byte) value.Value {
		return func(c []byte) value.Value { return value.Decode(typ, c, wordings{}) }
	}
	long := &types.String{Cap: blockBytes}
	for _, c := range []struct {
		name      string
		key       types.Type
		cell      int
		show      func(c []byte) value.Value
		n, packed int // elements, and how many of them stay bytes
		element   func(i int) (key, cell []byte)
	}{
		{"tuples", pair, 8, decode(types.Int64), 20_000, 20_000,
			func(i int) (key, cell []byte) { return pairOf(i), bytesOf(8, i%5-2) }},
		{"averages", types.Int64, 8, average, 30_000, 30_000,
			func(i int) (key, cell []byte) { return bytesOf(8, i), bytesOf(8, 3*i%100-50) }},
		{"strings", pair, 16, decode(&types.String{Cap: 16}), 500, 500,
			func(i int) (key, cell []byte) { return pairOf(i), append(fmt.Append(nil, i), make([]byte, 16)...)[:16] }},
		{"histograms", types.Uint32, 8 * 66, func(c []byte) value.Value {
			counts := make([]uint64, 66)
			for i := range counts {
				counts[i] = binary.LittleEndian.Uint64(c[8*i:])
			}
			return value.Hist{Buckets: value.Log2Buckets(0, counts)}
		}, 300, 300, func(i int) (key, cell []byte) {
			cell = bytesOf(8 * 66)
			for b := range i % 5 {
				cell[8*((13*i+7*b)%66)] = byte(i)
			}
			cell[8*65]++
			return nil, cell
		}},
		{"series", types.Uint32, 16, func(c []byte) value.Value {
			at, v := int64(binary.LittleEndian.Uint64(c)), int64(binary.LittleEndian.Uint64(c[8:]))
			return value.Series{Interval: 1e9, Count: 5, Signed: true, Points: []value.Point{{Epoch: at, Value: v}}}
		}, 40, 40, func(i int) (key, cell []byte) { return nil, bytesOf(16, 1000+i%7, i-20) }},
		{"numbers", types.Uint64, 8, decode(types.Uint64), 100, 0,
			func(i int) (key, cell []byte) { return bytesOf(8, i), bytesOf(8, -i) }},
		{"too long", long, 8, decode(types.Int64), 10, 0, func(i int) (key, cell []byte) {
			return append(bytes.Repeat([]byte{byte('a' + i)}, blockBytes-1), 0), bytesOf(8, i)
		}},
		{"one too long", long, 8, decode(types.Int64), 10, 0, func(i int) (key, cell []byte) {
			key = make([]byte, blockBytes)
			copy(key, bytes.Repeat([]byte{byte('a' + i)}, 1+i/9*(blockBytes-2)))
			return key, bytesOf(8, i)
		}},
		{"large", long, 8, decode(types.Int64), 40, 40, func(i int) (key, cell []byte) {
			key = make([]byte, blockBytes)
			copy(key, bytes.Repeat([]byte{byte('a' + i%26)}, 90_000+i))
			return key, bytesOf(8, i)
		}},
	} {
		how := &Packing{Key: c.key, Cell: c.cell, Value: c.show, Env: wordings{}}
		for _, limit := range []struct{ top, div int64 }{{0, 1}, {7, 1}, {0, 3}} {
			var a, b Entries
			for i := range c.n {
				i = i * 7919 % c.n
				key, cell := c.element(i)
				if len(key) == 0 {
					key = binary.LittleEndian.AppendUint32(nil, uint32(i))
				}
				a.Pack(how, key, cell)
				b.values = append(b.values, Entry{value.Decode(c.key, key, wordings{}), c.show(cell)})
			}
			if a.Len() != c.n || a.packed.places.len() != c.packed {
				t.Errorf("%s: %d of %d are kept as bytes", c.name, a.packed.places.len(), a.Len())
			}
			var text, json [2]string
			for way, entries := range []Entries{a, b} {
				text[way], json[way] = printed(Map{Name: "@m", Keyed: true, Entries: entries, Top: limit.top,
					Div: limit.div})
			}
			if text[0] != text[1] || json[0] != json[1] || text[0] == "" || json[0] == "" {
				t.Errorf("%s, %v: the two ways differ", c.name, limit)
			}
		}
	}
}

// TestSqueezed reads cells back that were made at random of runs.
func TestSqueezed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		var cell []byte
		for range rng.IntN(6) {
			fill := byte(rng.IntN(3))
			cell = append(cell, bytes.Repeat([]byte{fill}, rng.IntN(300))...)
		}
		form := appendSqueezed(nil, cell)
		if got := squeezed(nil, form, len(cell)); !bytes.Equal(got, cell) {
			t.Fatalf("%x was read back as %x", cell, got)
		}
		if most := len(cell) + 1 + len(cell)/64; len(form) > most {
			t.Fatalf("%d bytes take %d: %x", len(cell), len(form), cell)
		}
		for i := range form {
			squeezed(nil, form[:i], len(cell))
		}
	}
}
