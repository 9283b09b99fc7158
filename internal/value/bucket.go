package value

import "strconv"

// Log2Buckets names the buckets of a hist with 2^bits buckets per power of two.
// cells[0] counts negatives, cells[1] zeros; each power of two from 2^bits on
// is split into 2^bits cells of equal width, as log2Bound has them.
func Log2Buckets(bits int, cells []uint64) []Bucket {
	out := make([]Bucket, len(cells))
	room := make([]byte, 0, 32)
	for i, n := range cells {
		b := &out[i]
		b.Count = n
		if i == 0 {
			b.Label, b.NoMin, b.Max = "(..., 0)", true, -1
			continue
		}
		low, step := log2Bound(bits, i-1)
		b.Min, b.Max, b.Unsigned = int64(low), int64(low+(1<<step)-1), low >= 1<<63
		if step == 0 {
			b.Label = "[" + strconv.FormatUint(low, 10) + "]"
			continue
		}
		room = append(room[:0], '[')
		room = appendLog2Bound(room, bits, i-1)
		room = append(room, ", "...)
		room = appendLog2Bound(room, bits, i)
		b.Label = string(append(room, ')'))
	}
	return out
}

// log2Bound is the lower bound of bucket i of those for numbers from 0, and
// the power of two that is its width.
func log2Bound(bits, i int) (low uint64, step int) {
	if i < 1<<bits {
		return uint64(i), 0
	}
	step = i>>bits - 1
	return uint64(1<<bits+i&(1<<bits-1)) << step, step
}

const units = "\x00KMGTPE"

// appendLog2Bound writes a lower bound with the unit that the width of its
// bucket calls for: 1024 stays 1024 while buckets are narrower than 1024.
func appendLog2Bound(dst []byte, bits, i int) []byte {
	if i < 1<<bits {
		return strconv.AppendInt(dst, int64(i), 10)
	}
	step := i>>bits - 1
	dst = strconv.AppendUint(dst, uint64(1<<bits+i&(1<<bits-1))<<(step%10), 10)
	if unit := min(step/10, len(units)-1); unit > 0 {
		dst = append(dst, units[unit])
	}
	return dst
}

// LinearBuckets names the buckets of an lhist: cells[0] counts what is below
// low, the last one what is at or above the last boundary.
func LinearBuckets(low, high, step int64, cells []uint64) []Bucket {
	out := make([]Bucket, len(cells))
	if step < 1 || high < low {
		return out
	}
	// One cell is below the range and one above; a last bucket that step does not fill counts
	// as above.
	last := int((high-low)/step) + 1
	bound := func(i int) string { return linearBound(low+int64(i)*step, step) }
	for i, n := range cells {
		b := &out[i]
		b.Count = n
		switch {
		case i == 0:
			b.Label, b.NoMin, b.Max = "(..., "+bound(0)+")", true, low-1
		case i >= last:
			b.Label, b.NoMax, b.Min = "["+bound(last-1)+", ...)", true, low+int64(last-1)*step
		default:
			b.Min, b.Max = low+int64(i-1)*step, low+int64(i)*step-1
			if step == 1 {
				b.Label = "[" + bound(i-1) + "]"
			} else {
				b.Label = "[" + bound(i-1) + ", " + bound(i) + ")"
			}
		}
	}
	return out
}

// linearBound writes a bound in binary units if all bounds can have one.
func linearBound(v, step int64) string {
	if step%1024 == 0 && v != 0 {
		switch {
		case v%(1<<20) == 0:
			return strconv.FormatInt(v>>20, 10) + "M"
		case v%1024 == 0:
			return strconv.FormatInt(v>>10, 10) + "K"
		}
	}
	return strconv.FormatInt(v, 10)
}
