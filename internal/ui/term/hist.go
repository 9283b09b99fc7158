package term

import (
	"fmt"
	"math"
	"strings"

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
	t, all := m.table(p)
	if len(t.Rows) == 0 {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
		return m.about(p)
	}
	list := 0
	if p.m.Keyed() && b.h >= 8 && len(t.Rows) > 1 {
		list = min(b.h/3, len(t.Rows)+1)
	}
	row := &t.Rows[p.cursor]
	h, _ := row.Value.(value.Hist)
	line := m.State.Line(p.m)
	m.drawHist(g, box{b.x, b.y, b.w, b.h - list}, p, h, line, row.Key)
	if list > 0 {
		m.drawTable(g, box{b.x, b.y + b.h - list, b.w, list}, n, t, p.scroll(len(t.Rows), list-1))
	}
	heading := "hist"
	if p.m.Keyed() {
		var parts []string
		for c := range t.Keys {
			parts = append(parts, tty.Safe(t.Text(row, c)))
		}
		heading = "[" + strings.Join(parts, ", ") + "]"
	}
	heading += "  total " + live.Amount(float64(view.Count(h)), view.NoUnit)
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		heading += "  " + q.name + " " + live.Bound(h, q.part, p.m.Unit)
	}
	if p.of != live.OfRun {
		heading += "  " + p.of.String()
	}
	return heading + m.counted(t, all)
}

// drawHist draws bars, and beside them how they came about, if there is room.
func (m *Model) drawHist(g *tty.Grid, b box, p *pane, h value.Hist, line *history.Line, key value.Value) {
	bars := b
	heat := box{}
	switch {
	case p.heat && line != nil:
		bars, heat = box{}, b
	case line != nil && b.w*(5-barsPart)/5-2 >= minHeat:
		bars.w = b.w * barsPart / 5
		heat = box{b.x + bars.w + 2, b.y, b.w - bars.w - 2, b.h}
	}
	from, to := live.Filled(h.Buckets)
	if heat.w > 0 {
		of := history.All
		if p.m.Keyed() {
			if k, ok := line.Key(key); ok {
				of = k
			} else {
				of = history.Others
			}
		}
		from, to = m.drawHeat(g, heat, p, line, of, from, to)
	}
	if bars.w > 0 {
		m.drawBuckets(g, bars, p, h, from, to)
	}
}

// drawBuckets draws a bar for each bucket, the smallest values at the bottom if there is a
// heat map beside it.
func (m *Model) drawBuckets(g *tty.Grid, b box, p *pane, h value.Hist, from, to int) {
	rows := h.Buckets[from:to]
	div := uint64(1)
	if !p.all && p.m.Div > 1 {
		div = uint64(p.m.Div)
	}
	from, left := m.window(len(rows), b.h, p)
	rows = rows[from : len(rows)-left]
	most, labels, counts := 1.0, 0, 0
	texts := make([][2]string, len(rows))
	for i := range rows {
		n := float64(rows[i].Count / div)
		most = max(most, n)
		texts[i] = [2]string{tty.Safe(rows[i].Label), live.Amount(n, view.NoUnit)}
		labels, counts = max(labels, tty.Width(texts[i][0])), max(counts, tty.Width(texts[i][1]))
	}
	for i := range rows {
		y := b.y + len(rows) - 1 - i
		g.Put(b.x, y, min(labels, b.w), texts[i][0], m.Theme.text())
		x := b.x + labels + 1
		g.Put(x+counts-tty.Width(texts[i][1]), y, b.x+b.w-x, texts[i][1], m.Theme.text())
		x += counts + 1
		share := float64(rows[i].Count/div) / most
		if p.log {
			// The logarithm of n plus one, so that a bucket with one value has a bar.
			share = math.Log1p(float64(rows[i].Count/div)) / math.Log1p(most)
		}
		drawBar(g, x, y, b.x+b.w-x, share, m.Theme.bar())
	}
	if from+left > 0 && b.h > 0 {
		g.Put(b.x, b.y+b.h-1, b.w, fmt.Sprintf("%d buckets more", from+left), m.Theme.dim())
	}
}

// window are the buckets left out at both ends where there are more than lines: the fullest
// part is the middle.
func (m *Model) window(rows, height int, _ *pane) (from, left int) {
	over := rows - height
	if over <= 0 {
		return 0, 0
	}
	over++ // for the line that says so
	over = min(over, rows)
	return over / 2, over - over/2
}

// drawHeat draws a column for each look or window: the buckets upwards, how much came into
// them as color. It returns the buckets that it shows.
func (m *Model) drawHeat(g *tty.Grid, b box, p *pane, line *history.Line, key history.Key, from, to int) (f, t int) {
	const axis = 9
	width := b.w - axis
	if width <= 0 || b.h < 2 {
		return from, to
	}
	// The newest columns stand at the right edge; a picture that is new fills from there.
	i, j := m.columnsOf(line, width)
	heat, buckets := line.Heat(key, i, j)
	for _, column := range heat {
		for k, n := range column {
			if n > 0 {
				from, to = min(from, k), max(to, k+1)
			}
		}
	}
	to = min(to, len(buckets))
	if from >= to {
		return from, to
	}
	height := b.h - 1
	shown, left := m.window(to-from, height, p)
	low, high := from+shown, to-left
	most := 0.0
	for _, column := range heat {
		for k := low; k < high; k++ {
			most = max(most, float64(column[k]))
		}
	}
	lines := high - low
	for k := low; k < high; k++ {
		y := b.y + lines - 1 - (k - low)
		name := tty.Safe(live.BucketName(&buckets[k], p.m.Unit))
		g.Put(b.x+max(axis-2-tty.Width(name), 0), y, axis-2, name, m.Theme.dim())
		for c, column := range heat {
			share := float64(column[k]) / max(most, 1)
			if p.log && share > 0 {
				share = math.Log1p(float64(column[k])) / math.Log1p(most)
			}
			text, style := m.Theme.heat(share)
			if line.Gap(i+c) && text == " " {
				text, style.Attr = hatch, style.Attr|tty.Dim
			}
			g.Set(b.x+axis+width-len(heat)+c, y, text, style)
		}
	}
	m.drawAxis(g, box{b.x + axis, b.y + lines, width, 1}, line, i, j)
	m.drawPicking(g, box{b.x + axis, b.y, width, lines + 1}, line, p)
	return from, to
}

// drawAxis says how far back the columns go.
func (m *Model) drawAxis(g *tty.Grid, b box, line *history.Line, i, j int) {
	if i >= j {
		return
	}
	start, _ := line.Span(i)
	_, end := line.Span(j - 1)
	from := b.x + b.w - (j - i)
	back := fmt.Sprintf("-%s", seconds((end - start).Round(1e8)))
	for x := from; x < b.x+b.w; x++ {
		g.Set(x, b.y, "─", m.Theme.dim())
	}
	now := " now"
	if m.pinned || m.span.to > 0 {
		now = " " + m.wall(end)
	}
	if b.x+b.w-from >= tty.Width(back)+tty.Width(now)+4 {
		g.Put(from, b.y, b.w, "└ "+back+" ", m.Theme.dim())
		g.Put(b.x+b.w-tty.Width(now)-2, b.y, b.w, now+" ┘", m.Theme.dim())
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
