package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// An Of is a choice of the values of a map that are shown.
type Of uint8

// The choices.
const (
	OfRun    Of = iota // totals of the whole run
	OfNow              // what the map holds
	OfWindow           // what it held when the script printed it last, before it cleared it
)

// DefaultOf is what is shown of a map at first.
func DefaultOf(m *view.Map) Of {
	// A script that prints and clears shows windows. So does the view.
	if m.Window && m.Kind.Additive() {
		return OfWindow
	}
	return OfRun
}

func (o Of) String() string { return [...]string{"total", "now", "window"}[o] }

// A Want chooses which numbers of a map a table shows.
type Want struct {
	Of       Of
	From, To time.Duration // only what happened in a span of time, if To is not 0
	Div      int64         // numbers are divided by it, unless it is 0
	Change   bool          // how much it changed rather than how much a second
}

// A Table is a map as rows and columns.
type Table struct {
	Map     *view.Map
	Columns []Column
	Keys    int // columns in front that belong to the key
	Rows    []Row
	All     int // rows that the map has
	Left    int // keys that it has no rows for
	// Sort is the column by which it is sorted at first: the one that says most.
	Sort int
	// Bar is the column whose numbers bars show, -1: none.
	Bar  int
	unit []view.Unit // of each column
	want Want
	room []float64 // of the numbers of rows
}

// A Column of a table.
type Column struct {
	Name  string
	Right bool // numbers, which end below each other
}

// A Row of a table.
type Row struct {
	view.Row
	Parts []value.Value // of the key
	Nums  []float64     // of each column behind the key
	// Rated: the numbers of how much a second are known.
	Rated bool
}

// Rows are the rows of a map that a Want means.
func (s *State) Rows(m *view.Map, w Want) view.Rows { return s.names.settled(m, s.rows(m, w)) }

// Left is how many keys of a map there are no rows for: files of runs keep those that weigh most.
func (s *State) Left(m *view.Map, w Want) int {
	snap := s.Snapshot(m)
	if snap == nil || w.Of == OfWindow || w.To > 0 {
		return 0
	}
	left := snap.Left
	// Keys that a row stands for are not left out.
	for i := range snap.Rows.Len() {
		row := snap.Rows.At(i)
		left -= int(row.Others)
	}
	return max(left, 0)
}

// rows are the rows of a map as they are wanted: of a span of its history, of the last window, of
// the totals or of now.
func (s *State) rows(m *view.Map, w Want) view.Rows {
	line := s.Line(m)
	// A range of time wins over everything else that is chosen.
	if w.To > 0 && line != nil && line.Len() > 0 {
		return view.RowsOf(line.Rows(line.Between(w.From, w.To)))
	}
	if w.Of == OfWindow {
		windows := s.windows
		if s.pinned != nil {
			windows = s.pinned.windows
		}
		if win := windows[m]; win != nil && win.any {
			return win.closed.Rows
		}
		return view.Rows{}
	}
	snap := s.Snapshot(m)
	switch {
	case snap == nil:
		return view.Rows{}
	case w.Of == OfNow && snap.Totals:
		return snap.Now
	}
	return snap.Rows
}

// A Pick chooses rows of a map.
type Pick struct {
	Column  int // by which they are in order; -1: that of Table.Sort
	Reverse bool
	Most    int // how many there are at most
	// Matches is asked for each part of a key, nil for none: rows of whose key no part matches are left out.
	Matches func(string) bool
	Key     value.Value // of the one row that is wanted; nil: any
}

