package term

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// An Action is something that a key asks for beyond the model.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	Quit           // leave the view, ending the run if it goes on
	EndRun
	Suspend
	Redraw
	SaveHTML
	SaveCSV
	Copy
)

// Key takes a key and returns what is to be done besides drawing anew. What is typed into a prompt,
// or while help or a range is open, goes there; signals by key come first, since they have to work
// everywhere.
func (m *Model) Key(k tty.Key) Action {
	// Keys look at maps, which change while the run goes on.
	m.State.Lock()
	defer m.State.Unlock()
	// No key, but the terminal's answer about its color.
	if k.Code == tty.Background {
		return Nothing
	}
	// A note is shown until the next key.
	m.note = ""
	switch {
	case k.Code == tty.Ctrl && k.Rune == 'c':
		return EndRun
	case k.Code == tty.Ctrl && k.Rune == 'z':
		return Suspend
	case k.Code == tty.Ctrl && k.Rune == 'l':
		return Redraw
	case m.prompt != nil:
		m.edit(k)
		return Nothing
	// Any key closes the help, and does nothing else: so q does not quit here.
	case m.help:
		m.help = false
		return Nothing
	case m.picking != nil:
		m.pick(k)
		return Nothing
	case k.Code == tty.Click || k.Code == tty.WheelUp || k.Code == tty.WheelDown:
		m.mouse(k)
		return Nothing
	case k.Code == tty.Char:
		return m.letter(k.Rune)
	}
	m.navigate(k)
	return Nothing
}

// letter is a key that is a character.
func (m *Model) letter(r rune) Action {
	p := m.focused()
	switch r {
	case 'q':
		return Quit
	case 'X':
		return EndRun
	case 'S':
		return SaveHTML
	case 'e':
		return SaveCSV
	case 'y':
		return Copy
	case '?':
		m.help = true
	case '/':
		m.prompt = &prompt{text: []rune(p.filter.text)}
	case 'p', ' ':
		m.pause()
	case '[', ']':
		m.back(r == '[')
	case 'R':
		if c := m.State.Cadence; c != nil {
			c.Ask()
		}
	case '+', '-':
		m.hasten(r == '+')
	case 'z', 'F':
		m.zoom = !m.zoom
	case 'x':
		m.states = !m.states
		m.arrange()
	case 'n', 'N':
		m.find(p, r == 'N')
	case 'j':
		m.navigate(tty.Key{Code: tty.Down})
	case 'k':
		m.navigate(tty.Key{Code: tty.Up})
	case 'g':
		m.navigate(tty.Key{Code: tty.Home})
	case 'G':
		m.navigate(tty.Key{Code: tty.End})
	case '<':
		m.sortBy(p, -1)
	case '>', 's':
		m.sortBy(p, 1)
	case 'r':
		p.reverse = !p.reverse
	case 'o':
		// Newer events do not move the list any more.
		if _, all := m.State.Events(0, nil); p.stay == 0 {
			p.stay = all
		} else {
			p.stay = 0
		}
	default:
		if r >= '1' && r <= '9' && int(r-'1') < len(m.panes) {
			m.focus = int(r - '1')
			return Nothing
		}
		m.ofMap(p, r)
	}
	return Nothing
}

