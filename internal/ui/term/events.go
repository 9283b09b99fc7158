package term

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// drawEvents draws the newest events, or those from a place on.
func (m *Model) drawEvents(g *tty.Grid, b box, p *pane) string {
	keep := func(ev *live.Event) bool {
		// Gaps pass each filter: what is missing may be what is looked for.
		return (p.stay == 0 || ev.Number <= p.stay) &&
			(p.filter.empty() || ev.Lost > 0 || p.filter.matches(ev.Said()))
	}
	events, all := m.State.Events(max(b.h, 0), keep)
	columns := m.eventColumns(events, b.w)
	for i := range events {
		m.drawEvent(g, b, b.y+i, &events[i], columns)
	}
	if len(events) == 0 {
		g.Put(b.x, b.y, b.w, m.nothing(p), m.Theme.dim())
	}
	heading := view.Counted(int(all), "event")
	if len(columns) > 0 && len(events) > 0 && b.w >= 60 {
		heading += "  " + strings.Join(columnNames(events), " ")
	}
	if p.stay == 0 {
		heading += "  follow"
	} else {
		heading += fmt.Sprintf("  stays at %s", view.Grouped(p.stay))
	}
	if !p.filter.empty() {
		heading += "  /" + glyph.Safe(p.filter.text)
	}
	return heading
}

// columnNames are the names of the arguments, if all events shown are of one place.
func columnNames(events []live.Event) (names []string) {
	site := oneSite(events)
	if site == nil {
		return nil
	}
	for _, a := range site.Args {
		names = append(names, glyph.Safe(a.Name))
	}
	return names
}

// oneSite is the place of the script that all events are from, nil if there are several.
func oneSite(events []live.Event) (site *view.Site) {
	for i := range events {
		ev := &events[i]
		switch {
		// Gaps and prints have no arguments, and stand between events of any site.
		case ev.Lost > 0 || ev.Marked != nil:
		// Columns have no room for how severe a report is.
		case ev.Site == nil || ev.Site.Severity() != "" || len(ev.Site.Args) == 0 || len(ev.Site.Args) != len(ev.Args):
			return nil
		case site != nil && site != ev.Site:
			return nil
		default:
			site = ev.Site
		}
	}
	return site
}

// eventColumns are the widths of the columns of arguments; none if events are shown as
// text.
func (m *Model) eventColumns(events []live.Event, width int) (widths []int) {
	site := oneSite(events)
	if site == nil {
		return nil
	}
	widths = make([]int, len(site.Args))
	// The time and the room behind it take 14.
	total := 14
	for c := range widths {
		for i := range events {
			if c < len(events[i].Args) {
				widths[c] = max(widths[c], glyph.Width(glyph.Safe(argText(events[i].Args[c]))))
			}
		}
		// The last column has what the others leave: a third of the width is enough for them.
		if c < len(widths)-1 {
			widths[c] = min(widths[c], max(width/3, 8))
		}
		total += widths[c] + 2
	}
	if total > width {
		widths[len(widths)-1] = max(widths[len(widths)-1]-(total-width), 0)
	}
	return widths
}

// argText is an argument of an event in a line.
func argText(v value.Value) string { return live.KeyText(v) }

// drawEvent draws an event: when it was, on which CPU, and its arguments in columns or its text.
func (m *Model) drawEvent(g *tty.Grid, b box, y int, ev *live.Event, columns []int) {
	if ev.Lost > 0 {
		g.Put(b.x, y, b.w, fmt.Sprintf("··· %s lost ···", view.Grouped(ev.Lost)), m.Theme.alarm())
		return
	}
	begin := m.State.Begin()
	at := begin.Wall.Add(ev.Boot - begin.Boot)
	x := b.x + g.Put(b.x, y, b.w, at.Format("15:04:05.000"), m.Theme.dim()) + 2
	if ev.Stamped {
		x += g.Put(x, y, b.x+b.w-x, fmt.Sprintf("%3d", ev.CPU), m.Theme.dim()) + 2
	}
	switch {
	case ev.Marked != nil:
		g.Put(x, y, b.x+b.w-x, glyph.Safe(ev.Marked.Name)+" printed", m.Theme.dim())
	case columns == nil || len(columns) != len(ev.Args):
		g.Put(x, y, b.x+b.w-x, glyph.Safe(ev.Said()), m.Theme.text())
	default:
		for c, w := range columns {
			if x >= b.x+b.w {
				break
			}
			text := glyph.Safe(argText(ev.Args[c]))
			fill := 0
			switch ev.Args[c].(type) {
			// Numbers end below each other.
			case value.Int, value.Uint:
				fill = max(w-glyph.Width(text), 0)
			}
			g.Put(x+fill, y, min(w, b.x+b.w-x), text, m.Theme.text())
			x += w + 2
		}
	}
}

// scrollEvents moves in the list of events: back from the newest, or forward to it.
func (m *Model) scrollEvents(p *pane, by int) {
	_, all := m.State.Events(0, nil)
	at := int64(p.stay)
	// The newest event now is where scrolling back begins.
	if p.stay == 0 {
		at = int64(all)
	}
	at = max(at+int64(by), 1)
	// Who has scrolled to the newest follows again.
	if p.stay = uint64(at); p.stay >= all {
		p.stay = 0
	}
}

// Lines are what a command has printed, the last of it. It is written by one goroutine and drawn by
// another.
type Lines struct {
	mu    sync.Mutex
	lines []string
	part  []byte
	all   int
}

// maxLines is how many lines of a command's output are kept, and how long one is at most.
const (
	maxLines = 10_000
	maxLine  = 4096
)

// Write adds output.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range bytes.SplitAfter(p, []byte("\n")) {
		// A line that does not end is cut into pieces, so that memory is bounded.
		if l.part = append(l.part, c...); len(l.part) > maxLine || bytes.HasSuffix(c, []byte("\n")) {
			l.lines, l.part = append(l.lines, strings.TrimRight(string(l.part), "\r\n")), nil
			l.all++
		}
	}
	// The rest is copied, so that lines that were dropped are freed.
	if over := len(l.lines) - maxLines; over > 0 {
		l.lines = append([]string(nil), l.lines[over:]...)
	}
	return len(p), nil
}

// last are the last lines but some, and how many there were in all.
func (l *Lines) last(n, but int) ([]string, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := max(len(l.lines)-but, 0)
	// Lines are copied, as Write goes on meanwhile.
	return append([]string(nil), l.lines[max(end-n, 0):end]...), l.all
}

// drawOutput draws the last lines of a command.
func (m *Model) drawOutput(g *tty.Grid, b box, p *pane) string {
	lines, all := m.Output.last(max(b.h, 0), p.cursor)
	for i, line := range lines {
		// Output of a command may have sequences that the terminal would act on.
		g.Put(b.x, b.y+i, b.w, view.Line(line), m.Theme.text())
	}
	return fmt.Sprintf("%s lines", view.Grouped(all))
}
