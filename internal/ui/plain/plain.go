// Package plain prints maps as tables at intervals, between what the script prints: for
// logs, readers of screens and terminals that move no cursor.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
)

// Options say what is printed.
type Options struct {
	Rows    int // of a table at most, unless print() of the script says otherwise
	History history.Options
}

// A View is a feed that prints tables after each look at the maps. Its Writer is where
// the output of the script goes, so that lines of both stay whole.
type View struct {
	*live.State
	o    Options
	maps []*view.Map

	mu   sync.Mutex // for one who writes at a time
	w    io.Writer
	part []byte // of a line of the script's that has no end yet
	err  error
	sink *filter
}

// New makes a view of some maps.
func New(maps []*view.Map, o Options) *View {
	return &View{State: live.New(o.History), o: o, maps: maps}
}

// Open says where it prints.
func (v *View) Open(w io.Writer) { v.w = w }

// Writer takes what the script prints.
func (v *View) Writer() io.Writer { return lines{v} }

// A lines takes the script's output and passes it on in whole lines.
type lines struct{ v *View }

// Write passes whole lines on.
func (l lines) Write(p []byte) (int, error) {
	v := l.v
	v.mu.Lock()
	defer v.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		v.part = append(v.part, p...)
		return len(p), v.err
	}
	v.write(append(v.part, p[:end]...))
	v.part = append([]byte(nil), p[end:]...)
	return len(p), v.err
}

func (v *View) write(p []byte) {
	if v.err == nil {
		_, v.err = v.w.Write(p)
	}
}

// Sink takes what the script prints, but for maps, which tables show.
func (v *View) Sink(to output.Sink) output.Sink {
	v.sink = &filter{Sink: to}
	return v.sink
}

// A filter leaves maps out.
type filter struct{ output.Sink }

// Write passes an item on.
func (f *filter) Write(item output.Item) error {
	if _, ok := item.(output.Map); ok {
		return nil
	}
	return f.Sink.Write(item)
}

// Take takes an item of the run.
func (v *View) Take(item view.Item) error {
	v.State.Take(item)
	switch it := item.(type) {
	case view.Refreshed:
		return v.print(it.Boot)
	case view.End:
		if v.sink != nil {
			v.sink.Flush()
		}
		v.mu.Lock()
		if len(v.part) > 0 {
			v.write(append(v.part, '\n'))
			v.part = nil
		}
		v.mu.Unlock()
		return v.print(it.Boot)
	}
	return nil
}

// print writes a line with the time, and a table for each map that holds anything.
func (v *View) print(boot time.Duration) error {
	v.Lock()
	begin := v.Begin()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  %s", begin.Wall.Add(boot-begin.Boot).Format("15:04:05"), live.Clock(boot-begin.Boot))
	if end := v.End(); end != nil {
		fmt.Fprintf(&b, "  ended: %s", end.Cause)
	}
	if lost := v.Loss().Records; lost > 0 {
		fmt.Fprintf(&b, "  lost %s", view.Counted(int(lost), "event"))
	}
	b.WriteString("\n\n")
	for _, m := range v.maps {
		v.table(&b, m)
	}
	v.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(b.Bytes())
	return v.err
}

// table writes a map.
func (v *View) table(b *bytes.Buffer, m *view.Map) {
	want := live.Want{Of: live.DefaultOf(m), Div: m.Div}
	if v.End() != nil && want.Of == live.OfWindow {
		want.Of = live.OfRun
	}
	if m.Profile() {
		v.functions(b, m, want)
		return
	}
	most := v.o.Rows
	if m.Top > 0 {
		most = int(m.Top)
	}
	t := v.Table(m, want, live.Pick{Column: -1, Most: most})
	shown := t.Rows
	if len(shown) == 0 {
		return
	}
	b.WriteString(heading(t, want))
	v.refused(b, m)
	switch m.Kind {
	case view.Histogram, view.Series:
		v.drawn(b, t, shown)
	default:
		var cells [][]string
		for i := range shown {
			row := make([]string, len(t.Columns))
			for c := range row {
				row[c] = glyph.Safe(t.Text(&shown[i], c))
			}
			cells = append(cells, row)
		}
		align(b, t.Columns, cells)
	}
	if left := t.All + t.Left - len(shown); left > 0 {
		fmt.Fprintf(b, "%s rows more\n", view.Grouped(left))
	}
	b.WriteByte('\n')
}

