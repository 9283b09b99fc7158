package view

import (
	"cmp"
	"slices"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// Rows are the elements of a map, in no order. The zero value has none. They stay as they are.
//
// A map may have millions, each of which would be several pieces of memory as values. So they may be kept otherwise,
// and a row is made when it is looked at.
type Rows struct {
	_  [0]func() // two of them cannot be compared
	of Elements
}

// Elements are rows, however they are kept.
type Elements interface {
	Len() int
	Row(i int) Row
	// CompareKeys orders two of them by their keys.
	CompareKeys(i, j int) int
}

// A list has rows as such.
type list struct{ rows []Row }

func (l *list) Len() int      { return len(l.rows) }
func (l *list) Row(i int) Row { return l.rows[i] }

// CompareKeys puts the row of others last, which has no key to be compared by.
func (l *list) CompareKeys(i, j int) int {
	a, b := &l.rows[i], &l.rows[j]
	if a.Key == nil || b.Key == nil || a.Others != b.Others {
		return int(a.Others - b.Others)
	}
	return value.Compare(a.Key, b.Key)
}

// RowsOf are the rows of a list, which must stay as it is.
func RowsOf(l []Row) Rows { return RowsFrom(&list{l}) }

// RowsFrom are the rows that elements make.
func RowsFrom(e Elements) Rows { return Rows{of: e} }

// Len is how many there are.
func (r Rows) Len() int {
	if r.of == nil {
		return 0
	}
	return r.of.Len()
}

// At makes row i.
func (r Rows) At(i int) Row { return r.of.Row(i) }

// List is a list of all of them, which is the caller's.
func (r Rows) List() []Row {
	out := make([]Row, r.Len())
	for i := range out {
		out[i] = r.At(i)
	}
	return out
}

// An Order is one of rows.
type Order uint8

// Orders say what comes first. Rows that weigh the same are in the order of their keys.
const (
	ByKey         Order = iota // the least key
	ByWeight                   // what weighs most
	ByWeightApart              // what weighs most, and what stands for others behind all of that
)

// Arrange are the numbers of rows in an order; weigh is for those by weight.
func (r Rows) Arrange(by Order, weigh func(value.Value) int64) []int32 {
	pairs := make([]order.Pair, r.Len())
	for i := range pairs {
		pairs[i].Key = uint64(i)
		if by != ByKey {
			row := r.At(i)
			// The heaviest has the least number; that of others is above all.
			if pairs[i].Value = ^(uint64(weigh(row.Value)) ^ 1<<63); by == ByWeightApart && row.Others > 0 {
				pairs[i].Value = 1<<64 - 1
			}
		}
	}
	slices.SortFunc(pairs, func(a, b order.Pair) int {
		if c := cmp.Compare(a.Value, b.Value); c != 0 {
			return c
		}
		return cmp.Or(r.of.CompareKeys(int(a.Key), int(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	out := make([]int32, len(pairs))
	for i := range pairs {
		out[i] = int32(pairs[i].Key)
	}
	return out
}
