package term

import (
	"hash/fnv"
	"strings"

	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
)

// A Theme says how things look.
type Theme struct {
	Light bool // the background is
	ASCII bool // no character beyond it
	// Shades: amounts are drawn as denser characters, as there are no colors for them.
	Shades bool
}

// The styles of everything that is drawn.
func (t *Theme) dim() tty.Style {
	return tty.Style{Fg: t.pick(0x9A9A9A, 0x666666)}
}

// title is the style of the name of a pane.
func (t *Theme) title(focus bool) tty.Style {
	s := tty.Style{Attr: tty.Bold}
	if focus {
		s.Fg = t.pick(0x56B4E9, 0x00588A)
		s.Attr |= t.mono(tty.Reverse)
	}
	return s
}

// head is the style of what is important.
func (t *Theme) head() tty.Style { return tty.Style{Attr: tty.Bold} }

// alarm is the style of what must not be overlooked: losses, and that the picture stands still.
func (t *Theme) alarm() tty.Style {
	return tty.Style{Fg: t.pick(0xE69F00, 0x9C4A00), Attr: tty.Bold | tty.Reverse}
}

// bar, spark, text and border are the styles of bars, of numbers over time, of text, and of lines
// between panes.
func (t *Theme) bar() tty.Style    { return tty.Style{Fg: t.pick(0x56B4E9, 0x0072B2)} }
func (t *Theme) spark() tty.Style  { return tty.Style{Fg: t.pick(0x2BB58A, 0x00775A)} }
func (t *Theme) text() tty.Style   { return tty.Style{} }
func (t *Theme) border() tty.Style { return t.dim() }

// pick is a color for a dark or a light background.
func (t *Theme) pick(dark, light uint32) tty.Color {
	if t.Light {
		return tty.RGB(light)
	}
	return tty.RGB(dark)
}

// mono is an attribute that takes the place of a color where there are none.
func (t *Theme) mono(a tty.Attr) tty.Attr {
	if t.Shades {
		return a
	}
	return 0
}

// cividis are the steps of amounts, from the background's end on for dark ones. It is a scale that
// people who do not see red and green apart can read.
var cividis = [9]uint32{0x123570, 0x3B496C, 0x575D6D, 0x707173, 0x8A8678, 0xA59C74, 0xC3B369, 0xE1CC55, 0xFEE838}

// heat is a cell for an amount from 0 to 1; nothing is the background.
func (t *Theme) heat(x float64) (string, tty.Style) {
	if x <= 0 {
		return " ", tty.Style{}
	}
	if t.Shades {
		return []string{"░", "▒", "▓", "█"}[min(int(x*4), 3)], tty.Style{}
	}
	// On a light background the scale is turned around, so that little looks like nothing there,
	// too.
	step := min(int(x*9), 8)
	if t.Light {
		step = 8 - step
	}
	return " ", tty.Style{Bg: tty.RGB(cividis[step])}
}

// frame is the style of a function in a flame graph: the hue says where it is from, its
// lightness tells neighbours apart.
func (t *Theme) frame(kind view.FrameKind, name string) tty.Style {
	// Without colours boxes are told apart by the lines at their edges.
	if t.Shades {
		return tty.Style{}
	}
	base := [...]uint32{view.LabelFrame: 0x999999, view.UserFrame: 0x56B4E9, view.KernelFrame: 0xE69F00,
		view.JITFrame: 0xCC79A7, view.MarkFrame: 0x999999}[kind]
	h := fnv.New32a()
	h.Write([]byte(name))
	// Up to 6 % lighter or darker is told apart, and still the same hue.
	by := 0.94 + 0.12*float64(h.Sum32()%16)/15
	part := func(shift int) uint32 { return min(uint32(float64(base>>shift&0xff)*by), 255) << shift }
	return tty.Style{Fg: tty.RGB(0x000000), Bg: tty.RGB(part(16) | part(8) | part(0))}
}

// limited reports whether the locale has another text than UTF-8: whoever says so has a terminal that would show three
// letters for each line of a box. Where nothing is said, as in many a container, terminals know UTF-8.
func limited(env func(string) string) bool {
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(env(name)); locale != "" {
			return !strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8")
		}
	}
	return false
}

// asASCII replaces characters beyond ASCII by some that look alike.
func asASCII(g *tty.Grid) {
	for y := range g.H {
		for x := range g.W {
			c := g.At(x, y)
			// A cell of one byte is ASCII; an empty one may be half of a wide character.
			if len(c.Text) < 2 {
				continue
			}
			text, ok := plainly(c.Text)
			if !ok {
				text = "?"
			}
			g.Set(x, y, text, c.Style)
			// A space follows both, which takes the second character of <= and >=.
			if (c.Text == "≤" || c.Text == "≥") && g.At(x+1, y).Text == " " {
				g.Set(x+1, y, "=", c.Style)
			}
		}
	}
}

// plainly is an ASCII character for another.
func plainly(s string) (string, bool) {
	switch s {
	case "─", "┄", "–":
		return "-", true
	case "│", "▏", "▕":
		return "|", true
	case "┌", "┐", "└", "┘", "├", "┤", "┬", "┴", "┼":
		return "+", true
	case "█", "▉", "▊", "▋":
		return "#", true
	case "▌", "▍":
		return "=", true
	case "▎", "·":
		return ".", true
	case "░":
		return ".", true
	case "▒":
		return ":", true
	case "▓":
		return "*", true
	case "▁", "▂":
		return "_", true
	case "▃", "▄":
		return "-", true
	case "▅", "▆":
		return "=", true
	case "▇":
		return "#", true
	case "▼":
		return "v", true
	case "▲":
		return "^", true
	case "≤":
		return "<", true
	case "≥":
		return ">", true
	case "µ":
		return "u", true
	case hatch:
		return "/", true
	case "…":
		return "~", true
	case "→":
		return ">", true
	case "←":
		return "<", true
	case "↑":
		return "^", true
	case "↓":
		return "v", true
	}
	return s, false
}

// blocks are bars of eighths of a cell, from the left and from below.
var (
	leftBlocks  = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}
	belowBlocks = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
)

// drawBar draws a bar of a share of a width; a share that is not 0 is seen.
func drawBar(g *tty.Grid, x, y, width int, share float64, s tty.Style) {
	if width <= 0 || !(share > 0) {
		// The comparison is turned around for NaN, which draws nothing.
		return
	}
	eighths := max(int(min(share, 1)*float64(8*width)+0.5), 1)
	for ; eighths > 0; x++ {
		g.Set(x, y, leftBlocks[min(eighths, 8)], s)
		eighths -= 8
	}
}

// drawColumns draws numbers as columns side by side in a box, the last at its right end.
func drawColumns(g *tty.Grid, b box, numbers []float64, s tty.Style) {
	if b.w <= 0 || b.h <= 0 {
		return
	}
	if len(numbers) > b.w {
		numbers = numbers[len(numbers)-b.w:]
	}
	// 0 is in every picture, so that heights compare.
	low, high := 0.0, 0.0
	for _, n := range numbers {
		low, high = min(low, n), max(high, n)
	}
	// All numbers are 0: there is nothing to compare.
	if high == low {
		return
	}
	x := b.x + b.w - len(numbers)
	for _, n := range numbers {
		eighths := int((n-low)/(high-low)*float64(8*b.h) + 0.5)
		// A number that is not 0 is seen.
		if n != 0 {
			eighths = max(eighths, 1)
		}
		for y := b.y + b.h - 1; y >= b.y && eighths > 0; y-- {
			g.Set(x, y, belowBlocks[min(eighths, 8)], s)
			eighths -= 8
		}
		x++
	}
}