// refused writes what did not get into a map.
func (v *View) refused(b *bytes.Buffer, m *view.Map) {
	if s := v.Snapshot(m); s != nil && s.Refused.Updates > 0 {
		fmt.Fprintf(b, "%s %s\n", m.Name, s.Refused)
	}
}

// heading is the name of a map with what is shown of it.
func heading(t *live.Table, want live.Want) string {
	out := fmt.Sprintf("%s  %s", t.Map.Name, t.Map.Kind)
	// Numbers of a table have their unit beside them, those of a picture have not.
	if k := t.Map.Kind; t.Map.Unit != view.NoUnit && (k == view.Histogram || k == view.Series) {
		out += ", " + t.Map.Unit.String()
	}
	if want.Of == live.OfWindow {
		out += ", of the last window"
	}
	if want.Div > 1 {
		out += fmt.Sprintf(", divided by %d", want.Div)
	}
	if t.Map.Keyed() {
		out += "  " + view.Counted(t.All+t.Left, "key")
	}
	return out + "\n"
}

// drawn writes histograms and series as the script would.
func (v *View) drawn(b *bytes.Buffer, t *live.Table, rows []live.Row) {
	for i := range rows {
		if t.Map.Keyed() {
			var parts []string
			for c := range t.Keys {
				parts = append(parts, glyph.Safe(t.Text(&rows[i], c)))
			}
			fmt.Fprintf(b, "%s[%s]\n", t.Map.Name, strings.Join(parts, ", "))
		}
		if h, ok := rows[i].Value.(value.Hist); ok && t.Map.Div > 1 {
			h.Div = uint64(t.Map.Div)
			rows[i].Value = h
		}
		b.Write(output.AppendValue(nil, rows[i].Value))
	}
}

// functions writes the functions of a profile that weigh most.
func (v *View) functions(b *bytes.Buffer, m *view.Map, want live.Want) {
	rows := v.Rows(m, want)
	if rows.Len() == 0 {
		return
	}
	p := view.NewProfile(&view.Snapshot{Map: m, Rows: rows})
	all, unit := float64(p.Total()), live.WeightUnit(m)
	funcs := p.Functions()
	fmt.Fprintf(b, "%s  profile  %s, %s in all\n", m.Name, view.Counted(p.Len(), "stack"),
		live.Amount(all, unit))
	if left := v.Left(m, want); left > 0 {
		fmt.Fprintf(b, "%s more were not kept\n", view.Counted(left, "stack"))
	}
	v.refused(b, m)
	columns := []live.Column{{Name: "SELF", Right: true}, {Name: "SHARE", Right: true}, {Name: "TOTAL", Right: true},
		{Name: "SHARE", Right: true}, {Name: "FUNCTION"}}
	var cells [][]string
	left := 0
	for _, f := range funcs {
		if f.Kind == view.LabelFrame {
			continue
		}
		if len(cells) == v.o.Rows {
			left++
			continue
		}
		self, total := float64(f.Self), float64(f.Total)
		cells = append(cells, []string{live.Amount(self, unit), live.Share(self, all), live.Amount(total, unit),
			live.Share(total, all), f.Name})
	}
	align(b, columns, cells)
	if left > 0 {
		fmt.Fprintf(b, "%s functions more\n", view.Grouped(left))
	}
	b.WriteByte('\n')
}

// align writes cells below each other under the names of their columns.
func align(b *bytes.Buffer, columns []live.Column, cells [][]string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = glyph.Width(c.Name)
		for _, row := range cells {
			widths[i] = max(widths[i], glyph.Width(row[i]))
		}
	}
	line := func(cell func(i int) string) {
		var text strings.Builder
		for i, c := range columns {
			fill := strings.Repeat(" ", widths[i]-glyph.Width(cell(i)))
			if i > 0 {
				text.WriteString("  ")
			}
			if c.Right {
				text.WriteString(fill)
			}
			text.WriteString(cell(i))
			if !c.Right {
				text.WriteString(fill)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	line(func(i int) string { return columns[i].Name })
	for _, row := range cells {
		line(func(i int) string { return row[i] })
	}
}
