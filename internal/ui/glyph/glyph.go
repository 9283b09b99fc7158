// Package glyph says how many columns of a terminal text takes, and makes text from outside safe to be drawn in
// them.
package glyph

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/view"
)

// Safe is text from outside as it may be drawn: in a line, without what terminals act on.
func Safe(s string) string {
	// Nearly all text is ASCII, for which this is enough.
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return visible(view.Line(s))
		}
	}
	return s
}

// visible writes by number what takes no column, or changes how many its neighbours take: terminals
// differ there, and one that disagrees shifts the rest of the line. So it goes with a mark that has no
// letter to stand on.
func visible(s string) string {
	var b strings.Builder
	kept := 0
	for i, r := range s {
		if unseen(r) || i == 0 && combines(r) {
			b.WriteString(s[kept:i])
			form := `\u%04x`
			if r > 0xffff {
				form = `\U%08x`
			}
			fmt.Fprintf(&b, form, r)
			kept = i + utf8.RuneLen(r)
		}
	}
	return b.String() + s[kept:]
}

// unseen reports whether a character is not a picture of its own: formats and joiners, selectors of
// variants, tones of skin, and letters of Hangul that stand in the one before.
func unseen(r rune) bool {
	switch {
	// Below the soft hyphen every character has a picture; control characters are gone by now.
	case r < 0xad:
		return false
	case r >= 0x1160 && r <= 0x11ff, r >= 0xfe00 && r <= 0xfe0f, r >= 0x1f3fb && r <= 0x1f3ff,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// combines reports whether a character is drawn into the one before it.
func combines(r rune) bool { return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) }

// Width is how many columns text takes.
func Width(text string) (n int) {
	for len(text) > 0 {
		cluster, w := First(text)
		text = text[len(cluster):]
		n += w
	}
	return n
}

// Fit cuts text to a width; if something is cut off, an ellipsis says so.
func Fit(text string, width int) string {
	if width <= 0 {
		return ""
	}
	n, keep, at := 0, 0, 0
	for at < len(text) {
		cluster, w := First(text[at:])
		if n+w > width {
			return text[:keep] + "…"
		}
		// As long as an ellipsis would fit behind it, it can be the last.
		if n += w; n < width {
			keep = at + len(cluster)
		}
		at += len(cluster)
	}
	return text
}

// First is the first character of a text, with the marks that combine with it, and how
// many columns it takes.
func First(text string) (cluster string, width int) {
	r, size := utf8.DecodeRuneInString(text)
	width = runeWidth(r)
	for size < len(text) {
		next, n := utf8.DecodeRuneInString(text[size:])
		if !combines(next) {
			break
		}
		size += n
	}
	return text[:size], width
}

// runeWidth is how many columns a character takes, by the ranges that Unicode calls wide.
func runeWidth(r rune) int {
	// Hangul is the first that is wide.
	if r < 0x1100 {
		return 1
	}
	for _, w := range wide {
		if r < w[0] {
			break
		}
		if r <= w[1] {
			return 2
		}
	}
	return 1
}

// wide are the ranges of characters that are two columns wide.
var wide = [...][2]rune{
	{0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A}, {0x23E9, 0x23EC}, {0x23F0, 0x23F0}, {0x23F3, 0x23F3},
	{0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267F, 0x267F}, {0x2693, 0x2693}, {0x26A1, 0x26A1},
	{0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26CE, 0x26CE}, {0x26D4, 0x26D4}, {0x26EA, 0x26EA},
	{0x26F2, 0x26F3}, {0x26F5, 0x26F5}, {0x26FA, 0x26FA}, {0x26FD, 0x26FD}, {0x2705, 0x2705}, {0x270A, 0x270B},
	{0x2728, 0x2728}, {0x274C, 0x274C}, {0x274E, 0x274E}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
	{0x27B0, 0x27B0}, {0x27BF, 0x27BF}, {0x2B1B, 0x2B1C}, {0x2B50, 0x2B50}, {0x2B55, 0x2B55}, {0x2E80, 0x303E},
	{0x3041, 0x33FF}, {0x3400, 0x4DBF}, {0x4E00, 0xA4CF}, {0xA960, 0xA97F}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
	{0xFE10, 0xFE19}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x16FE0, 0x18AFF}, {0x1AFF0, 0x1B2FF},
	{0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
	{0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
	{0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC},
	{0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E}, {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596},
	{0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
	{0x1F6D5, 0x1F6D7}, {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7EB},
	{0x1F7F0, 0x1F7F0}, {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1FAFF}, {0x20000, 0x3FFFD},
}
