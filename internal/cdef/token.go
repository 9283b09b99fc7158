package cdef

import (
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// kind is the kind of a token.
type kind uint8

const (
	eof    kind = iota
	end         // of one piece of the script: no declaration goes on beyond it
	name        // identifier or keyword
	number      // preprocessing number
	char        // character constant with its quotes
	str         // string literal with its quotes
	punct       // operator or any other byte
)

// A token is a preprocessing token.
// Tokens are values, and their text is a part of the file's: copying one costs nothing.
type token struct {
	kind  kind
	bol   bool // first of its line
	space bool // after white space
	dead  bool // the name of a macro that must not be expanded any more
	text  string
	at    int // offset in the text of file
	file  *file
}

// is reports whether t is that operator or bracket.
func (t token) is(text string) bool { return t.kind == punct && t.text == text }

// span is the place of t for messages.
func (t token) span() source.Span {
	if t.file == nil {
		return source.Span{}
	}
	return t.file.span(t.at, t.at+len(t.text))
}

// A file is text being read: a piece of the script, a header, or one of the
// headers that come with hawk.
type file struct {
	src    *source.File
	base   int // where text starts in src
	text   string
	script bool   // not a header: every fault is an error
	kernel bool   // a header of the kernel, which knows its own types better
	dir    string // directory of the file
	search int    // index in the list of directories where it was found, -1: none
}

// span is a stretch of the source; a piece may be a little longer than what the script has of
// it.
func (f *file) span(from, to int) source.Span {
	limit := len(f.src.Text)
	return source.Span{File: f.src, Start: min(f.base+from, limit), End: min(f.base+to, limit)}
}

// A lexer makes tokens of a file. A backslash at the end of a line is white
// space, except in literals.
type lexer struct {
	file *file
	pos  int
	bol  bool
}

// newLexer begins at the start of a file, where a # is a directive.
func newLexer(f *file) *lexer { return &lexer{file: f, bol: true} }

// isNameStart takes bytes above ASCII too: compilers let names be in any script.
func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80
}

// isDigit is about ASCII alone.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// skip moves past layout and comments and reports whether there was any.
func (l *lexer) skip() bool {
	start, text := l.pos, l.file.text
	for l.pos < len(text) {
		switch c := text[l.pos]; {
		case c == '\n':
			l.bol = true
			l.pos++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			l.pos++
		case c == '\\' && continues(text[l.pos+1:]) > 0:
			l.pos += 1 + continues(text[l.pos+1:])
		case strings.HasPrefix(text[l.pos:], "//"):
			for l.pos < len(text) && text[l.pos] != '\n' {
				if text[l.pos] == '\\' {
					l.pos += continues(text[l.pos+1:])
				}
				l.pos++
			}
		case strings.HasPrefix(text[l.pos:], "/*"):
			n := strings.Index(text[l.pos+2:], "*/")
			if n < 0 {
				l.pos = len(text)
				return true
			}
			l.pos += n + 4
		default:
			return l.pos > start
		}
	}
	return l.pos > start
}

// continues is the length of the newline that text starts with.
func continues(text string) int {
	switch {
	case strings.HasPrefix(text, "\n"):
		return 1
	case strings.HasPrefix(text, "\r\n"):
		return 2
	}
	return 0
}

// next reads one token.
func (l *lexer) next() token {
	space := l.skip()
	text := l.file.text
	t := token{kind: eof, bol: l.bol, space: space, at: l.pos, file: l.file}
	l.bol = false
	if l.pos >= len(text) {
		t.bol = true
		return t
	}
	start, c := l.pos, text[l.pos]
	switch {
	case isNameStart(c):
		if n := prefixed(text[start:]); n > 0 {
			l.pos += n
			l.literal(&t)
			break
		}
		t.kind = name
		for l.pos < len(text) && (isNameStart(text[l.pos]) || isDigit(text[l.pos])) {
			l.pos++
		}
	case isDigit(c) || c == '.' && start+1 < len(text) && isDigit(text[start+1]):
		t.kind = number
		l.number()
	case c == '"' || c == '\'':
		l.literal(&t)
	default:
		t.kind = punct
		l.pos += punctLen(text[start:])
	}
	t.text = text[start:l.pos]
	return t
}

// prefixed is the length of the prefix of a literal such as L'x'.
func prefixed(text string) int {
	n := 1
	if strings.HasPrefix(text, "u8") {
		n = 2
	}
	if n < len(text) && (text[n] == '"' || text[n] == '\'') && strings.IndexByte("LuU", text[0]) >= 0 {
		return n
	}
	return 0
}

// number reads a preprocessing number, which takes in more than numbers: 0x1p-3, 1.2.3 and
// 12abc are one each.
func (l *lexer) number() {
	text := l.file.text
	for l.pos < len(text) {
		c := text[l.pos]
		switch {
		case (c == '+' || c == '-') && strings.IndexByte("eEpP", text[l.pos-1]) >= 0:
		case isDigit(c) || isNameStart(c) || c == '.':
		default:
			return
		}
		l.pos++
	}
}

// literal reads a string or character constant. A quote that is not closed on
// its line is a token of its own, as text that is skipped may have apostrophes.
func (l *lexer) literal(t *token) {
	text := l.file.text
	quote := text[l.pos]
	for i := l.pos + 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '\\':
			if n := continues(text[i+1:]); n > 0 {
				i += n
			} else {
				i++
			}
		case quote:
			l.pos = i + 1
			t.kind = str
			if quote == '\'' {
				t.kind = char
			}
			return
		}
	}
	l.pos++
	t.kind = punct
}

// The operators of more than one byte, longest first.
var operators = [...]string{
	"...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "::",
}

// punctLen is the length of the operator that the text starts with. Any other byte is one by
// itself.
func punctLen(text string) int {
	if len(text) > 1 && isOperatorByte(text[1]) {
		for _, op := range operators {
			if strings.HasPrefix(text, op) {
				return len(op)
			}
		}
	}
	return 1
}

// isOperatorByte reports whether a byte can be the second one of an operator.
func isOperatorByte(c byte) bool { return strings.IndexByte(".<>-+=&|#:", c) >= 0 }

// line reads the tokens up to the end of the line.
// The newline itself stays, so that the next token is the first of its line.
func (l *lexer) line() []token {
	var out []token
	for {
		pos, bol := l.pos, l.bol
		t := l.next()
		if t.bol || t.kind == eof {
			l.pos, l.bol = pos, bol
			return out
		}
		out = append(out, t)
	}
}

// join is the text of tokens, with a space wherever there was white space.
func join(ts []token) string {
	var b strings.Builder
	for i, t := range ts {
		if i > 0 && t.space {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
