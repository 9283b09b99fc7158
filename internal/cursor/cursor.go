// Package cursor reads integers and strings off bytes that nobody has checked:
// debug information, instructions.
package cursor

import (
	"bytes"
	"encoding/binary"
)

// A Cursor takes values off Data from At on. Beyond the end values are zero
// and empty, and Bad is set.
type Cursor struct {
	Data []byte
	At   int
	Big  bool // integers of fixed size have the most significant byte first
	Bad  bool
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
	n := bytes.IndexByte(c.Data[c.At:], 0)
	if n < 0 {
		c.Bad, c.At = true, len(c.Data)
		return nil
	}
	s := c.Data[c.At : c.At+n : c.At+n]
	c.At += n + 1
	return s
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
