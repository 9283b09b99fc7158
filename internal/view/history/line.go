package history

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Line is what is known of a map over time.
type Line struct {
	Map     *view.Map
	Windows bool // columns are windows that the script closed, else looks
	Dropped int  // columns that were too old to be kept
	Merged  int  // columns that became one with their neighbour, for lack of room

	columns []column
	base    column // what was before them
	bytes   int

	keys  []known // by number; the first is Others
	ids   map[string]Key
	most  int
	round uint64
	like  value.Value // a value of the map; of histograms the one with all buckets
	// outside has the hashes of keys that are counted among the others.
	outside hashes
	apart   int  // how many of them one look or window had, at most
	others  int  // how many stood in one row, at most
	left    bool // the last look left rows out
	free    []Key
	evicted uint64 // the round in which numbers were freed last

	open   view.Rows // of a window that was printed but not cleared yet
	openAt time.Duration
	marked bool
	asleep view.Asleep // since the last column, if it ends after that
}

// A Key is the number of a key within a Line.
type Key int32

// Others are all keys that there is no room to keep apart; All are all keys.
const (
	Others Key = 0
	All    Key = -1
)

// A known key.
type known struct {
	key  value.Value
	id   string
	last []uint64 // as the map was read last
	seen uint64   // when that was
}

// A column holds changes by the numbers of their keys, in ascending order.
type column struct {
	start, end time.Duration
	keys       []Key
	ends       []int32 // where the words of each key end
	words      []uint64
	gap        bool // nobody looked in it, for some time at least
}

// newLine is a line without columns. Key 0 is that of the others.
func newLine(m *view.Map, begin time.Duration, most int) *Line {
	return &Line{
		Map: m, Windows: m.Window && m.Kind.Additive(), most: most, base: column{start: begin, end: begin},
		keys: make([]known, 1), ids: map[string]Key{},
	}
}

// look adds what a read of the map has found, and reports whether anything changed.
// totals: the rows are of the whole run, so that what is missing is among the others.
// left: some rows were left out; what they grew by is the others'.
func (l *Line) look(rows view.Rows, totals, left bool, at time.Duration) (changed bool) {
	l.round++
	wasLeft := l.left
	l.left = left
	var cells []cell
	var others []uint64
	k, before, apart := l.Map.Kind, &l.keys[Others].last, 0
	for _, n := range l.heaviestFirst(rows) {
		row := rows.At(int(n))
		words := l.wordsOf(row.Value)
		if words == nil {
			continue
		}
		key := Others
		l.others = max(l.others, int(row.Others))
		if row.Others == 0 {
			var late bool
			if key, late = l.number(row.Key); key == Others {
				apart++
			}
			late = late || wasLeft && key != Others && l.keys[key].seen+1 != l.round
			// number may have moved keys, and with them what before points to.
			if before = &l.keys[Others].last; late && k != view.Gauge {
				// It was among the others until now: what it had stays theirs.
				*before = sub(k, words0(k, *before), words)
				l.keys[key].last = words
			}
		}
		if key == Others {
			others = add(k, others, words)
			continue
		}
		of := &l.keys[key]
		was := of.last
		of.seen, of.last = l.round, words
		cells = appendChange(cells, k, key, words, was)
	}
	l.apart = max(l.apart, apart)
	// Keys that were not read are gone, or among the rows that the look left out.
	for i := 1; i < len(l.keys); i++ {
		of := &l.keys[i]
		if of.id == "" || of.seen == l.round || len(of.last) == 0 {
			continue
		}
		switch {
		// It may still be there with the same value.
		case k == view.Gauge && left:
			continue
		case k == view.Gauge:
			cells = append(cells, cell{Key(i), nil}) // it is gone
		case totals:
			*before = add(k, *before, of.last)
		}
		of.last = nil
	}
	if k != view.Gauge {
		was := *before
		switch now := words0(k, others); {
		case !fell(k, now, was):
		case totals: // the rows of some are not known
			was = now
		default:
			was = nil
		}
		if d := sub(k, words0(k, others), was); !zero(k, d) {
			cells = append(cells, cell{Others, d})
		}
		*before = others
	}
	l.push(cells, at)
	return len(cells) > 0
}