// Table makes a table of a map: numbers the largest first, texts the smallest, rows that are equal there in the order
// of their keys. Only rows that are wanted are made, and never many more at a time: a map may have a million keys.
func (s *State) Table(m *view.Map, w Want, pick Pick) *Table {
	t := s.Columns(m, w)
	rate := s.rates(m, w)
	rows := s.Rows(m, w)
	t.Left, t.All = s.Left(m, w), rows.Len()
	if pick.Column < 0 || pick.Column >= len(t.Columns) {
		pick.Column = t.Sort
	}
	compare := t.order(pick.Column, pick.Reverse)
	full := false
	for i := range rows.Len() {
		r := rows.At(i)
		if pick.Key != nil && (r.Key == nil || value.Compare(r.Key, pick.Key) != 0) {
			continue
		}
		was := len(t.room)
		row := t.row(r, rate)
		switch {
		case pick.Matches != nil && !t.matches(&row, pick.Matches),
			full && compare(&row, &t.Rows[pick.Most-1]) >= 0:
			t.room = t.room[:was]
			continue
		}
		if t.Rows = append(t.Rows, row); len(t.Rows) >= 2*pick.Most {
			t.first(pick.Most, compare)
			full = true
		}
	}
	t.first(pick.Most, compare)
	return t
}

// Columns is a table of a map without rows.
func (s *State) Columns(m *view.Map, w Want) *Table {
	t := &Table{Map: m, want: w, Bar: -1}
	for _, k := range m.Keys {
		name := strings.ToUpper(k.Name)
		if k.Frames != view.NoFrames {
			name = strings.ToUpper(k.Frames.String()) + " STACK"
		}
		t.column(name, number64(k), k.Unit)
	}
	t.Keys = len(t.Columns)
	t.values(w)
	return t
}

// row makes one of a row of the map; rate says how much that grew, nil if it is not known.
func (t *Table) row(r view.Row, rate func(view.Row) float64) Row {
	row := Row{Row: r}
	if r.Others == 0 && t.Map.Keyed() {
		row.Parts = view.Flatten(t.Map.Key, r.Key)
	}
	row.Nums, row.Rated = t.numbers(r.Value), rate != nil
	for i := range row.Nums {
		if rate == nil || t.Columns[t.Keys+i].Name != t.rateName() {
			continue
		}
		// Rates are divided as the numbers beside them are.
		row.Nums[i] = rate(r) / float64(max(t.want.Div, 1))
	}
	return row
}

// number64 reports whether a part of a key is a plain number.
func number64(e view.Element) bool {
	_, ok := types.IsInteger(e.Type)
	return ok
}

func (t *Table) column(name string, right bool, u view.Unit) {
	t.Columns, t.unit = append(t.Columns, Column{name, right}), append(t.unit, u)
}

// rateName tells the column whose numbers are from history, not from values.
func (t *Table) rateName() string {
	if t.want.Change {
		return "CHANGE"
	}
	return "/s"
}

// values adds the columns of values, by the kind of the map.
func (t *Table) values(w Want) {
	m := t.Map
	name := strings.ToUpper(w.Of.String())
	if w.To > 0 {
		name = "IN RANGE"
	}
	t.Sort = t.Keys
	switch m.Kind {
	case view.Counter:
		t.column(name, true, m.Unit)
		t.column(t.rateName(), true, m.Unit)
		t.Bar = t.Keys
	case view.Gauge:
		t.column("VALUE", true, m.Unit)
		t.Bar = t.Keys
	case view.Summary:
		t.column("COUNT", true, view.NoUnit)
		t.column("TOTAL", true, m.Unit)
		t.column("AVERAGE", true, m.Unit)
		t.column(t.rateName(), true, view.NoUnit)
		t.Sort, t.Bar = t.Keys+1, t.Keys+1
	case view.Histogram:
		t.column("COUNT", true, view.NoUnit)
		for _, q := range quantiles {
			t.column(q.name, true, m.Unit)
		}
		t.column(t.rateName(), true, view.NoUnit)
		t.Bar = t.Keys
	case view.Record:
		for _, c := range m.Columns {
			t.column(strings.ToUpper(c.Name), c.Kind == view.Gauge, c.Unit)
		}
		if len(m.Columns) == 0 {
			t.column("VALUE", false, m.Unit)
		}
	default:
		t.column("VALUE", false, m.Unit)
		// Texts have no order of their own that says anything: keys decide.
		t.Sort = 0
	}
}

