// Package source holds script text, positions in it and the diagnostics that
// point at them. It knows nothing of the language: a Diagnostic is a value
// that any stage may build and only the edge (the command, an editor) draws.
package source

import (
	"sort"
	"sync"
)

// Inline is the name of a script that came with -e or from standard input.
const Inline = "stdin"

// A File is one piece of script text with the name diagnostics use for it.
type File struct {
	Name string // as the user wrote it; Inline for text without a file
	Text string
	// Library: the text is hawk's own, so that messages show first where the
	// script uses it.
	Library bool
	// Unwarned: there are no warnings about it, as it is a tool and the user did not write it.
	Unwarned bool
	// Path is where the text was read if Name does not say, as for an import;
	// "" otherwise.
	Path string
	// Import is the import that asked for the file; zero for the script itself.
	Import Span

	indexed sync.Once
	lines   []int // byte offset of each line start, filled on first use
}

// Where is the path that the text was read from.
func (f *File) Where() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

// NewFile returns a File; text is kept as it is.
func NewFile(name, text string) *File { return &File{Name: name, Text: text} }

// Position converts a byte offset into a 1-based line and byte column.
func (f *File) Position(offset int) (line, col int) {
	f.index()
	i := sort.SearchInts(f.lines, offset+1) - 1
	return i + 1, offset - f.lines[i] + 1
}

// Line returns the text of a 1-based line without its newline.
func (f *File) Line(line int) string {
	f.index()
	if line < 1 || line > len(f.lines) {
		return ""
	}
	start, end := f.lines[line-1], len(f.Text)
	if line < len(f.lines) {
		end = f.lines[line] - 1
	}
	if end > start && f.Text[end-1] == '\r' {
		end--
	}
	return f.Text[start:end]
}

// index finds the lines; several goroutines may ask for positions.
func (f *File) index() {
	f.indexed.Do(func() {
		f.lines = []int{0}
		for i := range len(f.Text) {
			if f.Text[i] == '\n' {
				f.lines = append(f.lines, i+1)
			}
		}
	})
}

// A Span is a half-open range of byte offsets in a file. The zero Span is
// "no position".
type Span struct {
	File       *File
	Start, End int // bytes; End is exclusive
	// From is the use that this copy of the text was expanded for; nil for
	// text that stands where it was written.
	From *Expansion
}

// An Expansion is one use of a macro or function, whose text takes its place.
type Expansion struct {
	At Span // the use; itself part of an expansion if At.From is not nil
}

// Trail lists the uses that a span was expanded for, innermost first, and then
// the imports of the file.
func (s Span) Trail() []Span {
	var out []Span
	for s.From != nil {
		s = s.From.At
		out = append(out, s)
	}
	for s.File != nil && s.File.Import.Valid() {
		s = s.File.Import
		out = append(out, s)
	}
	return out
}

// Valid reports whether the span names a place in a file.
func (s Span) Valid() bool { return s.File != nil }

// Text is the script text under the span.
func (s Span) Text() string {
	if s.File == nil {
		return ""
	}
	return s.File.Text[s.Start:s.End]
}

// To returns the span from the start of s to the end of t.
func (s Span) To(t Span) Span {
	if !s.Valid() {
		return t
	}
	if !t.Valid() || t.File != s.File {
		return s
	}
	return Span{s.File, min(s.Start, t.Start), max(s.End, t.End), s.From}
}
