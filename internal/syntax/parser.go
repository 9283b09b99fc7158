package syntax

import (
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// Bounds on what is parsed, so that hostile text ends in a message.
const (
	maxNesting = 400  // expressions and blocks inside each other, while parsing
	maxHeight  = 4000 // height of the finished tree: a + b + c + … leans left
	maxErrors  = 5    // after these the rest of the file is not looked at
)

// Parse reads a whole script. The script is never nil; after errors it holds
// what could be understood.
// Names of macros and types are not known yet; expand finds out whether that mattered.
func Parse(f *source.File) (*Script, *source.Diagnostics) {
	return Reparse(f, nil)
}

// Reparse is Parse with knowledge of names. Where (name) is followed by an
// operator that could also start an expression, as in (name) - 1, Parse takes
// name for a type; Reparse takes it for a value if value(name) is true. See
// AmbiguousCasts for finding out whether that is worth it.
// Both trees have the same positions, so that messages of either can be shown together.
func Reparse(f *source.File, value func(name string) bool) (*Script, *source.Diagnostics) {
	p := newParser(f)
	p.value = value
	script := &Script{Pos: Pos{p.span(0, len(f.Text))}}
	if isBinary(f.Text) {
		p.diags.Add(&source.Diagnostic{Severity: source.Error, Code: "binary-file",
			Msg: f.Name + ": this is a binary file, not a script"})
		return script, p.diags
	}
	p.guard(func() { p.script(script) })
	script.Comments = p.scan.comments
	if p.checkHeight(script) {
		script.Items = nil // nobody should walk that
	}
	return script, p.diags
}

// ReparseBlock reads the text of a block again with other knowledge of names,
// such as that of a macro body whose parameters have become known. The nodes
// are new.
func ReparseBlock(b *Block, value func(name string) bool) (*Block, *source.Diagnostics) {
	p := newParser(b.At.File)
	p.value = value
	p.scan.pos = b.At.Start
	out := &Block{Pos: b.Pos}
	p.guard(func() { out = p.block() })
	if p.checkHeight(out) {
		out = &Block{Pos: b.Pos}
	}
	return out, p.diags
}

// ParseExpr reads a file that holds one expression and nothing else. It
// returns *Bad after an error.
// Nothing in front of the expression or behind it is permitted but layout.
func ParseExpr(f *source.File) (Expr, *source.Diagnostics) {
	return parseExpr(newParser(f))
}

// ParseCExpr is ParseExpr for the replacement text of a C macro, where
// character constants are integers and adjacent strings are one.
func ParseCExpr(f *source.File) (Expr, *source.Diagnostics) {
	p := newParser(f)
	p.scan.cExp = true
	return parseExpr(p)
}

// ParseCExprAt is ParseCExpr for part of a file, so that positions are those
// of the whole.
func ParseCExprAt(f *source.File, start, end int) (Expr, *source.Diagnostics) {
	p := newParser(f)
	p.scan.cExp = true
	p.scan.text, p.scan.pos = f.Text[:end], start
	return parseExpr(p)
}

// parseExpr reads one expression up to the end of the text.
func parseExpr(p *parser) (Expr, *source.Diagnostics) {
	var x Expr
	p.guard(func() {
		x = p.expr()
		if p.at() != EOF {
			p.fail("syntax", p.here(), "expected end of expression")
		}
	})
	if p.diags.HasErrors() || p.checkHeight(x) {
		x = &Bad{Pos{p.span(0, len(p.file.Text))}}
	}
	return x, p.diags
}

// isBinary looks at the first bytes only: text does not hold NUL.
func isBinary(text string) bool {
	return strings.IndexByte(text[:min(len(text), 4096)], 0) >= 0
}

// A parser reads one file by recursive descent. The current lexeme is scanned
// only when it is asked for, because attach points and C definitions are not
// made of lexemes. Errors unwind by panicking with bailout to the nearest
// statement or item, which skips to its own end and goes on.
type parser struct {
	file  *source.File
	scan  *Scanner
	value func(name string) bool // nil: no names are known
	diags *source.Diagnostics

	lex   Lexeme // current lexeme, if have
	have  bool
	end   int   // end of the last consumed lexeme
	prev  Token // the last consumed one
	depth int
	lost  bool // between items there is something that is none, because of earlier errors
}

type (
	bailout struct{} // give up the statement or item
	stop    struct{} // give up the file
)

// newParser makes a parser at the beginning of a file.
func newParser(f *source.File) *parser {
	return &parser{file: f, scan: NewScanner(f), diags: &source.Diagnostics{}}
}

// guard runs f and stops the two kinds of unwinding, and reports anything else
// as our own fault.
func (p *parser) guard(f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil, bailout, stop:
		default:
			p.diags.Add(&source.Diagnostic{Severity: source.Bug, Code: "internal", Span: p.span(p.end, p.end),
				Msg: fmt.Sprintf("syntax: internal error: %v", r)})
		}
	}()
	f()
}

