package output

import "github.com/hawktrace/hawk/internal/value"

// Sorted are the entries in the order in which they are printed.
func (m Map) Sorted() Entries {
	m.Top, m.Div = 0, 1
	return m.arrange()
}

// arrange returns the entries as they are shown: sorted, the top ones only, values divided. It may
// change the order of m.Entries.
// The divisor comes last: it must not change the order, nor which elements are the largest.
func (m *Map) arrange() Entries {
	es := m.Entries
	if es.Len() == 0 {
		return es
	}
	_, isStats := es.At(0).Value.(value.Stats)
	if m.Keyed {
		es.sort()
		if !isStats && m.Top > 0 && int64(es.Len()) > m.Top {
			es.last(int(m.Top))
		}
	}
	if m.Div <= 1 || isStats {
		return es
	}
	var out Entries
	for i := range es.Len() {
		e := es.At(i)
		out.Add(e.Key, divided(e.Value, m.Div))
	}
	return out
}

// weight maps values that are ordered by size to numbers in the same order.
func weight(v value.Value) (uint64, bool) {
	switch v := v.(type) {
	case value.Int, value.Uint:
		n, _, ok := rank(v)
		return n, ok
	case value.Enum:
		return biased(v.Value), true
	case value.Avg, value.Stats:
		s, _ := value.Summary(v)
		return biasedIf(s.Signed, s.Average()), true
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

// biased maps a signed number to an unsigned one in the same order.
// It is its own inverse.
func biased(v int64) uint64 { return uint64(v) ^ 1<<63 }

// biasedIf maps a number that may be signed likewise.
func biasedIf(signed bool, v int64) uint64 {
	if signed {
		return biased(v)
	}
	return uint64(v)
}

// divided applies print's divisor to numbers and to those in a value of
// several, truncating toward zero.
// Enumerators, pointers and texts stay as they are.
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

// dividedAll applies the divisor to each element.
func dividedAll(vs []value.Value, div int64) []value.Value {
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		out[i] = divided(v, div)
	}
	return out
}
