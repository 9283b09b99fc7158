package unwind

import (
	"bytes"
	"encoding/binary"
)

// A reader takes values off bytes. Reading past the end gives zeroes and sets
// bad.
type reader struct {
	data []byte
	at   int
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)-r.at) {
		r.bad, r.at = true, len(r.data)
		return make([]byte, min(n, 8))
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) more() bool { return r.at < len(r.data) && !r.bad }

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) string() string {
	n := bytes.IndexByte(r.data[r.at:], 0)
	if n < 0 {
		r.bad = true
		return ""
	}
	s := string(r.take(uint64(n)))
	r.at++
	return s
}

func (r *reader) uleb() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 || r.bad {
			return v
		}
	}
}

func (r *reader) sleb() (v int64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b < 0x80 || r.bad {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// value reads a number in one of the formats of addresses.
func (r *reader) value(format byte) uint64 {
	le := binary.LittleEndian
	switch format {
	case peAbsolute, peU8, peS8:
		return le.Uint64(r.take(8))
	case peULEB:
		return r.uleb()
	case peSLEB:
		return uint64(r.sleb())
	case peU2:
		return uint64(le.Uint16(r.take(2)))
	case peS2:
		return uint64(int16(le.Uint16(r.take(2))))
	case peU4:
		return uint64(le.Uint32(r.take(4)))
	case peS4:
		return uint64(int32(le.Uint32(r.take(4))))
	}
	r.bad = true
	return 0
}
