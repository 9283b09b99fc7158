package output

import (
	"bytes"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A Packing says what the bytes of a map's elements mean, which are kept as such where they are many: a histogram of
// one event is twenty bytes so, and as a value five thousand.
// Histograms and series have many cells of which few are not zero.
type Packing struct {
	Key   types.Type                    // one that value.Ordered takes
	Value func(cell []byte) value.Value // does not keep the cell
	Cell  int                           // bytes of a cell
	Env   value.Env                     // for keys
}

// packed are the elements of a map as bytes: of each the ordered form of its key, then its cell without its zeroes.
type packed struct {
	how    *Packing
	blocks [][]byte
	places list[place]
	form   []byte // room for the element that is being added
}

// A place is where an element is: the number of its block, and in how many places of that.
type place uint32

// The places of a block are every four bytes; all blocks have room for 16 gigabytes.
const (
	placeBits  = 16
	placeBytes = 4
	blockBytes = placeBytes << placeBits
)

// add adds an element; false if it has no room.
// The caller unpacks everything then, which costs memory but loses nothing.
func (p *packed) add(key, cell []byte) bool {
	p.form = appendSqueezed(value.AppendOrdered(p.form[:0], p.how.Key, key), cell)
	last, start := len(p.blocks)-1, 0
	if last >= 0 {
		start = types.RoundUp(len(p.blocks[last]), placeBytes)
	}
	if last < 0 || start+len(p.form) > blockBytes {
		if len(p.form) > blockBytes || last+1 == 1<<placeBits {
			return false
		}
		room := 0 // the first block grows, as most maps are small
		if last >= 0 {
			room = blockBytes
		}
		p.blocks = append(p.blocks, make([]byte, 0, room))
		last, start = last+1, 0
	}
	block := p.blocks[last]
	block = append(block, make([]byte, start-len(block))...)
	p.blocks[last] = append(block, p.form...)
	p.places.add(place(last<<placeBits | start/placeBytes))
	return true
}

// element is the bytes at a place, with all that follows them.
func (p *packed) element(at place) []byte {
	return p.blocks[at>>placeBits][int(at)%(1<<placeBits)*placeBytes:]
}

// compare orders two elements by their keys, of which no form begins another one: what is behind them decides nothing.
func (p *packed) compare(a, b place) int { return bytes.Compare(p.element(a), p.element(b)) }

// at is element i.
func (p *packed) at(i int) Entry {
	key, rest := value.DecodeOrdered(p.how.Key, p.element(*p.places.at(i)), p.how.Env)
	return Entry{key, p.how.Value(squeezed(make([]byte, 0, p.how.Cell), rest, p.how.Cell))}
}

// sort sorts by value where values are numbers, else by key; ties by key.
// The form of a key is in the order of keys, so that sorting needs no values.
func (p *packed) sort() {
	order := make([]pair, p.places.len())
	cell := make([]byte, 0, p.how.Cell)
	for i := range order {
		at := *p.places.at(i)
		order[i].Key = uint64(at)
		cell = squeezed(cell[:0], value.SkipOrdered(p.how.Key, p.element(at)), p.how.Cell)
		order[i].Value, _ = weight(p.how.Value(cell))
	}
	sortByWeight(order, func(a, b uint64) int { return p.compare(place(a), place(b)) })
	for i, w := range order {
		*p.places.at(i) = place(w.Key)
	}
}

// A squeezed cell is runs, each after a byte: below this one, so many zeroes and one more; else so many bytes as they
// are, less this and one more.
const asTheyAre = 0x80

// appendSqueezed adds a cell in that form. Without zeroes it is a byte longer for each 128 of
// it.
func appendSqueezed(dst, cell []byte) []byte {
	for len(cell) > 0 {
		n := zeroes(cell)
		if n > 0 {
			dst = append(dst, byte(n-1))
			cell = cell[n:]
			continue
		}
		// A zero by itself takes no less as a run.
		for n = 1; n < min(len(cell), asTheyAre) && zeroes(cell[n:]) < 2; n++ {
		}
		dst = append(append(dst, byte(asTheyAre+n-1)), cell[:n]...)
		cell = cell[n:]
	}
	return dst
}

// zeroes is how many zero bytes begin a cell, as far as one run reaches.
func zeroes(cell []byte) int {
	n := 0
	for n < min(len(cell), asTheyAre) && cell[n] == 0 {
		n++
	}
	return n
}

// squeezed adds a cell of so many bytes.
// Form and cell are the process's own, and still no length in it is trusted beyond the form's
// end.
func squeezed(dst, form []byte, size int) []byte {
	for len(dst) < size && len(form) > 0 {
		n := int(form[0])
		form = form[1:]
		if n < asTheyAre {
			dst = append(dst, make([]byte, n+1)...)
			continue
		}
		n = min(n-asTheyAre+1, len(form))
		dst, form = append(dst, form[:n]...), form[n:]
	}
	return dst
}
