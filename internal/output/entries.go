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
// A map of plain integers, which may have millions of elements, is kept as numbers: as values, each would be memory of its own, to be found by the
// collector of garbage and by every comparison.
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
		slices.SortFunc(es.numbers, func(a, b pair) int {
			if a.value != b.value {
				return cmp.Compare(a.value, b.value)
			}
			return cmp.Compare(a.key, b.key)
		})
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

// last keeps only the last n elements.
func (es *Entries) last(n int) {
	if es.values != nil {
		es.values = es.values[len(es.values)-n:]
	} else {
		es.numbers = es.numbers[len(es.numbers)-n:]
	}
}
