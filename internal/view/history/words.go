package history

import (
	"slices"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Amounts are kept as words: the number of a counter or gauge; count and total of a
// summary; of a histogram a pair of words for each bucket that is not empty, its
// position and its count, in the order of positions.

// wordsOf are the words of a value, nil if it is no number.
func wordsOf(v value.Value) []uint64 {
	switch v := v.(type) {
	case value.Int, value.Uint:
		n, _, _ := value.Integer(v)
		return []uint64{n}
	case value.Avg, value.Stats:
		s, _ := value.Summary(v)
		return []uint64{uint64(s.Count), uint64(s.Total)}
	case value.Hist:
		words := []uint64{}
		for i := range v.Buckets {
			if n := v.Buckets[i].Count; n > 0 {
				words = append(words, uint64(i), n)
			}
		}
		return words
	}
	return nil
}

// valueOf makes a value of words, of the sort of like.
func valueOf(words []uint64, like value.Value) value.Value {
	word := func(i int) int64 {
		if i < len(words) {
			return int64(words[i])
		}
		return 0
	}
	switch like := like.(type) {
	case value.Int:
		return value.Int(word(0))
	case value.Avg:
		return value.Avg{Count: word(0), Total: word(1), Signed: like.Signed}
	case value.Stats:
		return value.Stats{Count: word(0), Total: word(1), Signed: like.Signed}
	case value.Hist:
		like.Buckets, like.Sum = slices.Clone(like.Buckets), nil
		for i := range like.Buckets {
			like.Buckets[i].Count = 0
		}
		for i := 0; i+1 < len(words); i += 2 {
			if at := int(words[i]); at < len(like.Buckets) {
				like.Buckets[at].Count = words[i+1]
			}
		}
		return like
	}
	return value.Uint(word(0))
}

// add is what two changes come to, one after the other.
func add(k view.Kind, a, b []uint64) []uint64 {
	switch {
	// A gauge has values, of which the later one counts.
	case k == view.Gauge || len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return combine(k, a, b, func(x, y uint64) uint64 { return x + y })
}

// sub is the change from b to a. Words wrap around.
func sub(k view.Kind, a, b []uint64) []uint64 {
	if k == view.Gauge || len(b) == 0 {
		return a
	}
	return combine(k, a, b, func(x, y uint64) uint64 { return x - y })
}

// combine joins the words of two values one by one. Those of histograms are pairs of a bucket and
// its count, which meet by bucket; buckets that come to nothing are left out.
func combine(k view.Kind, a, b []uint64, of func(x, y uint64) uint64) []uint64 {
	if k != view.Histogram {
		out := make([]uint64, max(len(a), len(b)))
		for i := range out {
			var x, y uint64
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			out[i] = of(x, y)
		}
		return out
	}
	out := make([]uint64, 0, max(len(a), len(b)))
	for len(a) > 1 || len(b) > 1 {
		var at, x, y uint64
		switch {
		case len(b) < 2 || len(a) > 1 && a[0] < b[0]:
			at, x, a = a[0], a[1], a[2:]
		case len(a) < 2 || b[0] < a[0]:
			at, y, b = b[0], b[1], b[2:]
		default:
			at, x, y, a, b = a[0], a[1], b[1], a[2:], b[2:]
		}
		if n := of(x, y); n != 0 {
			out = append(out, at, n)
		}
	}
	return out
}

// fell reports whether what only grows has become less: it began anew. Words that wrap
// around have not.
func fell(k view.Kind, now, was []uint64) bool {
	d := sub(k, now, was)
	if k != view.Histogram {
		return len(was) > 0 && d[0] >= 1<<63
	}
	for ; len(d) > 1; d = d[2:] {
		if d[1] >= 1<<63 {
			return true
		}
	}
	return false
}

// zero reports whether words stand for no change.
func zero(k view.Kind, words []uint64) bool {
	if k == view.Histogram {
		return len(words) == 0
	}
	for _, w := range words {
		if w != 0 {
			return false
		}
	}
	return true
}

// appendKey appends what tells a key from all others of its map.
// Letters for types and lengths in front keep two keys from reading alike.
func appendKey(dst []byte, v value.Value) []byte {
	number := func(dst []byte, n uint64) []byte {
		for ; n >= 0x80; n >>= 7 {
			dst = append(dst, byte(n)|0x80)
		}
		return append(dst, byte(n))
	}
	bytes := func(dst, b []byte) []byte { return append(number(dst, uint64(len(b))), b...) }
	all := func(dst []byte, vs []value.Value) []byte {
		for _, v := range vs {
			dst = appendKey(dst, v)
		}
		return dst
	}
	switch v := v.(type) {
	case nil, value.Null:
		return append(dst, 'n')
	case value.Int:
		return number(append(dst, 'i'), uint64(v))
	case value.Uint:
		return number(append(dst, 'u'), uint64(v))
	case value.Pointer:
		return number(append(dst, 'p'), uint64(v))
	case value.Enum:
		return number(append(dst, 'e'), uint64(v.Value))
	case value.Str:
		return bytes(append(dst, 's'), v)
	case value.Chars: // bytes behind the text tell keys apart
		return bytes(append(dst, 'c'), v.All)
	case value.Buffer:
		return bytes(append(dst, 'b'), v)
	case value.Tuple:
		return all(number(append(dst, '('), uint64(len(v))), v)
	case value.Array:
		return all(number(append(dst, '['), uint64(len(v))), v)
	case value.Record:
		return all(number(append(dst, '{'), uint64(len(v.Values))), v.Values)
	case *value.Stack:
		dst = append(dst, 'k')
		if v.User {
			// Addresses mean something within one process only.
			dst = number(append(dst, 'u'), uint64(v.PID))
		}
		dst = number(dst, uint64(len(v.Addrs)))
		for _, a := range v.Addrs {
			dst = number(dst, a)
		}
		return dst
	}
	return bytes(append(dst, 't'), value.AppendText(nil, v))
}
