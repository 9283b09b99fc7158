package term

import (
	"slices"

	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
)

// A box is a part of the screen.
type box struct{ x, y, w, h int }

// inside reports whether a cell lies in a box.
func (b box) inside(x, y int) bool { return x >= b.x && x < b.x+b.w && y >= b.y && y < b.y+b.h }

// A placed pane: box is all of it, with the line of its title. Boxes do not overlap; frames are
// drawn on lines that neighbours share.
type placed struct {
	pane int
	box  box
}

// Sizes at which the layout changes.
const (
	wideWidth    = 100 // two columns of panes
	narrowWidth  = 60  // up to it one pane at a time, with tabs
	narrowHeight = 16
	tinyWidth    = 32 // below it one line
	tinyHeight   = 8
	minPane      = 4 // lines of a pane that is worth drawing
	tileHeight   = 9 // lines of a pane of one number
)

// layout places panes in the lines between the first and the last.
func (m *Model) layout(b box) []placed {
	if m.zoom || len(m.panes) == 1 {
		return []placed{{m.focus, b}}
	}
	if b.w >= wideWidth {
		return m.columns(b)
	}
	var rows [][]int
	for i := range m.panes {
		rows = append(rows, []int{i})
	}
	// A pane may shrink to the line of its title.
	return m.stack(b, rows, 1)
}

// columns places panes two in a row; the first has a row of its own if that comes out
// even, and lists of events have.
func (m *Model) columns(b box) []placed {
	var rows [][]int
	var maps, lists []int
	for i, p := range m.panes {
		if p.m == nil {
			lists = append(lists, i)
		} else {
			maps = append(maps, i)
		}
	}
	// The first map has the row that it need not share.
	if len(maps)%2 == 1 {
		rows, maps = append(rows, maps[:1]), maps[1:]
	}
	for ; len(maps) > 1; maps = maps[2:] {
		rows = append(rows, maps[:2])
	}
	for _, i := range lists {
		rows = append(rows, []int{i})
	}
	return m.stack(b, rows, minPane)
}

// need is how many lines a row of panes can use, most if that is any number or not known: a map without
// keys is a number with what it was before, or one row; a table has as many rows as it had when it was drawn.
func (m *Model) need(row []int, most int) int {
	lines := 0
	for _, i := range row {
		switch p := m.panes[i]; {
		case p.m == nil || p.m.Profile() || p.flame || p.open != nil || p.heat:
			return most
		case p.m.Keyed() || p.m.Kind == view.Histogram:
			// It only grows: a table whose rows come and go must not move what is below it.
			if p.used == 0 {
				return most
			}
			lines = max(lines, p.used+2, minPane)
		case p.m.Kind == view.Text || p.m.Kind == view.Record:
			lines = max(lines, minPane)
		default:
			lines = max(lines, tileHeight)
		}
	}
	return min(lines, most)
}

// stack places rows of panes below each other. The row of the focused pane has most of
// the height, if it can use it; the others share the rest, or have least lines each, as
// far as that goes.
func (m *Model) stack(b box, rows [][]int, least int) (out []placed) {
	at := 0
	for i, row := range rows {
		if slices.Contains(row, m.focus) {
			at = i
		}
	}
	for len(rows) > 1 && b.h-(len(rows)-1)*least < minPane { // those that are furthest away go
		if at > len(rows)-1-at {
			rows, at = rows[1:], at-1
		} else {
			rows = rows[:len(rows)-1]
		}
	}
	y := b.y
	for i, h := range m.heights(b.h, rows, at, least) {
		left := b.w
		x := b.x
		for k, p := range rows[i] {
			// The last pane of a row gets the columns that are left by division.
			w := left / (len(rows[i]) - k)
			out = append(out, placed{p, box{x, y, w, h}})
			x, left = x+w, left-w
		}
		y += h
	}
	return out
}

// heights are those of rows in a height, of which one is in focus. All together they are
// that height.
func (m *Model) heights(height int, rows [][]int, at, least int) []int {
	out, most := make([]int, len(rows)), make([]int, len(rows))
	left := height
	for i := range rows {
		out[i], most[i] = least, height
		if least > 1 {
			most[i] = max(m.need(rows[i], height), least)
		}
		left -= least
	}
	grow := func(i, to int) {
		if more := min(max(to, out[i])-out[i], left); more > 0 {
			out[i], left = out[i]+more, left-more
		}
	}
	// Where the others show their titles alone, the focused row has all the rest.
	if least == 1 {
		grow(at, height)
		return out
	}
	// Two fifths are left for the others, as far as they can use that.
	grow(at, min(most[at], max(height-height*2/5, minPane)))
	// Lines are dealt out one by one, so that rows grow alike.
	for able := true; left > 0 && able; {
		able = false
		for i := range rows {
			if i != at && left > 0 && out[i] < most[i] {
				grow(i, out[i]+1)
				able = true
			}
		}
	}
	// Lines that no other row can use go to the focused one.
	grow(at, height)
	return out
}

// Sides of a cell that lines of a frame lead to.
const (
	up = 1 << iota
	down
	left
	right
)

// lines are the characters by the sides that they lead to.
var lines = [16]string{
	0: " ", up: "│", down: "│", up | down: "│", left: "─", right: "─", left | right: "─", down | right: "┌",
	down | left: "┐", up | right: "└", up | left: "┘", up | down | right: "├", up | down | left: "┤",
	down | left | right: "┬", up | left | right: "┴", up | down | left | right: "┼",
}

// A frame is lines between panes.
type frame struct {
	w, h  int
	sides []uint8
}

// newFrame makes a frame for a screen.
func newFrame(w, h int) *frame { return &frame{w, h, make([]uint8, max(w*h, 0))} }

// add has lines lead from a cell to some sides; lines that meet become a corner or a crossing.
func (f *frame) add(x, y int, sides uint8) {
	if x >= 0 && y >= 0 && x < f.w && y < f.h {
		f.sides[y*f.w+x] |= sides
	}
}

// box adds the lines around a box.
func (f *frame) box(b box) {
	// A box without room for an inside is a line.
	if b.w < 2 || b.h < 2 {
		for x := b.x; x < b.x+b.w; x++ {
			f.add(x, b.y, left|right)
		}
		return
	}
	x1, y1 := b.x+b.w-1, b.y+b.h-1
	for x := b.x + 1; x < x1; x++ {
		f.add(x, b.y, left|right)
		f.add(x, y1, left|right)
	}
	for y := b.y + 1; y < y1; y++ {
		f.add(b.x, y, up|down)
		f.add(x1, y, up|down)
	}
	f.add(b.x, b.y, down|right)
	f.add(x1, b.y, down|left)
	f.add(b.x, y1, up|right)
	f.add(x1, y1, up|left)
}

// draw draws all lines.
func (f *frame) draw(g *tty.Grid, s tty.Style) {
	for y := range f.h {
		for x := range f.w {
			if sides := f.sides[y*f.w+x]; sides != 0 {
				g.Set(x, y, lines[sides], s)
			}
		}
	}
}
