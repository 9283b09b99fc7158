package cdef

import (
	"github.com/hawktrace/hawk/internal/source"
)

// Limits. Headers of a whole system need a tenth of them.
const (
	maxTokens  = 4 << 20  // made and read, over all files
	maxBytes   = 64 << 20 // read from files
	maxFile    = 8 << 20  // of one file, bytes
	maxInclude = 64       // depth of includes
	maxNesting = 200      // depth of expressions, declarators, records, arguments
)

// A preprocessor is the state of translation phases 3 and 4.
// One reads all pieces of a script: macros and open conditionals go on from piece to piece.
type preprocessor struct {
	opts   *Options
	ds     *source.Diagnostics
	macros map[string]*macro
	stack  []input // innermost last
	floor  int     // inputs that are not to be popped
	conds  []cond
	inIf   bool // reading the expression of #if
	inArgs bool // reading arguments: a '#' is no directive, a file's end stays
	depth  int
	pack   []int // values of #pragma pack, innermost last; 0 is none
	tokens int
	bytes  int
	files  map[string]string // contents of headers read so far
	once   map[string]bool   // headers not to be read again
	// kernelHeaders is set once a header was left to kernel type information.
	kernelHeaders bool
}

// A fatalError ends the reading of C text: a limit was passed.
type fatalError struct{}

// fatal reports that a limit was passed; the caller panics with the result.
func (p *preprocessor) fatal(at token, format string, args ...any) fatalError {
	p.errorf("c-limit", at, format, args...)
	return fatalError{}
}

// charge counts tokens.
// Bytes alone would not do: a line of macros can make millions of tokens.
func (p *preprocessor) charge(at token, n int) {
	if p.tokens += n; p.tokens > maxTokens {
		panic(p.fatal(at, "the C text of the script is too large: more than %d tokens with all headers and macros",
			maxTokens))
	}
}

// errorf reports a fault: an error in the script, a warning in a header.
// A fault of a header that the script includes is not the user's, and may not matter.
func (p *preprocessor) errorf(code source.Code, at token, format string, args ...any) *source.Diagnostic {
	if at.file != nil && !at.file.script {
		return p.ds.Warnf(code, at.span(), format, args...)
	}
	return p.ds.Errorf(code, at.span(), format, args...)
}

// A cond is an open #if.
type cond struct {
	at    token
	taken bool // some branch was read
	other bool // #else was seen
}

// directive obeys one directive. hash has been read from l.
// #line and the like have nothing to say here.
func (p *preprocessor) directive(l *lexer, hash token) {
	start := *l
	line := l.line()
	if len(line) == 0 {
		return
	}
	word := line[0]
	rest := line[1:]
	switch word.text {
	case "define":
		p.define(rest, l.pos)
	case "undef":
		if len(rest) > 0 {
			delete(p.macros, rest[0].text)
		}
	case "include", "include_next", "import":
		l2 := start
		l2.next()
		p.include(word, rest, includeText(&l2))
	case "if", "ifdef", "ifndef":
		c := cond{at: word}
		switch word.text {
		case "if":
			c.taken = p.condition(word, rest)
		default:
			if len(rest) == 0 || rest[0].kind != name {
				p.errorf("c-directive", word, "#%s needs the name of a macro", word.text)
			} else {
				c.taken = p.isDefined(rest[0].text) == (word.text == "ifdef")
			}
		}
		p.conds = append(p.conds, c)
		if !c.taken {
			p.skipGroup(l)
		}
	// One is met here behind a branch that was read; the others are skipped.
	case "elif", "else", "endif", "elifdef", "elifndef":
		if len(p.conds) == p.openConds() {
			p.errorf("c-directive", word, "#%s without #if", word.text)
			return
		}
		if word.text == "endif" {
			p.conds = p.conds[:len(p.conds)-1]
			return
		}
		c := &p.conds[len(p.conds)-1]
		if c.other {
			p.errorf("c-directive", word, "#%s after #else", word.text)
		}
		c.other = c.other || word.text == "else"
		p.skipGroup(l) // the branch before was read
	case "error":
		p.errorf("c-error", word, "#error %s", join(rest))
	case "warning":
		p.ds.Warnf("c-warning", word.span(), "#warning %s", join(rest))
	case "pragma":
		p.pragma(rest)
	case "line", "ident", "sccs", "assert", "unassert":
	default:
		if word.kind != number {
			p.errorf("c-directive", word, "unknown preprocessor directive #%s", word.text).
				Hint("if it is meant as a comment: that starts with //")
		}
	}
}

