package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Draw makes the picture of a size. It takes the state's lock.
func (m *Model) Draw(w, h int) *tty.Grid {
	g := tty.NewGrid(w, h)
	if w <= 0 || h <= 0 {
		return g
	}
	m.State.Lock()
	defer m.State.Unlock()
	m.picture(g)
	// A pane that has a use for more lines than was known when they were dealt out gets them now.
	if m.grew {
		g = tty.NewGrid(w, h)
		m.picture(g)
	}
	if m.help {
		m.drawHelp(g)
	}
	// This comes last, as it goes over the whole picture.
	if m.Theme.ASCII {
		asASCII(g)
	}
	return g
}

// picture draws what there is to see, without help.
func (m *Model) picture(g *tty.Grid) {
	// Places of the picture before mean nothing in this one.
	m.hits, m.grew = m.hits[:0], false
	switch {
	case g.W < tinyWidth || g.H < tinyHeight:
		m.tiny(g)
	case g.W <= narrowWidth || g.H <= narrowHeight:
		m.narrow(g)
	default:
		m.full(g)
	}
}

// uses notes how many lines a pane has a use for.
func (m *Model) uses(p *pane, lines int) {
	m.grew = m.grew || lines > p.used
	p.used = max(p.used, lines)
}

// full draws panes with frames around them.
func (m *Model) full(g *tty.Grid) {
	m.status(g)
	// The first line is the status, the last the footer.
	all := box{0, 1, g.W, g.H - 2}
	places := m.layout(all)
	f := newFrame(g.W, g.H)
	framed := g.W >= wideWidth
	for _, p := range places {
		if framed {
			f.box(outer(p.box, all))
			continue
		}
		// In a narrow terminal the line of its title alone parts a pane from the one above.
		for x := p.box.x; x < p.box.x+p.box.w; x++ {
			f.add(x, p.box.y, left|right)
		}
	}
	// Lines are drawn before the titles, which stand on them.
	f.draw(g, m.Theme.border())
	for _, p := range places {
		b := p.box
		inner := box{b.x + 1, b.y + 1, b.w - 2, b.h - 1}
		if framed {
			o := outer(b, all)
			inner = box{o.x + 2, o.y + 1, o.w - 4, o.h - 2}
		}
		// Clicks are looked up from the last hit on: what a pane shows lies over the pane.
		m.hits = append(m.hits, hit{box: b, pane: p.pane, column: -1, row: -1})
		g.Clip(inner.x, inner.y, inner.w, inner.h)
		heading := m.drawPane(g, inner, p.pane)
		g.Unclip()
		m.heading(g, b, p.pane, heading)
	}
	m.footer(g)
}

// outer is a box with the lines that it shares with those right of and below it.
func outer(b, all box) box {
	// Panes beside each other have one line between them, not two.
	if b.x+b.w < all.x+all.w {
		b.w++
	}
	if b.y+b.h < all.y+all.h {
		b.h++
	}
	return b
}

// heading writes the title of a pane into the line above it.
func (m *Model) heading(g *tty.Grid, b box, n int, text string) {
	p := m.panes[n]
	x := b.x + 2
	width := b.w - 4
	title := fmt.Sprintf(" %d %s ", n+1, glyph.Safe(p.title))
	x += g.Put(x, b.y, width, title, m.Theme.title(n == m.focus))
	// Numbers of a map that refused updates are too small: this stands before them.
	if refused := m.refused(p); refused != "" {
		x += g.Put(x, b.y, b.x+2+width-x, " "+refused+" ", m.Theme.alarm())
	}
	if text != "" {
		g.Put(x, b.y, b.x+2+width-x, " "+text+" ", m.Theme.text())
	}
}

// refused says what did not get into the map of a pane, "" if all did.
func (m *Model) refused(p *pane) string {
	if p.m == nil {
		return ""
	}
	if s := m.State.Snapshot(p.m); s != nil {
		return s.Refused.String()
	}
	return ""
}

// narrow draws one pane, with a line of tabs.
func (m *Model) narrow(g *tty.Grid) {
	m.status(g)
	x := 0
	for i := range m.panes {
		// Tabs begin with the pane that is shown, as there may be no room for all.
		n := (m.focus + i) % len(m.panes)
		text := fmt.Sprintf(" %d %s ", n+1, glyph.Safe(m.panes[n].title))
		style := m.Theme.dim()
		if i == 0 {
			text, style = "["+text[1:len(text)-1]+"]", m.Theme.title(true)
		}
		width, more := glyph.Width(text), ""
		if i < len(m.panes)-1 {
			more = fmt.Sprintf(" +%d", len(m.panes)-1-i)
		}
		if x+width+len(more) > g.W && i > 0 {
			// Tabs that there is no room for are counted; room for that was left.
			g.Put(x, 1, g.W-x, fmt.Sprintf(" +%d", len(m.panes)-i), m.Theme.dim())
			break
		}
		m.hits = append(m.hits, hit{box: box{x, 1, width, 1}, pane: n, column: -1, row: -1})
		x += g.Put(x, 1, g.W-x, text, style)
	}
	b := box{1, 3, g.W - 2, g.H - 4}
	g.Clip(b.x, b.y, b.w, b.h)
	heading := m.drawPane(g, b, m.focus)
	g.Unclip()
	at := 1
	if refused := m.refused(m.focused()); refused != "" {
		at += g.Put(1, 2, g.W-2, refused, m.Theme.alarm()) + 2
	}
	g.Put(at, 2, g.W-1-at, heading, m.Theme.text())
	m.footer(g)
}

