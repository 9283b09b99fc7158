package source

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintOptions says how diagnostics are drawn.
type PrintOptions struct {
	Color      bool // errors red and warnings yellow, on the message line only
	NoWarnings bool // leave out warnings with their hints
	NoExcerpt  bool // name the place of the message only, without the script's lines
	// Tool is what the ready-made tool is called that the script is, "" if it is none: whoever runs it
	// did not write it, and reads its name in place of places. Bugs show those all the same.
	Tool string
}

// Limits on what one excerpt may show, so that a script of one enormous line or
// a span over thousands of lines still prints as something one can read.
const (
	maxColumns = 300 // display columns of one source line
	maxLines   = 60  // lines of one multi-line excerpt
)

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Print writes all diagnostics, errors first. Write errors are ignored: there
// is nowhere left to report them.
func (ds *Diagnostics) Print(w io.Writer, opts PrintOptions) {
	var before string
	for _, d := range ds.List() {
		var b strings.Builder
		d.Print(&b, opts)
		if text := b.String(); opts.Tool == "" || text != before { // without a place they may be the same
			io.WriteString(w, text)
			before = text
		}
	}
}

// Print writes one diagnostic: header, excerpt, notes, hints, and the places it
// was expanded from. A warning or hint prints nothing under NoWarnings.
func (d *Diagnostic) Print(w io.Writer, opts PrintOptions) {
	if opts.NoWarnings && (d.Severity == Warning || d.Severity == Hint) {
		return
	}
	d.Locate()
	if d.Severity == Bug {
		opts.Tool = ""
	}
	var b strings.Builder
	if d.Severity == Hint {
		writeHint(&b, d.Msg)
	} else {
		writeBlock(&b, d.Severity, d.Span, d.Msg, opts)
	}
	for _, n := range d.Notes {
		writeBlock(&b, d.Severity, n.Span, n.Msg, opts)
	}
	for _, h := range d.Hints {
		writeHint(&b, h)
	}
	opts.NoExcerpt = false
	if opts.Tool == "" {
		for _, s := range d.Trail {
			writeBlock(&b, d.Severity, s, "expanded from", opts)
		}
	}
	io.WriteString(w, b.String())
}

func writeHint(b *strings.Builder, text string) {
	b.WriteString("HINT: ")
	b.WriteString(cleanMessage(text))
	b.WriteByte('\n')
}

// writeBlock writes a header line and the excerpt under it.
func writeBlock(b *strings.Builder, sev Severity, s Span, msg string, opts PrintOptions) {
	paint := ""
	if opts.Color {
		switch sev {
		case Error, Bug:
			paint = red
		case Warning:
			paint = yellow
		}
	}
	b.WriteString(paint)
	s = s.clamp()
	placed := s.Valid() && opts.Tool == ""
	if placed {
		fmt.Fprintf(b, "%s: ", s)
	}
	b.WriteString(sev.String())
	b.WriteString(": ")
	if s.Valid() && !placed {
		fmt.Fprintf(b, "%s: ", opts.Tool)
	}
	b.WriteString(cleanMessage(msg))
	if paint != "" {
		b.WriteString(reset)
	}
	b.WriteByte('\n')
	if placed && !opts.NoExcerpt {
		writeExcerpt(b, s)
	}
}

// String is the place as diagnostics print it: FILE:LINE:COL1-COL2 with COL2
// exclusive, FILE:LINE1-LINE2 for a span of several lines, "" for no place. An
// empty span counts as one column.
func (s Span) String() string {
	s = s.clamp()
	if !s.Valid() {
		return ""
	}
	name := strings.ReplaceAll(cleanMessage(s.File.Name), "\n", "?")
	line, col, last, end := s.bounds()
	if line != last {
		return fmt.Sprintf("%s:%d-%d", name, line, last)
	}
	return fmt.Sprintf("%s:%d:%d-%d", name, line, col, end)
}

// clamp brings a span that is out of its file's text back into it.
func (s Span) clamp() Span {
	if s.File == nil {
		return s
	}
	s.Start = min(max(s.Start, 0), len(s.File.Text))
	s.End = min(max(s.End, s.Start), len(s.File.Text))
	return s
}

// bounds returns the first line and column, and the line of the last byte and
// the column after it.
func (s Span) bounds() (line, col, last, end int) {
	line, col = s.File.Position(s.Start)
	last, end = s.File.Position(max(s.Start, s.End-1))
	return line, col, last, end + 1
}

// writeExcerpt writes the lines of the script that a span is in, with the span marked.
func writeExcerpt(b *strings.Builder, s Span) {
	line, col, last, end := s.bounds()
	if line == last {
		writeLine(b, s.File.Line(line), col-1, end-1, true)
		return
	}
	for n := line; n <= last; n++ {
		if n-line >= maxLines {
			b.WriteString("...\n")
			return
		}
		writeLine(b, s.File.Line(n), 0, 0, false)
	}
}

// writeLine writes one source line and, if wanted, the marker line under bytes
// start to end of it. Tabs become four spaces, what cannot be printed becomes
// '?'. Columns on the screen are counted in runes.
func writeLine(b *strings.Builder, text string, start, end int, marker bool) {
	// Only the neighbourhood of the span is looked at, so that the cost does
	// not depend on the length of the line.
	from := 0
	if len(text) > maxColumns && start > maxColumns/2 {
		from = start - maxColumns/2
		for from > 0 && !utf8.RuneStart(text[from]) && start-from < maxColumns {
			from--
		}
	}
	var out, marks strings.Builder
	if from > 0 {
		out.WriteString("...")
		marks.WriteString("   ")
	}
	columns, i := 0, from
	for i < len(text) && columns < maxColumns {
		r, size := utf8.DecodeRuneInString(text[i:])
		cell := "?"
		switch {
		case r == '\t':
			cell = "    "
		case r == utf8.RuneError && size == 1:
		case unicode.IsPrint(r):
			cell = text[i : i+size]
		}
		width := utf8.RuneCountInString(cell)
		mark := byte(' ')
		if i+size > start && i < end {
			mark = '~'
		}
		out.WriteString(cell)
		for range width {
			marks.WriteByte(mark)
		}
		columns += width
		i += size
	}
	if i < len(text) {
		out.WriteString("...")
	}
	b.WriteString(out.String())
	b.WriteByte('\n')
	if !marker {
		return
	}
	line := strings.TrimRight(marks.String(), " ")
	if line == "" { // an empty span, or one past the end of the line
		line = strings.Repeat(" ", min(max(marks.Len(), start-len(text)), maxColumns)) + "~"
	}
	b.WriteString(line)
	b.WriteByte('\n')
}

// cleanMessage replaces what would disturb a terminal; newlines stay, because a
// message may have several lines.
func cleanMessage(s string) string {
	clean := func(r rune) rune {
		if r == '\n' || r == '\t' || r != utf8.RuneError && unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	return strings.Map(clean, s)
}
