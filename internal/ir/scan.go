package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// fail notes the first error of a line, of which the rest is skipped.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.rest = ""
}

// word takes a run of characters that are neither space nor punctuation.
func (p *parser) word() string {
	p.rest = strings.TrimLeft(p.rest, " \t")
	n := strings.IndexAny(p.rest, " \t,(){}:;+-")
	if n == 0 && p.rest[0] == '-' { // a negative number
		n = strings.IndexAny(p.rest[1:], " \t,(){}:;+-")
		if n >= 0 {
			n++
		}
	}
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// accept takes punctuation if it comes next.
func (p *parser) accept(punct string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t")
	if strings.HasPrefix(p.rest, punct) {
		p.rest = p.rest[len(punct):]
		return true
	}
	return false
}

// want takes punctuation that has to come next.
func (p *parser) want(punct string) {
	if !p.accept(punct) {
		p.fail("want %q before %q", punct, p.rest)
	}
}

// quoted takes a name in quotes.
func (p *parser) quoted() string {
	p.rest = strings.TrimLeft(p.rest, " \t")
	q, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		p.fail("want a quoted name before %q", p.rest)
		return ""
	}
	p.rest = p.rest[len(q):]
	s, err := strconv.Unquote(q)
	if err != nil {
		p.fail("bad name %s", q)
	}
	return s
}

// int takes a number.
func (p *parser) int() int64 {
	w := p.word()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		p.fail("want a number, have %q", w)
	}
	return n
}

// small is a number that becomes an index or a size.
func (p *parser) small(limit int) int {
	n := p.int()
	if n < 0 || n > int64(limit) {
		p.fail("number %d out of range", n)
		return 0
	}
	return int(n)
}

const maxID = 1 << 20

// id parses a letter and a number, such as v12.
func (p *parser) id(letter string) int {
	w := p.word()
	digits, ok := strings.CutPrefix(w, letter)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > maxID {
		p.fail("want %sN, have %q", letter, w)
		return 0
	}
	return n
}

// blockRef is a block by its name, which may be defined further down.
func (p *parser) blockRef() *Block {
	id := p.id("b")
	b := p.blocks[id]
	if b == nil {
		b = &Block{ID: id, Func: p.fn}
		p.blocks[id] = b
		p.fn.nextBlock = max(p.fn.nextBlock, id+1)
	}
	return b
}

// valueRef is a value by its name; phis refer to values that come later.
func (p *parser) valueRef() *Value {
	id := p.id("v")
	v := p.values[id]
	if v == nil {
		v = &Value{ID: id}
		p.values[id] = v
		p.fn.nextValue = max(p.fn.nextValue, id+1)
	}
	return v
}

// offset is an optional +N or -N.
func (p *parser) offset() int64 {
	if p.accept("+") {
		return p.int()
	}
	if strings.HasPrefix(p.rest, "-") {
		return p.int()
	}
	return 0
}