// tiny draws a line that says the most.
func (m *Model) tiny(g *tty.Grid) {
	p := m.focused()
	// The clock of a short run needs no hours.
	text := "hawk " + strings.TrimPrefix(strings.TrimPrefix(m.clock(), "00:"), "0") + " " + glyph.Safe(p.title)
	if p.m != nil {
		if rate, ok := m.rate(p.m); ok {
			text += " " + live.Amount(rate, view.NoUnit) + "/s"
		}
	}
	g.Put(0, 0, g.W, text+" q quit", m.Theme.text())
}

// rate is how much all keys of a map grow a second, at the last look.
func (m *Model) rate(of *view.Map) (float64, bool) {
	line := m.State.Line(of)
	// Gauges have no rate: they do not count anything.
	if line == nil || !of.Kind.Additive() {
		return 0, false
	}
	n := m.State.Seen(line) - 1
	if n < 1 {
		return 0, false
	}
	start, end := line.Span(n)
	if end <= start {
		return 0, false
	}
	return line.Amounts(history.All, history.Count, n, n+1)[0] / (end - start).Seconds(), true
}

// clock is how long the run has lasted, or did.
func (m *Model) clock() string {
	begin, at := m.State.Begin(), m.State.At()
	// Once the run is over its length is meant, wherever the picture stands still.
	if end := m.State.End(); end != nil {
		at = end.Boot
	}
	return live.Clock(at - begin.Boot)
}

// status draws the first line: what is most important first, as far as there is room.
func (m *Model) status(g *tty.Grid) {
	end := m.State.End()
	x := 1
	// A part that does not fit is left out as a whole: half a number would be another one.
	put := func(text string, s tty.Style) bool {
		fits := x+glyph.Width(text) <= g.W
		if fits {
			x += g.Put(x, 0, g.W-x, text, s) + 3
		}
		return fits
	}
	loss := m.State.Loss()
	lost := fmt.Sprintf("lost %s", view.Grouped(loss.Records))
	// Losses that nobody has seen yet stand early and bright, others late and dim.
	news := loss.Records > m.seen
	room := min(g.W-glyph.Width(lost)-16, g.W*2/5) // or a script's text would leave none for what is counted
	put(glyph.Fit("hawk "+glyph.Safe(m.script.Called()), max(room, 12)), m.Theme.head())
	put(m.clock(), m.Theme.head())
	if end != nil {
		put("ended: "+end.Cause, m.Theme.head())
	}
	if m.pinned {
		put(m.standing(), m.Theme.alarm())
	}
	if m.span.to > 0 {
		put("range "+m.wall(m.span.from)+" – "+m.wall(m.span.to), m.Theme.alarm())
	}
	if news {
		_, all := m.State.Events(0, nil)
		// The share is of all events that there would have been.
		share := live.Share(float64(loss.Records), float64(loss.Records+all))
		if !put(lost+" ("+share+")", m.Theme.alarm()) {
			put(lost, m.Theme.alarm())
		}
	}
	if n := m.State.Attached(); n.Probes > 0 || n.Failed > 0 {
		text := fmt.Sprintf("%d probes", n.Probes)
		if n.Probes == 1 {
			text = "1 probe"
		}
		if n.Failed > 0 {
			text += fmt.Sprintf(", %d failed", n.Failed)
		}
		put(text, m.Theme.text())
	}
	// A run that is over has no rate, and nobody looks at its maps any more.
	if r := m.State.EventRate(); r > 0 && end == nil {
		put(live.Amount(r, view.NoUnit)+" ev/s", m.Theme.text())
	}
	if !news {
		put(lost, m.Theme.dim())
	}
	if end == nil && m.State.Cadence != nil {
		_, period, load := m.State.Cadence.Now()
		put("cpu "+live.Share(load, 1), m.Theme.dim())
		text := "refresh " + seconds(period)
		if slowest := m.State.Cadence.Slowest(); slowest > period {
			text += ", large maps " + seconds(slowest)
		}
		put(text, m.Theme.dim())
	}
}

// standing says that the picture stands still, and when.
func (m *Model) standing() string {
	if m.step > 0 {
		return fmt.Sprintf("paused, %d back", m.step)
	}
	return "paused"
}

