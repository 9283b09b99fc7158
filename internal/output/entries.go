package output

import (
	"cmp"
	"slices"

	"github.com/hawktrace/hawk/internal/value"
)

// An Entry is one element of a map. That of a scalar map has a nil Key.
type Entry struct {
	Key   value.Value
	Value value.Value
}

// Entries are the elements of a map. The zero value has none.
//
// A map of plain integers, which may have millions of elements, is kept as numbers: as values, each
// would be memory of its own, to be found by the collector of garbage and by every comparison.
type Entries struct {
	numbers                []pair // in place of values while all elements have the types of the first
	keySigned, valueSigned bool

	values []Entry
}

// A pair is an element of numbers, which are in the order of the integers they stand for.
type pair struct{ key, value uint64 }

// EntriesOf are the given elements.
func EntriesOf(entries ...Entry) Entries {
	var es Entries
	for _, e := range entries {
		es.Add(e.Key, e.Value)
	}
	return es
}

// Add adds an element.
func (es *Entries) Add(key, val value.Value) {
	if es.values == nil {
		k, keySigned, ok := rank(key)
		v, valueSigned, also := rank(val)
		if len(es.numbers) == 0 {
			es.keySigned, es.valueSigned = keySigned, valueSigned
		}
		if ok && also && keySigned == es.keySigned && valueSigned == es.valueSigned {
			es.numbers = append(es.numbers, pair{k, v})
			return
		}
		// The first element that is no plain number: all become values.
		values := make([]Entry, 0, len(es.numbers)+1)
		for i := range es.numbers {
			values = append(values, es.At(i))
		}
		es.numbers, es.values = nil, values
	}
	es.values = append(es.values, Entry{key, val})
}

// Len is the number of elements.
func (es *Entries) Len() int { return len(es.numbers) + len(es.values) }

// At is element i.
func (es *Entries) At(i int) Entry {
	if es.values != nil {
		return es.values[i]
	}
	p := es.numbers[i]
	return Entry{ranked(p.key, es.keySigned), ranked(p.value, es.valueSigned)}
}

// rank maps integers to unsigned ones in the same order.
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
func (es *Entries) sort() {
	if es.values == nil {
		es.numbers = sortPairs(es.numbers)
		return
	}
	if _, ok := weight(es.values[0].Value); !ok {
		slices.SortStableFunc(es.values, func(a, b Entry) int { return value.Compare(a.Key, b.Key) })
		return
	}
	// Weights are taken out once: those of histograms are sums.
	type weighted struct {
		weight uint64
		index  int
	}
	order := make([]weighted, len(es.values))
	for i, e := range es.values {
		w, _ := weight(e.Value)
		order[i] = weighted{w, i}
	}
	slices.SortFunc(order, func(a, b weighted) int {
		if a.weight != b.weight {
			return cmp.Compare(a.weight, b.weight)
		}
		return value.Compare(es.values[a.index].Key, es.values[b.index].Key)
	})
	sorted := make([]Entry, len(order))
	for i, w := range order {
		sorted[i] = es.values[w.index]
	}
	es.values = sorted
}

// manyPairs is from how many on they are sorted byte by byte.
const manyPairs = 1 << 12

// sortPairs sorts by value, ties by key. It may use the slice for what it returns.
func sortPairs(pairs []pair) []pair {
	if len(pairs) < manyPairs {
		slices.SortFunc(pairs, func(a, b pair) int {
			return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.key, b.key))
		})
		return pairs
	}
	// A byte at a time, the least first, keys before values; each time what was in order stays in
	// order. Bytes that all have in common say nothing.
	from, to := pairs, make([]pair, len(pairs))
	for _, word := range []func(pair) uint64{func(p pair) uint64 {
		return p.key
	}, func(p pair) uint64 { return p.value }} {
		all, some := ^uint64(0), uint64(0)
		for _, p := range from {
			all, some = all&word(p), some|word(p)
		}
		for shift := 0; shift < 64; shift += 8 {
			if (all^some)>>shift&0xff == 0 {
				continue
			}
			var places [256]int
			for _, p := range from {
				places[byte(word(p)>>shift)]++
			}
			place := 0
			for b, n := range places {
				places[b] = place
				place += n
			}
			for _, p := range from {
				b := byte(word(p) >> shift)
				to[places[b]] = p
				places[b]++
			}
			from, to = to, from
		}
	}
	return from
}

// last keeps only the last n elements.
func (es *Entries) last(n int) {
	if es.values != nil {
		es.values = es.values[len(es.values)-n:]
	} else {
		es.numbers = es.numbers[len(es.numbers)-n:]
	}
}
