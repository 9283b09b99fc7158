package syntax

import (
	"math"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// attachPoint reads the raw text of one attach point. It returns nil if there
// is none before a ',', which old scripts leave behind.
// The scanner has no part in it: a path may hold what would be the start of a comment or a
// string.
func (p *parser) attachPoint() *AttachPoint {
	start := p.rawPos()
	text := p.scan.text
	if start >= len(text) || text[start] == ',' {
		return nil
	}
	if !strings.ContainsRune("*?[$\"", rune(text[start])) && !isNamePart(text[start]) {
		if p.diags.HasErrors() {
			// Where the braces of an item do not pair, what is left of it is no item.
			p.lost = true
			panic(bailout{})
		}
		p.failWith(noAttach(text[start]), "syntax", p.here(), "expected an attach point")
	}
	end, closed := attachEnd(text, start)
	p.rawAt(end)
	if !closed {
		p.errorf("unterminated-string", p.span(start, end), "unterminated string in attach point")
		panic(bailout{})
	}
	return &AttachPoint{p.since(start), text[start:end]}
}

// attachEnd finds the end of the attach point at start: an unquoted '{', ',' or layout, or a '/' as
// long as no ':' came, which is where a predicate or comment begins. closed is false if a quote is
// still open at the end of the line. A path has slashes, but behind a colon: uprobe:/bin/sh:main. A
// predicate that follows such an attach point needs a blank in front.
func attachEnd(text string, start int) (end int, closed bool) {
	quoted, colon := false, false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return i, !quoted
		case quoted:
			if c == '\\' && i+1 < len(text) && text[i+1] != '\n' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == ':':
			colon = true
		case c == '{' || c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			return i, true
		case c == '/' && !colon:
			return i, true
		}
	}
	return len(text), !quoted
}

// Attach is an attach point cut into its parts.
type Attach struct {
	Name  string // user-given name before '=', "" if none
	Parts []Part // the provider first; '@' is a part of its own; nil if there is no text
}

// A Part is one field of an attach point with quotes and escapes removed and
// positional parameters inserted.
type Part struct {
	Text   string
	Quoted bool // some of Text was in quotes

	// Globbing and cutting leave such bytes alone.
	literal []bool // per byte of Text: was quoted; nil if nothing was
}

// LastIndex returns the index of the last byte c that was not quoted, or -1:
// where "operator+"+8 is to be cut.
// C++ names have colons, stars and brackets of their own, which quotes protect.
func (p Part) LastIndex(c byte) int {
	for i := len(p.Text) - 1; i >= 0; i-- {
		if p.Text[i] == c && !p.isLiteral(i) {
			return i
		}
	}
	return -1
}

// Slice is bytes from to end of the part.
func (p Part) Slice(from, end int) Part {
	out := Part{Text: p.Text[from:end]}
	if p.literal != nil {
		out.literal = p.literal[from:end]
		for _, l := range out.literal {
			out.Quoted = out.Quoted || l
		}
	}
	return out
}

// HasWildcard reports whether an unquoted '*', '?' or '[' with a ']' occurs.
// A bracket by itself is part of a name, as in operator[].
func (p Part) HasWildcard() bool {
	return p.LastIndex('*') >= 0 || p.LastIndex('?') >= 0 || p.LastIndex('[') >= 0 && p.LastIndex(']') >= 0
}

// isLiteral reports whether byte i stood in quotes or behind a backslash.
func (p Part) isLiteral(i int) bool { return p.literal != nil && p.literal[i] }

// Params is what stands for the parameters of a script.
type Params struct {
	Positional []string // $1 first
	// Option is the text of the script's own option of a name; the error says why there
	// is none. Nil: options are not known.
	Option func(name string) (string, error)
}

// SplitAttach cuts the text of an attach point. Unquoted $1, $2, … and $name are replaced by
// parameters, a missing one by nothing, and the inserted text is cut like the rest except that a
// '$' in it means itself. The diagnostic, nil if all is well, is an error at span. It is called
// when parameters are known, which the parser does not know: the tree keeps the text.
func SplitAttach(text string, span source.Span, params Params) (Attach, *source.Diagnostic) {
	var s splitter
	if d := s.scan(text, span, params); d != nil {
		return Attach{}, d
	}
	if s.quoted {
		return Attach{}, attachError("unterminated-string", span, "unterminated string in attach point")
	}
	s.finish()
	out := Attach{Parts: s.parts}
	if len(s.parts) == 1 && s.parts[0].Text == "" && !s.parts[0].Quoted {
		out.Parts = nil
		return out, nil
	}
	first := s.parts[0]
	// name=kprobe:…: the name of a probe is in front of the provider.
	for i := 1; i < len(first.Text)-1; i++ {
		if first.Text[i] == '=' && !first.isLiteral(i) {
			out.Name = first.Text[:i]
			out.Parts[0] = first.Slice(i+1, len(first.Text))
			break
		}
	}
	return out, nil
}

