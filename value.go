package hawk

import (
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"time"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/unpack"
	"github.com/hawktrace/hawk/internal/value"
)

// A Value is a value of the script. The zero Value is "absent".
type Value struct {
	t     types.Type
	v     value.Value
	plans *unpack.Plans // of its program; nil: each Decode makes its own
}

// Type is the type in the script.
func (v Value) Type() Type { return Type{t: v.t} }

// Int64 is the value of an integer, an enumerator or a pointer. Of a symbol it is the
// address. False: it is none, or too large.
func (v Value) Int64() (int64, bool) {
	n, negative, ok := unpack.Integer(v.v)
	return int64(n), ok && (negative || n <= math.MaxInt64)
}

// Uint64 is Int64 for unsigned numbers; false: it is negative, too.
func (v Value) Uint64() (uint64, bool) {
	n, negative, ok := unpack.Integer(v.v)
	return n, ok && !negative
}

// String is the value as the command prints it.
func (v Value) String() string { return string(output.AppendValue(nil, v.v)) }

// Len is how many parts a tuple, record, struct, array or histogram has.
func (v Value) Len() int {
	switch x := v.v.(type) {
	case value.Hist:
		return len(x.Buckets)
	case value.Series:
		return len(x.Points)
	}
	return len(unpack.Parts(v.v))
}

// At is part i. It panics if there is no such part, as an index does; of a histogram
// it is the count of a bucket.
func (v Value) At(i int) Value {
	switch x := v.v.(type) {
	case value.Hist:
		return Value{t: types.Uint64, v: value.Uint(x.Buckets[i].Count)}
	case value.Series:
		return Value{t: types.Int64, v: value.Int(x.Points[i].Value)}
	}
	_, elems := v.plans.Members(v.t)
	part := unpack.Parts(v.v)[i]
	if a, ok := v.t.(*types.Array); ok {
		return Value{a.Elem, part, v.plans}
	}
	return Value{elems[i], part, v.plans}
}

// Field is the part with a name, absent if there is none.
func (v Value) Field(name string) Value {
	names, _ := v.plans.Members(v.t)
	for i, n := range names {
		if n == name && i < v.Len() {
			return v.At(i)
		}
	}
	return Value{}
}

// MarshalJSON is the value as the command prints it with -f json.
func (v Value) MarshalJSON() ([]byte, error) { return output.AppendValueJSON(nil, v.v), nil }

// Interface is the value as Go has it. It is an int64, uint64, bool, string, []byte, []any,
// map[string]any, [Stack], [Hist], [Avg] or [Series]; nil if it is absent.
func (v Value) Interface() any { return native(v.t, v.v) }

// Decode stores the value in what dst points to. Records go into structs by the
// tags `hawk:"name"`, else by names without case; tuples by position; other values
// into the first field, or into what is no struct. An integer goes into any integer that
// holds it. The error is a [*DecodeError].
func (v Value) Decode(dst any) error {
	to := reflect.ValueOf(dst)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return &DecodeError{Value: v, Type: reflect.TypeOf(dst), why: "it is no pointer"}
	}
	return decodeInto(to.Elem(), v)
}

func decodeInto(to reflect.Value, v Value) error {
	plans := v.plans
	if plans == nil {
		plans = newPlans()
	}
	plan, err := plans.For(v.t, to.Type())
	if err == nil {
		err = plan.Into(to, v.v)
	}
	return decodeError(v, err)
}

