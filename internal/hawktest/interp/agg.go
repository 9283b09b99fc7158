package interp

import (
	"math/bits"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A cell is the state of one aggregation. There is one for all CPUs. hawk has one for each CPU
// and joins them when it reads; a script of begin and end probes cannot tell.
type cell struct {
	total, count int64
	best         uint64
	buckets      map[int]uint64
}

// update takes one argument. The total and the count are kept for every kind, since avg and
// stats need both and min and max the count alone, to tell the first value.
func (c *cell) update(t *types.Agg, x uint64) {
	switch t.Kind {
	case "min":
		if c.count == 0 || less(x, c.best, t.Signed) {
			c.best = x
		}
	case "max":
		if c.count == 0 || less(c.best, x, t.Signed) {
			c.best = x
		}
	case "hist", "lhist":
		if c.buckets == nil {
			c.buckets = map[int]uint64{}
		}
		if t.Kind == "hist" {
			c.buckets[log2Bucket(x, int(t.Params[0]), t.Signed)]++
		} else {
			c.buckets[linearBucket(x, t)]++
		}
	}
	c.total += int64(x)
	c.count++
}

// log2Bucket has 2^k buckets to a power of two, as hist(x, k) does. Bucket 0 is for negative
// values, and values below 2^k have one each. It is written from the manual and shares nothing
// with the code under test.
func log2Bucket(x uint64, k int, signed bool) int {
	if signed && int64(x) < 0 {
		return 0
	}
	if x < 1<<k {
		return int(x) + 1
	}
	p := bits.Len64(x) - 1
	return 1 + (p-k+1)<<k + int(x>>(p-k)&(1<<k-1))
}

// linearBucket counts what is below the bounds in bucket 0 and what is above them in the last
// one.
func linearBucket(x uint64, t *types.Agg) int {
	low, high, step := t.Params[0], t.Params[1], t.Params[2]
	switch {
	case less(x, uint64(low), t.Signed):
		return 0
	case less(uint64(high), x, t.Signed):
		return 1 + int((high-low)/step)
	}
	return 1 + int((int64(x)-low)/step)
}

// average truncates toward zero and is 0 of nothing.
func (c *cell) average(signed bool) uint64 {
	switch {
	case c.count == 0:
		return 0
	case signed:
		return uint64(c.total / c.count)
	}
	return uint64(c.total) / uint64(c.count)
}

// read is the integer that an aggregation reads as.
func (c *cell) read(t *types.Agg) uint64 {
	switch t.Kind {
	case "count":
		return uint64(c.count)
	case "sum":
		return uint64(c.total)
	case "min", "max":
		return c.best
	case "avg":
		return c.average(t.Signed)
	}
	// Kinds that have no integer value are refused by the checker, so that this is a hole in one
	// of both.
	fail("reading a %s", t)
	return 0
}

// shown is the value that print writes for a cell.
func (c *cell) shown(t *types.Agg) value.Value {
	switch t.Kind {
	case "stats":
		return value.Stats{Total: c.total, Count: c.count, Signed: t.Signed}
	case "hist":
		k := int(t.Params[0])
		return value.Hist{Buckets: value.Log2Buckets(k, c.cells(1+(65-k)<<k))}
	case "lhist":
		low, high, step := t.Params[0], t.Params[1], t.Params[2]
		return value.Hist{Buckets: value.LinearBuckets(low, high, step, c.cells(int((high-low)/step)+2)), Linear: true}
	}
	return shown(c.read(t), types.IntOf(8, t.Signed))
}

// cells lists all buckets in the order of their numbers, as the kernel's array has them.
func (c *cell) cells(n int) []uint64 {
	out := make([]uint64, n)
	for i, count := range c.buckets {
		out[i] = count
	}
	return out
}
