package builtin

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Every cell belongs to one CPU. Updates are atomic additions all the same: a
// cell is also reached by a program that interrupts another one, and on an
// uncontended cache line the atomic costs nothing measurable.

// cell is word i of a cell; 0 if the map gave less, as of a part that was never written.
// Cells are little-endian, as all processors are that hawk knows.
func cell(raw []byte, i int) int64 {
	if len(raw) < 8*i+8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(raw[8*i:]))
}

// oneWord and twoWords are sizes of cells, in bytes.
func oneWord(*types.Agg) int  { return 8 }
func twoWords(*types.Agg) int { return 16 }

// integer is a reduced number in the map's sign.
func integer(t *types.Agg, n int64) value.Value {
	if t.Signed {
		return value.Int(n)
	}
	return value.Uint(uint64(n))
}

// addCell is acc.word += cell.word.
func addCell(g Gen, acc, from *ir.Value, word int) {
	b := g.B()
	sum := b.Arith(ir.Add, b.U64(acc, 8*word), b.U64(from, 8*word))
	b.Store(acc, 8*word, 8, sum)
}

// sumWords accumulates cells of which every word is added up.
// The program runs it for each CPU when a script reads a map of counts.
func sumWords(words int) func(g Gen, t *types.Agg, acc, from *ir.Value) {
	return func(g Gen, _ *types.Agg, acc, from *ir.Value) {
		for i := range words {
			addCell(g, acc, from, i)
		}
	}
}

// readWord is the first word of a cell.
func readWord(g Gen, _ *types.Agg, acc *ir.Value) *ir.Value { return g.B().U64(acc, 0) }

// foldWords adds a cell to another word by word.
// User space does by it what Accumulate does in the kernel.
func foldWords(_ *types.Agg, dst, src []byte) {
	for len(dst) >= 8 && len(src) >= 8 {
		sum := binary.LittleEndian.Uint64(dst) + binary.LittleEndian.Uint64(src)
		binary.LittleEndian.PutUint64(dst, sum)
		dst, src = dst[8:], src[8:]
	}
}

// showWord is the first word of a cell as a value.
func showWord(t *types.Agg, c []byte) value.Value { return integer(t, cell(c, 0)) }

// number is the parameter of most aggregations.
var number = []Param{{"n", Integer}}

var _ = defineAgg(Agg{
	Name: "count", Shows: view.Counter, Additive: true, Castable: true, Unsigned: true, CellBytes: oneWord,
	Doc:     "Counts how often it is called.",
	Instead: "count() counts events; values are added up by sum(x), and the elements of a map counted by len(@map)",
	Example: `tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }`,
	Update: func(g Gen, _ *types.Agg, p, _ *ir.Value) {
		g.B().AtomicAdd(p, 0, 8, Number(g, 1))
	},
	Accumulate: sumWords(1), Read: readWord, Fold: foldWords,
	Show: func(_ *types.Agg, c []byte) value.Value { return value.Uint(cell(c, 0)) },
})