// appendChange adds how a key has changed, if it has.
func appendChange(cells []cell, k view.Kind, key Key, now, was []uint64) []cell {
	if k == view.Gauge {
		if !slices.Equal(was, now) {
			cells = append(cells, cell{key, now})
		}
		return cells
	}
	// It was cleared in between: all that it holds came since.
	if fell(k, now, was) {
		was = nil
	}
	if d := sub(k, now, was); !zero(k, d) {
		cells = append(cells, cell{key, d})
	}
	return cells
}

// words0 has words even of nothing, so that something can be taken from it.
func words0(k view.Kind, words []uint64) []uint64 {
	if words == nil && k != view.Histogram {
		return []uint64{0}
	}
	return words
}

// close makes a column of the window that was printed.
func (l *Line) close() {
	l.round++
	apart := 0
	var cells []cell
	var others []uint64
	for _, n := range l.heaviestFirst(l.open) {
		row := l.open.At(int(n))
		words := l.wordsOf(row.Value)
		if zero(l.Map.Kind, words) {
			continue
		}
		key := Others
		if row.Others == 0 {
			// A window is a change by itself, whoever had the key before.
			if key, _ = l.number(row.Key); key == Others {
				apart++
			}
		}
		if key == Others {
			others = add(l.Map.Kind, others, words)
			continue
		}
		l.keys[key].seen = l.round
		cells = append(cells, cell{key, words})
	}
	l.apart = max(l.apart, apart)
	if others != nil {
		cells = append(cells, cell{Others, others})
	}
	l.push(cells, l.openAt)
	l.open, l.marked = view.Rows{}, false
}

// wordsOf are the words of a value of the map, of which it learns how values look.
func (l *Line) wordsOf(v value.Value) []uint64 {
	words := wordsOf(v)
	if words == nil {
		return nil
	}
	h, ok := v.(value.Hist)
	// The longest histogram has all buckets.
	if old, had := l.like.(value.Hist); l.like == nil || ok && (!had || len(h.Buckets) > len(old.Buckets)) {
		l.like = v
	}
	return words
}

