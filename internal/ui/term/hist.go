package term

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Widths of the two pictures of a histogram.
const (
	minHeat  = 30 // columns that are worth a heat map
	barsPart = 2  // of 5 parts of the width, where both are drawn
)

// drawHistograms draws the histogram of the selected key, and the keys below it.
func (m *Model) drawHistograms(g *tty.Grid, b box, n int) string {
	p := m.panes[n]
	t := m.table(p)
	if len(t.Rows) == 0 {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
		return m.about(p)
	}
	list := 0
	row := &t.Rows[p.cursor]
	h, _ := row.Value.(value.Hist)
	line := m.State.Line(p.m)
	from, to := live.Filled(h.Buckets)
	picture := to - from + 2 // with the line of the time, and one that parts it from the keys
	m.uses(p, picture)
	// Keys get a third of the height, if the picture is still worth it then, and what the picture has no use for.
	if p.m.Keyed() && b.h >= 8 && len(t.Rows) > 1 {
		list = min(max(b.h/3, b.h-picture), len(t.Rows)+1)
		m.uses(p, picture+len(t.Rows)+1)
	}
	if spare := b.h - list - picture; spare > 0 && !p.heat { // which stay free below both
		b.h -= spare
	}
	m.drawHist(g, box{b.x, b.y, b.w, b.h - list}, p, h, line, row.Key)
	if list > 0 {
		m.drawTable(g, box{b.x, b.y + b.h - list, b.w, list}, n, t, p.scroll(len(t.Rows), list-1))
	}
	heading := "hist"
	if p.m.Keyed() {
		var parts []string
		for c := range t.Keys {
			parts = append(parts, glyph.Safe(t.Text(row, c)))
		}
		heading = "[" + strings.Join(parts, ", ") + "]"
	}
	numbers := []string{"total " + live.Amount(float64(view.Count(h)), view.NoUnit)}
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		numbers = append(numbers, q.name+" "+live.Bound(h, q.part, p.m.Unit))
	}
	// Where not all fit, those go that say the least: the total, p90, p50.
	for len(numbers) > 1 && glyph.Width(heading+"  "+strings.Join(numbers, "  ")) > b.w {
		least := [...]int{4: 0, 3: 1, 2: 0}[len(numbers)]
		numbers = slices.Delete(numbers, least, least+1)
	}
	heading += "  " + strings.Join(numbers, "  ")
	if p.of != live.OfRun {
		heading += "  " + p.of.String()
	}
	return heading + m.counted(t)
}

// drawHist draws bars, and beside them how they came about, if there is room.
func (m *Model) drawHist(g *tty.Grid, b box, p *pane, h value.Hist, line *history.Line, key value.Value) {
	bars := b
	heat := box{}
	switch {
	case p.heat && line != nil:
		bars, heat = box{}, b
	// A heat map gets what bars leave, if it is worth drawing.
	case line != nil && b.w*(5-barsPart)/5-2 >= minHeat:
		bars.w = b.w * barsPart / 5
		heat = box{b.x + bars.w + 2, b.y, b.w - bars.w - 2, b.h}
	}
	from, to := live.Filled(h.Buckets)
	lines := b.h
	if heat.w > axisWidth && heat.h > 1 {
		of := history.All
		if p.m.Keyed() {
			if k, ok := line.Key(key); ok {
				of = k
			} else {
				// History does not keep this key apart: it is one of the others.
				of = history.Others
			}
		}
		past := m.past(line, of, heat.w-axisWidth)
		// Bars and heat map have the same buckets in the same lines.
		from, to = past.filled(from, to)
		// History may know more buckets than this value has.
		to = min(to, len(h.Buckets))
		low, high := fullest(h.Buckets, from, to, lines-1)
		m.drawHeat(g, heat, p, past, low, high)
		if bars.w > 0 {
			m.drawBuckets(g, bars, p, h, low, high, to-from)
		}
		return
	}
	if to-from > lines {
		lines-- // for the line that says so
	}
	low, high := fullest(h.Buckets, from, to, lines)
	m.drawBuckets(g, bars, p, h, low, high, to-from)
}

// fullest is the part of some buckets that fits into lines and counts most.
func fullest(buckets []value.Bucket, from, to, lines int) (low, high int) {
	lines = max(min(lines, to-from), 0)
	var sum, most uint64
	low = from
	// The sum is that of a window of so many buckets, which moves over all of them.
	for k := from; k < to; k++ {
		if sum += buckets[k].Count; k >= from+lines {
			sum -= buckets[k-lines].Count
		}
		if k+1-lines >= from && sum > most {
			most, low = sum, k+1-lines
		}
	}
	return low, low + lines
}

