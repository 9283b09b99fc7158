package tool

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Manual is what the header says as text of at most width columns. common says what can
// be said of all tools, behind the tool's own options.
func (t *Tool) Manual(width int, common string) string {
	var b strings.Builder
	p := &page{&b, max(width, 40)}
	p.line(0, t.Name+" - "+t.Brief)
	p.heading("SYNOPSIS")
	for _, line := range t.Synopsis {
		p.line(4, "hawk "+line)
	}
	p.heading("DESCRIPTION")
	p.paragraphs(t.Description)
	if len(t.Options) > 0 {
		p.heading("OPTIONS")
		for i := range t.Options {
			p.entry(t.Options[i].Spelling(), t.Options[i].Doc)
		}
	}
	if common != "" {
		b.WriteByte('\n')
		p.wrap(4, common)
	}
	if len(t.Operands) > 0 {
		p.heading("OPERANDS")
		for _, o := range t.Operands {
			p.entry(o.Name, o.Doc)
		}
	}
	p.heading("OUTPUT")
	for _, e := range t.Output {
		p.entry(e.Name, e.Doc)
	}
	p.heading("EXAMPLES")
	for _, e := range t.Examples {
		p.line(4, "hawk "+e.Name)
		p.wrap(8, e.Doc)
	}
	p.heading("SAMPLE")
	for _, line := range t.Sample {
		p.line(4, line)
	}
	for _, section := range []struct {
		title string
		lines []string
	}{{"COST", t.Cost}, {"NEEDS", t.Needs}, {"LIMITS", t.Limits}} {
		if len(section.lines) > 0 {
			p.heading(section.title)
			p.paragraphs(section.lines)
		}
	}
	if len(t.Elsewhere) > 0 {
		p.heading("ELSEWHERE")
		p.wrap(4, ElsewhereIntro)
		for _, f := range t.Elsewhere {
			p.entry(f.spelled(", "), f.Doc)
		}
	}
	if len(t.See) > 0 {
		p.heading("SEE ALSO")
		p.wrap(4, strings.Join(t.See, ", "))
	}
	return b.String()
}

// ElsewhereIntro stands above what other collections say.
const ElsewhereIntro = "What options and tools of other collections are here:"

// Spelling is an option as it is typed.
func (o *Option) Spelling() string {
	s := "--" + o.Name
	if o.Letter != 0 {
		s = "-" + string(o.Letter) + ", " + s
	}
	if o.Value != "" {
		s += " " + o.Value
	}
	return s
}

// A page takes text of a width.
type page struct {
	*strings.Builder
	width int
}

func (p *page) heading(title string) { p.WriteString("\n" + title + "\n") }

// line writes a line as it is.
func (p *page) line(indent int, text string) {
	if text != "" {
		p.WriteString(strings.Repeat(" ", indent) + text)
	}
	p.WriteByte('\n')
}

// entryColumn is where the text of an entry begins.
const entryColumn = 28

// entry writes a word and, beside or below it, what it means.
func (p *page) entry(name, doc string) {
	head := "    " + name
	n := utf8.RuneCountInString(head)
	lines := fill(doc, p.width-entryColumn)
	if n+2 <= entryColumn && len(lines) > 0 {
		head += strings.Repeat(" ", entryColumn-n) + lines[0]
		lines = lines[1:]
	}
	p.line(0, head)
	for _, line := range lines {
		p.line(entryColumn, line)
	}
}

func (p *page) wrap(indent int, text string) {
	for _, line := range fill(text, p.width-indent) {
		p.line(indent, line)
	}
}

// paragraphs writes text whose paragraphs have empty lines in between.
func (p *page) paragraphs(lines []string) {
	for i, text := range Paragraphs(lines) {
		if i > 0 {
			p.WriteByte('\n')
		}
		p.wrap(4, text)
	}
}

// Paragraphs joins lines that no empty one parts.
func Paragraphs(lines []string) (out []string) {
	for len(lines) > 0 {
		end := slices.Index(lines, "")
		if end < 0 {
			end = len(lines)
		}
		if end > 0 {
			out = append(out, text("", lines[:end]))
		}
		lines = lines[min(end+1, len(lines)):]
	}
	return out
}

// fill breaks text into lines of a width.
func fill(text string, width int) (out []string) {
	width = max(width, 20)
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
