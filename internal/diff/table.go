package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Table is a map of numbers or histograms in both runs.
type Table struct {
	Map      *view.Map // of the new run
	Old, New float64   // what all rows come to
	Scaling
	rows  []line
	words uint64 // a bit for each part of the key, by its place: some are no numbers
}

// A line is a row of a table. A run that lacks the key has no value of it.
type line struct {
	key      []string
	old, new value.Value
	was, is  float64 // as numbers, the new one scaled
}

// change is by what the number grew, for the order of lines.
func (l *line) change() float64 { return math.Abs(l.is - l.was) }

// ratio says the change in words where it is none of numbers.
func (l *line) ratio() string {
	switch {
	case l.old == nil:
		return "new"
	case l.new == nil:
		return "gone"
	case l.was == 0 && l.is == 0:
		return "1.00"
	case l.was == 0:
		return "–"
	}
	return strconv.FormatFloat(l.is/l.was, 'f', 2, 64)
}

// compared reports whether maps of this kind are compared as tables.
// Records, texts and series are no numbers of which one could say that they grew.
func compared(m *view.Map) bool {
	switch m.Kind {
	case view.Counter, view.Gauge, view.Summary, view.Histogram:
		return m.Role == view.Result && !m.Profile()
	}
	return false
}

// newTable compares the last values of a map.
func newTable(old, new *view.Run, was, is *view.Map, normalize bool) (*Table, error) {
	// Scripts differ in what the map is: a difference of its numbers would mean nothing.
	if was.Kind != is.Kind || was.Unit != is.Unit {
		return nil, fmt.Errorf("%s is %s in one file and %s in the other", is.Name, kindOf(was), kindOf(is))
	}
	t := &Table{Map: is}
	// Rows of both runs meet by the text of their keys: types differ from file to file.
	at := map[string]int{}
	read := func(run *view.Run, m *view.Map, total *float64, to func(*line) (*value.Value, *float64)) {
		snap := run.Snapshot(m)
		if snap == nil {
			return
		}
		var sum view.Sum
		for i := range snap.Rows.Len() {
			row := snap.Rows.At(i)
			key := t.keyOf(m, row)
			name := strings.Join(key, "\n")
			i, known := at[name]
			if !known {
				i = len(t.rows)
				at[name], t.rows = i, append(t.rows, line{key: key})
			}
			v, n := to(&t.rows[i])
			*v, *n = row.Value, numberOf(m, row.Value)
			sum.AddWeight(m, row.Value)
		}
		*total = sum.Float()
	}
	read(old, was, &t.Old, func(l *line) (*value.Value, *float64) { return &l.old, &l.was })
	read(new, is, &t.New, func(l *line) (*value.Value, *float64) { return &l.new, &l.is })
	t.Scaling = Scaling{Scale: 1}
	// Gauges and averages do not depend on how long one looks.
	if is.Kind == view.Counter || is.Kind == view.Histogram { // which grow with the length of a run
		t.Scaling = scaling(old.Length(), new.Length(), t.Old, t.New, normalize)
	}
	for i := range t.rows {
		t.rows[i].is *= t.Scale
	}
	// Equal changes are put in the order of keys, so that output is the same each time.
	order.Stably(t.rows, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.change(), a.change()), slices.Compare(a.key, b.key))
	})
	return t, nil
}

// kindOf is what messages call a map's values.
func kindOf(m *view.Map) string {
	if m.Unit == view.NoUnit {
		return m.Kind.String()
	}
	return m.Kind.String() + " of " + m.Unit.String()
}

// keyOf are the parts of a key as text; a row that stands for others has one part.
func (t *Table) keyOf(m *view.Map, row view.Row) (out []string) {
	if row.Others > 0 {
		return []string{"(other)"}
	}
	if m.Keyed() {
		for i, part := range view.Flatten(m.Key, row.Key) {
			label := view.NewLabel("", part)
			if out = append(out, label.Text); !label.Number {
				t.words |= 1 << i
			}
		}
	}
	return out
}

// numberOf is what rows are compared by: of summaries the average, of histograms how many values they have.
func numberOf(m *view.Map, v value.Value) float64 {
	switch v := v.(type) {
	case value.Avg:
		return average(value.Stats(v))
	case value.Stats:
		return average(v)
	}
	return m.Number(v)
}

// average is 0 of no values, where there is nothing to divide by.
func average(s value.Stats) float64 {
	if s.Count == 0 {
		return 0
	}
	return value.NewBound(s.Average(), !s.Signed).Float()
}

// above is the first line whose number changed by more than a share, nil if there is none; least is the share of the
// table that a line must have in one of the runs.
func (t *Table) above(share, least float64) *line {
	for i := range t.rows {
		l := &t.rows[i]
		if t.small(l, least) {
			continue
		}
		// Keys that came or went changed by more than any share, as do numbers that were 0.
		if l.old == nil || l.new == nil || l.change() > share*math.Abs(l.was) {
			return l
		}
	}
	return nil
}

