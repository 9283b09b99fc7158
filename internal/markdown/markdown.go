// Package markdown helps to print pages of documentation.
package markdown

import (
	"strings"
	"unicode/utf8"
)

// columns is how wide lines of prose are at most, where they can be broken.
const columns = 118

// Fold breaks the line of a paragraph or list item at spaces outside of code quotes.
// The lines after the first begin with indent. It ends without a line break.
func Fold(line, indent string) string { return Wrap(line, indent, columns) }

// Wrap is Fold for lines of other widths.
func Wrap(line, indent string, columns int) string {
	var b strings.Builder
	width := 0
	for i, word := range fields(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > columns && !marks(word):
			b.WriteString("\n" + indent)
			width = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// fields are the words of a line. What stands in code quotes is one word.
func fields(line string) []string {
	var words []string
	code, open := false, false
	for part := range strings.SplitSeq(line, " ") {
		open = strings.Count(part, "`")%2 == 1
		if code {
			words[len(words)-1] += " " + part
		} else if part != "" {
			words = append(words, part)
		}
		code = code != open
	}
	return words
}

// marks tells whether a word would make a list, a heading, a quotation, a table or a rule of
// the line that it begins. A list within a paragraph begins at 1.
func marks(word string) bool {
	return word == "1." || word == "1)" || strings.Trim(word, "-*+#=") == "" || strings.ContainsAny(word[:1], ">|")
}
