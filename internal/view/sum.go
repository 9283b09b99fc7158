package view

import (
	"math"
	"math/bits"

	"github.com/hawktrace/hawk/internal/value"
)

// Plus is a sum that stays at the end of the range where 64 bits do not hold it: what weighs most must not turn into
// what weighs less than nothing.
func Plus(a, b int64) int64 {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}

// Whole is the whole number next to x, within the range of int64.
func Whole(x float64) int64 {
	switch x = math.Round(x); {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// A Sum is a sum of numbers of 64 bits that does not wrap, nor depend on their order as one of floats does.
type Sum struct{ high, low uint64 } // two's complement

// Add adds a number with a sign.
func (s *Sum) Add(n int64) { s.add(uint64(n), uint64(n>>63)) }

func (s *Sum) add(low, high uint64) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high += high + carry
}

// AddWeight adds what a value of a map weighs, without a bound for what has no sign.
func (s *Sum) AddWeight(m *Map, v value.Value) {
	// Pictures do not draw a summary without keys: what it weighs is its total all the same.
	if of, ok := value.Summary(v); ok && (m.Weight == TotalWeight || m.Kind == Summary) {
		v = of.Sum()
	}
	n, negative, number := value.Integer(v)
	switch {
	case negative:
		s.add(n, math.MaxUint64)
	case number:
		s.add(n, 0)
	default:
		s.Add(m.Weigh(v))
	}
}

// Float is the sum as far as floats tell numbers apart.
func (s *Sum) Float() float64 {
	// A number that 64 bits hold is exact until it is rounded.
	if s.high == uint64(int64(s.low)>>63) {
		return float64(int64(s.low))
	}
	return float64(int64(s.high))*(1<<64) + float64(s.low)
}

// Number is what a value of a map weighs, however large.
func (m *Map) Number(v value.Value) float64 {
	var s Sum
	s.AddWeight(m, v)
	return s.Float()
}
