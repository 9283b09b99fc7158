package output

import (
	"slices"

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
	// Weights are taken out once: comparing interfaces is what sorting a
	// million entries would spend its time on.
	type weighted struct {
		weight uint64
		index  int
	}
	order := make([]weighted, len(entries))
	for i := range entries {
		w, _ := weight(entries[i].Value)
		order[i] = weighted{w, i}
	}
	slices.SortFunc(order, func(a, b weighted) int {
		switch {
		case a.weight < b.weight:
			return -1
		case a.weight > b.weight:
			return 1
		}
		return value.Compare(entries[a.index].Key, entries[b.index].Key)
	})
	out := make([]Entry, len(entries))
	for i, w := range order {
		out[i] = entries[w.index]
	}
	return out
}

// weight maps values that are ordered by size to numbers in the same order.
func weight(v value.Value) (uint64, bool) {
	switch v := v.(type) {
	case value.Int:
		return biased(int64(v)), true
	case value.Uint:
		return uint64(v), true
	case value.Enum:
		return biased(v.Value), true
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

func biased(v int64) uint64 { return uint64(v) ^ 1<<63 }

func biasedIf(signed bool, v int64) uint64 {
	if signed {
		return biased(v)
	}
	return uint64(v)
}

// divided applies print's divisor, truncating toward zero.
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
		buckets := slices.Clone(v.Buckets)
		for i := range buckets {
			buckets[i].Count /= uint64(div)
		}
		return value.Hist{Buckets: buckets}
	}
	return v
}