var _ = defineAgg(Agg{
	Name: "sum", Shows: view.Counter, Additive: true, Params: number, Min: 1, Castable: true, CellBytes: oneWord,
	Doc:     "Adds up its argument.",
	Instead: "events are counted by count(); sum(x) adds up values",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @bytes[comm] = sum(args.ret); }`,
	Update: func(g Gen, _ *types.Agg, p, x *ir.Value) {
		g.B().AtomicAdd(p, 0, 8, x)
	},
	Accumulate: sumWords(1), Read: readWord, Fold: foldWords, Show: showWord,
})

// extreme defines min and max. A cell is {i64 value; u64 set}: without the second word a cell of
// zeroes could not be told from one whose smallest value is 0.
// Unlike sums, two extremes cannot be folded without knowing the sign.
func extreme(name, doc, example string, lower bool) {
	// less is x < y in the order that is to win.
	less := func(g Gen, t *types.Agg, x, y *ir.Value) *ir.Value {
		op := ir.ULt
		if t.Signed {
			op = ir.SLt
		}
		if lower {
			return g.B().Arith(op, x, y)
		}
		return g.B().Arith(op, y, x)
	}
	wins := func(t *types.Agg, x, y int64) bool {
		if !t.Signed {
			return (uint64(x) < uint64(y)) == lower && x != y
		}
		return (x < y) == lower && x != y
	}
	// keep stores x in the cell at p unless what is there wins.
	keep := func(g Gen, t *types.Agg, p, x *ir.Value) {
		b := g.B()
		// The two words are not stored in one go. A program that interrupts this one on the same
		// CPU may so lose to it: an extreme of two events at the same instant, of which either will
		// do.
		store := func() {
			b.Store(p, 0, 8, x)
			b.Store(p, 8, 8, Number(g, 1))
		}
		set := b.U64(p, 8)
		old := b.U64(p, 0)
		wanted := b.Arith(ir.Or, b.Eq(set, 0), less(g, t, x, old))
		g.When(wanted, store)
	}
	defineAgg(Agg{
		Name: name, Shows: view.Gauge, Params: number, Min: 1, Castable: true, CellBytes: twoWords, Doc: doc,
		Example: example,
		Update:  keep,
		Accumulate: func(g Gen, t *types.Agg, acc, from *ir.Value) {
			b := g.B()
			g.When(b.U64(from, 8), func() { keep(g, t, acc, b.U64(from, 0)) })
		},
		Read: readWord,
		// A cell that was never set adds nothing.
		Fold: func(t *types.Agg, dst, src []byte) {
			if len(src) >= 16 && len(dst) >= 16 && cell(src, 1) != 0 &&
				(cell(dst, 1) == 0 || wins(t, cell(src, 0), cell(dst, 0))) {
				copy(dst[:16], src)
			}
		},
		Show: func(t *types.Agg, c []byte) value.Value {
			if cell(c, 1) == 0 {
				return integer(t, 0)
			}
			return integer(t, cell(c, 0))
		},
	})
}

// The two differ in the direction of one comparison.
func init() {
	extreme("min", "Keeps the smallest argument.", "tracepoint:syscalls:sys_exit_read { @least[comm] = "+
		"min(args.ret); }", true)
	extreme("max", "Keeps the largest argument.", "tracepoint:syscalls:sys_exit_read { @most[comm] = "+
		"max(args.ret); }", false)
}

// updateTotal updates cells of avg and stats: {i64 total; u64 count}. The two additions are not
// one: a reader in between sees an event half counted.
// That is off by one event in a total, and gone when it is read again.
func updateTotal(g Gen, _ *types.Agg, p, x *ir.Value) {
	g.B().AtomicAdd(p, 0, 8, x)
	g.B().AtomicAdd(p, 8, 8, Number(g, 1))
}

var _ = defineAgg(Agg{
	Name: "avg", Shows: view.Summary, Additive: true, Params: number, Min: 1, Castable: true, CellBytes: twoWords,
	Update:     updateTotal,
	Doc:        "Averages its argument.",
	Example:    `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @bytes[comm] = avg(args.ret); }`,
	Accumulate: sumWords(2),
	Read: func(g Gen, t *types.Agg, acc *ir.Value) *ir.Value {
		b := g.B()
		// A cell that nothing was added to averages 0.
		total, count := b.U64(acc, 0), b.U64(acc, 8)
		return g.Choose(count, func() *ir.Value {
			if t.Signed {
				return b.Arith(ir.SDiv, total, count)
			}
			return b.Arith(ir.UDiv, total, count)
		}, func() *ir.Value { return Number(g, 0) })
	},
	Fold: foldWords,
	Show: func(t *types.Agg, c []byte) value.Value {
		return value.Avg{Total: cell(c, 0), Count: cell(c, 1), Signed: t.Signed}
	},
})

var _ = defineAgg(Agg{
	Name: "stats", Shows: view.Summary, Additive: true, Params: number, Min: 1, CellBytes: twoWords,
	Update:  updateTotal,
	Doc:     "Count, average and total of its argument.",
	Example: `tracepoint:syscalls:sys_exit_read / args.ret > 0 / { @bytes[comm] = stats(args.ret); }`,
	Fold:    foldWords,
	Show: func(t *types.Agg, c []byte) value.Value {
		return value.Stats{Total: cell(c, 0), Count: cell(c, 1), Signed: t.Signed}
	},
})

// histBuckets is the number of buckets of hist with 2^bits per power of two:
// one for negatives, one for each value below 2^bits, 2^bits for each power.
func histBuckets(bits int64) int { return 1 + (65-int(bits))<<bits }

// log2 is the position of the highest bit of v, 0 for 0, without a branch: with branches the
// verifier would walk what follows once for each outcome.
//
// Each step shifts by s if anything lies above bit s; -(v>>s)>>63 is 1 then, because v>>s is below
// 2^63.
// The machine has no instruction for it.
func log2(g Gen, v *ir.Value) *ir.Value {
	b := g.B()
	out := Number(g, 0)
	for _, k := range []int64{5, 4, 3, 2, 1, 0} {
		s := int64(1) << k
		r := b.LShr(v, s)
		r = b.LShr(b.Emit(ir.Neg, ir.I64, r), 63)
		r = b.Shl(r, k)
		out = b.Arith(ir.Add, out, r)
		v = b.Arith(ir.LShr, v, r)
	}
	return out
}

// histBucket is the number of the bucket that n falls into, which
// value.Log2Buckets names.
func histBucket(g Gen, t *types.Agg, n *ir.Value) *ir.Value {
	b, bits := g.B(), t.Params[0]
	positive := func() *ir.Value {
		return g.Choose(b.ULt(n, 1<<bits),
			func() *ir.Value { return b.Add(n, 1) },
			func() *ir.Value {
				p := b.Arith(ir.Sub, log2(g, n), Number(g, bits))
				if bits == 0 {
					return b.Add(p, 2)
				}
				major := b.Shl(b.Add(p, 1), bits)
				minor := b.And(b.Arith(ir.LShr, n, p), 1<<bits-1)
				return b.Add(b.Arith(ir.Add, major, minor), 1)
			})
	}
	if !t.Signed {
		return positive()
	}
	return g.Choose(b.SLt(n, 0), func() *ir.Value { return Number(g, 0) }, positive)
}

// histogramBytes is the size of a cell of n buckets.
// The sum stands behind the buckets.
func histogramBytes(t *types.Agg, n int) int {
	if t.Sum {
		n++
	}
	return 8 * n
}

// enter counts the value x in one of n buckets.
// The sum is kept only where a file format shows it.
func enter(g Gen, t *types.Agg, p, bucket, x *ir.Value, n int) {
	bump(g, p, bucket, n)
	if t.Sum {
		g.B().AtomicAdd(p, 8*n, 8, x)
	}
}

// bump adds one to a bucket. The bound is a fact that the verifier cannot derive for itself: it would
// have to know that log2 is at most 63.
func bump(g Gen, p, bucket *ir.Value, n int) {
	b := g.B()
	at := b.Arith(ir.Add, p, b.Shl(b.UMin(bucket, int64(n-1)), 3))
	b.AtomicAdd(at, 0, 8, Number(g, 1))
}

var _ = defineAgg(Agg{
	Name: "hist", Shows: view.Histogram, Additive: true, Whole: true,
	Params: []Param{{"n", Integer}, {"bits", IntLit}}, Min: 1,
	Doc:     "A histogram by powers of two; `bits` (0 to 5) splits each power into 2^bits buckets.",
	Example: `tracepoint:syscalls:sys_exit_read { @bytes = hist(args.ret); }`,
	Check: func(c *Call) ([]int64, bool) {
		bits, ok := c.Int(1)
		if len(c.Args) > 1 && ok && (c.Consts[1].Neg || bits > 5) {
			c.Errorf(c.Args[1], "bad-argument", "hist: bits %d must be 0..5", bits)
			return []int64{0}, false
		}
		return []int64{bits}, true
	},
	CellBytes: func(t *types.Agg) int { return histogramBytes(t, histBuckets(t.Params[0])) },
	Update: func(g Gen, t *types.Agg, p, x *ir.Value) {
		enter(g, t, p, histBucket(g, t, x), x, histBuckets(t.Params[0]))
	},
	Fold: foldWords,
	Empty: func(t *types.Agg) value.Hist {
		bits := t.Params[0]
		return value.Hist{Buckets: value.Log2Buckets(int(bits), make([]uint64, histBuckets(bits)))}
	},
})

// lhistBuckets is the number of buckets of lhist: one below, one above, and one for each step.
// Its Check bounds the number, and keeps step from being 0.
func lhistBuckets(params []int64) int { return int((params[1]-params[0])/params[2]) + 2 }

var _ = defineAgg(Agg{
	Name: "lhist", Shows: view.Histogram, Additive: true, Whole: true,
	Params: []Param{{"n", Integer}, {"min", IntLit}, {"max", IntLit}, {"step", IntLit}}, Min: 4,
	Doc:     "A histogram of equal steps from min to max.",
	Example: `tracepoint:syscalls:sys_exit_read { @bytes = lhist(args.ret, 0, 4096, 256); }`,
	Check: func(c *Call) ([]int64, bool) {
		lo, _ := c.Int(1)
		hi, _ := c.Int(2)
		step, _ := c.Int(3)
		bad := func(i int, format string, args ...any) ([]int64, bool) {
			c.Errorf(c.Args[i], "bad-argument", format, args...)
			return []int64{0, 1, 1}, false
		}
		for i := 1; i < 4; i++ {
			if c.Consts[i].Neg {
				return bad(i, "lhist: invalid %s value (must be non-negative literal)",
					[...]string{1: "min", "max", "step"}[i])
			}
		}
		switch {
		case step < 1:
			return bad(3, "lhist() step must be >= 1 (%d provided)", step)
		case hi <= lo:
			return bad(2, "lhist() min must be less than max (provided min %d and max %d)", lo, hi)
		case step > hi-lo:
			return bad(3, "lhist() step is too large for the given range (provided step %d for range %d)", step, hi-lo)
		// A cell has 8 bytes for each bucket, on every CPU.
		case (hi-lo)/step > 1000:
			return bad(3, "lhist() too many buckets, must be <= 1000 (would need %d)", (hi-lo)/step)
		}
		return []int64{lo, hi, step}, true
	},
	CellBytes: func(t *types.Agg) int { return histogramBytes(t, lhistBuckets(t.Params)) },
	// min is in the first step; max itself counts as above the last one.
	Update: func(g Gen, t *types.Agg, p, x *ir.Value) {
		b := g.B()
		lo, hi, step := t.Params[0], t.Params[1], t.Params[2]
		less := ir.ULt
		if t.Signed {
			less = ir.SLt
		}
		last := int64(lhistBuckets(t.Params) - 1)
		bucket := g.Choose(b.Arith(less, x, Number(g, lo)),
			func() *ir.Value { return Number(g, 0) },
			func() *ir.Value {
				return g.Choose(b.Arith(less, Number(g, hi), x),
					func() *ir.Value { return Number(g, last) },
					func() *ir.Value {
						above := b.Arith(ir.Sub, x, Number(g, lo))
						return b.Add(b.Arith(ir.UDiv, above, Number(g, step)), 1)
					})
			})
		enter(g, t, p, bucket, x, int(last)+1)
	},
	Fold: foldWords,
	Empty: func(t *types.Agg) value.Hist {
		counts := make([]uint64, lhistBuckets(t.Params))
		return value.Hist{Buckets: value.LinearBuckets(t.Params[0], t.Params[1], t.Params[2], counts), Linear: true}
	},
})

// Whole reports whether t is an aggregation that only a map as a whole can show.
func Whole(t types.Type) (agg *types.Agg, whole bool) {
	agg, ok := t.(*types.Agg)
	return agg, ok && aggs[agg.Kind].Whole
}

// Travels is the type as which a value of type t is sent to user space: an
// aggregation that reads as an integer is read in the probe.
// Whatever prints or sends a value asks it first.
func Travels(t types.Type) types.Type {
	agg, ok := t.(*types.Agg)
	if !ok {
		return t
	}
	if kind := aggs[agg.Kind]; kind.Castable {
		return types.IntOf(8, agg.Signed && !kind.Unsigned)
	}
	return t
}