// span is a stretch of the file.
func (p *parser) span(start, end int) source.Span {
	return source.Span{File: p.file, Start: start, End: end}
}

// since is the span from start to the end of the last consumed lexeme.
func (p *parser) since(start int) Pos { return Pos{p.span(start, max(start, p.end))} }

// cur is the current lexeme, which is scanned when it is first asked for.
func (p *parser) cur() *Lexeme {
	if !p.have {
		p.lex = p.scan.Next()
		p.have = true
	}
	return &p.lex
}

// at is the current token.
func (p *parser) at() Token { return p.cur().Token }

// atName reports whether the current token is the identifier word.
func (p *parser) atName(word string) bool {
	l := p.cur()
	return l.Token == Name && l.Str == word
}

// here is the span of the current token. The end of the file counts as the
// place right after the last token.
func (p *parser) here() source.Span {
	l := p.cur()
	if l.Token == EOF {
		return p.span(p.end, p.end)
	}
	return p.span(l.Start, l.End)
}

// advance consumes the current lexeme and reports what is wrong inside it.
func (p *parser) advance() Lexeme {
	l := *p.cur()
	p.have = false
	p.end, p.prev = l.End, l.Token
	if e := l.Err; e != nil {
		p.errorf(e.Code, p.span(e.Start, e.End), "%s", e.Msg)
		if l.Token == Invalid || e.Code == "unterminated-string" {
			panic(bailout{}) // what follows would be nonsense
		}
	}
	return l
}

// skip consumes the current lexeme without looking at it, during recovery.
func (p *parser) skip() {
	p.end = p.cur().End
	p.have = false
}

// rawAt moves the parser to a byte offset, dropping any lookahead.
func (p *parser) rawAt(offset int) {
	p.scan.pos = offset
	p.end = offset
	p.have = false
}

// rawPos is the offset of the next byte that is not layout.
func (p *parser) rawPos() int {
	if p.have {
		return p.lex.Start
	}
	p.scan.skipLayout()
	return p.scan.pos
}

// A mark is a place to which the parser can go back, when it has tried whether something is a type.
// Comments that were passed stay recorded, once.
type mark struct {
	lex  Lexeme
	have bool
	pos  int
	end  int
}

// mark remembers the place.
func (p *parser) mark() mark { return mark{p.lex, p.have, p.scan.pos, p.end} }

// reset goes back to a mark; depth is not part of it, as nothing is tried across levels.
func (p *parser) reset(m mark) {
	p.lex, p.have, p.scan.pos, p.end = m.lex, m.have, m.pos, m.end
}

// peek is the token after the current one.
// It scans anew each time, which is cheap, since few places ask.
func (p *parser) peek() Token {
	p.cur()
	m := p.mark()
	t := p.scan.Next().Token
	p.reset(m)
	return t
}

// accept consumes the current token if it is t.
func (p *parser) accept(t Token) bool {
	if p.at() != t {
		return false
	}
	p.advance()
	return true
}

// expect consumes token t or gives up.
func (p *parser) expect(t Token) Lexeme {
	if p.at() != t {
		what := "'" + t.String() + "'"
		switch t {
		case Name, Integer, String, VarName, MapName:
			what = article(t)
		}
		p.fail("syntax", p.here(), "expected %s", what)
	}
	return p.advance()
}

// expectOr is expect with advice for when the token is missing.
func (p *parser) expectOr(t Token, advice func() string) Lexeme {
	if p.at() != t {
		p.failWith(advice(), "syntax", p.here(), "expected '%s'", t)
	}
	return p.advance()
}

