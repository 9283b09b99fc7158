// Package value holds what a traced program's data looks like once it has
// reached user space, and how it reads as text and JSON. Writers know these
// kinds and nothing of builtins or kernels.
package value

import (
	"time"

	"github.com/hawktrace/hawk/internal/types"
)

// A Value is a decoded value. The concrete types are below.
// Values are not changed once they are made: items that hold them go to several sinks.
type Value interface{ value() }

type (
	// Null is the absence of a value.
	Null struct{}
	// Int is a signed integer.
	Int int64
	// Uint is an unsigned integer.
	Uint uint64
	// Bool is true or false.
	Bool bool
	// Enum is an enumerator: Name is "" for a number without one.
	Enum struct {
		Name  string
		Value int64
	}
	// Pointer is an address.
	Pointer uint64
	// Str is a string's bytes up to its NUL, with the truncation trailer
	// already appended where it applies.
	Str []byte
	// Chars is an array of bytes that is shown as the text it begins with: Shown has that text as
	// Str has its own, All every byte. Signed says that the bytes are numbers with a sign.
	Chars struct {
		Shown  Str
		All    []byte
		Signed bool
	}
	// Unread is what is shown of a string that could not be read.
	Unread string
	// Buffer is the result of buf().
	Buffer []byte
	// Text is what a deferred value came to: the address of a host, a path.
	Text string
	// Symbol is the name of what an address lies in, with the address.
	Symbol struct {
		Name string
		Addr uint64
	}
	// Moment is a point in time with its text by a format of the script.
	Moment struct {
		Text string
		At   time.Time
	}
	// Words is the arguments of a program; Cut says that there were more.
	Words struct {
		Words []string
		Cut   bool
	}
	// Formatted is what a format of the script came to.
	Formatted string
	// Tuple is a sequence.
	Tuple []Value
	// Array is a sequence of equals.
	Array []Value
	// Record has named fields; structs decode to it too.
	Record struct {
		Names  []string
		Values []Value
	}
	// Avg is a sum and a count that prints as their quotient.
	Avg struct {
		Total, Count int64
		Signed       bool
	}
	// Stats prints count, average and total.
	Stats struct {
		Total, Count int64
		Signed       bool
	}
	// Hist is a histogram: all buckets of its layout in ascending order.
	Hist struct {
		Buckets []Bucket
		Linear  bool   // lhist: print's divisor does not apply
		Sum     Value  // of all values, an Int or a Uint; nil: it was not kept
		Div     uint64 // print's divisor: counts are shown divided by it, unless it is 0
	}
	// Series is a time series, in ascending order of intervals; intervals
	// without data are left out.
	Series struct {
		Interval int64 // nanoseconds
		Count    int   // how many intervals are shown at most
		Signed   bool
		Points   []Point
	}
)

// A Point is the value of one interval of a Series. The interval starts at
// Epoch times the length of an interval, in nanoseconds since 1970.
type Point struct {
	Epoch, Value int64
}

// A Bucket is a row of a histogram.
type Bucket struct {
	Label    string // "[2, 4)", as printed in text
	Min, Max int64  // inclusive bounds for JSON
	NoMin    bool   // below-range bucket
	NoMax    bool   // above-range bucket
	Unsigned bool   // Min and Max are bits of unsigned numbers
	Count    uint64
}

func (Null) value()      {}
func (Int) value()       {}
func (Uint) value()      {}
func (Bool) value()      {}
func (Enum) value()      {}
func (Pointer) value()   {}
func (Str) value()       {}
func (Chars) value()     {}
func (Unread) value()    {}
func (Buffer) value()    {}
func (Text) value()      {}
func (Words) value()     {}
func (Formatted) value() {}
func (Symbol) value()    {}
func (Moment) value()    {}
func (*Stack) value()    {}
func (Tuple) value()     {}
func (Array) value()     {}
func (Record) value()    {}
func (Avg) value()       {}
func (Stats) value()     {}
func (Hist) value()      {}
func (Series) value()    {}

// Env gives meaning to values that travel raw. It is implemented by package
// run, from the builtin registry; a nil Env is allowed where no value needs it.
type Env interface {
	// Deferred renders raw bytes of a deferred type.
	Deferred(t *types.Deferred, raw []byte) Value
	// Agg reads a cell that an aggregation's cells were merged to.
	Agg(t *types.Agg, cell []byte) Value
	// Stack makes a captured stack; see types.Stack for the raw layout.
	Stack(t *types.Stack, raw []byte) Value
	// Trailer is appended to strings that were cut.
	Trailer() string
	// Unreadable is shown in place of strings that could not be read.
	Unreadable() string
}

// Integer is the number that a value is, negative ones by their two's complement.
func Integer(v Value) (n uint64, negative, ok bool) {
	switch v := v.(type) {
	case Int:
		return uint64(v), v < 0, true
	case Uint:
		return uint64(v), false, true
	case Pointer:
		return uint64(v), false, true
	case Enum:
		return uint64(v.Value), v.Value < 0, true
	case Bool:
		if v {
			return 1, false, true
		}
		return 0, false, true
	}
	return 0, false, false
}
