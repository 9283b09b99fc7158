package view

// A store has room for pieces of bytes: millions of them take little more than what is in them, and nobody who collects
// garbage looks at each. What was given back is used again for others of about the size.
type store struct {
	chunks [][]byte        // the last one is filled
	used   int             // of the last
	free   map[int][]piece // by their words
}

// A piece is some bytes of a store: the chunk, and the word in it. Who has it knows how many. 0 has none.
type piece uint32

// Chunks have that many words, but for those of one piece that is larger.
const (
	chunkBits = 13
	wordBytes = 8
)

// take is a piece of so many bytes, which hold anything.
func (s *store) take(size int) piece {
	if size == 0 {
		return 0
	}
	words := (size + wordBytes - 1) / wordBytes
	if free := s.free[words]; len(free) > 0 {
		s.free[words] = free[:len(free)-1]
		return free[len(free)-1]
	}
	if last := len(s.chunks) - 1; last < 0 || s.used+words > len(s.chunks[last])/wordBytes {
		// Most maps are small: the first chunks are, too.
		room := 1 << min(chunkBits, 6+len(s.chunks))
		s.chunks, s.used = append(s.chunks, make([]byte, max(words+1, room)*wordBytes)), 0
		if last < 0 { // the very first word is none
			s.used = 1
		}
	}
	at := uint32(len(s.chunks)-1)<<chunkBits | uint32(s.used)
	s.used += words
	return piece(at)
}

// give gives a piece of so many bytes back.
func (s *store) give(p piece, size int) {
	if p == 0 {
		return
	}
	if s.free == nil {
		s.free = map[int][]piece{}
	}
	words := (size + wordBytes - 1) / wordBytes
	s.free[words] = append(s.free[words], p)
}

// at are the bytes of a piece, which stay where they are.
func (s *store) at(p piece, size int) []byte {
	if p == 0 {
		return nil
	}
	from := int(p&(1<<chunkBits-1)) * wordBytes
	return s.chunks[p>>chunkBits][from : from+size : from+size]
}
