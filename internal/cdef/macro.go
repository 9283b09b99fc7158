package cdef

import "strings"

// A macro is a preprocessor macro.
type macro struct {
	name     string
	at       token    // its name where it is defined
	params   []string // of a function-like macro
	function bool
	variadic bool // the last parameter takes the rest
	builtin  bool // predefined: scripts do not see it
	active   bool // its replacement is being read
	body     []token
	end      int // offset in the file after the last token of the body
}

// param is which parameter a token is, -1 if it is none.
func (m *macro) param(t token) int {
	if t.kind == name {
		for i, p := range m.params {
			if p == t.text {
				return i
			}
		}
	}
	return -1
}

// An input is where tokens come from: a file, or the replacement of a macro.
// Inputs make a stack: a macro's replacement is read before what follows its use.
type input struct {
	lex   *lexer
	list  []token
	macro *macro // whose replacement list is
	conds int    // open conditionals where the file started
}

// push makes a replacement the next thing to be read.
// Every token that a macro makes is charged for, so that macros that double each other come to
// an end.
func (p *preprocessor) push(m *macro, list []token) {
	p.charge(m.at, len(list)+1)
	m.active = true
	p.stack = append(p.stack, input{list: list, macro: m})
}

// pop ends the innermost input.
func (p *preprocessor) pop() {
	top := &p.stack[len(p.stack)-1]
	if top.macro != nil {
		top.macro.active = false
	}
	*top = input{}
	p.stack = p.stack[:len(p.stack)-1]
}

// next is the next token after preprocessing. Beyond the end it is eof again and again. A macro
// that is being replaced is not replaced again in what it yields (C11 6.10.3.4): the token is dead,
// even where it comes up later.
// defined X is looked at before X is replaced, which C asks for only in #if.
func (p *preprocessor) next() token {
	for {
		t := p.raw()
		if t.kind != name || t.dead {
			return t
		}
		if p.inIf && (t.text == "defined" || strings.HasPrefix(t.text, "__has_")) {
			return p.query(t)
		}
		m := p.macros[t.text]
		if m == nil {
			if t.text == "__LINE__" || t.text == "__FILE__" || t.text == "__COUNTER__" {
				return token{kind: number, text: "1", space: t.space, at: t.at, file: t.file}
			}
			return t
		}
		if m.active {
			t.dead = true
			return t
		}
		if !m.function {
			p.push(m, p.replaced(m, t, nil))
			continue
		}
		// A function-like macro without arguments is a name like any other.
		if !p.atParen() {
			return t
		}
		p.raw()
		args, ok := p.arguments(m, t)
		if !ok {
			return t
		}
		p.push(m, p.replaced(m, t, args))
	}
}

// raw is the next token before macros are expanded; directives are obeyed.
// The end of a piece of the script is a token, so that no declaration goes on into the next
// piece, behind probes and all.
func (p *preprocessor) raw() token {
	for len(p.stack) > 0 {
		top := &p.stack[len(p.stack)-1]
		if top.lex == nil {
			if len(top.list) > 0 {
				t := top.list[0]
				top.list = top.list[1:]
				return t
			}
			if len(p.stack) == p.floor {
				return token{kind: eof}
			}
			p.pop()
			continue
		}
		t := top.lex.next()
		p.charge(t, 1)
		if t.bol && t.is("#") && !p.inArgs {
			p.directive(top.lex, t)
			continue
		}
		if t.kind != eof {
			return t
		}
		if !p.inArgs {
			p.endOfFile(top, t)
		} else {
			return t
		}
		script := top.lex.file.script
		p.pop()
		if script {
			return token{kind: end, at: t.at, file: t.file}
		}
	}
	return token{kind: eof}
}

// atParen reports whether the next token is an opening parenthesis. At the end
// of a replacement the text after the macro counts.
// It looks ahead without obeying directives: what stands between a macro's name and its
// parenthesis is white space.
func (p *preprocessor) atParen() bool {
	for len(p.stack) > 0 {
		top := &p.stack[len(p.stack)-1]
		if top.lex != nil {
			l := *top.lex
			t := l.next()
			return t.is("(")
		}
		if len(top.list) > 0 {
			return top.list[0].is("(")
		}
		if len(p.stack) == p.floor {
			return false
		}
		p.pop()
	}
	return false
}

