package syntax

import "strings"

// Comments are not in the tree. While the tree is printed in source order they
// come out at the place they have between its nodes: on lines of their own, at
// the end of a line, or inside an expression.

// pending reports whether a comment starts before offset and is not printed yet.
func (p *printer) pending(offset int) bool {
	return len(p.comments) > 0 && p.comments[0].At.Start < offset
}

// lead prints the comments before offset, each on its own line.
func (p *printer) lead(offset int) {
	for p.pending(offset) {
		c := p.comments[0]
		p.comments = p.comments[1:]
		p.blank(c.At.Start)
		p.line()
		p.add(ownLine(c.Text))
	}
}

// trail prints the comments that stand after offset on the same line of the
// script, if nothing but punctuation lies between.
func (p *printer) trail(offset int) {
	for offset >= 0 && len(p.comments) > 0 {
		c := p.comments[0]
		if c.At.Start < offset || strings.Trim(p.file.Text[offset:c.At.Start], " \t;,/)") != "" {
			return
		}
		if strings.Contains(c.Text, "\n") {
			return
		}
		p.comments = p.comments[1:]
		p.add(" " + c.Text)
		offset = c.At.End
	}
}

// trailBrace prints the comment that ends the line of an opening brace, which
// ends at offset.
func (p *printer) trailBrace(offset int) {
	if offset <= 0 || len(p.comments) == 0 {
		return
	}
	c := p.comments[0]
	if c.At.Start < offset || strings.Trim(p.file.Text[offset:c.At.Start], " \t") != "" ||
		strings.Contains(c.Text, "\n") || !endsLine(p.file.Text[c.At.End:]) {
		return
	}
	p.comments = p.comments[1:]
	p.add(" " + c.Text)
}

// endsLine reports whether nothing is left of the line before text.
func endsLine(text string) bool {
	text = strings.TrimLeft(text, " \t\r")
	return text == "" || text[0] == '\n'
}

// inline prints the comments before offset within a line.
func (p *printer) inline(offset int, before, after string) {
	for p.pending(offset) {
		text := p.comments[0].Text
		p.comments = p.comments[1:]
		// A line comment within a line would swallow the rest of it.
		if body, ok := strings.CutPrefix(text, "//"); ok {
			text = "/*" + strings.ReplaceAll(body, "*/", "* /") + " */"
		}
		p.add(before + text + after)
	}
}

// rest prints the comments that are left of a statement, those inside it that
// have no place there: behind it, or below it from the first with several lines.
func (p *printer) rest(offset int) {
	for below := false; p.pending(offset); {
		below = below || strings.Contains(p.comments[0].Text, "\n")
		if !below {
			p.inline(p.comments[0].At.End, " ", "")
			continue
		}
		p.newline()
		p.add(ownLine(p.comments[0].Text))
		p.comments = p.comments[1:]
	}
}

// skipComments forgets the comments before offset: they are part of a text that
// is printed as written.
func (p *printer) skipComments(offset int) {
	for p.pending(offset) {
		p.comments = p.comments[1:]
	}
}

// blank prints an empty line if the script has one before offset, except at the
// start of a file or block.
func (p *printer) blank(offset int) {
	if p.first || offset < 0 {
		return
	}
	lines := 0
	for i := offset - 1; i >= 0 && strings.IndexByte(" \t\r\n", p.file.Text[i]) >= 0; i-- {
		if p.file.Text[i] == '\n' {
			lines++
		}
	}
	if lines > 1 {
		p.add("\n")
	}
}

// ownLine is the form of a comment that has a line to itself.
func ownLine(text string) string {
	body, ok := strings.CutPrefix(text, "/*")
	if !ok || strings.Contains(body, "\n") || !strings.HasSuffix(body, "*/") {
		return text
	}
	return strings.TrimRight("// "+strings.TrimSpace(strings.TrimSuffix(body, "*/")), " ")
}