// ofMap is a key that means something to panes of maps.
func (m *Model) ofMap(p *pane, r rune) {
	if p.m == nil {
		return
	}
	switch r {
	case 'd':
		p.change = !p.change
	case 'w': // the last window that was closed and the one that is being filled take turns
		switch {
		case !p.m.Window:
			m.note = glyph.Safe(p.m.Name) + " has no windows: the script does not print and clear it"
		case p.of == live.OfWindow:
			p.of = live.OfNow
		default:
			p.of = live.OfWindow
		}
	case 'c':
		if p.of == live.OfRun {
			p.of = live.OfNow
		} else {
			p.of = live.OfRun
		}
	case '0':
		p.all = !p.all
	case 'h':
		p.heat = !p.heat
	case 'l':
		p.log = !p.log
	case 'f':
		if p.m.Weight == view.NoWeight {
			m.note = glyph.Safe(p.m.Name) + " weighs nothing, so that there is no flame graph of it"
			return
		}
		// A flame graph takes the place of an opened row.
		p.flame, p.open = !p.flame, nil
	case 't':
		p.flame, p.merge = false, ""
	case 'm':
		m.merge(p)
	case 'i':
		p.invert = !p.invert
	case 'v':
		if line := m.State.Line(p.m); line != nil && line.Len() > 0 {
			m.picking = &picking{}
			m.tellPicking()
		} else {
			m.note = "nothing is known of the past of " + glyph.Safe(p.m.Name)
		}
	}
}

// merge shows what the selected function calls, wherever it stands; with i its callers.
func (m *Model) merge(p *pane) {
	if !p.m.Profile() {
		return
	}
	// The same key goes back to all stacks.
	if p.merge != "" {
		p.merge, p.root, p.sel = "", nil, nil
		return
	}
	name := ""
	if p.flame && len(p.sel) > 0 {
		name = p.sel[len(p.sel)-1]
	} else if t := m.profile(p); !p.flame && t != nil {
		if funcs := p.functions(t); p.cursor < len(funcs) {
			name = funcs[p.cursor].Name
		}
	}
	if name == "" {
		m.note = "select a function first"
		return
	}
	p.flame, p.merge, p.root, p.sel = true, name, nil, nil
}

// navigate moves in the focused pane, or to another.
func (m *Model) navigate(k tty.Key) {
	p := m.focused()
	switch k.Code {
	case tty.Tab:
		m.focus = (m.focus + 1) % len(m.panes)
	case tty.BackTab:
		m.focus = (m.focus + len(m.panes) - 1) % len(m.panes)
	case tty.F1:
		m.help = true
	case tty.Escape:
		m.leave(p)
	case tty.Enter:
		m.drill(p)
	case tty.Backspace:
		m.out(p)
	case tty.Left, tty.Right:
		dx := 1
		if k.Code == tty.Left {
			dx = -1
		}
		if p.flame {
			p.move(dx, 0)
		} else {
			m.sortBy(p, dx)
		}
	default:
		// Both ends are further away than any list is long.
		by, ok := map[tty.Code]int{tty.Up: -1, tty.Down: 1, tty.PageUp: -10, tty.PageDown: 10, tty.Home: -1 << 30,
			tty.End: 1 << 30}[k.Code]
		if ok {
			m.scroll(p, by)
		}
	}
}

// scroll moves by some rows.
func (m *Model) scroll(p *pane, by int) {
	switch {
	case p.output:
		// Output is counted from its end, which people want to see.
		p.cursor = max(p.cursor-by, 0)
		if _, all := m.Output.last(0, 0); p.cursor > all {
			p.cursor = all
		}
	case p.m == nil:
		m.scrollEvents(p, by)
	case p.flame:
		// More levels than a screen has need not be moved through.
		for range min(max(by, -by), 64) {
			p.move(0, by)
		}
	default:
		p.cursor = max(p.cursor+by, 0) // and at most the last, when it is drawn
	}
}

// leave leaves what is nearest: a range, a search, a row.
func (m *Model) leave(p *pane) {
	// Each press leaves one thing.
	switch {
	case m.span.to > 0:
		m.span = span{}
	case !p.filter.empty():
		p.filter = matcher{}
	case p.open != nil:
		p.open = nil
	case m.zoom:
		m.zoom = false
	}
	// Who presses the key has seen what was lost so far.
	m.seen = m.State.Loss().Records
}

