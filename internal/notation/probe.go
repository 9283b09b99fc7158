// Package notation translates the short notation of probes that other collections of tools have into
// scripts: hawk trace 'c:open (arg2 == 42) "%s", arg1'.
package notation

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A probe is one operand: [p|r|t|u]:[library]:function[+offset][(signature)] [(filter)] ["format"[, value…]].
type probe struct {
	point     string // up to the signature
	signature []parameter
	signed    bool // there is a signature
	filter    string
	format    string // without its quotes
	values    []string

	text     string // all of it
	filterAt int    // where the parts stand in it
	formatAt int
	valuesAt int // behind the colon or comma
}

// A parameter is one of a signature.
// Its place in the signature is the number of its register.
type parameter struct{ typ, name string }

// A ParseError is a mistake at a byte of the text of a probe.
type ParseError struct {
	Text string
	At   int
	Msg  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%s\n    %s\n    %s^", e.Msg, e.Text, strings.Repeat(" ", len([]rune(e.Text[:e.At]))))
}

// A reader goes through the text of a probe.
type reader struct {
	text string
	at   int
}

// fail is an error at the place that was reached.
func (r *reader) fail(format string, args ...any) error {
	return &ParseError{r.text, r.at, fmt.Sprintf(format, args...)}
}

// spaces passes over blanks, of which operands have any number.
func (r *reader) spaces() {
	for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\t' || r.text[r.at] == '\n') {
		r.at++
	}
}

// next is the byte at hand, 0 at the end; text of a command line has no NUL.
func (r *reader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// parse reads the text of a probe.
// The parts come in this order only, and each may be missing but for the first.
func parse(text string) (p probe, err error) {
	r := &reader{text: strings.TrimSpace(text)}
	if strings.ContainsRune(r.text, '\n') {
		r.text = strings.ReplaceAll(r.text, "\n", " ")
	}
	p.text = r.text
	end := strings.IndexAny(r.text, " \t(\"")
	if end < 0 {
		end = len(r.text)
	}
	if p.point, r.at = r.text[:end], end; p.point == "" {
		return p, r.fail("what is to be traced is missing")
	}
	if r.next() == '(' {
		inner, err := r.parentheses()
		if err != nil {
			return p, err
		}
		p.signed = true
		if p.signature, err = parameters(inner); err != nil {
			return p, r.fail("%v", err)
		}
	}
	r.spaces()
	if r.next() == '(' {
		start := r.at
		if p.filter, err = r.parentheses(); err != nil {
			return p, err
		}
		p.filterAt = find(p.text, start, p.filter)
		r.spaces()
	}
	if r.next() == '"' {
		p.formatAt = r.at
		if p.format, err = r.quoted(); err != nil {
			return p, err
		}
		r.spaces()
		if r.next() == ',' {
			r.at++
			p.valuesAt = r.at
			if p.values, err = r.list(); err != nil {
				return p, err
			}
		}
	}
	if r.at < len(r.text) {
		return p, r.fail("a filter in parentheses or a \"format\" is expected here")
	}
	return p, nil
}

// parentheses reads what stands in a pair of them.
// Text in quotes may hold parentheses, which are then not counted.
func (r *reader) parentheses() (string, error) {
	start, depth := r.at+1, 0
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				r.at++
				return strings.TrimSpace(r.text[start : r.at-1]), nil
			}
		case '"', '\'':
			if err := r.skipQuoted(); err != nil {
				return "", err
			}
			r.at--
		}
	}
	r.at = start - 1
	return "", r.fail("this parenthesis is not closed")
}

// skipQuoted passes over a text in quotes.
func (r *reader) skipQuoted() error {
	start, quote := r.at, r.text[r.at]
	for r.at++; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case quote:
			r.at++
			return nil
		}
	}
	r.at = start
	return r.fail("this quote is not closed")
}

// quoted reads a text in quotes, and leaves its escapes as they are.
func (r *reader) quoted() (string, error) {
	start := r.at + 1
	if err := r.skipQuoted(); err != nil {
		return "", err
	}
	return r.text[start : r.at-1], nil
}

// list reads values with commas in between to the end.
func (r *reader) list() ([]string, error) {
	var out []string
	start := r.at
	add := func() error {
		value := strings.TrimSpace(r.text[start:r.at])
		if value == "" {
			return r.fail("a value is missing")
		}
		out = append(out, value)
		return nil
	}
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '(':
			if _, err := r.parentheses(); err != nil {
				return nil, err
			}
			continue
		case '"', '\'':
			if err := r.skipQuoted(); err != nil {
				return nil, err
			}
			continue
		case ',':
			if err := add(); err != nil {
				return nil, err
			}
			start = r.at + 1
		}
		r.at++
	}
	return out, add()
}

// parameters reads a signature: types and names as in C.
// Function pointers and arrays have no place in it: void * does for either.
func parameters(text string) ([]parameter, error) {
	var out []parameter
	if text == "" || text == "void" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		typ := strings.TrimRightFunc(one, func(r rune) bool { return r < utf8.RuneSelf && isWord(byte(r)) })
		name := one[len(typ):]
		typ = strings.TrimSpace(typ)
		if name == "" || typ == "" {
			return nil, fmt.Errorf("parameter '%s' needs a type and a name", one)
		}
		typ = strings.Join(strings.Fields(strings.ReplaceAll(typ, "const ", " ")), " ")
		out = append(out, parameter{typ, name})
	}
	return out, nil
}

// isWord reports whether a byte may stand in a name of C.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