// quantiles are the shares of a histogram's values of which bounds are shown.
var quantiles = []struct {
	name string
	part float64
}{{"P50", 0.5}, {"P90", 0.9}, {"P99", 0.99}}

// numbers are those of a value, for each column.
func (t *Table) numbers(v value.Value) []float64 {
	div := float64(max(t.want.Div, 1))
	switch v := v.(type) {
	case value.Avg:
		return t.summary(value.Stats(v), div)
	case value.Stats:
		return t.summary(v, div)
	case value.Hist:
		out := []float64{float64(view.Count(v)) / div}
		for _, q := range quantiles {
			out = append(out, bound(v, q.part))
		}
		// The last column is a rate, which Table fills in.
		return append(out, 0)
	case value.Series:
		if n := len(v.Points); n > 0 {
			return []float64{Float(v.Number(v.Points[n-1]))}
		}
		return []float64{0}
	case value.Record, value.Tuple:
		var out []float64
		for _, part := range view.Flatten(t.Map.Type, v) {
			out = append(out, Float(part))
		}
		return out
	}
	// Numbers of rows share blocks: a slice for each would be far more work for the collector.
	from := len(t.room)
	t.room = append(t.room, make([]float64, len(t.Columns)-t.Keys)...)
	out := slices.Clip(t.room[from:])
	if len(out) > 0 {
		out[0] = Float(v) / div
	}
	return out
}

// summary are count, total and average, with a place for the rate.
func (t *Table) summary(v value.Stats, div float64) []float64 {
	out := []float64{float64(v.Count), float64(v.Total) / div, 0, 0}
	if !v.Signed {
		out[1] = float64(uint64(v.Total)) / div
	}
	if v.Count != 0 {
		out[2] = out[1] / out[0]
	}
	return out
}

// Float is the number that a value is, as far as floats tell numbers apart.
func Float(v value.Value) float64 {
	n, negative, _ := value.Integer(v)
	if negative {
		return float64(int64(n))
	}
	return float64(n)
}

// rates makes what says how much a row grew, a second or in all; nil if that is not known
// yet. It is the growth since the look before, in the range, or in the window.
func (s *State) rates(m *view.Map, w Want) func(view.Row) float64 {
	if s.end != nil && s.At() >= s.end.Boot && w.To == 0 && w.Of == OfRun && !w.Change && m.Kind.Additive() {
		all := (s.end.Boot - s.begin.Boot).Seconds() // the mean, as nothing more comes
		return func(r view.Row) float64 { return float64(m.Count(r.Value)) / all }
	}
	line := s.Line(m)
	if line == nil {
		return nil
	}
	j := s.Seen(line)
	i := j - 1
	switch {
	case w.To > 0:
		i, j = line.Between(w.From, w.To)
	case j == 0:
		return nil
	// A single look has nothing before it, while a window is a change by itself.
	case j < 2 && !line.Windows:
		return nil
	}
	if i >= j {
		return nil
	}
	start, _ := line.Span(i)
	_, end := line.Span(j - 1)
	per := 1.0
	if !w.Change {
		if per = (end - start).Seconds(); per <= 0 {
			return nil
		}
	}
	return func(r view.Row) float64 {
		key := history.Others
		if r.Others == 0 {
			var ok bool
			// A key without a past did not grow in it.
			if key, ok = line.Key(r.Key); !ok {
				return 0
			}
		}
		sum := 0.0
		for _, n := range line.Amounts(key, history.Count, i, j) {
			sum += n
		}
		return sum / per
	}
}