// drill goes into the selected row or function.
func (m *Model) drill(p *pane) {
	switch {
	case p.m == nil:
		m.openMarked(p)
	case p.flame:
		p.root = slices.Clone(p.sel)
	case p.m.Profile():
		m.merge(p)
	case p.m.Keyed() && p.open == nil:
		// Others have no key by which their row would be found again.
		if t := m.table(p); p.cursor < len(t.Rows) && t.Rows[p.cursor].Others == 0 {
			p.open = &opened{key: t.Rows[p.cursor].Key}
		}
	}
}

// openMarked goes to the map that was printed last.
func (m *Model) openMarked(p *pane) {
	events, _ := m.State.Events(1, func(ev *live.Event) bool {
		return ev.Marked != nil && (p.stay == 0 || ev.Number <= p.stay)
	})
	for i, to := range m.panes {
		if len(events) > 0 && to.m == events[0].Marked {
			m.focus = i
		}
	}
}

// out goes back to where drill came from.
func (m *Model) out(p *pane) {
	switch {
	case p.open != nil:
		p.open = nil
	case p.flame && len(p.root) > 0:
		p.root = p.root[:len(p.root)-1]
		// The function that was zoomed to is selected.
		p.sel = p.sel[:min(len(p.sel), max(len(p.root), 1))]
	case p.merge != "":
		p.merge, p.flame, p.root, p.sel = "", false, nil, nil
	}
}

// sortBy chooses another column to sort by.
func (m *Model) sortBy(p *pane, by int) {
	switch {
	case p.m == nil || p.flame:
	case p.m.Profile():
		p.sort = (p.functionSort() + by + 3) % 3
	default:
		t := m.State.Columns(p.m, m.want(p))
		n := len(t.Columns)
		p.sort = (p.sorted(t) + by + n) % n
	}
}

// pause has the picture stand still, or go on.
func (m *Model) pause() {
	m.pinned, m.step = !m.pinned, 0
	if m.pinned {
		// State keeps maps as they are now for the picture, while the run goes on.
		m.State.Pin()
		return
	}
	m.State.Unpin()
	m.span = span{}
}

// back goes back or forth in history, a column at a time.
func (m *Model) back(further bool) {
	line := m.pastOf(m.focused())
	if line == nil {
		m.note = "nothing is known of the past of this pane"
		return
	}
	// To look back, the picture has to stand still.
	if !m.pinned {
		m.pause()
	}
	// Columns that came after the picture was stopped are not counted.
	_, n := line.Between(0, m.State.At())
	if further {
		m.step = min(m.step+1, n)
	} else {
		m.step = max(m.step-1, 0)
	}
	if m.span = (span{}); m.step > 0 && n-m.step >= 0 {
		m.span.from, m.span.to = line.Span(n - m.step)
	}
}

// pastOf is the history that a pane steps through: its own, or the first that there is.
func (m *Model) pastOf(p *pane) (line *history.Line) {
	if p.m != nil {
		line = m.State.Line(p.m)
	}
	for _, of := range m.script.Maps {
		if l := m.State.Line(of); line == nil || line.Len() == 0 {
			line = l
		}
	}
	if line == nil || line.Len() == 0 {
		return nil
	}
	return line
}

// pick chooses a range of columns.
func (m *Model) pick(k tty.Key) {
	line := m.pastOf(m.focused())
	n := line.Len()
	// Columns are counted from the newest, so that left is more.
	switch {
	case k.Code == tty.Left || k.Rune == 'h' && k.Code == tty.Char:
		m.picking.at = min(m.picking.at+1, n-1)
	case k.Code == tty.Right || k.Rune == 'l' && k.Code == tty.Char:
		m.picking.at = max(m.picking.at-1, 0)
	case k.Code == tty.PageUp || k.Code == tty.Home:
		m.picking.at = min(m.picking.at+10, n-1)
	case k.Code == tty.PageDown || k.Code == tty.End:
		m.picking.at = max(m.picking.at-10, 0)
	case k.Code == tty.Enter || k.Code == tty.Char && k.Rune == 'v':
		if !m.picking.marked {
			m.picking.marked, m.picking.mark = true, m.picking.at
			break
		}
		// Those of a line are counted from the oldest.
		a, z := n-1-max(m.picking.at, m.picking.mark), n-1-min(m.picking.at, m.picking.mark)
		m.span.from, _ = line.Span(a)
		_, m.span.to = line.Span(z)
		m.picking = nil
		m.note = "all panes show this range alone; esc leaves it"
		return
	case k.Code == tty.Escape:
		m.picking = nil
		return
	}
	m.tellPicking()
}

