package saved

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// An exact is a number that stands as text where readers of JSON would round it: runs may last for months.
type exact int64

// UnmarshalJSON reads it.
func (e *exact) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if *e = exact(n); err != nil {
		return noNumber(raw)
	}
	return nil
}

// errNested bounds recursion: each list within a list is a call.
var errNested = errors.New("lists are nested too deeply")

// held is the value of an element, by the kind of its map.
func (r *reader) held(m *view.Map, raw json.RawMessage) (value.Value, error) {
	var in struct {
		Count, Total, Sum, Buckets, Points json.RawMessage
		Interval                           int64
	}
	if m.Kind == view.Summary || m.Kind == view.Histogram || m.Kind == view.Series {
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, err
		}
	}
	switch m.Kind {
	case view.Record:
		if len(m.Columns) > 0 {
			return r.nested(m.Type, raw)
		}
	case view.Summary:
		// Totals above the largest signed number can only come from a map without signs.
		return value.Avg{Count: r.integer(in.Count), Total: r.integer(in.Total), Signed: signed(in.Total)}, nil
	case view.Series:
		out := value.Series{Interval: in.Interval, Signed: true}
		err := r.each(in.Points, 2, "a point of time has two numbers", valueRoom, func(p []json.RawMessage) {
			out.Signed = out.Signed && signed(p[1])
			out.Points = append(out.Points, value.Point{Epoch: r.integer(p[0]), Value: r.integer(p[1])})
		})
		if n := len(out.Points); n > 0 { // no more are in the file, and who draws them has a line for each
			out.Count = int(min(max(out.Points[n-1].Epoch-out.Points[0].Epoch, 0)+1, maxIntervals))
		}
		return out, err
	case view.Histogram:
		if r.bounds[m] == nil {
			r.bounds[m] = map[bound]bool{}
		}
		out := value.Hist{}
		if len(in.Sum) > 0 {
			if n, ok := large(in.Sum); ok {
				out.Sum = n
			} else {
				out.Sum = value.Int(r.integer(in.Sum))
			}
		}
		err := r.each(in.Buckets, 3, "a bucket has two bounds and a number", bucketRoom, func(b []json.RawMessage) {
			var at bound
			at.min, at.noMin = r.bound(b[0], &at.unsigned)
			at.max, at.noMax = r.bound(b[1], &at.unsigned)
			r.bounds[m][at] = true
			out.Buckets = append(out.Buckets, at.bucket(uint64(r.integer(b[2]))))
		})
		return out, err
	case view.Counter, view.Gauge:
		v, err := r.value(raw, 0)
		switch v.(type) {
		case value.Int, value.Uint:
			return v, err
		}
		return nil, cmp.Or(err, noNumber(raw))
	}
	return r.value(raw, 0)
}

// each gives f the first n parts of every element of a list, for each of which there is room. One that
// has fewer is refused with the words short.
func (r *reader) each(list json.RawMessage, n int, short string, room int, f func(parts []json.RawMessage)) error {
	for element := range elements(list) {
		parts := first(n, element)
		if len(parts) < n {
			return errors.New(short)
		}
		if err := r.need(1, room); err != nil {
			return err
		}
		f(parts)
	}
	return nil
}

// integer is a number, which may stand as text. Something else is noted as wrong.
func (r *reader) integer(raw json.RawMessage) int64 {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	// A number that does not fit int64 is unsigned. Its bits are kept; the type tells it.
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && r.wrong == nil {
		r.wrong = noNumber(raw)
	}
	return int64(n)
}

// noNumber says what stands where a number should. It may be long, and messages show the beginning of it.
func noNumber(raw json.RawMessage) error {
	if len(raw) == 0 {
		return errors.New("a number is missing")
	}
	return fmt.Errorf("%.40q is no whole number", raw)
}

// bound is where a bucket begins or ends; there may be no such bound. A bucket with one that is larger than numbers
// with a sign is told of it.
func (r *reader) bound(raw json.RawMessage, unsigned *bool) (n int64, none bool) {
	if string(raw) == "null" {
		return 0, true
	}
	*unsigned = *unsigned || !signed(raw)
	return r.integer(raw), false
}

// signed reports whether a number, which may stand as text, is one of 64 bits with a sign.
func signed(raw json.RawMessage) bool {
	_, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	return err == nil
}

// large is a whole number that stands as text, since readers of JSON would round it. Text that looks the same is taken
// for one: it is shown the same.
func large(raw json.RawMessage) (value.Value, bool) {
	const exact = 1 << 53
	digits := text(raw)
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return value.Int(n), (n > exact || n < -exact) && strconv.FormatInt(n, 10) == digits
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return value.Uint(n), err == nil && strconv.FormatUint(n, 10) == digits
}

// values are those of a list, which is in as many others as depth says.
func (r *reader) values(list json.RawMessage, depth int) (out value.Array, err error) {
	if depth > maxNesting {
		return nil, errNested
	}
	for raw := range elements(list) {
		if err := r.need(1, valueRoom); err != nil {
			return nil, err
		}
		v, err := r.value(raw, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// value is any value.
func (r *reader) value(raw json.RawMessage, depth int) (value.Value, error) {
	switch raw[0] {
	case '[':
		return r.values(raw, depth+1)
	case '"':
		if n, ok := large(raw); ok {
			return n, nil
		}
		return value.Str(text(raw)), r.need(1, len(raw))
	case 't', 'f':
		return value.Bool(raw[0] == 't'), nil
	case 'n':
		return value.Null{}, nil
	case '{':
		return r.record(raw, depth+1)
	}
	// hawk writes no fractions: values of scripts have none.
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil, noNumber(raw)
	}
	return value.Int(n), nil
}

// record is an object, which is in as many lists as depth says.
func (r *reader) record(raw json.RawMessage, depth int) (out value.Record, err error) {
	if depth > maxNesting {
		return out, errNested
	}
	for name, of := range members(raw) {
		v, err := r.value(of, depth)
		if err = cmp.Or(err, r.need(1, valueRoom+len(name))); err != nil {
			return out, err
		}
		out.Names, out.Values = append(out.Names, name), append(out.Values, v)
	}
	return out, nil
}

// stack is a list of function, offset and module, the innermost first.
func (r *reader) stack(raw json.RawMessage, user bool) (value.Value, error) {
	frames := r.frames[:0] // which are kept by nobody
	names := len(r.names.frames)
	for frame := range elements(raw) {
		f := first(3, frame)
		if len(f) < 3 {
			return nil, fmt.Errorf("a frame is a function, an offset and a module")
		}
		if err := r.need(1, valueRoom); err != nil {
			return nil, err
		}
		offset := uint64(max(r.integer(f[1]), 0))
		frames = append(frames, value.Frame{Func: text(f[0]), Module: text(f[2]), Offset: offset})
	}
	r.frames = frames
	// Frames that are known take no more room.
	st := r.names.of(user, frames)
	for _, f := range r.names.frames[names:] {
		if err := r.need(1, frameRoom+len(f.Func)+len(f.Module)); err != nil {
			return nil, err
		}
	}
	return st, nil
}