// small reports whether a line weighs less than a share of the table in both runs.
func (t *Table) small(l *line, least float64) bool {
	// Gauges and averages do not add up to a total of which a line could be a share.
	if least == 0 || t.Map.Kind == view.Gauge || t.Map.Kind == view.Summary {
		return false
	}
	return l.was < least*t.Old && l.is < least*t.New*t.Scale
}

// Bounds of what is shown of a table.
const (
	mostPictures = 3  // histograms with their buckets
	barWidth     = 40 // of the longest bar of both runs
)

// about says what all lines come to.
func (t *Table) about() string {
	text := t.amount(t.Old) + " → " + t.amount(t.New)
	if t.Map.Kind == view.Summary {
		text = "total " + text // while lines have averages
	}
	if t.Old > 0 {
		text += fmt.Sprintf(" (%+.1f %%)", 100*(t.New*t.Scale/t.Old-1))
	}
	if t.Why != "" {
		text += "; " + t.Why
	}
	for i := range t.rows {
		if _, _, joined := t.buckets(&t.rows[i]); joined {
			return text + "; buckets of the two differ: those that overlap count as one"
		}
	}
	return text
}

// sides are the names of the columns of both runs.
func (t *Table) sides() (old, new string) {
	if t.Map.Kind == view.Summary {
		return "OLD AVERAGE", "NEW AVERAGE"
	}
	return "OLD", "NEW"
}

// numbers are those of a line in both runs, with their unit.
func (t *Table) numbers(l *line) (old, new string) {
	side := func(v value.Value, n float64) string {
		// A key that a run lacks has no number there, which is not the same as 0.
		if v == nil {
			return "–"
		}
		return t.amount(n)
	}
	return side(l.old, l.was), side(l.new, l.is)
}

// keys are the names of the parts of the key.
func (t *Table) keys() (names []string) {
	for _, k := range t.Map.Keys {
		names = append(names, strings.ToUpper(k.Name))
	}
	return names
}

// writeText writes the lines that changed most; width is that of the terminal, 0 if there is none.
func (t *Table) writeText(w *bufio.Writer, least float64, width int) {
	w.WriteString(t.about())
	old, new := t.sides()
	// Numbers may be longer than is usual: their column is as wide as the longest.
	wide := 14
	for i := range t.rows {
		old, new := t.numbers(&t.rows[i])
		wide = max(wide, utf8.RuneCountInString(old), utf8.RuneCountInString(new))
	}
	row := func(ratio, old, new string, key []string) {
		text := fmt.Sprintf("%8s %*s %*s  ", ratio, wide, old, wide, new)
		fmt.Fprintln(w, strings.TrimRight(text+short(strings.Join(key, ", "), width-len(text)), " "))
	}
	w.WriteByte('\n')
	row("RATIO", old, new, t.keys())
	shown, left := 0, 0
	for i := range t.rows {
		l := &t.rows[i]
		switch {
		case t.small(l, least):
			continue
		case shown == mostRows:
			left++
			continue
		}
		shown++
		old, new := t.numbers(l)
		row(l.ratio(), old, new, l.key)
		// Pictures take many lines, so that only the first few lines have them.
		if t.Map.Kind == view.Histogram {
			t.histogram(w, l, shown <= mostPictures)
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "%s more changed less\n", view.Grouped(left))
	}
	if shown > mostPictures && t.Map.Kind == view.Histogram {
		fmt.Fprintf(w, "buckets are shown of the first %d\n", mostPictures)
	}
}

// amount is a number of the table with its unit; counts of histograms have none.
func (t *Table) amount(n float64) string {
	if t.Map.Kind == view.Histogram || t.Map.Unit == view.NoUnit {
		return view.Rounded(n)
	}
	return live.Amount(n, t.Map.Unit)
}

// moved says how the bounds of a line's values moved.
func (t *Table) moved(l *line) string {
	// A histogram that a run lacks is an empty one here, whose bounds are dashes.
	old, _ := l.old.(value.Hist)
	new, _ := l.new.(value.Hist)
	var moved []string
	for _, p := range []float64{0.5, 0.9, 0.99} {
		moved = append(moved, fmt.Sprintf("p%.0f %s → %s", 100*p, live.Bound(old, p, t.Map.Unit),
			live.Bound(new, p, t.Map.Unit)))
	}
	return strings.Join(moved, ", ")
}

// A bucket is one of a histogram in both runs.
type bucket struct {
	value.Bucket
	name    string
	high    value.Bound
	was, is float64 // how many values it has
}

// meets reports whether a bucket that does not begin before b has values in common with it.
func (b *bucket) meets(next *bucket) bool { return next.Low().Compare(b.high) <= 0 }

