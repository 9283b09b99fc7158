package aot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// A codec writes values to bytes, or reads them: the same function does both, so
// that the two cannot disagree. The first error stops it; what is read after
// that is zero.
type codec struct {
	b       []byte // written so far, or still to be read
	reading bool
	err     error
	files   []*source.File // in the order in which they first occur
	enums   []*types.Enum  // that were read
	depth   int            // of types, expansions and imports in each other
}

var errShort = errors.New("it ends too early")

// fail stops reading: nothing is left to be read.
func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.b = nil
}

// An integer is any type whose values are written as a number.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// number is an integer of any type.
func number[T integer](c *codec, p *T) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, int64(*p))
		return
	}
	n, size := binary.Varint(c.b)
	if size <= 0 {
		c.fail("%w", errShort)
		*p = 0
		return
	}
	c.b = c.b[size:]
	if *p = T(n); int64(*p) != n {
		c.fail("the number %d is out of range", n)
		*p = 0
	}
}

// within is an integer that has bounds.
// All that is an index or a size later goes through it.
func within[T integer](c *codec, p *T, least, most int64) {
	number(c, p)
	if n := int64(*p); c.err == nil && (n < least || n > most) {
		c.fail("the number %d is not between %d and %d", n, least, most)
		*p = T(max(least, 0))
	}
}

// bool takes nothing but 0 and 1. So the same payload is the same bytes.
func (c *codec) bool(p *bool) {
	var n uint8
	if *p {
		n = 1
	}
	within(c, &n, 0, 1)
	*p = n == 1
}

// flags are several booleans.
func (c *codec) flags(ps ...*bool) {
	for _, p := range ps {
		c.bool(p)
	}
}

// text is a string of any type, with its length in front.
func text[T ~string](c *codec, p *T) {
	b := []byte(*p)
	c.bytes(&b)
	*p = T(b)
}

// bytes writes or reads bytes with their length in front, of which no more are there than the file
// has.
func (c *codec) bytes(p *[]byte) {
	n := len(*p)
	within(c, &n, 0, math.MaxInt32)
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	if n > len(c.b) {
		c.fail("%w", errShort)
		n = 0
	}
	*p = append([]byte(nil), c.b[:n]...)
	c.b = c.b[n:]
}

// list is a sequence of values that each writes or reads.
// Room is made as elements come: a count that lies must not take memory.
func list[T any](c *codec, p *[]T, each func(*T)) {
	n := len(*p)
	within(c, &n, 0, math.MaxInt32)
	if !c.reading {
		for i := range *p {
			each(&(*p)[i])
		}
		return
	}
	*p = nil
	for range n {
		// Every value takes a byte at least: the count cannot be a lie for long.
		if c.err != nil || len(c.b) == 0 {
			c.fail("%w", errShort)
			return
		}
		var v T
		each(&v)
		*p = append(*p, v)
	}
}

// pointers is a list of pointers to values.
func pointers[T any](c *codec, p *[]*T, each func(*T)) {
	list(c, p, func(v **T) {
		if *v == nil {
			*v = new(T)
		}
		each(*v)
	})
}

// maxDepth bounds what can be nested.
const maxDepth = 64

// nested runs f one level deeper.
func (c *codec) nested(f func()) {
	if c.depth++; c.depth > maxDepth {
		c.fail("it is nested more than %d deep", maxDepth)
	} else {
		f()
	}
	c.depth--
}

// span is a place of the script, with the text of its file where that is new.
// Messages about an object show the script, which the machine that runs it does not have.
func (c *codec) span(s *source.Span) {
	c.file(&s.File)
	if s.File == nil {
		*s = source.Span{}
		return
	}
	size := int64(len(s.File.Text))
	within(c, &s.Start, 0, size)
	within(c, &s.End, int64(s.Start), size)
	expanded := s.From != nil
	c.bool(&expanded)
	if !expanded || c.err != nil {
		return
	}
	if s.From == nil {
		s.From = new(source.Expansion)
	}
	c.nested(func() { c.span(&s.From.At) })
}

// file is 0 for none, or one more than the number of a file.
func (c *codec) file(p **source.File) {
	n := 0
	if *p != nil {
		for n = 1; n <= len(c.files) && c.files[n-1] != *p; n++ {
		}
	}
	within(c, &n, 0, int64(len(c.files)+1))
	switch {
	case n == 0 || c.err != nil:
		*p = nil
	case n <= len(c.files):
		*p = c.files[n-1]
	default:
		f := *p
		if f == nil {
			f = new(source.File)
		}
		c.files = append(c.files, f)
		text(c, &f.Name)
		text(c, &f.Text)
		text(c, &f.Path)
		c.bool(&f.Library)
		c.nested(func() { c.span(&f.Import) })
		*p = f
	}
}
