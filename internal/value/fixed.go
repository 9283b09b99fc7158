package value

import (
	"math/bits"
	"strconv"
)

// MaxDigits is the most digits that are shown behind a point.
const MaxDigits = 9

// Unit is what numbers of a unit are divided by: those of time are of nanoseconds,
// K, M and G powers of 1024, and any integer is one.
func Unit(name string) (uint64, bool) {
	switch name {
	case "ns":
		return 1, true
	case "us":
		return 1e3, true
	case "ms":
		return 1e6, true
	case "s":
		return 1e9, true
	case "K":
		return 1 << 10, true
	case "M":
		return 1 << 20, true
	case "G":
		return 1 << 30, true
	}
	n, err := strconv.ParseUint(name, 10, 64)
	return n, err == nil && n > 0
}

// AppendFixed adds n divided by a unit, with digits behind the point, at most
// MaxDigits. Halves are rounded up.
// Floating point would show other digits from 2^53 nanoseconds on, which a clock reaches in 104
// days.
func AppendFixed(dst []byte, n, unit uint64, digits int) []byte {
	scale := uint64(1)
	for range digits {
		scale *= 10
	}
	whole, rest := n/unit, n%unit
	hi, lo := bits.Mul64(rest, scale)
	part, left := bits.Div64(hi, lo, unit) // rest < unit, so that the quotient is below scale
	if left >= unit-left {
		part++
	}
	if part == scale {
		whole, part = whole+1, 0
	}
	dst = strconv.AppendUint(dst, whole, 10)
	if digits <= 0 {
		return dst
	}
	dst = append(dst, '.')
	for scale /= 10; scale > part && scale > 1; scale /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, part, 10)
}

// Zero reports whether the text of a number is that of zero.
func Zero(digits []byte) bool {
	for _, c := range digits {
		if c != '0' && c != '.' {
			return false
		}
	}
	return true
}
