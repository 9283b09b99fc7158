package live

import (
	"strings"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Bound is an upper bound of the value of which a part of all values of a histogram are
// at most: "≤ 128 µs", the end of the bucket that holds it, "> 100" where the bucket has
// none, "–" if there are no values. It is never interpolated.
func Bound(h value.Hist, part float64, u view.Unit) string {
	b := rank(h, part)
	switch {
	case b == nil:
		return "–"
	case b.NoMax:
		return "> " + Amount(b.Low().Float(), u)
	}
	return "≤ " + Amount(u.Upper(b), u)
}

// bound is the number behind Bound, for putting rows in order.
func bound(h value.Hist, part float64) float64 {
	switch b := rank(h, part); {
	case b == nil:
		return -1
	case b.NoMax:
		return b.Low().Float()
	default:
		return b.High().Float()
	}
}

// rank is the bucket that holds the value of a rank, nil if there are no values.
func rank(h value.Hist, part float64) *value.Bucket {
	all := view.Count(h)
	seen, want := uint64(0), uint64(part*float64(all))
	// The rank is rounded up: half of three values are two.
	if float64(want) < part*float64(all) {
		want++
	}
	for i := range h.Buckets {
		if seen += h.Buckets[i].Count; seen > 0 && seen >= want {
			return &h.Buckets[i]
		}
	}
	return nil
}

// BucketName is where a bucket begins, as short as it can be said.
func BucketName(b *value.Bucket, u view.Unit) string {
	switch {
	case u != view.NoUnit && b.NoMin:
		return "< " + Amount(b.High().Float()+1, u)
	case u != view.NoUnit:
		return Amount(b.Low().Float(), u)
	case b.NoMin:
		return "< " + b.High().After()
	}
	// Labels have powers of two in short (1K), of which the beginning is taken.
	name, _, _ := strings.Cut(strings.Trim(b.Label, "[]()"), ",")
	return name
}

// Filled are the buckets from the first to the last that is not empty.
func Filled(buckets []value.Bucket) (from, to int) {
	from, to = 0, len(buckets)
	for from < to && buckets[from].Count == 0 {
		from++
	}
	for to > from && buckets[to-1].Count == 0 {
		to--
	}
	return from, to
}
