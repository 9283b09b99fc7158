package output

import (
	"cmp"
	"slices"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// An Entry is one element of a map. That of a scalar map has a nil Key.
type Entry struct {
	Key   value.Value
	Value value.Value
}

// Entries are the elements of a map. The zero value has none.
//
// Maps may have millions of elements. As values, each would be memory of its own, to be found by the collector of
// garbage and by every comparison. So those of plain integers are kept as numbers, and others as bytes where they can.
type Entries struct {
	numbers                pairs // while all elements have the types of the first
	keySigned, valueSigned bool

	packed packed // while all elements came by Pack, and are not numbers

	values []Entry
}

// A pair is an element of numbers, which are in the order of the integers they stand for.
type pair = order.Pair

// pairs are elements of numbers.
type pairs struct{ list[pair] }

// A list lies in blocks, all of them full but for the last: one that grows is not copied, and leaves nothing behind.
// A slice of a hundred million bytes that doubles would need three times that while it is
// copied.
type list[E any] struct{ blocks [][]E }

// blockElements is how many elements are in a full block.
const blockElements = 1 << 12

// add appends an element, to a new block if the last one is full.
func (l *list[E]) add(e E) {
	last := len(l.blocks) - 1
	switch {
	case last < 0: // most maps are small: the first block grows
		l.blocks, last = append(l.blocks, nil), 0
	case len(l.blocks[last]) == blockElements:
		l.blocks, last = append(l.blocks, make([]E, 0, blockElements)), last+1
	}
	l.blocks[last] = append(l.blocks[last], e)
}

// len is the number of elements.
func (l *list[E]) len() int {
	last := len(l.blocks) - 1
	if last < 0 {
		return 0
	}
	return last*blockElements + len(l.blocks[last])
}

// at is element i, in place.
func (l *list[E]) at(i int) *E { return &l.blocks[i/blockElements][i%blockElements] }

// last keeps only the last n elements.
func (l *list[E]) last(n int) {
	var kept list[E]
	for i := l.len() - n; i < l.len(); i++ {
		kept.add(*l.at(i))
	}
	*l = kept
}

// EntriesOf are the given elements.
func EntriesOf(entries ...Entry) Entries {
	var es Entries
	for _, e := range entries {
		es.Add(e.Key, e.Value)
	}
	return es
}

// Add adds an element.
// One element of another type makes values of all, and they stay so.
func (es *Entries) Add(key, val value.Value) {
	if es.values == nil && es.packed.how == nil {
		k, keySigned, ok := rank(key)
		v, valueSigned, also := rank(val)
		if es.numbers.len() == 0 {
			es.keySigned, es.valueSigned = keySigned, valueSigned
		}
		if ok && also && keySigned == es.keySigned && valueSigned == es.valueSigned {
			es.numbers.add(pair{Key: k, Value: v})
			return
		}
	}
	es.unpack()
	es.values = append(es.values, Entry{key, val})
}

// Pack adds an element as bytes: those of its key, as many as the type has, and of its value.
func (es *Entries) Pack(how *Packing, key, cell []byte) {
	if es.Len() == 0 {
		k, v := value.Decode(how.Key, key, how.Env), how.Value(cell)
		_, _, ok := rank(k)
		_, _, also := rank(v)
		if ok && also {
			es.Add(k, v)
			return
		}
		es.packed.how = how
	}
	if es.packed.how != how || !es.packed.add(key, cell) {
		es.Add(value.Decode(how.Key, key, how.Env), how.Value(cell))
	}
}

// unpack makes all elements values.
// It takes the memory that Pack has spared, and happens to no map of a script, whose elements
// are of one type.
func (es *Entries) unpack() {
	if es.values == nil {
		values := make([]Entry, 0, es.Len()+1)
		for i := range es.Len() {
			values = append(values, es.At(i))
		}
		*es = Entries{values: values}
	}
}

// Len is the number of elements.
func (es *Entries) Len() int { return es.numbers.len() + es.packed.places.len() + len(es.values) }

// At is element i.
func (es *Entries) At(i int) Entry {
	switch {
	case es.values != nil:
		return es.values[i]
	case es.packed.how != nil:
		return es.packed.at(i)
	}
	p := es.numbers.at(i)
	return Entry{ranked(p.Key, es.keySigned), ranked(p.Value, es.valueSigned)}
}

// CompareKeys orders two elements by their keys.
func (es *Entries) CompareKeys(i, j int) int {
	switch {
	case es.values != nil:
		return value.Compare(es.values[i].Key, es.values[j].Key)
	case es.packed.how != nil:
		return es.packed.compare(*es.packed.places.at(i), *es.packed.places.at(j))
	}
	a, b := es.numbers.at(i), es.numbers.at(j)
	return cmp.Compare(a.Key, b.Key)
}

// rank maps integers to unsigned ones in the same order.
// Turning over the sign bit is enough: it puts the negative half in front.
func rank(v value.Value) (n uint64, signed, ok bool) {
	switch v := v.(type) {
	case value.Int:
		return biased(int64(v)), true, true
	case value.Uint:
		return uint64(v), false, true
	}
	return 0, false, false
}

// ranked is the value that rank has mapped to n.
func ranked(n uint64, signed bool) value.Value {
	if signed {
		return value.Int(n ^ 1<<63)
	}
	return value.Uint(n)
}

// sort sorts by value where values are numbers, else by key; ties by key.
// Ties by key make output the same from run to run; the order of the kernel's hash differs.
func (es *Entries) sort() {
	switch {
	case es.packed.how != nil:
		es.packed.sort()
		return
	case es.values == nil:
		es.numbers.sort()
		return
	}
	if _, ok := weight(es.values[0].Value); !ok {
		order.Stably(es.values, func(a, b Entry) int { return value.Compare(a.Key, b.Key) })
		return
	}
	// Weights are taken out once: those of histograms are sums.
	order := make([]pair, len(es.values))
	for i, e := range es.values {
		w, _ := weight(e.Value)
		order[i] = pair{Key: uint64(i), Value: w}
	}
	sortByWeight(order, func(a, b uint64) int { return value.Compare(es.values[a].Key, es.values[b].Key) })
	sorted := make([]Entry, len(order))
	for i, w := range order {
		sorted[i] = es.values[w.Key]
	}
	es.values = sorted
}

// sortByWeight sorts pairs of where an element is and what it weighs. Ties are for compare. It takes
// pairs, as all that is sorted by weight, since each type would have code of its own.
func sortByWeight(order []pair, compare func(a, b uint64) int) {
	slices.SortFunc(order, func(a, b pair) int {
		if a.Value != b.Value {
			return cmp.Compare(a.Value, b.Value)
		}
		return compare(a.Key, b.Key)
	})
}

// sort sorts by value, ties by key.
func (ps *pairs) sort() {
	if len(ps.blocks) == 1 {
		sortByWeight(ps.blocks[0], cmp.Compare)
	}
	if len(ps.blocks) < 2 {
		return
	}
	// A byte at a time, the least first, keys before values; each time what was in order stays in
	// order. Bytes that all have in common say nothing.
	var to pairs
	for _, block := range ps.blocks {
		to.blocks = append(to.blocks, make([]pair, len(block)))
	}
	for _, word := range []func(pair) uint64{func(p pair) uint64 {
		return p.Key
	}, func(p pair) uint64 { return p.Value }} {
		all, some := ^uint64(0), uint64(0)
		for _, block := range ps.blocks {
			for _, p := range block {
				all, some = all&word(p), some|word(p)
			}
		}
		for shift := 0; shift < 64; shift += 8 {
			if (all^some)>>shift&0xff == 0 {
				continue
			}
			var places [256]int
			for _, block := range ps.blocks {
				for _, p := range block {
					places[byte(word(p)>>shift)]++
				}
			}
			place := 0
			for b, n := range places {
				places[b] = place
				place += n
			}
			for _, block := range ps.blocks {
				for _, p := range block {
					b := byte(word(p) >> shift)
					*to.at(places[b]) = p
					places[b]++
				}
			}
			*ps, to = to, *ps
		}
	}
}

// last keeps only the last n elements.
// print(@x, n) shows the largest n, which stand at the end.
func (es *Entries) last(n int) {
	switch {
	case es.values != nil:
		es.values = es.values[len(es.values)-n:]
	case es.packed.how != nil:
		es.packed.places.last(n)
	default:
		es.numbers.last(n)
	}
}