// Text is what a cell shows, as it came from the traced world.
func (t *Table) Text(r *Row, column int) string {
	u := t.unit[column]
	if column < t.Keys {
		switch {
		case r.Others > 0 && column == 0:
			return "(" + view.Grouped(int(r.Others)) + " others)"
		case column >= len(r.Parts):
			return ""
		}
		return KeyText(r.Parts[column])
	}
	i := column - t.Keys
	name := t.Columns[column].Name
	switch {
	case name == t.rateName() && !r.Rated:
		return "–"
	case t.Map.Kind == view.Histogram && i > 0 && i <= len(quantiles):
		// Bounds have signs and words, which numbers cannot have.
		if h, ok := r.Value.(value.Hist); ok {
			return Bound(h, quantiles[i-1].part, u)
		}
	case t.Map.Kind == view.Record:
		// Numbers that identify something, as process IDs, have no commas.
		if parts := view.Flatten(t.Map.Type, r.Value); i < len(parts) &&
			(!t.Columns[column].Right || u == view.NoUnit && view.Identifies(name)) {
			return KeyText(parts[i])
		}
	case t.Map.Kind == view.Text, t.Map.Kind == view.Gauge && u == view.NoUnit && view.Identifies(t.Map.Name):
		return KeyText(r.Value)
	}
	if i >= len(r.Nums) {
		return ""
	}
	text := Amount(r.Nums[i], u)
	if r.AtLeast && i == 0 {
		text = "≥ " + text
	}
	return text
}

// KeyText is a part of a key in a line: of a stack its innermost function.
func KeyText(v value.Value) string {
	st, ok := v.(*value.Stack)
	if !ok {
		return string(value.AppendText(nil, v))
	}
	frames := view.FramesOf(st)
	if len(frames) == 0 {
		return "[no stack]"
	}
	return frames[len(frames)-1].Name
}

// order compares rows by a column; reverse turns that round. Those that are equal there are in the order of their keys.
func (t *Table) order(column int, reverse bool) func(a, b *Row) int {
	sign := 1
	if reverse {
		sign = -1
	}
	return func(a, b *Row) int {
		if a.Others != b.Others { // what stands for many is last
			return cmp.Compare(a.Others, b.Others)
		}
		if column < t.Keys {
			if c := comparePart(a, b, column); c != 0 {
				return sign * c
			}
		} else if i := column - t.Keys; i < len(a.Nums) && i < len(b.Nums) {
			if c := cmp.Compare(b.Nums[i], a.Nums[i]); c != 0 {
				return sign * c
			}
		}
		for i := range t.Keys {
			if c := comparePart(a, b, i); c != 0 {
				return c
			}
		}
		return 0
	}
}

// first keeps the rows that come first, in order, most of them at most.
func (t *Table) first(most int, compare func(a, b *Row) int) {
	at := make([]int, len(t.Rows))
	for i := range at {
		at[i] = i
	}
	order.Stably(at, func(a, b int) int { return compare(&t.Rows[a], &t.Rows[b]) })
	at = at[:min(most, len(at))]
	// Rows are large, so that their numbers are sorted.
	rows := make([]Row, len(at), max(2*len(at), 1))
	for i, n := range at {
		rows[i] = t.Rows[n]
	}
	t.Rows = rows
}

// comparePart orders rows by a part of their keys; rows without it come first.
func comparePart(a, b *Row, i int) int {
	if i >= len(a.Parts) || i >= len(b.Parts) {
		return len(a.Parts) - len(b.Parts)
	}
	// Stacks are compared by address, as names may not be known yet.
	if x, ok := a.Parts[i].(*value.Stack); ok {
		if y, ok := b.Parts[i].(*value.Stack); ok {
			return slices.Compare(x.Addrs, y.Addrs)
		}
	}
	return value.Compare(a.Parts[i], b.Parts[i])
}

// matches reports whether a part of a row's key matches.
func (t *Table) matches(r *Row, match func(string) bool) bool {
	for i := range t.Keys {
		if match(t.Text(r, i)) {
			return true
		}
	}
	return false
}
