package syntax

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/source"
)

// A Lexeme is one token with its text. Start and End are byte offsets.
type Lexeme struct {
	Token      Token
	Start, End int
	Int        uint64    // value of an Integer; index of a ParamNum, 0 for $#
	Str        string    // Name, VarName, MapName: the name; String: the value
	Err        *LexError // what is wrong with it, nil if nothing
}

// A LexError is a fault inside one lexeme. The lexeme can still be used: its
// value is a guess.
type LexError struct {
	Code       source.Code
	Start, End int // bytes
	Msg        string
}

// A Scanner cuts text into lexemes. It never fails: what is no token comes out
// as Invalid with an error, and reading goes on.
type Scanner struct {
	file *source.File
	text string
	pos  int
	cExp bool // C expression: character constants are integers

	// Comments are layout to the parser; the formatter needs them.
	comments    []*Comment
	commentsEnd int  // comments before this offset are recorded already
	open        bool // the last comment is not terminated
}

// NewScanner returns a scanner at the start of f.
func NewScanner(f *source.File) *Scanner {
	s := &Scanner{file: f, text: f.Text}
	if strings.HasPrefix(s.text, "\ufeff") { // a byte order mark is layout
		s.pos = len("\ufeff")
	}
	return s
}

// span is a stretch of the file.
func (s *Scanner) span(start, end int) source.Span {
	return source.Span{File: s.file, Start: start, End: end}
}

// skipLayout moves to the next byte that is neither white space nor comment.
func (s *Scanner) skipLayout() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n', '\f', '\v':
			s.pos++
			continue
		case '/':
			if n, closed := commentLength(s.text[s.pos:]); n > 0 {
				s.record(s.pos, s.pos+n, closed)
				s.pos += n
				continue
			}
		}
		return
	}
}

// commentLength is the length of the comment that text starts with, 0 if none.
// A line comment does not include its newline. A block comment that is not
// closed runs to the end.
func commentLength(text string) (n int, closed bool) {
	switch {
	case strings.HasPrefix(text, "//"):
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i, true
		}
		return len(text), true
	case strings.HasPrefix(text, "/*"):
		if i := strings.Index(text[2:], "*/"); i >= 0 {
			return i + 4, true
		}
		return len(text), false
	}
	return 0, false
}

// record keeps a comment. The parser may read a stretch twice, and then it is kept once.
func (s *Scanner) record(start, end int, closed bool) {
	if start < s.commentsEnd {
		return // read before, while looking ahead
	}
	s.commentsEnd = end
	s.open = !closed
	s.comments = append(s.comments, &Comment{Pos{s.span(start, end)}, strings.TrimRight(s.text[start:end], "\r")})
}

// Next returns the next lexeme; at the end of the text it is EOF forever.
// The parser asks only where text is made of lexemes, and moves pos past the rest itself.
func (s *Scanner) Next() Lexeme {
	s.skipLayout()
	start := s.pos
	if start >= len(s.text) {
		return Lexeme{Token: EOF, Start: start, End: start}
	}
	c := s.text[start]
	lex := Lexeme{Start: start}
	switch {
	case isNameStart(c):
		lex.Token = Name
		lex.Str = s.name()
	case isDigit(c):
		s.integer(&lex)
	case c == '"':
		s.string(&lex)
	case c == '$':
		s.dollar(&lex)
	case c == '@':
		s.pos++
		lex.Token = MapName
		lex.Str = s.name()
	case c == '\'' && s.cExp:
		s.character(&lex)
	default:
		s.operator(&lex)
	}
	lex.End = s.pos
	return lex
}

// name reads an identifier, "" if there is none.
// @ alone is the map without a name, which has none behind it.
func (s *Scanner) name() string {
	start := s.pos
	if s.pos < len(s.text) && isNameStart(s.text[s.pos]) {
		for s.pos < len(s.text) && isNamePart(s.text[s.pos]) {
			s.pos++
		}
	}
	return s.text[start:s.pos]
}

