package export

import (
	"encoding/binary"
	"math"
)

// A message is a protobuf message that is being written: fields by their numbers, as the
// encoding has them. Zero values are left out.
type message []byte

const (
	// Wire types of the encoding.
	varint  = 0
	fixed64 = 1
	length  = 2 // a length and as many bytes
)

// tag begins a field.
func (m *message) tag(field, wire int) {
	// The wire type takes three bits; the number of the field stands above them.
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

// uint writes a number; 0 is what readers take a missing one for.
func (m *message) uint(field int, n uint64) {
	if n != 0 {
		m.number(field, n)
	}
}

// number writes a number, 0 too: some readers ask whether there is one.
func (m *message) number(field int, n uint64) {
	m.tag(field, varint)
	*m = binary.AppendUvarint(*m, n)
}

// int writes a signed number as its two's complement, ten bytes if it is negative.
func (m *message) int(field int, n int64) { m.uint(field, uint64(n)) }

// bool writes a truth.
func (m *message) bool(field int, b bool) {
	if b {
		m.uint(field, 1)
	}
}

// bytes writes a text or a message, one of no length too.
func (m *message) bytes(field int, b []byte) {
	m.tag(field, length)
	*m = append(binary.AppendUvarint(*m, uint64(len(b))), b...)
}

// text writes a text, if there is one.
func (m *message) text(field int, s string) {
	if s != "" {
		m.bytes(field, []byte(s))
	}
}

// numbers writes a packed list.
func (m *message) numbers(field int, list []uint64) {
	var b []byte
	for _, n := range list {
		b = binary.AppendUvarint(b, n)
	}
	m.bytes(field, b)
}

// double writes a floating-point number.
func (m *message) double(field int, x float64) {
	// 0 is written, too: a counter that falls to it has to be seen.
	m.tag(field, fixed64)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(x))
}