// buckets are those of a line that have values, the smallest first, and the most that one has. Where a script has
// changed, buckets of its two runs may overlap: only what they hold together can be compared. joined reports that some
// do.
func (t *Table) buckets(l *line) (out []*bucket, most float64, joined bool) {
	var all []*bucket
	add := func(v value.Value, scale float64, to func(*bucket) *float64) {
		h, _ := v.(value.Hist)
		for i := range h.Buckets {
			if h.Buckets[i].Count > 0 {
				b := &bucket{Bucket: h.Buckets[i], high: h.Buckets[i].High()}
				*to(b) = float64(b.Count) * scale
				all = append(all, b)
			}
		}
	}
	add(l.old, 1, func(b *bucket) *float64 { return &b.was })
	add(l.new, t.Scale, func(b *bucket) *float64 { return &b.is })
	order.By(all, func(a, b *bucket) int { return a.Low().Compare(b.Low()) })
	// Bars are lengths by this number: it is not 0.
	most = 1
	for _, b := range all {
		if n := len(out); n > 0 && out[n-1].meets(b) {
			last := out[n-1]
			joined = joined || b.Low() != last.Low() || b.high != last.high
			last.was, last.is = last.was+b.was, last.is+b.is
			if last.high.Compare(b.high) < 0 {
				last.high = b.high
			}
		} else {
			out = append(out, b)
		}
	}
	for _, b := range out {
		b.name = live.BucketName(&b.Bucket, t.Map.Unit)
		most = max(most, b.was, b.is)
	}
	return out, most, joined
}

// histogram writes how the bounds of its values moved, and its buckets in both runs as one picture: what they have in
// common, and what one has more.
func (t *Table) histogram(w *bufio.Writer, l *line, picture bool) {
	fmt.Fprintf(w, "%8s %s\n", "", t.moved(l))
	if !picture {
		return
	}
	buckets, most, _ := t.buckets(l)
	for _, p := range buckets {
		// Lengths are rounded up, so that a bucket with few values is seen.
		bar := func(n float64) int { return int(math.Ceil(barWidth * n / most)) }
		both, mark := bar(min(p.was, p.is)), "-"
		if p.is > p.was {
			mark = "+"
		}
		more := bar(max(p.was, p.is)) - both
		fmt.Fprintf(w, "%18s %10s %10s  %s%s\n", p.name, view.Rounded(p.was),
			view.Rounded(p.is), strings.Repeat("=", both), strings.Repeat(mark, more))
	}
}

// mostRowsHTML is how many lines the page shows of a table.
const mostRowsHTML = 500

// page is the table as it stands on the page.
func (t *Table) page(least float64) export.DiffTable {
	old, new := t.sides()
	out := export.DiffTable{Title: t.Map.Name, About: t.about(), Head: append(t.keys(), old, new, "RATIO"),
		Keys: len(t.Map.Keys)}
	histogram := t.Map.Kind == view.Histogram
	if histogram {
		out.Head = append(out.Head, "BOUNDS")
	}
	for i := range t.rows {
		l := &t.rows[i]
		switch {
		case t.small(l, least):
			continue
		case len(out.Rows) == mostRowsHTML:
			out.Left++
			continue
		}
		// A row of others has one part; its other cells stay empty.
		cells := make([]string, len(t.Map.Keys))
		copy(cells, l.key)
		old, new := t.numbers(l)
		cells = append(cells, old, new, l.ratio())
		if histogram {
			cells = append(cells, t.moved(l))
			if len(out.Outlines) < mostPictures {
				out.Outlines = append(out.Outlines, t.outline(l))
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	if histogram && len(out.Rows) > mostPictures {
		out.About += fmt.Sprintf("; outlines of the first %d", mostPictures)
	}
	return out
}

// outline is a histogram as a picture of both runs.
func (t *Table) outline(l *line) export.Outline {
	o := export.Outline{Title: strings.Join(l.key, ", "), About: t.moved(l)}
	buckets, _, _ := t.buckets(l)
	for _, b := range buckets {
		o.Names, o.Old, o.New = append(o.Names, b.name), append(o.Old, b.was), append(o.New, b.is)
	}
	return o
}

// writeCSV writes a line for each key of either run; the numbers of the new one are scaled.
func (t *Table) writeCSV(w *bufio.Writer) {
	head := make([]string, 0, len(t.Map.Keys)+3)
	for _, k := range t.Map.Keys {
		head = append(head, k.Name)
	}
	writeHead(w, append(head, "old", "new", "ratio")...)
	var line []export.Cell
	for i := range t.rows {
		l := &t.rows[i]
		line = line[:0]
		for i, part := range l.key {
			line = append(line, export.Cell{Text: view.Line(part), Number: t.words>>i&1 == 0})
		}
		// An empty field says that a run lacks the key. 0 would be a number of it.
		numbers := [3]string{}
		if l.old != nil {
			numbers[0] = plain(l.was)
		}
		if l.new != nil {
			numbers[1] = plain(l.is)
		}
		if l.old != nil && l.new != nil && l.was != 0 {
			numbers[2] = plain(l.is / l.was)
		}
		for _, n := range numbers {
			line = append(line, export.Cell{Text: n, Number: true})
		}
		export.WriteRecord(w, line)
	}
}

// writeHead writes the names of columns.
func writeHead(w *bufio.Writer, names ...string) {
	line := make([]export.Cell, len(names))
	for i, name := range names {
		line[i].Text = view.Line(name)
	}
	export.WriteRecord(w, line)
}

// plain is a number in as few digits as tell it from all others.
func plain(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
