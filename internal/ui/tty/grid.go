// Package tty is a terminal as views need one: a grid of cells that is drawn with as few
// bytes as will do, keys and clicks read from it, and a promise to leave it as it was
// found. It knows the control sequences that all terminals of today share and reads no
// data base of others.
package tty

import "github.com/hawktrace/hawk/internal/ui/glyph"

// A Color is one of 24 bits; the zero value is what the terminal has by itself.
type Color uint32

// isRGB tells black from the zero value, which is no color.
const isRGB = 1 << 24

// RGB is a color by its number, 0xE69F00.
func RGB(rgb uint32) Color { return Color(rgb&0xFFFFFF | isRGB) }

// Attr are ways to stand out without color.
type Attr uint8

// The attributes.
const (
	Bold Attr = 1 << iota
	Underline
	Reverse
)

// A Style is how a cell looks.
type Style struct {
	Fg, Bg Color
	Attr   Attr
}

// With adds an attribute.
func (s Style) With(a Attr) Style {
	s.Attr |= a
	return s
}

// A Cell is one place of a grid. Text is a character with the marks that combine with it;
// "" is a blank, or the second half of a wide character before it.
type Cell struct {
	Text  string
	Style Style
	wide  bool // the next cell is the second half
}

// A Grid is what a terminal shows.
type Grid struct {
	W, H  int
	cells []Cell
	clip  [4]int // from x, from y, to x, to y: what is drawn outside does not show
}

// NewGrid is a grid of blanks.
func NewGrid(w, h int) *Grid {
	w, h = max(w, 0), max(h, 0)
	return &Grid{W: w, H: h, cells: make([]Cell, w*h), clip: [4]int{0, 0, w, h}}
}

// Clip has nothing show that is drawn outside of a part of the grid.
func (g *Grid) Clip(x, y, w, h int) {
	g.clip = [4]int{max(x, 0), max(y, 0), min(x+max(w, 0), g.W), min(y+max(h, 0), g.H)}
}

// Unclip has everything show again.
func (g *Grid) Unclip() { g.clip = [4]int{0, 0, g.W, g.H} }

// inside reports whether a cell is one that shows.
func (g *Grid) inside(x, y int) bool {
	return x >= g.clip[0] && y >= g.clip[1] && x < g.clip[2] && y < g.clip[3]
}

// At is a cell; outside there are blanks.
func (g *Grid) At(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.W || y >= g.H {
		return Cell{}
	}
	return g.cells[y*g.W+x]
}

// Set sets one cell to a text of one column.
func (g *Grid) Set(x, y int, text string, s Style) {
	if g.inside(x, y) {
		g.clear(x, y)
		g.cells[y*g.W+x] = Cell{Text: text, Style: s}
	}
}

// clear takes care that no half of a wide character is left.
func (g *Grid) clear(x, y int) {
	at := y*g.W + x
	if x > 0 && g.cells[at-1].wide {
		g.cells[at-1] = Cell{Text: " ", Style: g.cells[at-1].Style}
	}
	if g.cells[at].wide && x+1 < g.W {
		g.cells[at+1] = Cell{Text: " ", Style: g.cells[at+1].Style}
	}
}

// Style changes how a cell looks.
func (g *Grid) Style(x, y int, change func(Style) Style) {
	if g.inside(x, y) {
		c := &g.cells[y*g.W+x]
		c.Style = change(c.Style)
	}
}

// Put writes text from a cell on, in width columns at most, and returns the columns that
// it took. What does not fit ends in an ellipsis.
func (g *Grid) Put(x, y, width int, text string, s Style) int {
	text = glyph.Fit(text, width)
	n := 0
	for len(text) > 0 {
		cluster, w := glyph.First(text)
		text = text[len(cluster):]
		switch {
		case w < 2:
			g.Set(x+n, y, cluster, s)
		// A wide character of which half is outside is left out as a whole.
		case g.inside(x+n, y) && g.inside(x+n+1, y):
			g.Set(x+n, y, cluster, s)
			g.Set(x+n+1, y, "", s)
			g.cells[y*g.W+x+n].wide = true
		}
		n += w
	}
	return n
}

// Fill fills a part of a line.
func (g *Grid) Fill(x, y, width int, text string, s Style) {
	for i := range width {
		g.Set(x+i, y, text, s)
	}
}

// Text is the grid as lines without trailing blanks, for tests and captures.
func (g *Grid) Text() string {
	var out []byte
	for y := range g.H {
		end := len(out)
		for x := 0; x < g.W; x++ {
			c := g.cells[y*g.W+x]
			if c.Text == "" {
				out = append(out, ' ')
			} else {
				out = append(out, c.Text...)
			}
			if c.Text != "" && c.Text != " " {
				end = len(out)
			}
			if c.wide {
				x++
			}
		}
		out = append(out[:end], '\n')
	}
	return string(out)
}
