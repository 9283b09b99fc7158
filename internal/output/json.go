package output

import (
	"io"
	"strconv"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// Objects is JSON as bpftrace writes it.
var Objects = define(Form{
	Name: "json", Doc: "an object of JSON a line, byte for byte what bpftrace writes", JSON: true,
	New: func(w, stderr io.Writer, o Options) Sink { return NewJSON(w, stderr, o) },
})

// Programs that read JSON anew have a form in which no two keys become one: keys are arrays.
var _ = define(Form{
	Name: "json-safe", Doc: "the same with keys as arrays and bytes that are no text kept, for programs written anew",
	JSON: true,
	New: func(w, stderr io.Writer, o Options) Sink {
		o.Safe = true
		return NewJSON(w, stderr, o)
	},
})

// JSON writes items as JSON, one object a line. Only what is about hawk
// itself goes to standard error, as text.
// text and value are chosen once, for the one form or the other.
type JSON struct {
	out    stream
	stderr io.Writer
	opts   Options
	text   func(dst, s []byte) []byte
	value  func(dst []byte, v value.Value) []byte
	rows   rows
}

// NewJSON returns a sink that writes JSON to w.
func NewJSON(w, stderr io.Writer, opts Options) *JSON {
	j := &JSON{out: stream{w: w, mode: opts.Buffering, json: opts.Escapes.Output}, stderr: stderr, opts: opts}
	j.text, j.value = value.AppendJSONString, value.AppendJSON
	if opts.Safe {
		j.text, j.value = value.AppendSafeString, value.AppendSafeJSON
	}
	return j
}

// Idle writes out complete lines, if lines are what is buffered.
func (j *JSON) Idle() error { return j.out.idle() }

// Flush writes out everything.
func (j *JSON) Flush() error { return j.out.flush() }

// Escapes is nothing: a string of JSON holds any data.
func (j *JSON) Escapes() Escapes { return Escapes{} }

// Write writes an item.
// Records are complete lines whenever Write returns, also where a map was written out in
// between.
func (j *JSON) Write(item Item) error {
	s := &j.out
	start := len(s.buf)
	switch it := item.(type) {
	case *Printf:
		s.buf = j.appendText(s.buf, "printf", it.Text)
	case Raw:
		s.buf = j.appendText(s.buf, it.Type, it.Text)
	case Print:
		s.buf = append(s.buf, `{"type": "value", "data": `...)
		s.buf = append(j.value(s.buf, it.Value), '}')
	case *Snap:
		s.buf = append(s.buf, `{"type": "value", "data": `...)
		s.buf = append(j.value(s.buf, it.Value()), '}')
	case Map:
		return j.writeMap(it)
	case Row:
		s.buf = j.appendRow(s.buf, &it)
	case Table:
		s.buf = j.appendTable(s.buf, &it)
	case Stacks:
		s.buf = j.appendStacks(s.buf, &it)
	case Cycles:
		s.buf = j.appendCycles(s.buf, &it)
	case Shown:
		s.buf = j.appendShown(s.buf, &it)
		return s.wrote(start)
	case Header, Screen:
		return s.err
	case Attached:
		if j.opts.Quiet {
			return s.err
		}
		s.buf = appendCount(s.buf, "attached_probes", "probes", uint64(it.Probes))
	case Lost:
		s.buf = appendCount(s.buf, "lost_events", "events", it.Events)
	case Skipped:
		s.buf = appendCount(s.buf, "skipped_events", "events", it.Events)
	case Message:
		if !it.Span.Valid() {
			return j.complain(item)
		}
		if it.Severity == source.Warning {
			if j.opts.NoWarnings {
				return s.err
			}
			s.buf = j.appendReport(s.buf, "warnf", it.Text)
		} else {
			s.buf = j.appendReport(s.buf, "errorf", it.Text)
		}
		s.buf = appendPlace(s.buf, it.Span, 0)
	case Note:
		if j.opts.Quiet {
			return s.err
		}
		s.buf = appendPlace(j.appendReport(s.buf, "note", it.Text), it.Span, 0)
	case HelperError:
		if j.opts.NoWarnings {
			return s.err
		}
		s.buf = j.appendReport(s.buf, "helper_error", errno.Text(it.Code))
		s.buf = append(s.buf, `, "helper": `...)
		s.buf = value.AppendJSONString(s.buf, []byte(it.Helper))
		s.buf = append(s.buf, `, "retcode": `...)
		s.buf = strconv.AppendInt(s.buf, int64(it.Code), 10)
		s.buf = appendPlace(s.buf, it.Span, it.Repeats)
	case RuntimeError:
		if j.opts.NoWarnings {
			return s.err
		}
		s.buf = j.appendReport(s.buf, "runtime_error", it.Msg)
		s.buf = appendPlace(s.buf, it.Span, it.Repeats)
	case End:
		return s.err
	default:
		var ok bool
		if s.buf, ok = j.appendReports(s.buf, item); !ok {
			return j.complain(item)
		}
		return s.wrote(start)
	}
	s.buf = append(s.buf, '\n')
	return s.wrote(start)
}

// complain writes what is about hawk itself to standard error, behind what was printed before it.
func (j *JSON) complain(item Item) error {
	err := j.out.idle()
	printDiagnostic(j.stderr, item, j.opts)
	return err
}

// appendText appends a record of text.
func (j *JSON) appendText(dst []byte, typ string, text []byte) []byte {
	dst = append(dst, `{"type": "`...)
	dst = append(dst, typ...)
	dst = append(dst, `", "data": `...)
	return append(j.text(dst, text), '}')
}

// appendCount appends a record about a number of something, in both forms that readers know: count,
// and data by name.
func appendCount(dst []byte, typ, what string, n uint64) []byte {
	dst = append(dst, `{"type": "`...)
	dst = append(dst, typ...)
	dst = append(dst, `", "count": `...)
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, `, "data": {"`...)
	dst = append(dst, what...)
	dst = append(dst, `": `...)
	dst = strconv.AppendUint(dst, n, 10)
	return append(dst, "}}"...)
}

