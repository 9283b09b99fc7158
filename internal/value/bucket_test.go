package value

import (
	"cmp"
	"math"
	"math/bits"
	"strconv"
	"testing"
)

func TestLog2Labels(t *testing.T) {
	for _, c := range []struct {
		bits, i int
		label   string
	}{
		{0, 0, "(..., 0)"}, {0, 1, "[0]"}, {0, 2, "[1]"}, {0, 3, "[2, 4)"}, {0, 11, "[512, 1K)"}, {0, 12, "[1K, 2K)"},
		{0, 21, "[512K, 1M)"}, {0, 22, "[1M, 2M)"}, {0, 32, "[1G, 2G)"}, {0, 64, "[4E, 8E)"}, {0, 65, "[8E, 16E)"},
		{2, 1, "[0]"}, {2, 8, "[7]"}, {2, 9, "[8, 10)"}, {2, 12, "[14, 16)"}, {2, 13, "[16, 20)"},
		{2, 28, "[224, 256)"}, {2, 37, "[1024, 1280)"}, {2, 44, "[3584, 4K)"}, {2, 45, "[4K, 5K)"},
	} {
		b := Log2Buckets(c.bits, make([]uint64, 70))[c.i]
		if b.Label != c.label {
			t.Errorf("bits %d, bucket %d: %q, want %q", c.bits, c.i, b.Label, c.label)
		}
	}
}

// bucketOf is the numbering from a value to its bucket.
func bucketOf(n uint64, k int) int {
	if n < 1<<k {
		return int(n) + 1
	}
	p := bits.Len64(n) - 1
	return 1 + (p-k+1)<<k + int(n>>(p-k)&(1<<k-1))
}

func TestLog2Bounds(t *testing.T) {
	for k := range 6 {
		buckets := Log2Buckets(k, make([]uint64, 1+(65-k)<<k))
		for p := range 64 {
			for _, n := range []uint64{1<<p - 1, 1 << p, 1<<p + 1, 1<<p | 1<<p>>1} {
				b := buckets[bucketOf(n, k)]
				if n < uint64(b.Min) || n > uint64(b.Max) {
					t.Errorf("bits %d: %d is not in [%d, %d]", k, n, uint64(b.Min), uint64(b.Max))
				}
			}
		}
		if last := buckets[len(buckets)-1]; uint64(last.Max) != math.MaxUint64 || !last.Unsigned {
			t.Errorf("bits %d: the last bucket ends at %d", k, uint64(last.Max))
		}
	}
}

func TestLinearLabels(t *testing.T) {
	for _, c := range []struct {
		low, high, step int64
		want            []string
	}{
		{0, 40, 10, []string{"(..., 0)", "[0, 10)", "[10, 20)", "[20, 30)", "[30, 40)", "[40, ...)"}},
		{0, 33, 10, []string{"(..., 0)", "[0, 10)", "[10, 20)", "[20, 30)", "[30, ...)"}},
		{2, 5, 1, []string{"(..., 2)", "[2]", "[3]", "[4]", "[5, ...)"}},
		{0, 4096, 2048, []string{"(..., 0)", "[0, 2K)", "[2K, 4K)", "[4K, ...)"}},
		{1 << 20, 2 << 20, 512 << 10, []string{"(..., 1M)", "[1M, 1536K)", "[1536K, 2M)", "[2M, ...)"}},
		{5, 2053, 1024, []string{"(..., 5)", "[5, 1029)", "[1029, 2053)", "[2053, ...)"}},
	} {
		got := LinearBuckets(c.low, c.high, c.step, make([]uint64, len(c.want)))
		for i, b := range got {
			if b.Label != c.want[i] {
				t.Errorf("lhist(%d, %d, %d): bucket %d is %q, want %q", c.low, c.high, c.step, i, b.Label, c.want[i])
			}
		}
		last := len(got) - 1
		if !got[0].NoMin || got[0].Max != c.low-1 || !got[last].NoMax || got[1].Min != c.low ||
			got[last].Min != got[last-1].Max+1 {
			t.Errorf("lhist(%d, %d, %d): bounds %+v", c.low, c.high, c.step, got)
		}
	}
}

// TestBounds puts bounds of buckets in order from the least number with a sign to the largest without one.
func TestBounds(t *testing.T) {
	all := []Bound{NewBound(math.MinInt64, false), NewBound(-1, false), NewBound(0, true),
		NewBound(math.MaxInt64, true), NewBound(math.MinInt64, true), NewBound(-1, true)}
	names := []string{"-9223372036854775808", "-1", "0", "9223372036854775807", "9223372036854775808",
		"18446744073709551615"}
	after := []string{"-9223372036854775807", "0", "1", "9223372036854775808", "9223372036854775809",
		"18446744073709551616"}
	for i, b := range all {
		for k, c := range all {
			if got := b.Compare(c); got != cmp.Compare(i, k) {
				t.Errorf("%s and %s compare as %d", b, c, got)
			}
		}
		if b.String() != names[i] || b.After() != after[i] {
			t.Errorf("%s with %s behind it, want %s and %s", b, b.After(), names[i], after[i])
		}
		if n, _ := strconv.ParseFloat(names[i], 64); b.Float() != n {
			t.Errorf("%s is %v", b, b.Float())
		}
	}
	open := Bucket{NoMin: true, NoMax: true}
	if open.Low() != all[0] || open.High() != all[5] {
		t.Errorf("a bucket without bounds is from %s to %s", open.Low(), open.High())
	}
}