// tellPicking says where the choice is.
func (m *Model) tellPicking() {
	line := m.pastOf(m.focused())
	_, at := line.Span(max(line.Len()-1-m.picking.at, 0))
	m.note = "←→ " + m.wall(at) + "   enter marks one end"
	if m.picking.marked {
		_, from := line.Span(max(line.Len()-1-m.picking.mark, 0))
		m.note = "←→ " + m.wall(from) + " to " + m.wall(at) + "   enter shows the range"
	}
}

// hasten makes looks at maps more frequent, or less.
func (m *Model) hasten(faster bool) {
	c := m.State.Cadence
	if c == nil {
		return
	}
	every, _, _ := c.Now()
	if faster {
		// More looks would cost much, and nobody could follow them.
		every = max(every/2, 50*time.Millisecond)
	} else {
		every = min(every*2, time.Minute)
	}
	c.Set(every)
	m.note = "maps are read every " + seconds(every)
}

// edit changes the text that is being typed.
func (m *Model) edit(k tty.Key) {
	p, text := m.focused(), &m.prompt.text
	switch {
	case k.Code == tty.Char:
		*text = append(*text, k.Rune)
	case k.Code == tty.Backspace && len(*text) > 0:
		*text = (*text)[:len(*text)-1]
	case k.Code == tty.Ctrl && k.Rune == 'u':
		*text = nil
	case k.Code == tty.Escape, k.Code == tty.Backspace:
		m.prompt, p.filter = nil, matcher{}
		return
	case k.Code == tty.Enter:
		if m.prompt = nil; p.flame {
			m.find(p, false)
		}
		return
	default:
		return
	}
	p.filter = newMatcher(string(*text))
}

// find goes to the next thing that the search finds.
func (m *Model) find(p *pane, back bool) {
	switch {
	case p.filter.empty():
		m.note = "/ begins a search"
	case p.flame && !p.next(back):
		m.note = "nothing matches " + glyph.Safe(p.filter.text)
	// Only rows that match are shown: the next match is the next row.
	case !p.flame && back:
		m.scroll(p, -1)
	case !p.flame:
		m.scroll(p, 1)
	}
}

// mouse is a click or a turn of the wheel.
func (m *Model) mouse(k tty.Key) {
	// The hit that was drawn last lies above the others.
	for i := len(m.hits) - 1; i >= 0; i-- {
		h := &m.hits[i]
		if !h.box.inside(k.X, k.Y) || h.pane >= len(m.panes) {
			continue
		}
		p := m.panes[h.pane]
		switch {
		case k.Code == tty.WheelUp:
			m.scroll(p, -3)
		case k.Code == tty.WheelDown:
			m.scroll(p, 3)
		case h.column >= 0:
			if m.focus = h.pane; p.sort == h.column {
				p.reverse = !p.reverse
			} else {
				p.sort = h.column
			}
		case h.row >= 0:
			m.focus, p.cursor = h.pane, h.row
		default:
			m.focus = h.pane
		}
		return
	}
}