// appendReport begins a record about a place in the script.
func (j *JSON) appendReport(dst []byte, typ, msg string) []byte {
	dst = append(dst, `{"type": "`...)
	dst = append(dst, typ...)
	dst = append(dst, `", "msg": `...)
	return j.text(dst, []byte(msg))
}

// appendPlace ends it.
// repeats is left out when it says nothing, as readers of the reference's form do not know it.
func appendPlace(dst []byte, at source.Span, repeats uint64) []byte {
	if at.Valid() {
		line, col := at.File.Position(at.Start)
		dst = append(dst, `, "filename": `...)
		dst = value.AppendJSONString(dst, []byte(at.File.Name))
		dst = append(dst, `, "line": `...)
		dst = strconv.AppendInt(dst, int64(line), 10)
		dst = append(dst, `, "col": `...)
		dst = strconv.AppendInt(dst, int64(col), 10)
	}
	if repeats > 1 {
		dst = append(dst, `, "times": `...)
		dst = strconv.AppendUint(dst, repeats, 10)
	}
	return append(dst, '}')
}

// mapType is the record type of a map with such values.
// An average is of type stats in the reference, though it is one number.
func mapType(v value.Value) string {
	switch v.(type) {
	case value.Avg, value.Stats:
		return "stats"
	case value.Hist:
		return "hist"
	case value.Series:
		return "tseries"
	}
	return "map"
}

