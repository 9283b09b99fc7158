// Package history keeps what maps held over time, in bounded memory: a column for each
// look at a map, or for each window that the script closed. A column holds changes, so
// that any range of columns adds up to what happened in it, for views that draw numbers
// over time or show a moment that has passed. It holds values and has no clock, no lock
// and no goroutine.
package history

import (
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// Options bound what is kept.
type Options struct {
	Span  time.Duration // how far back; 0: DefaultSpan
	Bytes int           // of all maps together; 0: 64 MiB
	Keys  int           // of a map that are kept apart; 0: 10,000
}

// Defaults of Options, and how many columns a map has at most.
const (
	DefaultSpan  = 5 * time.Minute
	defaultBytes = 64 << 20
	defaultKeys  = 10_000
	maxColumns   = 4096
)

// A History is a feed that remembers.
type History struct {
	o       Options
	begin   time.Duration
	lines   map[*view.Map]*Line
	changed bool
}

// New makes an empty history.
func New(o Options) *History {
	if o.Span <= 0 {
		o.Span = DefaultSpan
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultBytes
	}
	if o.Keys <= 0 {
		o.Keys = defaultKeys
	}
	return &History{o: o, lines: map[*view.Map]*Line{}}
}

// Line is what is known of a map, nil if nothing is.
func (h *History) Line(m *view.Map) *Line { return h.lines[m] }

// Changed reports whether anything new came since it was asked last.
func (h *History) Changed() bool {
	was := h.changed
	h.changed = false
	return was
}

// Take takes an item of the run.
func (h *History) Take(item view.Item) error {
	switch it := item.(type) {
	case view.Begin:
		h.begin = it.Boot
	case view.Snapshot:
		// A look that failed on its way would show keys as gone.
		if l := h.line(it.Map); l != nil && it.Complete && !l.Windows {
			h.changed = l.look(it.Rows, it.Totals, it.Left > 0, it.End) || h.changed
			h.bound(it.End)
		}
	case view.Asleep:
		// Each line has a last column of its own, behind which the sleep stands.
		for _, l := range h.lines {
			l.asleep = it
		}
	case view.Mark:
		if l := h.line(it.Map); l != nil && l.Windows && !it.AtEnd {
			l.open, l.openAt, l.marked = it.Rows, it.Boot, true
		}
	case view.Cleared:
		// A window ends when what was printed is cleared.
		if l := h.line(it.Map); l != nil && l.marked {
			l.close()
			h.changed = true
			h.bound(it.Boot)
		}
	}
	return nil
}

// line is that of a map of which something can be kept, nil of others.
func (h *History) line(m *view.Map) *Line {
	l := h.lines[m]
	if l != nil || m == nil {
		return l
	}
	// Other kinds do not add up, or are no numbers.
	switch m.Kind {
	case view.Counter, view.Summary, view.Histogram, view.Gauge:
	default:
		return nil
	}
	l = newLine(m, h.begin, h.o.Keys)
	h.lines[m] = l
	return l
}

// bound drops what is too old, and thins out what takes too much room.
func (h *History) bound(now time.Duration) {
	total := 0
	for _, l := range h.lines {
		l.drop(now - h.o.Span)
		for len(l.columns) > maxColumns {
			l.thin()
		}
		total += l.bytes
	}
	for total > h.o.Bytes {
		// The largest line gives way: others would lose much of their past for little room.
		var largest *Line
		for _, l := range h.lines {
			// A column that is alone cannot be merged.
			if len(l.columns) > 1 && (largest == nil || l.bytes > largest.bytes) {
				largest = l
			}
		}
		if largest == nil {
			return
		}
		was := largest.bytes
		largest.thin()
		total -= was - largest.bytes
	}
}
