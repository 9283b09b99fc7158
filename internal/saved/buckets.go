package saved

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A bound is where a bucket begins and ends.
type bound struct {
	min, max               int64
	noMin, noMax, unsigned bool
}

// boundOf is where a bucket begins and ends.
func boundOf(b *value.Bucket) bound { return bound{b.Min, b.Max, b.NoMin, b.NoMax, b.Unsigned} }

// unnamed is a bucket between the bounds, without a label.
func (b bound) unnamed() value.Bucket {
	return value.Bucket{Min: b.min, Max: b.max, NoMin: b.noMin, NoMax: b.noMax, Unsigned: b.unsigned}
}

// bucket is the row of a histogram between the bounds, with the label that text has.
func (b bound) bucket(count uint64) value.Bucket {
	out := b.unnamed()
	out.Count = count
	low, high := out.Low(), out.High()
	switch {
	case b.noMin:
		// Bounds in the file are the least and the largest value; labels name the end behind it.
		out.Label = fmt.Sprintf("(..., %s)", high.After())
	case b.noMax:
		out.Label = fmt.Sprintf("[%s, ...)", low)
	case b.min == b.max:
		out.Label = fmt.Sprintf("[%s]", low)
	default:
		out.Label = fmt.Sprintf("[%s, %s)", low, high.After())
	}
	return out
}

// compare orders buckets by where they begin.
func (b bound) compare(c bound) int {
	one, other := b.unnamed(), c.unnamed()
	return cmp.Or(one.Low().Compare(other.Low()), one.High().Compare(other.High()))
}

// evenBuckets finds the buckets that the histograms of a map have in common: those that hold
// nothing are not in the file.
func (r *reader) evenBuckets() error {
	r.run.buckets = map[*view.Map][]bound{}
	for m, bounds := range r.bounds {
		r.run.buckets[m] = order.Sorted(maps.Keys(bounds), bound.compare)
	}
	for _, item := range r.run.items {
		// Play makes one item at a time, so that each has the whole room.
		if m, rows := rowsOf(item); m != nil && rows.Len()*len(r.run.buckets[m])*bucketRoom > maxRoom {
			return errRoom
		}
	}
	return nil
}

// rowsOf are the rows that an item has of a map.
func rowsOf(item view.Item) (*view.Map, view.Rows) {
	switch it := item.(type) {
	case view.Snapshot:
		return it.Map, it.Rows
	case view.Mark:
		return it.Map, it.Rows
	}
	return nil, view.Rows{}
}

// even is an item whose histograms have all buckets of their map. Only one is made so at a time:
// together they may take far more memory than the file.
func (r *Run) even(item view.Item) view.Item {
	m, rows := rowsOf(item)
	all := r.buckets[m]
	if all == nil {
		return item
	}
	list := rows.List()
	for i := range list {
		h, ok := list[i].Value.(value.Hist)
		if !ok {
			continue
		}
		full := make([]value.Bucket, len(all))
		for k, b := range all {
			full[k] = b.bucket(0)
		}
		for _, b := range h.Buckets {
			// Bounds of all buckets were collected as they were read: each one is found.
			k, _ := slices.BinarySearchFunc(all, boundOf(&b), bound.compare)
			full[k].Count = b.Count
		}
		list[i].Value = value.Hist{Buckets: full, Sum: h.Sum}
	}
	rows = view.RowsOf(list)
	switch it := item.(type) {
	case view.Snapshot:
		it.Rows = rows
		item = it
	case view.Mark:
		it.Rows = rows
		item = it
	}
	return item
}
