package view

// A store has room for pieces of bytes: millions of them take little more than what is in them, and nobody who collects
// garbage looks at each. What was given back is used again for others of about the size.
type store struct {
	chunks [][]byte // the last one is filled
	used   int      // of the last
	free   map[int][]uint32
}

// A piece is some bytes of a store. The zero value has none.
type piece struct {
	at   uint32 // the chunk, and the word in it
	size uint32
}

// Chunks have that many words, but for those of one piece that is larger.
const (
	chunkBits = 13
	wordBytes = 8
)

// take is a piece of so many bytes, which hold anything.
func (s *store) take(size int) piece {
	if size == 0 {
		return piece{}
	}
	words := (size + wordBytes - 1) / wordBytes
	if free := s.free[words]; len(free) > 0 {
		s.free[words] = free[:len(free)-1]
		return piece{free[len(free)-1], uint32(size)}
	}
	if last := len(s.chunks) - 1; last < 0 || s.used+words > len(s.chunks[last])/wordBytes {
		// Most maps are small: the first chunks are, too.
		room := 1 << min(chunkBits, 6+len(s.chunks))
		s.chunks, s.used = append(s.chunks, make([]byte, max(words, room)*wordBytes)), 0
	}
	at := uint32(len(s.chunks)-1)<<chunkBits | uint32(s.used)
	s.used += words
	return piece{at, uint32(size)}
}

// give gives a piece back.
func (s *store) give(p piece) {
	if p.size == 0 {
		return
	}
	if s.free == nil {
		s.free = map[int][]uint32{}
	}
	words := (int(p.size) + wordBytes - 1) / wordBytes
	s.free[words] = append(s.free[words], p.at)
}

// at are the bytes of a piece, which stay where they are.
func (s *store) at(p piece) []byte {
	if p.size == 0 {
		return nil
	}
	from := int(p.at&(1<<chunkBits-1)) * wordBytes
	return s.chunks[p.at>>chunkBits][from : from+int(p.size) : from+int(p.size)]
}
