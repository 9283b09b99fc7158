package view

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// An Index finds the numbers of things by their hashes: a map would hold each thing a second time. They are counted
// from 0, and whoever asks keeps the things themselves in a list. The zero value has none.
type Index struct {
	slots []slot
	len   int
}

// A slot of an Index is free if its number is 0.
type slot struct{ hash, number uint32 }

// Number is the number of a thing, of which same tells whether it is the one that has a number. One that is not known
// gets the next number.
func (x *Index) Number(hash uint64, same func(n int) bool) (n int, known bool) {
	if 4*x.len >= 3*len(x.slots) {
		was := x.slots
		x.slots = make([]slot, max(64, 2*len(was)))
		for _, s := range was {
			if s.number > 0 {
				*x.find(s.hash, func(int) bool { return false }) = s
			}
		}
	}
	at := x.find(uint32(hash), same)
	if at.number > 0 {
		return int(at.number - 1), true
	}
	x.len++
	*at = slot{uint32(hash), uint32(x.len)}
	return x.len - 1, false
}

// find is where a thing is, or would be.
func (x *Index) find(hash uint32, same func(n int) bool) *slot {
	for i := int(hash); ; i++ {
		i &= len(x.slots) - 1
		if s := &x.slots[i]; s.number == 0 || s.hash == hash && same(int(s.number-1)) {
			return s
		}
	}
}

// A Hasher makes hashes of texts, others in each run: nobody can name things so that their hashes are one. The
// package maphash would do, but brings half of the cryptography of Go into a build without assembly.
type Hasher struct{ seed uint64 }

// NewHasher makes one.
func NewHasher() Hasher { return Hasher{rand.Uint64()} }

// Of is the hash of a text with a number.
func (h Hasher) Of(s string, n int) uint64 {
	return h.ofBytes([]byte(s)) + uint64(n)*0x9e3779b97f4a7c15
}

// ofBytes mixes in eight bytes at a time, by a product whose halves both count.
func (h Hasher) ofBytes(b []byte) uint64 {
	mix := func(sum, word uint64) uint64 {
		high, low := bits.Mul64(sum^word^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
		return high ^ low
	}
	sum := mix(h.seed, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		sum = mix(sum, binary.LittleEndian.Uint64(b))
	}
	var last uint64
	for _, c := range b {
		last = last<<8 | uint64(c)
	}
	return mix(mix(sum, last), h.seed)
}