// openConds is the number of conditionals that were open before this file.
// Pieces of the script share theirs.
func (p *preprocessor) openConds() int {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i].lex != nil {
			return p.stack[i].conds
		}
	}
	return 0
}

// skipGroup skips to the branch of the innermost #if that is to be read, or to
// its end. In the script a conditional spans several pieces: what is left of
// this one is skipped and the next goes on here, see skipPiece.
func (p *preprocessor) skipGroup(l *lexer) {
	p.conds[len(p.conds)-1].at.dead = true // skipping
	p.skipOn(l)
}

// skipOn skips lines up to the branch or the end of the innermost conditional; conditionals in
// between are counted.
func (p *preprocessor) skipOn(l *lexer) {
	depth := 0
	for {
		t := l.next()
		p.charge(t, 1)
		if t.kind == eof {
			// Nested conditionals that are open at the end of a piece of the
			// script go on in the next one.
			for range depth {
				p.conds = append(p.conds, cond{at: token{dead: true, text: "if", file: l.file, at: t.at}, taken: true})
			}
			return
		}
		if !t.bol || !t.is("#") {
			continue
		}
		line := l.line()
		if len(line) == 0 {
			continue
		}
		word, rest := line[0], line[1:]
		switch word.text {
		case "if", "ifdef", "ifndef":
			depth++
			continue
		case "endif":
			if depth > 0 {
				depth--
				continue
			}
			p.conds = p.conds[:len(p.conds)-1]
			if n := len(p.conds); n > p.openConds() && p.conds[n-1].at.dead {
				continue // still inside a skipped branch
			}
			return
		case "else", "elif", "elifdef", "elifndef":
		default:
			continue
		}
		c := &p.conds[len(p.conds)-1]
		if depth > 0 || c.taken {
			continue
		}
		if c.other {
			p.errorf("c-directive", word, "#%s after #else", word.text)
			continue
		}
		take := true
		switch word.text {
		case "else":
			c.other = true
		case "elif":
			take = p.condition(word, rest)
		default:
			take = len(rest) > 0 && p.isDefined(rest[0].text) == (word.text == "elifdef")
		}
		if take {
			c.taken, c.at.dead = true, false
			return
		}
	}
}

// endOfFile checks that the conditionals of a header end where it ends.
func (p *preprocessor) endOfFile(in *input, at token) {
	if in.lex.file.script {
		return
	}
	for len(p.conds) > in.conds {
		c := p.conds[len(p.conds)-1]
		p.conds = p.conds[:len(p.conds)-1]
		c.at.dead = false
		if c.at.file != nil {
			p.errorf("c-directive", c.at, "#%s without #endif", c.at.text)
		}
	}
}

// piece starts reading one piece of the script.
func (p *preprocessor) piece(f *file) {
	l := newLexer(f)
	p.stack = append(p.stack, input{lex: l})
	if n := len(p.conds); n > 0 && p.conds[n-1].at.dead {
		p.skipOn(l)
	}
}

// define reads a macro definition, whose text ends at offset end of the file.
// Another definition of a name replaces the first without a word, as headers and scripts do it
// for a reason.
func (p *preprocessor) define(line []token, end int) {
	if len(line) == 0 || line[0].kind != name {
		if len(line) > 0 {
			p.errorf("c-directive", line[0], "#define needs a name")
		}
		return
	}
	m := &macro{name: line[0].text, at: line[0], end: end}
	if m.name == "defined" {
		p.errorf("c-directive", line[0], "\"defined\" can not be a macro")
		return
	}
	rest := line[1:]
	if len(rest) > 0 && rest[0].is("(") && !rest[0].space {
		m.function = true
		if rest = p.parameters(m, rest[1:]); rest == nil {
			return
		}
	}
	m.body = rest
	if old := p.macros[m.name]; old != nil && old.active {
		return // defined again by its own arguments: no longer C
	}
	p.macros[m.name] = m
}

