package strace

import "encoding/binary"

// A chunk is a piece of the memory of the traced process. Chunks share the buffer of their
// thread, and are good until its call has been shown.
type chunk struct {
	addr  uint64
	data  []byte
	early bool // as it was when the call began
	brief bool // as it was while the call waited: forgotten when it returns
	lost  bool // it could not be read
}

// memory is what was copied for one call. There are a handful, so that a search through all is
// faster than any index.
type memory []chunk

// at finds n bytes, those that the call began with if early is set and there are any, else those
// that it left. ok says whether there are some, of which there may be fewer. Chunks that lie one
// behind the other are joined, since a long string is copied in pieces.
func (m memory) at(addr uint64, n int, early bool) (data []byte, ok bool) {
	n = max(n, 0) // what a program says of its memory need not make sense
	best := -1
	for i := range m {
		c := &m[i]
		if c.lost || addr != c.addr || len(c.data) == 0 && n > 0 {
			continue
		}
		// The time that is asked for counts most, then the length.
		if best < 0 || c.early == early && m[best].early != early || c.early == m[best].early &&
			len(c.data) > len(m[best].data) {
			best = i
		}
	}
	if best < 0 {
		return m.inside(addr, n, early)
	}
	data = m[best].data
	for len(data) < n {
		more := m.next(addr+uint64(len(data)), m[best].early)
		if more == nil {
			break
		}
		data = append(data[:len(data):len(data)], more...)
	}
	return data[:min(n, len(data))], true
}

// next is the chunk that begins at an address.
func (m memory) next(addr uint64, early bool) []byte {
	for i := range m {
		if c := &m[i]; c.addr == addr && c.early == early && !c.lost && len(c.data) > 0 {
			return c.data
		}
	}
	return nil
}

// inside finds bytes in the middle of a chunk. A field may point into what was copied for
// another argument.
func (m memory) inside(addr uint64, n int, early bool) ([]byte, bool) {
	for _, want := range []bool{early, !early} {
		for i := range m {
			c := &m[i]
			if c.early == want && addr > c.addr && addr-c.addr < uint64(len(c.data)) {
				data := c.data[addr-c.addr:]
				return data[:min(n, len(data))], true
			}
		}
	}
	return nil, false
}

// whole finds exactly n bytes. A struct that is there in part is shown as an address: half a
// field would be a wrong number.
func (m memory) whole(addr uint64, n int, early bool) ([]byte, bool) {
	data, ok := m.at(addr, n, early)
	return data, ok && len(data) == n
}

// u16 and the others read as the machine does that the program runs on.
func u16(b []byte, at int) uint64 { return uint64(binary.NativeEndian.Uint16(b[at:])) }
func u32(b []byte, at int) uint64 { return uint64(binary.NativeEndian.Uint32(b[at:])) }
func signed(v uint64) int64       { return int64(int32(v)) }
func u64(b []byte, at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
