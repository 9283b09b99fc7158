package output

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/hawktrace/hawk/internal/value"
)

// Columns of a histogram row.
const (
	labelWidth = 16
	countWidth = 8
	barWidth   = 52
)

// filled is the part of a histogram that is shown: from the first to the last
// bucket that is not empty. Which they are, the divisor does not change.
func filled(h value.Hist) []value.Bucket {
	buckets := h.Buckets
	first, last := 0, len(buckets)-1
	for first <= last && buckets[first].Count == 0 {
		first++
	}
	for last > first && buckets[last].Count == 0 {
		last--
	}
	buckets = buckets[first : last+1]
	if h.Div > 1 {
		buckets = slices.Clone(buckets)
		for i := range buckets {
			buckets[i].Count /= h.Div
		}
	}
	return buckets
}

// appendHistogram draws the rows, each ending in a newline.
// Widths and rounding are the reference's, to the byte. A label that is longer than its column
// moves its row to the right.
func appendHistogram(dst []byte, h value.Hist) []byte {
	rows := filled(h)
	var most uint64 = 1
	for i := range rows {
		most = max(most, rows[i].Count)
	}
	for i := range rows {
		b := &rows[i]
		dst = append(dst, b.Label...)
		dst = appendBytes(dst, ' ', labelWidth-len(b.Label))
		start := len(dst)
		dst = strconv.AppendUint(dst, b.Count, 10)
		dst = alignRight(dst, start, countWidth)
		dst = append(dst, " |"...)
		// floor(52 * count / most), which may need more than 64 bits
		hi, lo := bits.Mul64(barWidth, b.Count)
		bar, _ := bits.Div64(hi, lo, most)
		dst = appendBytes(dst, '@', int(bar))
		dst = appendBytes(dst, ' ', barWidth-int(bar))
		dst = append(dst, "|\n"...)
	}
	return dst
}

// appendBytes appends a byte n times.
func appendBytes(dst []byte, b byte, n int) []byte {
	for range n {
		dst = append(dst, b)
	}
	return dst
}

// alignRight moves dst[start:] to the right end of a column of some width.
// Text is moved in place, as numbers are written before their width is known.
func alignRight(dst []byte, start, width int) []byte {
	n := width - (len(dst) - start)
	if n <= 0 {
		return dst
	}
	dst = appendBytes(dst, ' ', n)
	copy(dst[start+n:], dst[start:len(dst)-n])
	for i := range n {
		dst[start+i] = ' '
	}
	return dst
}

// AppendValue appends a value as it is printed by itself. Histograms and series are
// drawn; they begin in a line of their own.
// Views of a running script draw single values by it.
func AppendValue(dst []byte, v value.Value) []byte {
	switch v := v.(type) {
	case value.Hist:
		return appendHistogram(dst, v)
	case value.Series:
		return appendSeries(dst, v, newestEpoch(v))
	case nil:
		return dst
	}
	return value.AppendText(dst, v)
}
