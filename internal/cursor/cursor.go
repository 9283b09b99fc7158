// Package cursor reads integers and strings off bytes that nobody has checked:
// debug information, instructions.
package cursor

import (
	"bytes"
	"encoding/binary"
)

// A Cursor takes values off Data from At on. Beyond the end values are zero
// and empty, and Bad is set. At is moved forward only.
type Cursor struct {
	Data []byte
	At   int
	Big  bool // integers of fixed size have the most significant byte first
	Bad  bool

	// Data may come as it is needed. What lies between At and upto is there; without
	// a source all is.
	source Source
	begins int // where Data does in the source
	upto   int
	ahead  int // bytes that the next load takes, at least
}

// A Source has bytes [from, to) be in memory.
type Source interface{ Load(from, to int) }

// Sizes of loads, in bytes: a cursor that goes on takes more at a time.
const (
	leastAhead = 4 << 10
	mostAhead  = 128 << 10
)

// From has bytes of Data be loaded before they are read; they begin at a place
// of the source.
func (c *Cursor) From(s Source, begins int) {
	c.source, c.begins, c.upto, c.ahead = s, begins, c.At, leastAhead
}

// need has n bytes from At on be there, of those that there are.
func (c *Cursor) need(n int) {
	end := len(c.Data)
	if n < end-c.At {
		end = c.At + n
	}
	if c.source == nil || end <= c.upto {
		return
	}
	from := max(c.At, c.upto)
	c.upto = min(len(c.Data), max(end, (from+c.ahead)&^(leastAhead-1)))
	c.ahead = min(2*c.ahead, mostAhead)
	c.source.Load(c.begins+from, c.begins+c.upto)
}

// More reports whether anything is left.
func (c *Cursor) More() bool { return c.At < len(c.Data) && !c.Bad }

// Left is how many bytes are left.
func (c *Cursor) Left() int { return len(c.Data) - c.At }

// Bytes takes n bytes, nil if there are fewer.
func (c *Cursor) Bytes(n uint64) []byte {
	if n > uint64(c.Left()) {
		c.Bad, c.At = true, len(c.Data)
		return nil
	}
	c.need(int(n))
	b := c.Data[c.At : c.At+int(n) : c.At+int(n)]
	c.At += int(n)
	return b
}

// Byte takes one byte.
func (c *Cursor) Byte() byte {
	if c.At >= len(c.Data) {
		c.Bad = true
		return 0
	}
	if c.At >= c.upto && c.source != nil {
		c.need(1)
	}
	c.At++
	return c.Data[c.At-1]
}

// Uint takes an integer of 1 to 8 bytes.
func (c *Cursor) Uint(size int) uint64 {
	b := c.Bytes(uint64(size))
	if b == nil {
		return 0
	}
	switch {
	case size == 1:
		return uint64(b[0])
	case size == 4 && !c.Big:
		return uint64(binary.LittleEndian.Uint32(b))
	case size == 8 && !c.Big:
		return binary.LittleEndian.Uint64(b)
	}
	v := uint64(0)
	for i := range b {
		if c.Big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// Text takes a string up to its NUL, which is left out.
func (c *Cursor) Text() []byte {
	n := c.textLen()
	if n < 0 {
		c.Bad, c.At = true, len(c.Data)
		return nil
	}
	s := c.Data[c.At : c.At+n : c.At+n]
	c.At += n + 1
	return s
}

// textLen is how far away the next NUL is, -1 if there is none.
func (c *Cursor) textLen() int {
	if c.source == nil {
		return bytes.IndexByte(c.Data[c.At:], 0)
	}
	for n := 0; ; {
		c.need(n + 1)
		end := min(max(c.upto, c.At), len(c.Data))
		if i := bytes.IndexByte(c.Data[c.At+n:end], 0); i >= 0 {
			return n + i
		}
		if n = end - c.At; end == len(c.Data) {
			return -1
		}
	}
}

// String is Text as a string.
func (c *Cursor) String() string { return string(c.Text()) }

// ULEB takes an unsigned number in LEB128. Bits beyond 64 are dropped.
func (c *Cursor) ULEB() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := c.Byte()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

// SLEB takes a signed number in LEB128. Bits beyond 64 are dropped.
func (c *Cursor) SLEB() (v int64) {
	for shift := 0; ; shift += 7 {
		b := c.Byte()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}
