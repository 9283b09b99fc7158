package history

import "hash/fnv"

// maxOutside is how many keys that are not kept apart are remembered by their hash.
const maxOutside = 1 << 20

// hashes are a set of maxOutside hashes at most, each in a place as near behind its own as there was one free. A map
// of as many would take six times the room.
type hashes struct {
	places []uint32 // 0: free
	len    int
}

// hashed stands for a key that is not kept, in less room. Two keys that share one are taken for each other, by which
// a number is counted to the others that could stand apart.
func hashed(id string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return max(h.Sum32(), 1)
}

// find is where a hash is, or would be. There is a place that is free.
func (s *hashes) find(hash uint32) int {
	i := int(hash)
	for ; ; i++ {
		i &= len(s.places) - 1
		if at := s.places[i]; at == 0 || at == hash {
			return i
		}
	}
}

// add adds a hash, if there is room for it.
func (s *hashes) add(hash uint32) {
	if s.len >= maxOutside {
		return
	}
	if 4*s.len >= 3*len(s.places) {
		was := s.places
		s.places, s.len = make([]uint32, max(64, 2*len(was))), 0
		for _, one := range was {
			if one != 0 {
				s.add(one)
			}
		}
	}
	if at := &s.places[s.find(hash)]; *at == 0 {
		*at = hash
		s.len++
	}
}

// remove takes a hash out, and reports whether it was there.
func (s *hashes) remove(hash uint32) bool {
	if s.len == 0 {
		return false
	}
	free := s.find(hash)
	if s.places[free] == 0 {
		return false
	}
	s.len--
	// Hashes behind it move up, unless their own places are behind the one that is free now.
	mask := len(s.places) - 1
	for i := (free + 1) & mask; s.places[i] != 0; i = (i + 1) & mask {
		if own := int(s.places[i]) & mask; (i-own)&mask >= (i-free)&mask {
			s.places[free], free = s.places[i], i
		}
	}
	s.places[free] = 0
	return true
}