// heaviestFirst are rows in the order in which they are given numbers, when there are
// more than numbers.
func (l *Line) heaviestFirst(rows view.Rows) []int32 {
	if rows.Len() > l.most {
		return rows.Arrange(view.ByWeightApart, l.Map.Weigh)
	}
	out := make([]int32, rows.Len())
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// number is that of a key, Others if there is none left. late: the key was among the
// others, or may have been.
func (l *Line) number(v value.Value) (key Key, late bool) {
	id := string(appendKey(nil, v))
	if key, ok := l.ids[id]; ok {
		return key, false
	}
	hash := hashed(id)
	if len(l.ids) >= l.most && len(l.free) == 0 {
		l.evict()
	}
	switch {
	case len(l.free) > 0:
		key = l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
	case len(l.ids) < l.most:
		key = Key(len(l.keys))
		l.keys = append(l.keys, known{})
	default:
		// The hash is remembered: the key may be kept apart later.
		l.outside.add(hash)
		return Others, false
	}
	// Once not all fit, any new key may have been among the others.
	late = l.outside.remove(hash) || l.outside.len >= maxOutside
	l.ids[id], l.keys[key] = key, known{key: v, id: id}
	l.bytes += keyBytes(id)
	return key, late
}

// keyBytes is about what a key takes.
func keyBytes(id string) int { return 160 + 3*len(id) }

// evict frees the numbers of keys of which no column tells, once in a look. What they had
// is the others' from now on.
func (l *Line) evict() {
	if l.evicted == l.round {
		return
	}
	l.evicted = l.round
	told, gone := make([]bool, len(l.keys)), make([]bool, len(l.keys))
	for i := range l.columns {
		for _, k := range l.columns[i].keys {
			told[k] = true
		}
	}
	gauge := l.Map.Kind == view.Gauge
	for i := 1; i < len(l.keys); i++ {
		of := &l.keys[i]
		// A gauge that has a value keeps its number, even if no column tells of it.
		if told[i] || of.id == "" || of.seen == l.round || gauge && len(of.last) > 0 {
			continue
		}
		if !gauge {
			l.keys[Others].last = add(l.Map.Kind, l.keys[Others].last, of.last)
		}
		l.outside.add(hashed(of.id))
		delete(l.ids, of.id)
		l.bytes -= keyBytes(of.id)
		*of = known{}
		l.free, gone[i] = append(l.free, Key(i)), true
	}
	var kept []cell
	for i, key := range l.base.keys {
		switch {
		case !gone[key]:
			kept = append(kept, cell{key, l.base.at(i)})
		case !gauge:
			kept = append(kept, cell{Others, l.base.at(i)})
		}
	}
	l.base = makeColumn(l.Map.Kind, kept, l.base.start, l.base.end)
}

// drop lets columns go that ended before a time.
func (l *Line) drop(before time.Duration) {
	n := 0
	// The newest column stays, however old it is.
	for n < len(l.columns)-1 && l.columns[n].end < before {
		l.bytes -= l.columns[n].bytes()
		l.base = l.base.merged(&l.columns[n], l.Map.Kind)
		n++
	}
	l.Dropped += n
	left := copy(l.columns, l.columns[n:])
	clear(l.columns[left:])
	l.columns = l.columns[:left]
}

// thin makes one of two neighbours in the older half.
func (l *Line) thin() {
	// Callers see to it that there are two columns at least.
	half := max(len(l.columns)/2, 2)
	var out []column
	for i := 0; i < len(l.columns); i++ {
		c := l.columns[i]
		if i+1 < half {
			c = c.merged(&l.columns[i+1], l.Map.Kind)
			l.bytes += c.bytes() - l.columns[i].bytes() - l.columns[i+1].bytes()
			l.Merged++
			i++
		}
		out = append(out, c)
	}
	l.columns = out
}

// A cell is a change of one key.
type cell struct {
	key   Key
	words []uint64
}

// push adds a column.
func (l *Line) push(cells []cell, at time.Duration) {
	start := l.base.end
	if n := len(l.columns); n > 0 {
		start = l.columns[n-1].end
	}
	gap := l.asleep.Boot > start
	if gap && !l.asleep.Stopped { // a column of its own: nothing happened
		end := min(l.asleep.Boot, at)
		l.add(column{start: start, end: end, gap: true})
		start, gap = end, false
	}
	c := makeColumn(l.Map.Kind, cells, start, at)
	c.gap = gap
	l.add(c)
}

func (l *Line) add(c column) {
	l.bytes += c.bytes()
	l.columns = append(l.columns, c)
}

// makeColumn makes a column of changes in any order.
func makeColumn(k view.Kind, cells []cell, start, end time.Duration) column {
	// Changes of one key are added in their order.
	order.Stably(cells, func(a, b cell) int { return cmp.Compare(a.key, b.key) })
	c := column{start: start, end: end}
	for i := range cells {
		c.add(k, cells[i].key, cells[i].words)
	}
	return c
}

// bytes is about what a column takes.
func (c *column) bytes() int { return 96 + 8*len(c.keys) + 8*len(c.words) }

// add adds a change behind all others, or to the last if it is of the same key.
func (c *column) add(k view.Kind, key Key, words []uint64) {
	if n := len(c.keys); n > 0 && c.keys[n-1] == key {
		words = add(k, c.at(n-1), words)
		c.words = append(c.words[:c.from(n-1)], words...)
		c.ends[n-1] = int32(len(c.words))
		return
	}
	c.words = append(c.words, words...)
	c.keys, c.ends = append(c.keys, key), append(c.ends, int32(len(c.words)))
}

// from is where the words of a key begin, by its place in the column.
func (c *column) from(i int) int32 {
	if i == 0 {
		return 0
	}
	return c.ends[i-1]
}

// at are the words of a key. Who appends to them does not write into those of the next.
func (c *column) at(i int) []uint64 { return slices.Clip(c.words[c.from(i):c.ends[i]]) }

// find are the words of a key, nil if it did not change.
func (c *column) find(key Key) []uint64 {
	i := sort.Search(len(c.keys), func(i int) bool { return c.keys[i] >= key })
	if i < len(c.keys) && c.keys[i] == key {
		return c.at(i)
	}
	return nil
}

// merged is a column with the one after it.
func (c *column) merged(next *column, k view.Kind) column {
	out := column{start: c.start, end: next.end, gap: c.gap || next.gap}
	i, j := 0, 0
	for i < len(c.keys) || j < len(next.keys) {
		if j == len(next.keys) || i < len(c.keys) && c.keys[i] <= next.keys[j] {
			out.add(k, c.keys[i], c.at(i))
			i++
			continue
		}
		out.add(k, next.keys[j], next.at(j))
		j++
	}
	return out
}
