package view

import (
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// Called is what views put above a script: its title, or the name of its file, or, where it came
// without a file, the beginning of its text.
func (s *Script) Called() string {
	switch {
	case s.Title != "":
		return s.Title
	case s.Name != source.Inline:
		return s.Name
	}
	const most, looked = 48, 1 << 10 // characters, bytes
	start := s.Text[:min(len(s.Text), looked)]
	text := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(start), " "), ""))
	switch {
	case len(text) == 0:
		return s.Name
	case len(text) > most || len(start) < len(s.Text):
		return string(text[:min(len(text), most-1)]) + "…"
	}
	return string(text)
}
