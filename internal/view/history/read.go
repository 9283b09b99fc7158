package history

import (
	"slices"
	"sort"
	"time"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Len is how many columns there are. They are numbered from the oldest.
func (l *Line) Len() int { return len(l.columns) }

// Span is when a column begins and ends, by the boot clock.
func (l *Line) Span(i int) (start, end time.Duration) { return l.columns[i].start, l.columns[i].end }

// Gap reports whether nobody looked for a while in a column: the machine slept, or hawk was stopped.
func (l *Line) Gap(i int) bool { return l.columns[i].gap }

// Between are the columns that lie in a span of time, from i to before j: those whose
// end is in it, and one at least.
func (l *Line) Between(from, to time.Duration) (i, j int) {
	i = sort.Search(len(l.columns), func(i int) bool { return l.columns[i].end > from })
	j = sort.Search(len(l.columns), func(j int) bool { return l.columns[j].end > to })
	if i == j && j < len(l.columns) {
		j++
	}
	return i, j
}

// Rows are what happened in the columns from i to before j, in no order: the changes of
// what adds up; of gauges the values at the end.
func (l *Line) Rows(i, j int) []view.Row {
	sum := l.before()
	if l.Map.Kind == view.Gauge {
		i = 0
	}
	l.sum(sum, i, j)
	return l.rows(sum)
}

// Totals are the rows of all columns before each of the ends, which rise. Each end adds to the one before it, since
// adding up from the start again and again takes seconds where there are many keys and columns.
func (l *Line) Totals(ends []int) [][]view.Row {
	out, sum, from := make([][]view.Row, len(ends)), l.before(), 0
	for n, end := range ends {
		l.sum(sum, from, end)
		out[n], from = l.rows(sum), end
	}
	return out
}

// before is what each key holds before columns are added. Columns of a gauge say what changed: all before them count.
func (l *Line) before() [][]uint64 {
	sum := make([][]uint64, len(l.keys))
	if l.Map.Kind == view.Gauge {
		for n := range l.base.keys {
			sum[l.base.keys[n]] = l.base.at(n)
		}
	}
	return sum
}

// sum adds the columns from i to before j.
func (l *Line) sum(sum [][]uint64, i, j int) {
	for ; i < j; i++ {
		c := &l.columns[i]
		for n, key := range c.keys {
			sum[key] = add(l.Map.Kind, sum[key], c.at(n))
		}
	}
}

// rows are the keys that a sum has something of.
func (l *Line) rows(sum [][]uint64) []view.Row {
	var rows []view.Row
	for key, words := range sum {
		// A gauge of 0 is a value; a change of 0 is nothing.
		if len(words) == 0 || l.Map.Kind != view.Gauge && zero(l.Map.Kind, words) {
			continue
		}
		row := view.Row{Key: l.keys[key].key, Value: valueOf(words, l.like)}
		if Key(key) == Others {
			row.Key, row.Others = value.Null{}, int32(max(l.Left(), l.others, 1))
		}
		rows = append(rows, row)
	}
	return rows
}

// Key finds the number of a key.
func (l *Line) Key(v value.Value) (Key, bool) {
	// Most keys fit, so that nothing is allocated to find them.
	var room [64]byte
	key, ok := l.ids[string(appendKey(room[:0], v))]
	return key, ok
}

// Left is how many keys are not kept apart.
func (l *Line) Left() int { return max(l.outside.len, l.apart) }

// Measure says which number of a value is meant.
type Measure uint8

// The measures.
const (
	Count Measure = iota // how many: the number itself of counters and gauges
	Total                // the total of a summary
)

// Amounts is what a key, or All, changed by in each of the columns from i to before j.
// A gauge has the value at the end of the column.
func (l *Line) Amounts(key Key, what Measure, i, j int) []float64 {
	out := make([]float64, 0, max(j-i, 0))
	if l.Map.Kind == view.Gauge {
		return l.levels(key, out, i, j)
	}
	for ; i < j; i++ {
		c := &l.columns[i]
		var sum float64
		if key != All {
			sum = l.measure(c.find(key), what)
		} else {
			for n := range c.keys {
				sum += l.measure(c.at(n), what)
			}
		}
		out = append(out, sum)
	}
	return out
}

// Rates are Amounts a second: a column that took longer does not look like more. A gauge has its
// values.
func (l *Line) Rates(key Key, what Measure, i, j int) []float64 {
	out := l.Amounts(key, what, i, j)
	if l.Map.Kind != view.Gauge {
		for n := range out {
			out[n] /= l.Seconds(i + n)
		}
	}
	return out
}

// LeastSpan is the time that a column is taken to have taken at least, in seconds: the last look is
// made when the run ends, which may be at once after another.
const LeastSpan = 0.02

// Seconds is how long a column took.
func (l *Line) Seconds(i int) float64 {
	return max((l.columns[i].end - l.columns[i].start).Seconds(), LeastSpan)
}

// levels are the values of a gauge; of All their sum.
func (l *Line) levels(key Key, out []float64, i, j int) []float64 {
	// Keys that a column does not name have the value that they had.
	now := map[Key]float64{}
	sum := 0.0
	see := func(c *column) {
		for n, k := range c.keys {
			if key == All || k == key {
				x := l.measure(c.at(n), Count)
				sum += x - now[k]
				now[k] = x
			}
		}
	}
	see(&l.base)
	// Columns before i are walked, too, as they lead to the value at i.
	for n := range l.columns[:j] {
		if see(&l.columns[n]); n >= i {
			out = append(out, sum)
		}
	}
	return out
}

// measure is a number of words.
func (l *Line) measure(words []uint64, what Measure) (sum float64) {
	number := func(w uint64) float64 {
		signed := true
		switch like := l.like.(type) {
		case value.Uint:
			signed = false
		case value.Avg, value.Stats:
			s, _ := value.Summary(like)
			signed = s.Signed
		}
		if signed {
			return float64(int64(w))
		}
		return float64(w)
	}
	switch {
	case len(words) == 0:
	case l.Map.Kind == view.Histogram:
		for ; len(words) > 1; words = words[2:] {
			sum += float64(words[1])
		}
	case l.Map.Kind == view.Summary && what == Total:
		sum = number(words[1])
	default:
		sum = number(words[0])
	}
	return sum
}

// Heat are the counts of the buckets of a histogram in each of the columns from i to
// before j, for a key or All. buckets are those of its layout, without counts.
func (l *Line) Heat(key Key, i, j int) (heat [][]uint64, buckets []value.Bucket) {
	h, ok := l.like.(value.Hist)
	if !ok {
		return nil, nil
	}
	for ; i < j; i++ {
		c := &l.columns[i]
		counts := make([]uint64, len(h.Buckets))
		put := func(words []uint64) {
			for ; len(words) > 1; words = words[2:] {
				if at := int(words[0]); at < len(counts) {
					counts[at] += words[1]
				}
			}
		}
		if key != All {
			put(c.find(key))
		} else {
			for n := range c.keys {
				put(c.at(n))
			}
		}
		heat = append(heat, counts)
	}
	buckets = slices.Clone(h.Buckets)
	for n := range buckets {
		buckets[n].Count = 0
	}
	return heat, buckets
}