// arguments reads what follows the opening parenthesis of a use of m.
// Directives inside of arguments have no meaning in C; here they are tokens like others.
func (p *preprocessor) arguments(m *macro, at token) ([][]token, bool) {
	defer func(was bool) { p.inArgs = was }(p.inArgs)
	p.inArgs = true
	args, depth := [][]token{nil}, 0
	for {
		t := p.raw()
		switch {
		case t.kind == eof || t.kind == end:
			p.errorf("c-macro", at, "the arguments of macro %s are not closed", m.name)
			return nil, false
		case t.is(")") && depth == 0:
			n := len(m.params)
			// F() of a macro without parameters has no argument, of one with a parameter an empty
			// one.
			if n == 0 && len(args) == 1 && len(args[0]) == 0 {
				return nil, true
			}
			if m.variadic && len(args) == n-1 {
				args = append(args, nil)
			}
			if len(args) != n {
				p.errorf("c-macro", at, "macro %s takes %d arguments, not %d", m.name, n, len(args))
				return nil, false
			}
			return args, true
		case t.is(",") && depth == 0 && !(m.variadic && len(args) == len(m.params)):
			args = append(args, nil)
			continue
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		t.space = t.space || t.bol
		t.bol = false
		args[len(args)-1] = append(args[len(args)-1], t)
	}
}

// replaced is the replacement of one use of m, at the place of the use. Arguments are expanded by
// themselves first, except beside # and ##.
// All tokens get the place of the use: messages point at what the script says.
func (p *preprocessor) replaced(m *macro, use token, args [][]token) []token {
	out := make([]token, 0, len(m.body))
	expanded := make([][]token, len(args))
	add := func(ts []token, space bool) {
		p.charge(use, len(ts))
		for i, t := range ts {
			if i == 0 {
				t.space = space
			}
			out = append(out, t)
		}
	}
	body := m.body
	for i := 0; i < len(body); i++ {
		t := body[i]
		if m.function && t.is("#") && i+1 < len(body) {
			if n := m.param(body[i+1]); n >= 0 {
				out = append(out, token{kind: str, text: quote(join(args[n])), space: t.space})
				i++
				continue
			}
		}
		if t.is("##") && len(out) > 0 && i+1 < len(body) {
			i++
			right := body[i : i+1]
			if n := m.param(body[i]); n >= 0 {
				right = args[n]
				if m.variadic && n == len(m.params)-1 && out[len(out)-1].is(",") {
					// GNU: a comma goes away with empty arguments.
					if len(right) == 0 {
						out = out[:len(out)-1]
					}
					add(right, true)
					continue
				}
			}
			if len(right) == 0 {
				continue
			}
			left := out[len(out)-1]
			if left.kind == punct && left.text == "" {
				out[len(out)-1] = right[0]
			} else {
				out[len(out)-1] = p.paste(left, right[0], use)
			}
			add(right[1:], true)
			continue
		}
		n := m.param(t)
		switch {
		case n < 0:
			add(body[i:i+1], t.space)
		case i+1 < len(body) && body[i+1].is("##"):
			if len(args[n]) == 0 {
				out = append(out, token{kind: punct, space: t.space}) // nothing, to paste to
			} else {
				add(args[n], t.space)
			}
		default:
			if expanded[n] == nil && len(args[n]) > 0 {
				expanded[n] = p.expand(args[n])
			}
			add(expanded[n], t.space)
		}
	}
	kept := out[:0]
	for _, t := range out {
		if t.text == "" {
			continue
		}
		t.at, t.file, t.bol = use.at, use.file, false
		kept = append(kept, t)
	}
	if len(kept) > 0 {
		kept[0].space = use.space
	}
	return kept
}

// paste makes one token of two.
// C leaves it undefined where they are none; the left one stays, and an error or a warning says
// so.
func (p *preprocessor) paste(a, b, use token) token {
	// The two texts together must be read as one token.
	l := newLexer(&file{text: a.text + b.text})
	t := l.next()
	if l.pos != len(l.file.text) || t.kind == eof {
		p.errorf("c-macro", use, "%q and %q do not make one token", a.text, b.text)
		return a
	}
	t.space, t.bol = a.space, false
	return t
}

// expand expands all macros in a list.
func (p *preprocessor) expand(list []token) []token {
	if p.depth++; p.depth > maxNesting {
		panic(p.fatal(list[0], "macros are nested too deeply"))
	}
	// The list is read as if it were all there is: floor keeps what lies below from being popped.
	defer func(stack []input, floor int, inArgs bool) {
		p.stack, p.floor, p.inArgs = stack, floor, inArgs
		p.depth--
	}(p.stack, p.floor, p.inArgs)
	p.stack, p.floor, p.inArgs = []input{{list: list}}, 1, false
	out := []token{}
	for {
		t := p.next()
		if t.kind == eof {
			return out
		}
		out = append(out, t)
	}
}

// quote makes a string literal of text.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