// integer reads a number and all letters behind it: what is no suffix is an error of the literal,
// not a name of its own.
func (s *Scanner) integer(lex *Lexeme) {
	for s.pos < len(s.text) && isNamePart(s.text[s.pos]) {
		s.pos++
	}
	lex.Token = Integer
	v, err := ParseInt(s.text[lex.Start:s.pos])
	lex.Int = v
	if err, ok := err.(*LiteralError); ok {
		lex.Err = &LexError{err.Code, lex.Start, s.pos, err.Msg}
	}
}

// string reads a string in double quotes; a newline ends it with an error, so that a missing quote
// does not swallow the script.
func (s *Scanner) string(lex *Lexeme) {
	lex.Token = String
	s.pos++
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] != '"' && s.text[s.pos] != '\\' && s.text[s.pos] != '\n' {
		s.pos++
	}
	if s.pos < len(s.text) && s.text[s.pos] == '"' { // no escapes: the value is a part of the text
		lex.Str = s.text[start:s.pos]
		s.pos++
		return
	}
	value := []byte(s.text[start:s.pos])
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch c {
		case '"':
			s.pos++
			lex.Str = string(value)
			return
		case '\n':
			s.unterminated(lex, value)
			return
		case '\\':
			b, n, problem := scanEscape(s.text[s.pos+1:])
			if problem != "" && lex.Err == nil {
				lex.Err = &LexError{"bad-escape", s.pos, s.pos + 1 + n, problem}
			}
			if n == 1 && s.text[s.pos+1] == '\n' {
				n = 0 // not an escape: the newline ends the string
			}
			value = append(value, b)
			s.pos += 1 + n
		default:
			value = append(value, c)
			s.pos++
		}
	}
	s.unterminated(lex, value)
}

// unterminated ends a string that has no closing quote.
func (s *Scanner) unterminated(lex *Lexeme, value []byte) {
	lex.Str = string(value)
	lex.Err = &LexError{"unterminated-string", lex.Start, s.pos, "unterminated string"}
}

// dollar reads what begins with '$': a variable, $1, or $#.
func (s *Scanner) dollar(lex *Lexeme) {
	s.pos++
	if s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case isNameStart(c):
			lex.Token = VarName
			lex.Str = s.name()
			return
		case c == '#':
			s.pos++
			lex.Token = ParamNum
			return
		case isDigit(c):
			for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
				s.pos++
			}
			lex.Token = ParamNum
			v, err := digitsValue(s.text[lex.Start+1:s.pos], 10)
			lex.Int = v
			switch {
			case err != nil || v > math.MaxInt64:
				lex.Int = 1
				lex.Err = &LexError{"bad-parameter", lex.Start, s.pos, "number of positional parameter is too large"}
			case v == 0:
				lex.Int = 1
				lex.Err = &LexError{"bad-parameter", lex.Start, s.pos, "positional parameters start at $1"}
			}
			return
		}
	}
	lex.Token = Invalid
	lex.Err = &LexError{"expected-name", lex.Start, s.pos, "expected a name after '$'"}
}

// character reads a C character constant.
// Only replacements of C macros have them.
func (s *Scanner) character(lex *Lexeme) {
	lex.Token = Integer
	rest := s.text[s.pos+1:]
	n := 0
	if rest != "" && rest[0] == '\\' {
		var problem string
		var c byte
		c, n, problem = scanEscape(rest[1:])
		if problem != "" && len(rest) > 1 && strings.IndexByte("'abfv?", rest[1]) >= 0 {
			c, n, problem = cEscape(rest[1]), 1, ""
		}
		lex.Int = uint64(int64(int8(c))) // char is signed where C text is read
		n++
		if problem != "" {
			lex.Err = &LexError{"bad-escape", s.pos, s.pos + 1 + n, problem}
		}
	} else if rest != "" && rest[0] != '\'' && rest[0] != '\n' {
		lex.Int = uint64(int64(int8(rest[0])))
		n = 1
	}
	s.pos += 1 + n
	if n > 0 && s.pos < len(s.text) && s.text[s.pos] == '\'' {
		s.pos++
		return
	}
	lex.Err = &LexError{"bad-character", lex.Start, s.pos, "invalid character constant"}
}

