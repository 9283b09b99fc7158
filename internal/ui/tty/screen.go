package tty

import (
	"strconv"
	"unicode/utf8"
)

// Depth is how many colors a terminal has.
type Depth uint8

// The depths.
const (
	Mono Depth = iota
	Colors16
	Colors256
	TrueColor
)

// A Screen remembers what a terminal shows, and makes the bytes that change it.
type Screen struct {
	Depth Depth
	last  *Grid
}

// Forget has the next picture drawn in full.
func (s *Screen) Forget() { s.last = nil }

// Paint makes the bytes that turn what is shown into a grid. The terminal gets them at
// once, so that nothing half drawn is seen.
func (s *Screen) Paint(g *Grid) []byte {
	var out []byte
	full := s.last == nil || s.last.W != g.W || s.last.H != g.H
	if full {
		out = append(out, "\x1b[0m\x1b[2J"...)
	}
	style, first := Style{}, true
	atX, atY := -1, -1
	for y := range g.H {
		for x := 0; x < g.W; x++ {
			c := g.cells[y*g.W+x]
			// A screen that was cleared is full of blanks.
			if !full && c == s.last.cells[y*g.W+x] || full && c == (Cell{}) {
				if c.wide {
					x++
				}
				continue
			}
			// A wide character has no room in the last cell.
			if x == g.W-1 && y == g.H-1 && c.wide {
				continue
			}
			if atX != x || atY != y {
				out = append(out, "\x1b["...)
				out = strconv.AppendInt(out, int64(y+1), 10)
				out = append(out, ';')
				out = strconv.AppendInt(out, int64(x+1), 10)
				out = append(out, 'H')
			}
			if first || c.Style != style {
				out = s.appendStyle(out, c.Style)
				style, first = c.Style, false
			}
			if c.Text == "" {
				out = append(out, ' ')
			} else {
				out = append(out, c.Text...)
			}
			atX, atY = x+1, y
			if c.wide {
				x++
				atX++
			}
			if _, n := utf8.DecodeRuneInString(c.Text); atX >= g.W || c.wide || n < len(c.Text) {
				atX = -1 // where the cursor is now, terminals do not agree
			}
		}
	}
	// Between these, terminals that know mode 2026 show nothing; others pass over it.
	if len(out) > 0 {
		out = append([]byte("\x1b[?2026h"), out...)
		out = append(out, "\x1b[0m\x1b[?2026l"...)
	}
	// The grid is kept as it is: each picture is drawn on a new one.
	s.last = g
	return out
}

// appendStyle begins with 0, which takes the attributes of the style before away.
func (s *Screen) appendStyle(out []byte, st Style) []byte {
	out = append(out, "\x1b[0"...)
	for i, code := range []string{";1", ";4", ";7"} {
		if st.Attr&(1<<i) != 0 {
			out = append(out, code...)
		}
	}
	out = s.appendColor(out, st.Fg, 30)
	out = s.appendColor(out, st.Bg, 40)
	return append(out, 'm')
}

// appendColor adds a color as the terminal has it; base is 30 in front, 40 behind.
func (s *Screen) appendColor(out []byte, c Color, base int64) []byte {
	if c&isRGB == 0 || s.Depth == Mono {
		return out
	}
	r, g, b := int(c>>16&0xff), int(c>>8&0xff), int(c&0xff)
	number := func(n int64) {
		out = append(out, ';')
		out = strconv.AppendInt(out, n, 10)
	}
	switch s.Depth {
	case TrueColor:
		number(base + 8)
		number(2)
		number(int64(r))
		number(int64(g))
		number(int64(b))
	case Colors256:
		number(base + 8)
		number(5)
		number(int64(near256(r, g, b)))
	default:
		n := near16(r, g, b)
		// Bright colors begin at 90, and at 100 behind.
		if n >= 8 {
			number(base + 60 + int64(n-8))
		} else {
			number(base + int64(n))
		}
	}
	return out
}

// near256 is the nearest color of the cube of 6, or of the greys.
func near256(r, g, b int) int {
	level := func(x int) int { // of 0, 95, 135, 175, 215, 255
		if x < 48 {
			return 0
		}
		return min((x-35)/40, 5)
	}
	value := func(n int) int {
		if n == 0 {
			return 0
		}
		return 55 + 40*n
	}
	cr, cg, cb := level(r), level(g), level(b)
	grey := min(max(((r+g+b)/3-3)/10, 0), 23)
	gv := 8 + 10*grey
	if distance(r, g, b, gv, gv, gv) < distance(r, g, b, value(cr), value(cg), value(cb)) {
		return 232 + grey
	}
	return 16 + 36*cr + 6*cg + cb
}

// distance orders colors by how far they are apart; its root is not needed for that.
func distance(r, g, b, x, y, z int) int {
	return (r-x)*(r-x) + (g-y)*(g-y) + (b-z)*(b-z)
}

// colors16 are the colors that most terminals begin with.
var colors16 = [16][3]int{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255},
	{255, 255, 255},
}

// near16 is the nearest of colors16.
func near16(r, g, b int) (best int) {
	least := 1 << 30
	for i, c := range colors16 {
		if d := distance(r, g, b, c[0], c[1], c[2]); d < least {
			best, least = i, d
		}
	}
	return best
}
