package output

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hawktrace/hawk/internal/value"
)

// arrange returns the entries as they are shown: sorted, the top ones only,
// values divided. It may change the order of m.Entries but none of them.
func (m *Map) arrange() []Entry {
	entries := m.Entries
	_, isStats := firstValue(entries).(value.Stats)
	if m.Keyed {
		entries = sortEntries(entries)
		if !isStats && m.Top > 0 && int64(len(entries)) > m.Top {
			entries = entries[int64(len(entries))-m.Top:]
		}
	}
	if m.Div <= 1 || isStats {
		return entries
	}
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = Entry{e.Key, divided(e.Value, m.Div)}
	}
	return out
}

func firstValue(entries []Entry) value.Value {
	if len(entries) == 0 {
		return nil
	}
	return entries[0].Value
}

// sortEntries sorts by value where values are numbers, else by key; ties by
// key.
func sortEntries(entries []Entry) []Entry {
	if _, ok := weight(firstValue(entries)); !ok {
		slices.SortStableFunc(entries, func(a, b Entry) int { return value.Compare(a.Key, b.Key) })
		return entries
	}
	order, _ := orderOf(entries)
	out := make([]Entry, len(entries))
	for i, w := range order {
		out[i] = entries[w.index]
	}
	return out
}

// A weighted is an entry whose value has a weight.
type weighted struct {
	weight uint64
	key    uint64 // if it is a number
	index  int
}

// orderOf is the order of entries by value, ties by key, and whether all keys are numbers. Weights, and keys that are numbers, are taken out once:
// comparing interfaces is what sorting a million entries would spend its time on.
func orderOf(entries []Entry) (order []weighted, numbers bool) {
	order = make([]weighted, len(entries))
	numbers = true
	for i := range entries {
		w, _ := weight(entries[i].Value)
		k, ok := number(entries[i].Key)
		order[i] = weighted{w, k, i}
		numbers = numbers && ok
	}
	slices.SortFunc(order, func(a, b weighted) int {
		switch {
		case a.weight != b.weight:
			return cmp.Compare(a.weight, b.weight)
		case numbers:
			return cmp.Compare(a.key, b.key)
		}
		return value.Compare(entries[a.index].Key, entries[b.index].Key)
	})
	return order, numbers
}

// manyEntries is from how many on a map of plain numbers is written without going back to its entries, each of which would be a few misses of
// the cache.
const manyEntries = 1 << 12

// plainNumbers is the order of the entries if keys and values are integers that can be read off it; nil if not.
func (m *Map) plainNumbers() (order []weighted, keySigned, valueSigned bool) {
	if !m.Keyed || m.Top > 0 || m.Div > 1 || len(m.Entries) < manyEntries {
		return nil, false, false
	}
	plain := func(v value.Value) (signed, ok bool) {
		switch v.(type) {
		case value.Int:
			return true, true
		case value.Uint:
			return false, true
		}
		return false, false
	}
	keySigned, ok := plain(m.Entries[0].Key)
	valueSigned, also := plain(m.Entries[0].Value)
	if !ok || !also {
		return nil, false, false
	}
	for _, e := range m.Entries {
		k, ok := plain(e.Key)
		v, also := plain(e.Value)
		if !ok || !also || k != keySigned || v != valueSigned {
			return nil, false, false
		}
	}
	order, _ = orderOf(m.Entries)
	return order, keySigned, valueSigned
}

// appendNumber appends the integer that number has mapped to n.
func appendNumber(dst []byte, n uint64, signed bool) []byte {
	if signed {
		return strconv.AppendInt(dst, int64(n^1<<63), 10)
	}
	return strconv.AppendUint(dst, n, 10)
}

// weight maps values that are ordered by size to numbers in the same order.
func weight(v value.Value) (uint64, bool) {
	switch v := v.(type) {
	case value.Int, value.Uint, value.Enum:
		return number(v)
	case value.Avg:
		return biasedIf(v.Signed, v.Average()), true
	case value.Stats:
		return biasedIf(v.Signed, v.Average()), true
	case value.Hist:
		var total uint64
		for i := range v.Buckets {
			total += v.Buckets[i].Count
		}
		return total, true
	case value.Series:
		return biased(newestEpoch(v)), true
	}
	return 0, false
}

// number maps integers to unsigned ones in the same order.
func number(v value.Value) (uint64, bool) {
	switch v := v.(type) {
	case value.Int:
		return biased(int64(v)), true
	case value.Uint:
		return uint64(v), true
	case value.Enum:
		return biased(v.Value), true
	}
	return 0, false
}

func biased(v int64) uint64 { return uint64(v) ^ 1<<63 }

func biasedIf(signed bool, v int64) uint64 {
	if signed {
		return biased(v)
	}
	return uint64(v)
}

// divided applies print's divisor to numbers and to those in a value of
// several, truncating toward zero.
func divided(v value.Value, div int64) value.Value {
	switch v := v.(type) {
	case value.Int:
		return v / value.Int(div)
	case value.Uint:
		return v / value.Uint(div)
	case value.Avg:
		if v.Signed {
			return value.Int(v.Average() / div)
		}
		return value.Uint(uint64(v.Average()) / uint64(div))
	case value.Hist:
		if v.Linear {
			return v
		}
		v.Div = uint64(div)
		return v
	case value.Tuple:
		return value.Tuple(dividedAll(v, div))
	case value.Array:
		return value.Array(dividedAll(v, div))
	case value.Record:
		v.Values = dividedAll(v.Values, div)
		return v
	}
	return v
}

func dividedAll(vs []value.Value, div int64) []value.Value {
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		out[i] = divided(v, div)
	}
	return out
}