// drawBuckets draws a bar for each of some buckets, the smallest values at the bottom as in
// the heat map beside it. All is how many hold anything.
func (m *Model) drawBuckets(g *tty.Grid, b box, p *pane, h value.Hist, low, high, all int) {
	rows := h.Buckets[low:high]
	div := uint64(1)
	// print of the script divides counts, unless the pane shows all as it is.
	if !p.all && p.m.Div > 1 {
		div = uint64(p.m.Div)
	}
	most, labels, counts := 1.0, 0, 0
	texts := make([][2]string, len(rows))
	for i := range rows {
		n := float64(rows[i].Count / div)
		most = max(most, n)
		texts[i] = [2]string{glyph.Safe(rows[i].Label), live.Amount(n, view.NoUnit)}
		labels, counts = max(labels, glyph.Width(texts[i][0])), max(counts, glyph.Width(texts[i][1]))
	}
	for i := range rows {
		y := b.y + len(rows) - 1 - i
		g.Put(b.x, y, min(labels, b.w), texts[i][0], m.Theme.text())
		x := b.x + labels + 1
		g.Put(x+counts-glyph.Width(texts[i][1]), y, b.x+b.w-x, texts[i][1], m.Theme.text())
		x += counts + 1
		share := float64(rows[i].Count/div) / most
		if p.log {
			// The logarithm of n plus one, so that a bucket with one value has a bar.
			share = math.Log1p(float64(rows[i].Count/div)) / math.Log1p(most)
		}
		drawBar(g, x, y, b.x+b.w-x, share, m.Theme.bar())
	}
	if more := all - len(rows); more > 0 && b.h > 0 {
		g.Put(b.x, b.y+b.h-1, b.w, view.Counted(more, "bucket")+" more", m.Theme.dim())
	}
}

// axisWidth is the width of the names of buckets beside a heat map.
const axisWidth = 9

// A past is how a histogram came about: a column for each look or window.
type past struct {
	line    *history.Line
	i, j    int         // its columns in the line
	columns [][]float64 // a second
	buckets []value.Bucket
}

// past is that of a key. The newest columns stand at the right edge; a picture that is new
// fills from there.
func (m *Model) past(line *history.Line, key history.Key, width int) *past {
	i, j := m.columnsOf(line, width)
	counts, buckets := line.Heat(key, i, j)
	columns := make([][]float64, len(counts))
	for c, of := range counts {
		columns[c] = make([]float64, len(of))
		for k, n := range of {
			// Columns take different times: only rates compare.
			columns[c][k] = float64(n) / line.Seconds(i+c)
		}
	}
	return &past{line, i, j, columns, buckets}
}

// filled extends a part of the buckets by those that held anything in the past.
func (t *past) filled(from, to int) (int, int) {
	for _, column := range t.columns {
		for k, n := range column {
			if n > 0 {
				from, to = min(from, k), max(to, k+1)
			}
		}
	}
	return from, max(min(to, len(t.buckets)), from)
}

// drawHeat draws a column for each look or window: some of the buckets upwards, how much came
// into them as color.
func (m *Model) drawHeat(g *tty.Grid, b box, p *pane, past *past, low, high int) {
	if low >= high {
		return
	}
	most := 0.0
	for _, column := range past.columns {
		for k := low; k < high; k++ {
			most = max(most, column[k])
		}
	}
	// The newest column is at the right edge.
	lines, right := high-low, b.x+b.w-len(past.columns)
	for k := low; k < high; k++ {
		y := b.y + lines - 1 - (k - low)
		name := glyph.Safe(live.BucketName(&past.buckets[k], p.m.Unit))
		g.Put(b.x+max(axisWidth-2-glyph.Width(name), 0), y, axisWidth-2, name, m.Theme.dim())
		for c, column := range past.columns {
			share := column[k] / cmp.Or(most, 1)
			if p.log && share > 0 {
				share = math.Log1p(column[k]) / math.Log1p(most)
			}
			text, style := m.Theme.heat(share)
			// Hatching gives way to amounts: a column may be a gap in part.
			if past.line.Gap(past.i+c) && text == " " {
				text, style = hatch, m.Theme.dim()
			}
			g.Set(right+c, y, text, style)
		}
	}
	m.drawAxis(g, box{b.x + axisWidth, b.y + lines, b.w - axisWidth, 1}, past.line, past.i, past.j)
	m.drawPicking(g, box{b.x + axisWidth, b.y, b.w - axisWidth, lines + 1}, past.line, p)
}

// drawAxis says how far back the columns go.
func (m *Model) drawAxis(g *tty.Grid, b box, line *history.Line, i, j int) {
	if i >= j {
		return
	}
	start, _ := line.Span(i)
	_, end := line.Span(j - 1)
	from := b.x + b.w - (j - i)
	// Tenths of a second are exact enough for an axis.
	back := fmt.Sprintf("-%s", seconds((end - start).Round(1e8)))
	for x := from; x < b.x+b.w; x++ {
		g.Set(x, b.y, "─", m.Theme.dim())
	}
	now := " now"
	if m.pinned || m.span.to > 0 {
		now = " " + m.wall(end)
	}
	// Without room between them the two names are left out.
	if b.x+b.w-from >= glyph.Width(back)+glyph.Width(now)+4 {
		g.Put(from, b.y, b.w, "└ "+back+" ", m.Theme.dim())
		g.Put(b.x+b.w-glyph.Width(now)-2, b.y, b.w, now+" ┘", m.Theme.dim())
	}
}

// drawPicking marks the columns of a range that is being chosen.
func (m *Model) drawPicking(g *tty.Grid, b box, _ *history.Line, p *pane) {
	if m.picking == nil || p != m.focused() {
		return
	}
	a, z := m.picking.at, m.picking.at
	if m.picking.marked {
		a, z = min(a, m.picking.mark), max(z, m.picking.mark)
	}
	// Columns of a range are counted from the newest.
	for back := a; back <= z; back++ {
		x := b.x + b.w - 1 - back
		if x < b.x {
			break
		}
		for y := b.y; y < b.y+b.h; y++ {
			g.Style(x, y, func(s tty.Style) tty.Style { return s.With(tty.Reverse) })
		}
	}
}
