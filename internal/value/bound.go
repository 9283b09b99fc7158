package value

import (
	"cmp"
	"math"
	"strconv"
)

// A Bound is where a bucket begins or ends: a whole number from the least with a sign to the largest without one.
type Bound struct {
	bits  int64
	large bool // above all numbers with a sign
}

// NewBound is a bound of these bits.
func NewBound(bits int64, unsigned bool) Bound { return Bound{bits, unsigned && bits < 0} }

// Low is the least value of a bucket, that of all numbers if it has none.
func (b *Bucket) Low() Bound {
	if b.NoMin {
		return Bound{bits: math.MinInt64}
	}
	return NewBound(b.Min, b.Unsigned)
}

// High is the largest value of a bucket, that of all numbers if it has none.
func (b *Bucket) High() Bound {
	if b.NoMax {
		return Bound{-1, true}
	}
	return NewBound(b.Max, b.Unsigned)
}

// Compare puts bounds in order.
func (b Bound) Compare(c Bound) int {
	switch {
	case b.large == c.large:
		return cmp.Compare(b.bits, c.bits) // of large ones, too
	case b.large:
		return 1
	}
	return -1
}

// Float is the bound as far as floats tell numbers apart.
func (b Bound) Float() float64 {
	if b.large {
		return float64(uint64(b.bits))
	}
	return float64(b.bits)
}

func (b Bound) String() string {
	if b.large {
		return strconv.FormatUint(uint64(b.bits), 10)
	}
	return strconv.FormatInt(b.bits, 10)
}

// After is the whole number behind the bound.
func (b Bound) After() string {
	if b.large && b.bits == -1 {
		return "18446744073709551616" // one more than 64 bits hold
	}
	// Behind the largest number with a sign is the first large one, of the same bits as the least.
	return Bound{b.bits + 1, b.large || b.bits == math.MaxInt64}.String()
}
