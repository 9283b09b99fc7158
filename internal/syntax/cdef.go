package syntax

import "strings"

// This file takes C text out of a script without reading it: the extent of a
// definition is found by brackets, the C front end does the rest.

// preprocessor reads a line that starts with '#'. A backslash before the
// newline or a block comment carries it on to the next line.
// The text is kept with its comments and continued lines, so that columns in messages are
// right.
func (p *parser) preprocessor(start int) Item {
	text := p.scan.text
	i := start
	for i < len(text) && text[i] != '\n' {
		switch {
		case text[i] == '\\' && strings.HasPrefix(text[i:], "\\\r\n"):
			i += 3
		case text[i] == '\\' && i+1 < len(text):
			i += 2
		// A comment does not begin inside of a string: #define URL "http://host".
		case text[i] == '"' || text[i] == '\'':
			i = quotedEnd(text, i)
		case strings.HasPrefix(text[i:], "/*"):
			n, _ := commentLength(text[i:])
			i += n
		case strings.HasPrefix(text[i:], "//"):
			i = lineEnd(text, i)
		default:
			i++
		}
	}
	p.rawAt(i)
	// A backslash left at the end carries nothing on, and must not do so when
	// the text is followed by a newline elsewhere.
	return &CDef{p.since(start), strings.TrimRight(text[start:i], " \t\r\n\\")}
}

// definition reads a struct, union or enum whose body opens at offset open, with
// attributes and an optional ';' after it.
// A missing semicolon is added, which the C front end would ask for.
func (p *parser) definition(start, open int) Item {
	text := p.scan.text
	end := balancedEnd(text, open)
	if end < 0 {
		p.rawAt(len(text))
		p.fail("syntax", p.span(open, open+1), "expected '}': the definition is not closed")
	}
	p.rawAt(end)
	for {
		next := p.rawPos()
		if !strings.HasPrefix(text[next:], "__") {
			break
		}
		// Macros such as __packed and __aligned(8) stand for attributes. No
		// attach point starts like that.
		word := next
		for word < len(text) && isNamePart(text[word]) {
			word++
		}
		paren := skipCLayout(text, word)
		close := -1
		if text[next:word] != "__attribute__" && (paren >= len(text) || text[paren] != '(') {
			end = word
			p.rawAt(end)
			continue
		}
		if paren < len(text) && text[paren] == '(' {
			close = balancedEnd(text, paren)
		}
		if close < 0 {
			p.rawAt(next)
			p.fail("syntax", p.here(), "brackets of the attribute are not balanced")
		}
		p.rawAt(close)
		end = close
	}
	def := strings.TrimRight(text[start:end], " \t\r\n") + ";"
	if p.atByte(';') {
		end = p.rawPos() + 1
		p.rawAt(end)
	}
	return &CDef{Pos{p.span(start, end)}, def}
}

// typedef reads up to the ';' outside of all brackets.
// Without its end there is no way to tell where the script goes on.
func (p *parser) typedef(start int) Item {
	text := p.scan.text
	for i := start; i < len(text); {
		switch text[i] {
		case ';':
			p.rawAt(i + 1)
			return &CDef{p.since(start), text[start : i+1]}
		case '{', '(', '[':
			end := balancedEnd(text, i)
			if end < 0 {
				i = len(text)
				continue
			}
			i = end
		default:
			i = nextC(text, i)
		}
	}
	p.rawAt(start)
	at := p.here()
	p.rawAt(len(text))
	p.fail("syntax", at, "expected ';' after typedef")
	return nil
}

// definitionBody looks past the head of a C definition, which is identifiers and
// bracketed attributes. It returns the offset of the '{', or -1 if anything else
// comes.
func definitionBody(text string, i int) int {
	for {
		i = skipCLayout(text, i)
		if i >= len(text) {
			return -1
		}
		switch c := text[i]; {
		case c == '{':
			return i
		// struct name on its own, as in an attach point or a parameter, has no '{' behind it.
		case isNamePart(c):
			i++
		case c == '(' || c == '[':
			if i = balancedEnd(text, i); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
}

// balancedEnd returns the offset after the bracket that closes the one at i, or
// -1. Brackets in comments, strings and character constants do not count.
func balancedEnd(text string, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i = nextC(text, i)
	}
	return -1
}

// nextC steps over one byte of C text, or over a whole comment or literal.
func nextC(text string, i int) int {
	switch text[i] {
	case '"', '\'':
		return quotedEnd(text, i)
	case '\\': // takes a quote's meaning away outside of literals, too
		return min(i+2, len(text))
	case '/':
		if n, _ := commentLength(text[i:]); n > 0 {
			return i + n
		}
	}
	return i + 1
}

// quotedEnd returns the offset after the C literal at i; one that is not closed
// on its line is just its quote, as apostrophes occur in odd places.
func quotedEnd(text string, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text) && text[j] != '\n'; j++ {
		switch text[j] {
		case '\\':
			j++
		case quote:
			return j + 1
		}
	}
	return i + 1
}

// skipCLayout skips white space and comments.
func skipCLayout(text string, i int) int {
	for i < len(text) {
		n, _ := commentLength(text[i:])
		switch {
		case n > 0:
			i += n
		case strings.IndexByte(" \t\r\n\f\v", text[i]) >= 0:
			i++
		default:
			return i
		}
	}
	return i
}
