package term

import (
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// maxRows is how many rows of a table can be looked through.
const maxRows = 10_000

// table is that of a pane: filtered, sorted, cut.
func (m *Model) table(p *pane) *live.Table {
	pick := live.Pick{Column: p.sort, Reverse: p.reverse, Most: maxRows}
	// The filter looks through all rows, the limit leaves those on top of what it finds.
	if !p.filter.empty() {
		pick.Matches = p.filter.matches
	}
	if n := p.rowLimit(); n > 0 {
		pick.Most = min(n, maxRows)
	}
	t := m.State.Table(p.m, m.want(p), pick)
	// There may be fewer rows than when the cursor was set.
	p.cursor = min(max(p.cursor, 0), max(len(t.Rows)-1, 0))
	return t
}

// sorted is the column that rows are in the order of.
func (p *pane) sorted(t *live.Table) int {
	if p.sort >= 0 && p.sort < len(t.Columns) {
		return p.sort
	}
	return t.Sort
}

// scroll is the first of some rows that is shown, so that the cursor is seen.
func (p *pane) scroll(rows, height int) int {
	// The top moves no further than the cursor needs, and leaves no room below the last row.
	p.top = max(min(p.top, p.cursor, rows-height), p.cursor-height+1, 0)
	return p.top
}

// drawMap draws a map as a table.
func (m *Model) drawMap(g *tty.Grid, b box, n int) string {
	p := m.panes[n]
	t := m.table(p)
	m.uses(p, len(t.Rows)+1)
	m.drawTable(g, b, n, t, p.scroll(len(t.Rows), b.h-1))
	return m.about(p) + m.counted(t)
}

// counted says how many keys there are, and how many of them are shown.
func (m *Model) counted(t *live.Table) string {
	all := t.All + t.Left
	switch {
	case !t.Map.Keyed():
		return ""
	case len(t.Rows) < all:
		return fmt.Sprintf("  %s, %s shown", view.Counted(all, "key"), view.Grouped(len(t.Rows)))
	}
	return "  " + view.Counted(all, "key")
}

// Widths of what a table adds to the right of its columns.
const (
	minBar, maxBar     = 6, 24
	minSpark, maxSpark = 6, 16
	minText            = 6 // a column of text may shrink to it
)

// drawTable draws rows from one on, with bars and changes over time where there is room.
func (m *Model) drawTable(g *tty.Grid, b box, n int, t *live.Table, from int) {
	p := m.panes[n]
	if b.h <= 0 || b.w <= 0 {
		return
	}
	rows := t.Rows[min(from, len(t.Rows)):]
	rows = rows[:min(len(rows), max(b.h-1, 0))]
	sorted := p.sorted(t)
	// Widths are those of the rows in sight: a long name elsewhere takes no room.
	texts := make([][]string, len(rows))
	widths := make([]int, len(t.Columns))
	names := make([]string, len(t.Columns))
	for c, col := range t.Columns {
		if names[c] = col.Name; c == sorted {
			names[c] = map[bool]string{false: "▼", true: "▲"}[p.reverse] + col.Name
		}
		widths[c] = glyph.Width(names[c])
	}
	for i := range rows {
		texts[i] = make([]string, len(t.Columns))
		for c := range t.Columns {
			texts[i][c] = glyph.Safe(t.Text(&rows[i], c))
			widths[c] = max(widths[c], glyph.Width(texts[i][c]))
		}
	}
	shown := squeeze(t, widths, b.w)
	x := b.x
	put := func(y, c int, text string, s tty.Style) {
		if t.Columns[c].Right {
			w := glyph.Width(text)
			g.Put(x+max(widths[c]-w, 0), y, widths[c], text, s)
			return
		}
		g.Put(x, y, widths[c], text, s)
	}
	for c := range shown {
		put(b.y, c, names[c], m.Theme.head())
		m.hits = append(m.hits, hit{box: box{x, b.y, widths[c] + 2, 1}, pane: n, column: c, row: -1})
		for i := range rows {
			put(b.y+1+i, c, texts[i][c], m.Theme.text())
		}
		x += widths[c] + 2
	}
	if shown < len(t.Columns) { // columns that there is no room for
		g.Put(b.x+b.w-1, b.y, 1, "…", m.Theme.dim())
	}
	end := b.x + b.w
	if m.drawBars(g, box{x, b.y, end - x, b.h}, t, rows) {
		end = x - 2
	}
	for i := range rows {
		m.hits = append(m.hits, hit{box: box{b.x, b.y + 1 + i, b.w, 1}, pane: n, column: -1, row: from + i})
		if n == m.focus && from+i == p.cursor {
			choose(g, b.x, end, b.y+1+i)
		}
	}
	if len(rows) == 0 {
		g.Put(b.x, b.y+1, b.w, m.nothing(p), m.Theme.dim())
	}
}

// choose shows that the texts of a line are those of the chosen row. Bars stay as they are: in reverse, what is high
// would look low.
func choose(g *tty.Grid, from, to, y int) {
	for x := from; x < to; x++ {
		g.Style(x, y, func(s tty.Style) tty.Style { return s.With(tty.Reverse) })
	}
}

// nothing says why there is nothing to see.
func (m *Model) nothing(p *pane) string {
	switch {
	case !p.filter.empty():
		return "nothing matches"
	case p.of == live.OfWindow && m.State.End() == nil:
		return "no window was closed yet; w shows what is being counted"
	case m.State.End() != nil: // nothing more comes
		return "nothing"
	}
	return "nothing yet"
}

// squeeze makes columns fit a width: texts shrink, then columns at the right end go. It
// returns how many are left.
func squeeze(t *live.Table, widths []int, width int) (shown int) {
	total := func(n int) (sum int) {
		for _, w := range widths[:n] {
			sum += w + 2
		}
		// Two columns part one from the next; none follows the last.
		return sum - 2
	}
	shown = len(widths)
	for over := total(shown) - width; over > 0; over = total(shown) - width {
		// Numbers are never cut: half of one is another.
		widest := -1
		for c := range widths[:shown] {
			if !t.Columns[c].Right && widths[c] > minText && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		switch {
		case widest >= 0:
			widths[widest] = max(widths[widest]-over, minText)
		case shown > 1:
			shown--
		default:
			return shown
		}
	}
	return shown
}

// drawBars draws a bar for each row and how it changed over time, if there is room and something to compare.
func (m *Model) drawBars(g *tty.Grid, b box, t *live.Table, rows []live.Row) bool {
	// A map without keys is one row: there is nothing to compare it with.
	if t.Bar < 0 || b.w < minBar || len(rows) == 0 || !t.Map.Keyed() {
		return false
	}
	// The largest of all rows decides, so that bars stay as they are when one scrolls.
	most := 0.0
	for i := range t.Rows {
		most = max(most, t.Rows[i].Nums[t.Bar-t.Keys])
	}
	line := m.State.Line(t.Map)
	spark := 0
	// The bar keeps its least width; numbers over time get the rest, up to their most.
	if line != nil && b.w >= minBar+2+minSpark {
		spark = min(b.w-2-minBar, maxSpark)
	}
	bar := b.w
	if spark > 0 {
		bar = b.w - 2 - spark
	}
	bar = min(bar, maxBar)
	for i := range rows {
		y := b.y + 1 + i
		if most > 0 {
			drawBar(g, b.x, y, bar, rows[i].Nums[t.Bar-t.Keys]/most, m.Theme.bar())
		}
		if spark > 0 {
			m.drawAmounts(g, box{b.x + bar + 2, y, spark, 1}, line, rows[i].Row)
		}
	}
	return true
}

// columnsOf are the columns of history that are shown, the newest at most.
func (m *Model) columnsOf(line *history.Line, most int) (i, j int) {
	j = m.State.Seen(line)
	// A picture that stands still may have been stepped back.
	if m.pinned {
		// One column at least is shown, however far back one steps.
		j = max(j-m.step, min(j, 1))
	}
	// While a range is being chosen, there are all columns to choose from.
	if m.span.to > 0 && m.picking == nil {
		i, j = line.Between(m.span.from, m.span.to)
	}
	return max(i, j-most), j
}

// amounts are those of a row over time.
func (m *Model) amounts(line *history.Line, r view.Row, most int) []float64 {
	i, j := m.columnsOf(line, most)
	key := history.Others
	if r.Others == 0 {
		var ok bool
		// History has dropped the key, or never kept it apart.
		if key, ok = line.Key(r.Key); !ok {
			return nil
		}
	}
	return line.Rates(key, history.Count, i, j)
}

// drawAmounts draws those of a row.
func (m *Model) drawAmounts(g *tty.Grid, b box, line *history.Line, r view.Row) {
	_, j := m.columnsOf(line, b.w)
	drawColumns(g, b, m.amounts(line, r, b.w), m.Theme.spark())
	m.drawGaps(g, b, line, j)
}

// drawTile draws a map without keys: its number and how it went.
func (m *Model) drawTile(g *tty.Grid, b box, p *pane) string {
	heading := m.about(p)
	t := m.State.Table(p.m, m.want(p), live.Pick{Column: -1, Most: 1})
	if b.h <= 0 || len(t.Rows) == 0 {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
		return heading
	}
	var parts []string
	for c, col := range t.Columns {
		text := t.Text(&t.Rows[0], c)
		// A rate says by its unit what it is.
		if col.Name == "/s" {
			text += "/s"
		} else if c > 0 || len(t.Columns) > 2 {
			text = strings.ToLower(col.Name) + " " + text
		}
		parts = append(parts, glyph.Safe(text))
	}
	g.Put(b.x, b.y, b.w, strings.Join(parts, "   "), m.Theme.head())
	below := box{b.x, b.y + 1, b.w, b.h - 1}
	// A series has its past in itself.
	if s, ok := t.Rows[0].Value.(value.Series); ok {
		var numbers []float64
		for _, pt := range s.Points {
			numbers = append(numbers, live.Float(s.Number(pt)))
		}
		drawColumns(g, below, numbers, m.Theme.spark())
		return heading
	}
	if line := m.State.Line(p.m); line != nil {
		i, j := m.columnsOf(line, b.w)
		drawColumns(g, below, line.Rates(history.All, history.Count, i, j), m.Theme.spark())
		m.drawGaps(g, below, line, j)
		m.drawPicking(g, below, line, p)
	}
	return heading
}

// hatch stands where nobody looked: the machine slept, or hawk was stopped.
const hatch = "╱"

// drawGaps hatches what is empty of such columns. The last that is shown is before j.
func (m *Model) drawGaps(g *tty.Grid, b box, line *history.Line, j int) {
	// Columns are drawn up to the right edge.
	for x := b.x + b.w - 1; x >= b.x && j > 0; x-- {
		if j--; !line.Gap(j) {
			continue
		}
		for y := b.y; y < b.y+b.h; y++ {
			if text := g.At(x, y).Text; text == "" || text == " " {
				g.Set(x, y, hatch, m.Theme.dim())
			}
		}
	}
}

// drawOpened draws all that is known of one key.
func (m *Model) drawOpened(g *tty.Grid, b box, p *pane) string {
	// Rows move from look to look, so that the key is what was opened.
	t := m.State.Table(p.m, m.want(p), live.Pick{Column: -1, Most: 1, Key: p.open.key})
	if len(t.Rows) == 0 {
		g.Put(b.x, b.y, b.w, "the key is gone", m.Theme.dim())
		return m.about(p)
	}
	row, y := &t.Rows[0], b.y
	put := func(name, text string, s tty.Style) {
		if y < b.y+b.h {
			x := b.x + g.Put(b.x, y, b.w, name, m.Theme.dim())
			g.Put(x, y, b.x+b.w-x, text, s)
			y++
		}
	}
	for i, part := range row.Parts {
		name := p.m.Keys[i].Name
		st, ok := part.(*value.Stack)
		if !ok {
			put(name+" ", glyph.Safe(live.KeyText(part)), m.Theme.head())
			continue
		}
		frames := view.FramesOf(st)
		// The innermost function comes first, as where a stack is printed.
		for k := len(frames) - 1; k >= 0; k-- {
			put("  ", glyph.Safe(frames[k].Name), m.Theme.text())
		}
	}
	for c := t.Keys; c < len(t.Columns); c++ {
		put(strings.ToLower(t.Columns[c].Name)+" ", glyph.Safe(t.Text(row, c)), m.Theme.head())
	}
	rest := box{b.x, y + 1, b.w, b.y + b.h - y - 1}
	line := m.State.Line(p.m)
	if h, ok := row.Value.(value.Hist); ok {
		m.drawHist(g, rest, p, h, line, row.Key)
	} else if line != nil {
		m.drawAmounts(g, rest, line, row.Row)
	}
	return m.about(p)
}