func decodeError(v Value, err error) error {
	if err == nil {
		return nil
	}
	e := (*unpack.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	out := &DecodeError{Field: e.Field, Value: v, Type: e.Type, why: e.Why}
	if e.Value != nil {
		out.Value = Value{e.From, e.Value, v.plans}
	}
	return out
}

// A DecodeError is a value that does not fit where it was to go.
type DecodeError struct {
	Field string // "a.b"; "": all of it
	Value Value
	Type  reflect.Type // where it was to go
	why   string
}

func (e *DecodeError) Error() string {
	return "hawk: " + (&unpack.Error{
		Field: e.Field, Value: e.Value.v, From: e.Value.t, Type: e.Type, Why: e.why}).Error()
}

// A Str is a string that says what became of it.
type Str struct {
	Text        string
	Cut, Unread bool // it was longer; it could not be read
}

// An Avg is what avg() and stats() keep: of how many values, and their sum.
type Avg struct{ Count, Total int64 }

// A Hist is a histogram, with all buckets of its layout.
type Hist struct {
	Buckets []Bucket // from the lowest values to the highest
	Linear  bool     // of lhist(): all buckets but the first and last are as wide
}

// A Bucket counts values from Min to Max, both inclusive.
type Bucket struct {
	Min, Max     int64
	NoMin, NoMax bool // it has no lower or upper end
	Count        uint64
}

// A Series is a time series; intervals in which nothing happened are left out.
type Series struct {
	Interval time.Duration
	Points   []Point // from the oldest to the newest
}

// A Point is the value of the interval that begins at Start.
type Point struct {
	Start time.Time
	Value int64
}

// A Stack is a captured stack, the innermost frame first.
type Stack struct {
	Frames    []Frame
	Truncated bool // it was not followed to its end, or may be wrong

	text string
}

// String is the stack as the command prints it. That is a newline, and a line for each
// frame.
func (s Stack) String() string { return s.text }

// A Frame is a function of a stack, or one inlined in the frame behind.
type Frame struct {
	Addr, Offset uint64 // in memory; from the start of Func, bytes
	Func, Module string // "" if unknown; of the kernel itself the Module is ""
	BuildID      string // of Module, in hexadecimal; "" if unknown
	FileOffset   uint64 // of Addr in Module, if BuildID is known
	File         string // of the source, with the setting show_debug_info
	Line         int    // in File, from 1; 0 if unknown
	Inlined      bool   // in the frame behind it
	Kernel       bool   // of a kernel stack
}

func stackOf(v *value.Stack) Stack {
	n := v.Named()
	s := Stack{Truncated: n.Truncated, text: v.String(), Frames: make([]Frame, len(n.Frames))}
	for i, f := range n.Frames {
		s.Frames[i] = Frame{
			Addr: f.Addr, Offset: f.Offset, Func: f.Func, Module: f.Module, BuildID: f.BuildID,
			FileOffset: f.FileOffset, File: f.File, Line: f.Line, Inlined: f.Inlined, Kernel: !v.User,
		}
	}
	return s
}

// newPlans returns an empty set of plans for storing values.
func newPlans() *unpack.Plans { return unpack.New(&rules) }

var rules = unpack.Rules{
	Any: native, Special: specials,
	Value: reflect.TypeFor[Value](),
	Wrap:  func(ps *unpack.Plans, t types.Type, v value.Value) any { return Value{t, v, ps} },
}

var specials = map[reflect.Type]unpack.Special{
	reflect.TypeFor[Str](): func(t types.Type, v value.Value) (any, bool) {
		text, cut, unread, ok := unpack.Text(t, v)
		return Str{string(text), cut, unread}, ok
	},
	reflect.TypeFor[Avg]():    special[Avg],
	reflect.TypeFor[Hist]():   special[Hist],
	reflect.TypeFor[Series](): special[Series],
	reflect.TypeFor[Stack]():  special[Stack],
	reflect.TypeFor[[]Frame](): func(t types.Type, v value.Value) (any, bool) {
		s, ok := native(t, v).(Stack)
		return s.Frames, ok
	},
	reflect.TypeFor[time.Time](): func(t types.Type, v value.Value) (any, bool) {
		m, ok := v.(value.Moment)
		return m.At, ok
	},
	reflect.TypeFor[net.HardwareAddr](): func(t types.Type, v value.Value) (any, bool) {
		a, err := net.ParseMAC(fmt.Sprint(native(t, v)))
		return a, err == nil
	},
}

// special stores what native makes.
func special[T any](t types.Type, v value.Value) (any, bool) {
	x, ok := native(t, v).(T)
	return x, ok
}

// native is a value as Go has it.
func native(t types.Type, v value.Value) any {
	switch x := v.(type) {
	case value.Int:
		return int64(x)
	case value.Uint:
		return uint64(x)
	case value.Pointer:
		return uint64(x)
	case value.Bool:
		return bool(x)
	case value.Buffer:
		return []byte(x)
	case *value.Stack:
		return stackOf(x)
	case value.Avg:
		return Avg{x.Count, x.Total}
	case value.Stats:
		return Avg{x.Count, x.Total}
	case value.Hist:
		h := Hist{Linear: x.Linear}
		for _, b := range x.Buckets {
			h.Buckets = append(h.Buckets, Bucket{b.Min, b.Max, b.NoMin, b.NoMax, b.Count})
		}
		return h
	case value.Series:
		s := Series{Interval: time.Duration(x.Interval)}
		for _, p := range x.Points {
			s.Points = append(s.Points, Point{time.Unix(0, p.Epoch*x.Interval), p.Value})
		}
		return s
	case value.Tuple, value.Array, value.Record:
		names, elems := unpack.Members(t)
		parts := unpack.Parts(v)
		of := func(i int) any {
			if a, ok := t.(*types.Array); ok {
				return native(a.Elem, parts[i])
			}
			return native(elems[i], parts[i])
		}
		if names != nil {
			out := make(map[string]any, len(parts))
			for i := range parts {
				out[names[i]] = of(i)
			}
			return out
		}
		out := make([]any, len(parts))
		for i := range out {
			out[i] = of(i)
		}
		return out
	case value.Null, nil:
		return nil
	}
	if text, _, _, ok := unpack.Text(t, v); ok {
		return string(text)
	}
	return string(value.AppendText(nil, v))
}