// Selected is the selected row as text, to be copied.
func (m *Model) Selected() string {
	m.State.Lock()
	defer m.State.Unlock()
	p := m.focused()
	switch {
	case p.m == nil:
		events, _ := m.State.Events(1, func(ev *live.Event) bool { return p.stay == 0 || ev.Number <= p.stay })
		if len(events) == 0 {
			return ""
		}
		// The clipboard may be pasted into a shell: it gets one line, without control characters.
		return view.Line(events[0].Said())
	case p.flame:
		return strings.Join(p.sel, ";")
	case p.m.Profile():
		if t := m.profile(p); t != nil {
			if funcs := p.functions(t); p.cursor < len(funcs) {
				return funcs[p.cursor].Name
			}
		}
		return ""
	}
	t := m.table(p)
	if p.cursor >= len(t.Rows) {
		return ""
	}
	var parts []string
	for c := range t.Columns {
		parts = append(parts, view.Line(t.Text(&t.Rows[p.cursor], c)))
	}
	// Tabs part the columns for a spreadsheet.
	return strings.Join(parts, "\t")
}

// helpText says what keys do.
var helpText = [][2]string{
	{"tab 1-9", "another pane"}, {"z", "the pane alone, and back"}, {"↑↓ jk PgUp PgDn g G", "move"},
	{"←→ < > s", "column to sort by; r reverses"}, {"/ n N", "search: text or /expression/; esc ends it"},
	{"enter", "into the row: key, histogram, stack"}, {"backspace", "back"},
	{"d", "per second, or change"}, {"w", "window: last closed, or being filled"},
	{"c", "total, or what the map holds"},
	{"0", "without top and div of print()"}, {"h l", "heat map; logarithmic"},
	{"f t", "flame graph; functions"}, {"m i", "merge by function; root at the bottom, callers"},
	{"p [ ]", "pause; back and forth in history"}, {"v", "a range of time for all panes"},
	{"R + -", "read now; more often, less often"}, {"S e y", "save HTML; CSV of the pane; copy the row"},
	{"x o", "state maps; events stay or follow"}, {"^C X", "end the run, stay here"},
	{"^Z ^L", "suspend; draw anew"}, {"q", "quit"},
}

// drawHelp draws the keys over all else.
func (m *Model) drawHelp(g *tty.Grid) {
	keys, width := 0, 0
	for _, h := range helpText {
		keys = max(keys, glyph.Width(h[0]))
		width = max(width, glyph.Width(h[1]))
	}
	if keys+width+6 > g.W {
		m.drawNarrowHelp(g)
		return
	}
	b := box{0, 0, keys + width + 6, min(len(helpText)+2, g.H)}
	b.x, b.y = (g.W-b.w)/2, (g.H-b.h)/2
	clearBox(g, b)
	f := newFrame(g.W, g.H)
	f.box(b)
	f.draw(g, m.Theme.border())
	for i, h := range helpText {
		y := b.y + 1 + i
		if y >= b.y+b.h-1 {
			// Keys for which there is no room are counted in the frame.
			g.Put(b.x+2, b.y+b.h-1, b.w-4, fmt.Sprintf(" %d more ", len(helpText)-i), m.Theme.dim())
			break
		}
		g.Put(b.x+2, y, b.w-4, h[0], m.Theme.head())
		g.Put(b.x+4+keys, y, b.w-keys-6, h[1], m.Theme.text())
	}
}

// drawNarrowHelp draws the keys where there is no room for columns: what a key does follows it, and goes on below.
func (m *Model) drawNarrowHelp(g *tty.Grid) {
	clearBox(g, box{0, 0, g.W, g.H})
	y := 0
	for i, h := range helpText {
		x := g.Put(0, y, g.W, h[0], m.Theme.head()) + 2
		for word := range strings.FieldsSeq(h[1]) {
			if x+glyph.Width(word) > g.W {
				x, y = 2, y+1
			}
			x += g.Put(x, y, g.W-x, word, m.Theme.text()) + 1
		}
		y++
		// The last line says for how many keys there is no room.
		if left := len(helpText) - i - 1; left > 0 && y >= g.H-2 {
			g.Put(0, y, g.W, fmt.Sprintf("%d more", left), m.Theme.dim())
			return
		}
	}
}