// writeMap writes a map as one record. Duplicate keys are possible in bpftrace's form, whose keys
// are texts.
// An empty map is no record at all, as in text.
func (j *JSON) writeMap(m Map) error {
	s := &j.out
	if m.Entries.Len() == 0 {
		return s.err
	}
	kind := mapType(m.Entries.At(0).Value) // of the values as they are, before print divides them
	entries := m.arrange()
	start := len(s.buf)
	s.buf = append(s.buf, `{"type": "`...)
	s.buf = append(s.buf, kind...)
	s.buf = append(s.buf, `", "data": {`...)
	s.buf = value.AppendJSONString(s.buf, []byte(m.Name))
	s.buf = append(s.buf, ": "...)
	newest := m.newestEpoch()
	open, shut := byte('{'), byte('}')
	if j.opts.Safe {
		open, shut = '[', ']'
	}
	if m.Keyed {
		s.buf = append(s.buf, open)
	}
	for i := range entries.Len() {
		e := entries.At(i)
		if i > 0 {
			s.buf = append(s.buf, ", "...)
		}
		switch {
		case m.Keyed && j.opts.Safe:
			s.buf = value.AppendSafeKey(append(s.buf, `{"key": `...), e.Key)
			s.buf = append(s.buf, `, "value": `...)
		case m.Keyed:
			s.buf = value.AppendJSONKey(s.buf, e.Key)
			s.buf = append(s.buf, ": "...)
		}
		s.buf = j.appendElement(s.buf, e.Value, newest)
		if m.Keyed && j.opts.Safe {
			s.buf = append(s.buf, '}')
		}
		// A record may be longer than the buffer should grow.
		if len(s.buf) >= maxBuffer {
			start = 0
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	if m.Keyed {
		s.buf = append(s.buf, shut)
	}
	s.buf = append(s.buf, "}}\n"...)
	return s.wrote(start)
}

// appendElement appends a value of a map: rows for a histogram or a series.
func (j *JSON) appendElement(dst []byte, v value.Value, newest int64) []byte {
	switch v := v.(type) {
	case value.Hist:
		return appendJSONHistogram(dst, v)
	case value.Series:
		return appendJSONSeries(dst, v, newest)
	}
	return j.value(dst, v)
}

// AppendValueJSON appends a value as it is printed by itself; nil is null.
func AppendValueJSON(dst []byte, v value.Value) []byte {
	j := JSON{value: value.AppendJSON}
	newest := int64(0)
	if s, ok := v.(value.Series); ok {
		newest = newestEpoch(s)
	}
	return j.appendElement(dst, v, newest)
}

// appendJSONHistogram writes the rows that text shows. Bounds are plain
// numbers, inclusive, or text like all numbers that a double cannot hold; a side without bound is left out.
// Empty buckets in between are written out, in JSON as in text.
func appendJSONHistogram(dst []byte, h value.Hist) []byte {
	number := func(dst []byte, v int64, unsigned bool) []byte {
		if unsigned {
			return value.AppendJSON(dst, value.Uint(v))
		}
		return value.AppendJSON(dst, value.Int(v))
	}
	dst = append(dst, '[')
	rows := filled(h)
	for i := range rows {
		b := &rows[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if !b.NoMin {
			dst = append(dst, `"min": `...)
			dst = append(number(dst, b.Min, b.Unsigned), ", "...)
		}
		if !b.NoMax {
			dst = append(dst, `"max": `...)
			dst = append(number(dst, b.Max, b.Unsigned), ", "...)
		}
		dst = append(dst, `"count": `...)
		dst = append(strconv.AppendUint(dst, b.Count, 10), '}')
	}
	return append(dst, ']')
}

// appendJSONSeries writes the points that text shows, with the beginning of each interval.
func appendJSONSeries(dst []byte, s value.Series, newest int64) []byte {
	dst = append(dst, '[')
	for i, p := range shown(s, newest) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"interval_start":"`...)
		dst = startOf(p.Epoch, s.Interval).AppendFormat(dst, "2006-01-02 15:04:05.000000000")
		dst = append(dst, `","value":`...)
		var v value.Value = value.Uint(p.Value)
		if s.Signed {
			v = value.Int(p.Value)
		}
		dst = append(value.AppendJSON(dst, v), '}')
	}
	return append(dst, ']')
}
