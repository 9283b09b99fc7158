package builtin

import (
	"cmp"
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A cell of tseries is a ring of intervals, each {i64 value; u64 meta; u64
// epoch}. The epoch is the number of the interval since 1970; meta is how many
// values an average is of, or when the last value came.
const (
	intervalBytes = 24
	metaAt        = 8
	epochAt       = 16
	// wholeSeries is up to how many intervals a series is one cell: a value of a
	// per-CPU map has at most 32 kB.
	wholeSeries  = 1300
	maxIntervals = 1_000_000
)

// A series keeps one of these of the values of an interval: types.Agg.Params[2].
const (
	keepLast int64 = iota
	keepSum
	keepAvg
	keepMin
	keepMax
)

var keeps = map[string]int64{"sum": keepSum, "avg": keepAvg, "min": keepMin, "max": keepMax}

var _ = defineAgg(Agg{
	Name: "tseries", Shows: view.Series, Unstable: "tseries", Whole: true,
	Params: []Param{{"n", Integer}, {"interval", IntLit}, {"count", IntLit}, {"of", StringLit}}, Min: 3,
	Doc: "A time series: the last value in each of the last `count` intervals of so many nanoseconds, or their " +
		"`\"sum\"`, `\"avg\"`, `\"min\"` or `\"max\"`. The times are those of the wall clock. A map with keys of " +
		"series of more than 1,300 intervals each has room for 262,144 intervals in all, and for as many as " +
		"`max_map_keys` if that is more.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @bytes = tseries(args.ret, 1s, 10, "sum"); }`,
	Check:   checkSeries,
	CellBytes: func(t *types.Agg) int {
		return intervalBytes * int(t.Params[1])
	},
	Update: updateSeries,
	Split: func(t *types.Agg) (parts, bytes int) {
		if t.Params[1] <= wholeSeries {
			return 0, 0
		}
		return int(t.Params[1]), intervalBytes
	},
	Part: func(g Gen, t *types.Agg) (*ir.Value, func(p, x *ir.Value)) {
		now, epoch, slot := seriesTime(g, t)
		return slot, func(p, x *ir.Value) { updateInterval(g, t, p, x, now, epoch) }
	},
	Fold: foldSeries,
	Show: func(t *types.Agg, cell []byte) value.Value { return showSeries(t, cell) },
})

// checkSeries yields the interval in nanoseconds, how many are kept, and what of each.
func checkSeries(c *Call) ([]int64, bool) {
	bad := func(i int, format string, args ...any) ([]int64, bool) {
		c.Errorf(c.Args[i], "bad-argument", format, args...)
		return []int64{1, 1, keepLast}, false
	}
	if len(c.Consts) < 3 {
		return bad(0, "tseries() expects an interval and a number of intervals")
	}
	interval, _ := c.Int(1)
	count, _ := c.Int(2)
	if interval < 1 {
		return bad(1, "tseries() interval must be >= 1 (%d provided)", interval)
	}
	if count < 1 || count > maxIntervals {
		return bad(2, "tseries() keeps 1 to %d intervals (%d provided)", maxIntervals, count)
	}
	keep := keepLast
	if of, ok := c.Str(3); ok {
		if keep, ok = keeps[of]; !ok {
			return bad(3, "tseries() expects one of \"avg\", \"max\", \"min\" and \"sum\", not %q", of)
		}
	}
	return []int64{interval, count, keep}, true
}

// seriesTime is the time, the number of its interval since 1970, and which
// interval of the ring that is.
// The distance of the wall clock from the boot clock is in shared data, where user space has
// written it.
func seriesTime(g Gen, t *types.Agg) (now, epoch, slot *ir.Value) {
	b := g.B()
	now = b.Arith(ir.Add, Helper(g, asm.FnKtimeGetBootNs), b.U64(b.Data(object.DataTAI), 0))
	epoch = b.Arith(ir.UDiv, now, Number(g, t.Params[0]))
	return now, epoch, b.Arith(ir.UMod, epoch, Number(g, t.Params[1]))
}

// updateSeries updates a series that is one cell.
func updateSeries(g Gen, t *types.Agg, p, x *ir.Value) {
	b := g.B()
	now, epoch, slot := seriesTime(g, t)
	slot = b.UMin(slot, t.Params[1]-1) // which the verifier does not know
	updateInterval(g, t, b.Arith(ir.Add, p, b.Mul(slot, intervalBytes)), x, now, epoch)
}

// updateInterval adds x to the interval at a place. A place whose epoch is another one holds an
// interval that the ring has come around to, which begins anew.
func updateInterval(g Gen, t *types.Agg, at, x, now, epoch *ir.Value) {
	b, keep := g.B(), t.Params[2]
	fresh := b.Arith(ir.Ne, b.U64(at, epochAt), epoch)
	set := func() {
		b.Store(at, 0, 8, x)
		b.Store(at, metaAt, 8, now)
		b.Store(at, epochAt, 8, epoch)
	}
	switch keep {
	case keepSum, keepAvg:
		g.Rarely(fresh, func() {
			b.Store(at, 0, 8, Number(g, 0))
			b.Store(at, metaAt, 8, Number(g, 0))
			b.Store(at, epochAt, 8, epoch)
		})
		b.AtomicAdd(at, 0, 8, x)
		b.AtomicAdd(at, metaAt, 8, Number(g, 1))
	case keepMin, keepMax:
		less := ir.ULt
		if t.Signed {
			less = ir.SLt
		}
		old := b.U64(at, 0)
		wins := b.Arith(less, x, old)
		if keep == keepMax {
			wins = b.Arith(less, old, x)
		}
		g.When(b.Arith(ir.Or, fresh, wins), set)
	default:
		set()
	}
}

// A reading is what a cell has of one interval.
type reading struct{ value, meta, epoch int64 }

// readingAt is interval i of a cell.
func readingAt(raw []byte, i int) reading {
	return reading{cell(raw, 3*i), cell(raw, 3*i+1), cell(raw, 3*i+2)}
}

// put writes a reading to interval i of a cell.
func (r reading) put(raw []byte, i int) {
	for word, v := range [...]int64{r.value, r.meta, r.epoch} {
		binary.LittleEndian.PutUint64(raw[intervalBytes*i+8*word:], uint64(v))
	}
}

// join adds what another cell has of the same interval. Of two last values of
// one nanosecond the larger is the last.
// It is symmetric, so that the order of CPUs does not matter.
func (r *reading) join(t *types.Agg, o reading) {
	larger := r.value < o.value
	if !t.Signed {
		larger = uint64(r.value) < uint64(o.value)
	}
	takes := false
	switch t.Params[2] {
	case keepSum, keepAvg:
		r.value += o.value
		r.meta += o.meta
	case keepMin:
		takes = !larger && (r.value != o.value || r.meta < o.meta)
	case keepMax:
		takes = larger || r.value == o.value && r.meta < o.meta
	default:
		takes = r.meta < o.meta || r.meta == o.meta && larger
	}
	if takes {
		*r = o
	}
}

// foldSeries joins the intervals of two cells. Of two that share a place in the
// ring the later one stays: the other is too old to be shown beside it.
func foldSeries(t *types.Agg, dst, src []byte) {
	for i := range min(len(dst), len(src)) / intervalBytes {
		into, from := readingAt(dst, i), readingAt(src, i)
		switch {
		case from.epoch == 0 || from.epoch < into.epoch:
			continue
		case from.epoch == into.epoch:
			into.join(t, from)
		default:
			into = from
		}
		into.put(dst, i)
	}
}

// showSeries is the last intervals of those in a cell, or in parts of one.
// Intervals that the ring has not come around to are older than the series is long, and are
// left out.
func showSeries(t *types.Agg, raw []byte) value.Series {
	interval, count := t.Params[0], int(t.Params[1])
	newest := int64(0)
	for i := range len(raw) / intervalBytes {
		newest = max(newest, readingAt(raw, i).epoch)
	}
	s := value.Series{Interval: interval, Count: count, Signed: t.Signed}
	for i := range len(raw) / intervalBytes {
		r := readingAt(raw, i)
		if r.epoch <= 0 || r.epoch <= newest-int64(count) {
			continue
		}
		if t.Params[2] == keepAvg && r.meta != 0 {
			if t.Signed {
				r.value /= r.meta
			} else {
				r.value = int64(uint64(r.value) / uint64(r.meta))
			}
		}
		s.Points = append(s.Points, value.Point{Epoch: r.epoch, Value: r.value})
	}
	order.By(s.Points, func(a, b value.Point) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return s
}