// parameters reads up to the closing parenthesis and returns what follows it,
// not nil.
func (p *preprocessor) parameters(m *macro, rest []token) []token {
	for i := 0; i < len(rest); i++ {
		t := rest[i]
		switch {
		case t.is(")"):
			return append([]token{}, rest[i+1:]...)
		case t.is(",") && i > 0:
		case t.is("..."):
			m.variadic = true
			if i == 0 || rest[i-1].kind != name {
				m.params = append(m.params, "__VA_ARGS__")
			}
		case t.kind == name && len(m.params) < 256:
			m.params = append(m.params, t.text)
		default:
			p.errorf("c-directive", t, "bad parameters of macro %s", m.name)
			return nil
		}
	}
	p.errorf("c-directive", m.at, "the parameters of macro %s are not closed", m.name)
	return nil
}

// isDefined reports whether a name is a macro, also one that is not in the table.
func (p *preprocessor) isDefined(name string) bool {
	if p.macros[name] != nil {
		return true
	}
	switch name {
	case "__LINE__", "__FILE__", "__COUNTER__":
		return true
	}
	return false
}

// query answers defined X and the __has_… operators of #if: of the latter only
// __has_include can be true.
// __has_attribute and its like say no, so that headers fall back on plain C.
func (p *preprocessor) query(t token) token {
	answer := func(yes bool) token {
		n := token{kind: number, text: "0", at: t.at, file: t.file, space: true}
		if yes {
			n.text = "1"
		}
		return n
	}
	n := p.raw()
	if !n.is("(") {
		if t.text != "defined" {
			return answer(false)
		}
		return answer(p.isDefined(n.text))
	}
	var inside []token
	for depth := 0; ; {
		n = p.raw()
		if n.is("(") {
			depth++
		}
		if n.kind == eof || n.is(")") && depth == 0 {
			break
		}
		if n.is(")") {
			depth--
		}
		inside = append(inside, n)
	}
	if len(inside) == 0 {
		return answer(false)
	}
	switch t.text {
	case "defined":
		return answer(p.isDefined(inside[0].text))
	case "__has_include", "__has_include_next":
		name, quoted, ok := headerName(join(inside))
		if !ok {
			return answer(false)
		}
		_, found := p.find(name, quoted, false, t.file)
		return answer(found)
	}
	return answer(false)
}

// condition evaluates the expression of #if. A fault makes it false.
// Names that are no macros are 0 by the rules of C.
func (p *preprocessor) condition(at token, line []token) (yes bool) {
	if len(line) == 0 {
		p.errorf("c-directive", at, "#%s needs an expression", at.text)
		return false
	}
	defer func(was bool) {
		p.inIf = was
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			p.errorf("c-expression", r.at, "%s", r.msg)
			yes = false
		default:
			panic(r)
		}
	}(p.inIf)
	p.inIf = true
	e := evaluator{list: p.expand(line), last: at, word: func(token) (num, bool) { return num{}, true }}
	v := e.all()
	return v.v != 0
}

// pragma keeps the values of pack and obeys once.
// once is ignored in the script itself, whose pieces are one file with one name.
func (p *preprocessor) pragma(line []token) {
	if len(line) == 0 {
		return
	}
	if line[0].text == "once" && !line[0].file.script {
		p.once[line[0].file.src.Name] = true
		return
	}
	if line[0].text != "pack" {
		return
	}
	if len(p.pack) == 0 {
		p.pack = []int{0}
	}
	for _, t := range line[1:] {
		top := len(p.pack) - 1
		switch {
		case t.text == "push" && len(p.pack) < maxNesting:
			p.pack = append(p.pack, p.pack[top])
		case t.text == "pop" && top > 0:
			p.pack = p.pack[:top]
		case t.kind == number:
			if n, err := parseNumber(t.text); err == nil && n.v <= 16 && n.v&(n.v-1) == 0 {
				p.pack[top] = int(n.v)
			}
		case t.is(")") && len(line) == 3:
			p.pack[top] = 0
		}
	}
}

// packed is the largest alignment of members that #pragma pack allows, 0 if any.
func (p *preprocessor) packed() int {
	if len(p.pack) == 0 {
		return 0
	}
	return p.pack[len(p.pack)-1]
}