// cEscape is the character of the escapes that C has and the language does not.
func cEscape(c byte) byte {
	switch c {
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	}
	return c
}

// operator reads the longest operator or punctuation.
func (s *Scanner) operator(lex *Lexeme) {
	if t, n := operatorAt(s.text[s.pos:]); n > 0 {
		lex.Token = t
		s.pos += n
		return
	}
	r, size := utf8.DecodeRuneInString(s.text[s.pos:])
	s.pos += size
	msg := fmt.Sprintf("invalid character %q", r)
	switch r {
	case '#':
		msg = "invalid character '#': a comment starts with //"
	case '\\':
		msg = `invalid character '\': escapes are for strings, which stand in double quotes`
		if next := s.text[s.pos:]; strings.HasPrefix(next, "$") || strings.HasPrefix(next, `"`) {
			msg = `invalid character '\': leave it out where the shell does not take it out`
		} else if strings.HasPrefix(next, "\n") {
			msg = `invalid character '\': a line goes on in the next one without it`
		}
	case utf8.RuneError:
		msg = "text is not valid UTF-8"
	case '\'':
		msg = "invalid character: strings take double quotes"
	case '\u201c', '\u201d', '\u201e', '\u2018', '\u2019':
		msg = fmt.Sprintf("invalid character %q: strings take straight double quotes", r)
	}
	lex.Token = Invalid
	lex.Err = &LexError{"invalid-character", lex.Start, s.pos, msg}
}

// operatorAt is the longest operator that s starts with, and its length, 0 if there is none.
func operatorAt(s string) (Token, int) {
	one := func(t Token) (Token, int) { return t, 1 }
	// pick tries the two-byte forms of an operator, given as second byte and
	// token, and falls back on its one-byte form.
	pick := func(single Token, pairs ...pair) (Token, int) {
		if len(s) > 1 {
			for _, p := range pairs {
				if s[1] == p.second {
					return p.token, 2
				}
			}
		}
		return single, 1
	}
	switch s[0] {
	case '+':
		return pick(Add, pair{'+', Inc}, pair{'=', AddAssign})
	case '-':
		return pick(Sub, pair{'-', Dec}, pair{'=', SubAssign}, pair{'>', Arrow})
	case '*':
		return pick(Mul, pair{'=', MulAssign})
	case '/':
		return pick(Div, pair{'=', DivAssign})
	case '%':
		return pick(Mod, pair{'=', ModAssign})
	case '&':
		return pick(And, pair{'&', LAnd}, pair{'=', AndAssign})
	case '|':
		return pick(Or, pair{'|', LOr}, pair{'=', OrAssign})
	case '^':
		return pick(Xor, pair{'=', XorAssign})
	case '!':
		return pick(Not, pair{'=', Ne})
	case '=':
		return pick(Assign, pair{'=', Eq})
	case '<':
		if strings.HasPrefix(s, "<<=") {
			return ShlAssign, 3
		}
		return pick(Lt, pair{'<', Shl}, pair{'=', Le})
	case '>':
		if strings.HasPrefix(s, ">>=") {
			return ShrAssign, 3
		}
		return pick(Gt, pair{'>', Shr}, pair{'=', Ge})
	case '.':
		return pick(Dot, pair{'.', DotDot})
	case '~':
		return one(Tilde)
	case '?':
		return one(Question)
	case ':':
		return one(Colon)
	case ',':
		return one(Comma)
	case ';':
		return one(Semicolon)
	case '(':
		return one(LParen)
	case ')':
		return one(RParen)
	case '[':
		return one(LBracket)
	case ']':
		return one(RBracket)
	case '{':
		return one(LBrace)
	case '}':
		return one(RBrace)
	}
	return Invalid, 0
}

// A pair is the second byte of an operator of two, and what the two are.
type pair struct {
	second byte
	token  Token
}