// article is the name of a sort of token with its article.
func article(t Token) string {
	switch t {
	case Name, Integer:
		return "an " + t.String()
	}
	return "a " + t.String()
}

// errorf reports a fault of the text and goes on. Behind maxErrors of them the rest is not worth
// reading: one mistake makes many.
// All messages of the parser begin with the word syntax, as the language asks.
func (p *parser) errorf(code source.Code, span source.Span, format string, args ...any) *source.Diagnostic {
	if p.diags.Len() >= maxErrors {
		panic(stop{})
	}
	return p.diags.Errorf(code, span, "syntax: "+format, args...)
}

// fail reports a fault and gives up the statement or item. An Invalid lexeme
// at the place is the better explanation.
func (p *parser) fail(code source.Code, span source.Span, format string, args ...any) {
	p.failWith("", code, span, format, args...)
}

// failWith is fail with a hint, unless that is "".
func (p *parser) failWith(hint string, code source.Code, span source.Span, format string, args ...any) {
	if l := p.cur(); l.Token == Invalid && span.Start == l.Start {
		p.advance()
	}
	p.errorf(code, span, format, args...).Advise(hint)
	panic(bailout{})
}

// enter counts one level of nesting; the caller leaves it by subtracting.
// Where unwinding ends, depth is restored.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxNesting {
		p.errorf("too-deep", p.here(), "nested too deeply")
		panic(stop{})
	}
}

// recovering runs f and reports whether it gave up. Only bailout ends here; stop and faults of the
// program go on up to guard.
// The caller then moves to where the next statement or item begins.
func (p *parser) recovering(f func()) (failed bool) {
	depth := p.depth
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailout:
			p.depth = depth
			failed = true
		default:
			panic(r)
		}
	}()
	f()
	return false
}

// skipStatement moves past the next ';' or a braced group, or up to the '}'
// that closes the block. Of a do loop, which there is not, the condition goes with it.
// A brace inside of the statement is skipped with its block: the closing one is not the block's
// around.
func (p *parser) skipStatement(do bool) {
	for depth := 0; ; {
		switch p.at() {
		case EOF:
			return
		case Semicolon:
			if depth == 0 {
				if p.skip(); p.inStatement() {
					continue
				}
				return
			}
		case LBrace:
			depth++
		case RBrace:
			if depth == 0 {
				return
			}
			if depth--; depth == 0 {
				if p.skip(); p.inStatement() || do && p.at() == Name && p.cur().Str == "while" {
					continue
				}
				return
			}
		}
		p.skip()
	}
}

// inStatement reports whether the current token can only belong to a statement
// that has begun before.
func (p *parser) inStatement() bool {
	t := p.at()
	return isAssign(t) || t == RParen || t == RBracket || t == Comma || t == Colon || t == Question
}

// TooHigh returns a node under n that lies deeper than trees are walked without
// care, or nil.
func TooHigh(n Node) Node { return overHeight(n, maxHeight) }

// checkHeight reports a tree too high to be walked without care.
func (p *parser) checkHeight(n Node) bool {
	if n == nil {
		return false
	}
	over := overHeight(n, maxHeight)
	if over == nil {
		return false
	}
	p.diags.Errorf("too-deep", over.Span(), "syntax: too many operators in one expression")
	return true
}

// overHeight returns a node that lies more than limit levels under n, or nil.
// It does not go deeper than the limit, whatever the tree.
func overHeight(n Node, limit int) (over Node) {
	if limit == 0 {
		return n
	}
	children(n, func(c Node) {
		if over == nil {
			over = overHeight(c, limit-1)
		}
	})
	return over
}

// expected reports what is missing at the end of the file for something opened
// at a byte offset, and gives up.
func (p *parser) expected(what string, open int) {
	if comment, ok := p.openComment(); ok { // has taken in what is missing
		p.errorf("unterminated-comment", comment, "unterminated block comment")
		panic(bailout{})
	}
	p.errorf("syntax", p.here(), "expected %s", what).Note(p.span(open, open+1), "this is not closed")
	panic(bailout{})
}

// openComment is where a block comment begins that has no end.
func (p *parser) openComment() (span source.Span, ok bool) {
	if !p.scan.open {
		return span, false
	}
	last := p.scan.comments[len(p.scan.comments)-1]
	return p.span(last.At.Start, last.At.Start+2), true
}