// seconds is a time with one digit behind the point, if it needs one.
func seconds(d time.Duration) string {
	return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
}

// wall is a time by the clock on the wall.
func (m *Model) wall(boot time.Duration) string {
	begin := m.State.Begin()
	return begin.Wall.Add(boot - begin.Boot).Format("15:04:05")
}

// footer draws the last line: what is being typed, what was done, or which keys help.
func (m *Model) footer(g *tty.Grid) {
	y := g.H - 1
	switch {
	case m.prompt != nil:
		n := g.Put(1, y, g.W-2, "/"+glyph.Safe(string(m.prompt.text)), m.Theme.head())
		// The terminal's cursor is hidden: a cell stands for it.
		g.Set(1+n, y, " ", tty.Style{Attr: tty.Reverse})
	case m.note != "":
		g.Put(1, y, g.W-2, m.note, m.Theme.head())
	default:
		x := 1
		keys := m.keys()
		rest := 0 // the width of the last two, help and the way out, which always stay
		for _, k := range keys[max(len(keys)-2, 0):] {
			rest += glyph.Width(k) + 2
		}
		for i, k := range keys {
			// Keys are in the order in which they help; those at the end go first.
			width := glyph.Width(k)
			if last := i >= len(keys)-2; last {
				rest -= width + 2
			}
			if x+width+2+rest > g.W+1 {
				continue
			}
			key, does, _ := strings.Cut(k, " ")
			x += g.Put(x, y, g.W-x, key, m.Theme.head())
			x += g.Put(x, y, g.W-x, " "+does, m.Theme.dim()) + 2
		}
	}
}

// keys are those that help most where the focus is.
func (m *Model) keys() []string {
	p := m.focused()
	common := []string{"p pause", "S save", "? help", "q quit"}
	switch {
	case m.picking != nil:
		return []string{"←→ move", "enter mark", "esc leave"} // which fit
	case p.open != nil:
		return append([]string{"backspace back", "tab pane"}, common...)
	case p.m == nil:
		return append([]string{"tab pane", "/ filter", "o follow"}, common...)
	case p.m.Profile() && p.flame:
		return append([]string{"←→ sibling", "↑↓ depth", "enter zoom", "backspace out", "/ search", "t functions",
			"i invert"}, common...)
	case p.m.Profile():
		return append([]string{"tab pane", "/ filter", "f flame", "m merge", "v range"}, common...)
	case p.m.Kind == view.Histogram:
		return append([]string{"tab pane", "h heat", "l log", "v range", "enter drill"}, common...)
	case p.m.Keyed():
		return append([]string{"tab pane", "/ filter", "s sort", "enter drill", "v range"}, common...)
	}
	return append([]string{"tab pane", "v range"}, common...)
}

// drawPane draws what a pane shows and returns what stands behind its title.
func (m *Model) drawPane(g *tty.Grid, b box, n int) (heading string) {
	p := m.panes[n]
	switch {
	case p.output:
		return m.drawOutput(g, b, p)
	case p.m == nil:
		return m.drawEvents(g, b, p)
	case p.open != nil:
		return m.drawOpened(g, b, p)
	// Maps without stacks have flame graphs, too, of the parts of their keys.
	case p.m.Weight != view.NoWeight && p.flame:
		return m.drawFlame(g, b, p)
	case p.m.Profile():
		return m.drawFunctions(g, b, n)
	case p.m.Kind == view.Histogram:
		return m.drawHistograms(g, b, n)
	case p.m.Keyed(), p.m.Kind == view.Text, p.m.Kind == view.Record:
		return m.drawMap(g, b, n)
	}
	return m.drawTile(g, b, p)
}

// clearBox empties a box.
func clearBox(g *tty.Grid, b box) {
	for y := b.y; y < b.y+b.h; y++ {
		g.Fill(b.x, y, b.w, " ", tty.Style{})
	}
}

// about describes the numbers of a pane: kind of the map, window or total, unit.
func (m *Model) about(p *pane) string {
	var parts []string
	parts = append(parts, p.m.Kind.String())
	if p.of != live.OfRun {
		parts = append(parts, p.of.String())
	}
	// A histogram counts values, which have no unit. Its buckets show theirs.
	if p.m.Unit != view.NoUnit && p.m.Kind != view.Histogram {
		parts = append(parts, p.m.Unit.String())
	}
	if !p.all && p.m.Div > 1 {
		parts = append(parts, fmt.Sprintf("÷ %d", p.m.Div))
	}
	if s := m.State.Snapshot(p.m); s != nil && !s.Complete {
		parts = append(parts, "incomplete")
	}
	if !p.filter.empty() {
		parts = append(parts, "/"+glyph.Safe(p.filter.text))
	}
	return strings.Join(parts, "  ")
}