// attachError is an error about the text of an attach point, in the words of the parser.
func attachError(code source.Code, span source.Span, msg string) *source.Diagnostic {
	return &source.Diagnostic{Severity: source.Error, Code: code, Span: span, Msg: "syntax: " + msg}
}

// A splitter collects parts while the text is read byte by byte.
// It is used once for each attach point.
type splitter struct {
	parts  []Part
	text   []byte
	mask   []bool // per byte of text: quoted
	quoted bool   // inside quotes
	any    bool   // the current part has quotes
}

// scan reads the text of the attach point and inserts parameters.
func (s *splitter) scan(text string, span source.Span, params Params) *source.Diagnostic {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || s.quoted {
			i += s.put(text[i:])
			continue
		}
		if params.Option != nil && i+1 < len(text) && isNameStart(text[i+1]) {
			name := optionName(text[i+1:], params)
			insert, err := params.Option(name)
			if err != nil {
				d := attachError("bad-parameter", span, "")
				d.Msg = err.Error()
				return d.Hint(`put the part in quotes to use '$' as it is, as in uprobe:/bin/app:"f$x"`)
			}
			s.insert(insert)
			i += len(name)
			continue
		}
		n := i + 1
		for n < len(text) && isDigit(text[n]) {
			n++
		}
		if n == i+1 || text[i+1] == '0' {
			return attachError("bad-parameter", span, "'$' in an attach point must be followed by a parameter number").
				Hint(`put the part in quotes to use '$' as it is, as in uprobe:/bin/app:"f$1"`)
		}
		index, err := strconv.ParseUint(text[i+1:n], 10, 64)
		if err != nil || index > math.MaxInt64 {
			return attachError("bad-parameter", span, "number of positional parameter is too large")
		}
		if index <= uint64(len(params.Positional)) {
			s.insert(params.Positional[index-1])
		}
		i = n - 1
	}
	return nil
}

// insert puts the text of a parameter.
func (s *splitter) insert(text string) {
	for i := 0; i < len(text); i++ {
		i += s.put(text[i:])
	}
}

// optionName is the name at the start of text: the longest that is an option's, since
// what follows a name may begin like a part of it, $lib-debug.
func optionName(text string, params Params) string {
	n := 0
	for n < len(text) && (isNamePart(text[n]) || text[n] == '-') {
		n++
	}
	whole := text[:n]
	for name := whole; ; {
		if _, err := params.Option(name); err == nil {
			return name
		}
		cut := strings.LastIndexByte(name, '-')
		if cut < 0 {
			return whole
		}
		name = name[:cut]
	}
}

// put takes the first byte of text, and returns how many bytes more it took.
func (s *splitter) put(text string) int {
	c := text[0]
	switch {
	case c == '"':
		s.quoted = !s.quoted
		s.any = true
		return 0
	case s.quoted && c == '\\' && len(text) > 1:
		s.text, s.mask = append(s.text, text[1]), append(s.mask, true)
		return 1
	case !s.quoted && c == ':':
		s.finish()
		return 0
	// As in kprobe:f@address: the '@' is a part of its own, so that kinds of probes see where it
	// stood.
	case !s.quoted && c == '@':
		s.finish()
		s.text, s.mask = append(s.text, '@'), append(s.mask, false)
		s.finish()
		return 0
	}
	s.text, s.mask = append(s.text, c), append(s.mask, s.quoted)
	return 0
}

// finish ends the current part.
// The mask is kept only where something was quoted: most parts have none.
func (s *splitter) finish() {
	part := Part{Text: string(s.text), Quoted: s.any}
	if s.any {
		part.literal = s.mask
		s.mask = nil
	}
	s.parts = append(s.parts, part)
	s.text, s.mask, s.any = s.text[:0], s.mask[:0], false
}

// ListIn is the first option of those with several elements that an attach point names, with its text, in
// which commas stand in between; "" if there is none.
func ListIn(text string, lists map[string]bool, option func(name string) (string, error)) (name, elements string) {
	if len(lists) == 0 || option == nil {
		return "", ""
	}
	SplitAttach(text, source.Span{}, Params{Option: func(of string) (string, error) {
		value, err := option(of)
		if err == nil && lists[of] && name == "" {
			name, elements = of, value
		}
		return value, err
	}})
	return name, elements
}
