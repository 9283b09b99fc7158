package export

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// JSON lines: everything that a run says, typed, as it happens; an object a line.
var _ = define(Format{
	Name: "jsonl", Ext: "jsonl", Takes: Everything, Stamps: true, Sums: true, Bounds: true, Looks: true,
	Stream: newJSONL,
	Doc:    "everything as it happens, typed: an object of JSON a line, for jq, DuckDB and shippers of logs",
})

// streamBuffer is how much of a stream is written at a time, in bytes, while events come.
const streamBuffer = 64 << 10

// A jsonlFeed writes what it takes. Times are nanoseconds since the start.
type jsonlFeed struct {
	w    jsonWriter
	most int // rows of a map at most, the heaviest; 0: all
	// Looks at maps come for other views, too: all are written, or those that are due.
	all   bool
	every time.Duration // 0: in the end
	wrote time.Duration
	last  map[*view.Map]view.Snapshot // not written yet
	maps  map[*view.Map]bool
	begin view.Begin
	sites map[*view.Site]int
}

// newJSONL makes a feed of all that a run says about some maps.
func newJSONL(w io.Writer, maps []*view.Map, o Options) view.Feed {
	f := &jsonlFeed{
		w: jsonWriter{bufio.NewWriterSize(w, streamBuffer)}, maps: map[*view.Map]bool{}, sites: map[*view.Site]int{},
		every: o.Every, last: map[*view.Map]view.Snapshot{},
	}
	for _, m := range maps {
		f.maps[m] = true
	}
	return f
}

// Records is a feed that writes maps and events as JSON lines, of each map at most so many
// rows, the heaviest. What is written is whole lines once it takes Idle.
func Records(w io.Writer, maps []*view.Map, most int) view.Feed {
	f := newJSONL(w, maps, Options{}).(*jsonlFeed)
	f.most, f.all = most, true
	return f
}

// Take writes an item. Lines are written out as soon as the run has caught up: who reads
// may follow.
func (f *jsonlFeed) Take(item view.Item) error {
	switch it := item.(type) {
	case view.Begin:
		f.begin, f.wrote = it, it.Boot
		f.script(it)
	case view.Attached:
		f.open("attached")
		f.field("probes", int64(it.Probes))
		f.field("failed", int64(it.Failed))
	case view.Event:
		f.event(&it)
	case view.Mark:
		// A map that is printed at the end is there once, as totals.
		if !f.maps[it.Map] || it.AtEnd { // the totals follow
			return nil
		}
		f.table(it.Map, it.Boot, it.Rows, 0, "print", view.Refused{})
	case view.Snapshot:
		if !f.maps[it.Map] {
			return nil
		}
		if f.last[it.Map] = it; f.all {
			f.looks()
		}
		return nil
	case view.Refreshed:
		// Looks are not quite regular: one that comes a tenth early is not left for the next.
		if f.every > 0 && it.Boot-f.wrote >= f.every-f.every/10 {
			f.wrote = it.Boot
			f.looks()
		}
		return nil
	case view.Cleared:
		if !f.maps[it.Map] {
			return nil
		}
		f.open("clear")
		f.time(it.Boot)
		f.name(it.Map)
		f.w.raw(`,"zero":` + strconv.FormatBool(it.Zero))
	case view.Asleep:
		f.open("asleep")
		f.time(it.Boot)
		f.field("from", int64(it.From-f.begin.Boot))
		f.w.raw(`,"stopped":` + strconv.FormatBool(it.Stopped))
	case view.Loss:
		f.loss(it)
	case view.End:
		// Readings that were not due yet are written, too: nothing comes after them.
		f.looks()
		if it.Loss != (view.Loss{}) {
			f.loss(it.Loss)
			f.w.raw("}\n")
		}
		f.open("end")
		f.time(it.Boot)
		f.w.raw(`,"cause":`)
		f.w.text(it.Cause)
		f.field("status", int64(it.Status))
		f.w.raw("}\n")
		return f.w.Flush()
	case view.Idle:
		return f.w.Flush()
	default:
		return nil
	}
	f.w.raw("}\n")
	return nil
}

// looks writes what was found in maps since it was written last.
func (f *jsonlFeed) looks() {
	for _, m := range f.begin.Script.Maps {
		it, ok := f.last[m]
		if !ok {
			continue
		}
		// A map that is not read again is not written again.
		delete(f.last, m)
		left := it.Left
		// Rows that views have put together come last, with how many they are.
		if it.Others != nil {
			others := view.Row{Key: value.Null{}, Value: it.Others, Others: int32(it.Left)}
			it.Rows, left = view.RowsOf(append(it.Rows.List(), others)), 0
		}
		for i := range it.Rows.Len() {
			row := it.Rows.At(i)
			left -= int(row.Others) // which a row stands for
		}
		of := map[bool]string{true: "total", false: "now"}[it.Totals]
		f.table(m, it.End, it.Rows, max(left, 0), of, it.Refused)
		f.w.raw("}\n")
	}
}

// open begins an object of a type.
func (f *jsonlFeed) open(kind string) { f.w.raw(`{"type":"` + kind + `"`) }

// field adds a number.
func (f *jsonlFeed) field(name string, n int64) {
	f.w.raw(",")
	f.w.key(name)
	f.w.number(n)
}

// time adds when something was.
func (f *jsonlFeed) time(boot time.Duration) { f.field("t", int64(boot-f.begin.Boot)) }

// name adds which map it is about.
func (f *jsonlFeed) name(m *view.Map) {
	f.w.raw(`,"name":`)
	f.w.text(m.Name)
}

// loss begins an object about lost events; the caller closes it.
func (f *jsonlFeed) loss(l view.Loss) {
	f.open("loss")
	if l.Boot > 0 {
		f.time(l.Boot)
	}
	f.field("events", int64(l.Records))
	f.field("skipped", int64(l.Skipped))
	f.field("strings", int64(l.Strings))
}

// script says what maps and sites mean.
func (f *jsonlFeed) script(b view.Begin) {
	w := f.w
	f.open("script")
	// v numbers this form, for readers that have to tell it from a later one.
	w.raw(`,"v":1,"name":`)
	w.text(b.Script.Name)
	w.raw(`,"start":`)
	w.text(b.Wall.UTC().Format("2006-01-02T15:04:05.000000000Z"))
	w.raw(`,"maps":[`)
	for i, m := range b.Script.Maps {
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"name":`)
		w.text(m.Name)
		w.raw(`,"kind":"` + m.Kind.String() + `","role":"` + m.Role.String() + `","labels":[`)
		for k, e := range m.Keys {
			if k > 0 {
				w.raw(",")
			}
			w.text(keyName(&e))
		}
		w.raw(`],"unit":"` + unitName(m.Unit) + `"`)
		if m.Kind == view.Record {
			w.raw(`,"columns":`)
			w.columns(m.Nested())
		}
		w.raw("}")
	}
	w.raw(`],"sites":[`)
	for i, s := range b.Script.Sites {
		f.sites[s] = i
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"id":`)
		w.int(int64(i))
		w.raw(`,"line":`)
		w.int(int64(lineOf(s)))
		w.raw(`,"builtin":`)
		w.text(s.Builtin)
		w.raw(`,"args":[`)
		for k, a := range s.Args {
			if k > 0 {
				w.raw(",")
			}
			w.text(a.Name)
		}
		w.raw("]}")
	}
	w.raw("]")
}

// columns writes what the members of a record are, in lists as they are.
func (w jsonWriter) columns(parts []view.Part) {
	w.raw("[")
	for i, p := range parts {
		if i > 0 {
			w.raw(",")
		}
		if p.Element == nil {
			w.columns(p.Parts)
			continue
		}
		w.raw(`{"name":`)
		w.text(p.Name)
		w.raw(`,"kind":"` + p.Kind.String() + `","unit":"` + unitName(p.Unit) + `"}`)
	}
	w.raw("]")
}

// unitName is a unit, "" if there is none.
func unitName(u view.Unit) string {
	if u == view.NoUnit {
		return ""
	}
	return u.String()
}

// event writes an event: its values by type, and its text.
func (f *jsonlFeed) event(ev *view.Event) {
	f.open("event")
	f.time(ev.Boot)
	if ev.Site != nil {
		f.field("site", int64(f.sites[ev.Site]))
	}
	if ev.Stamped {
		f.field("cpu", int64(ev.CPU))
		f.field("pid", int64(ev.PID))
		f.field("tid", int64(ev.TID))
	}
	f.w.raw(`,"args":[`)
	for i, a := range ev.Args {
		if i > 0 {
			f.w.raw(",")
		}
		f.w.value(a)
	}
	f.w.raw(`],"text":`)
	f.w.text(string(ev.Text))
}

// table writes what a map holds: a row is a list of the parts of its key, and its value. left is how many elements
// there are no rows for.
func (f *jsonlFeed) table(m *view.Map, at time.Duration, rows view.Rows, left int, of string,
	refused view.Refused) {
	w := f.w
	f.open("map")
	f.time(at)
	f.name(m)
	w.raw(`,"of":"` + of + `"`)
	entries, others := rows.Len()+left, 0
	// The row of others stands for many elements, of which it is one line.
	for i := range rows.Len() {
		row := rows.At(i)
		if n := int(row.Others); n > 0 {
			others, entries = n, entries+n-1
		}
	}
	f.field("entries", int64(entries))
	if others > 0 {
		f.field("others", int64(others)) // in the row that is called so
	}
	if refused.Updates > 0 {
		f.field("refused", int64(refused.Updates))
		f.field("held", int64(refused.Held))
		f.field("capacity", int64(refused.Capacity))
		w.raw(`,"full":` + strconv.FormatBool(refused.Full))
	}
	w.raw(`,"rows":[`)
	for i, n := range f.heaviest(m, rows) {
		row := rows.At(int(n))
		if i > 0 {
			w.raw(",")
		}
		w.raw("[[")
		if row.Others > 0 {
			w.text("(other)")
		} else if m.Keyed() {
			for k, part := range view.Flatten(m.Key, row.Key) {
				if k > 0 {
					w.raw(",")
				}
				w.value(part)
			}
		}
		w.raw("],")
		w.value(row.Value)
		if row.AtLeast {
			w.raw(`,"at least"`)
		}
		w.raw("]")
	}
	w.raw("]")
}

// heaviest are the numbers of the rows that there is room for, in their order.
func (f *jsonlFeed) heaviest(m *view.Map, rows view.Rows) []int32 {
	if f.most == 0 || rows.Len() <= f.most {
		return rows.Arrange(view.ByKey, nil)
	}
	// The row of others is cut before any key: entries still counts what it stands for.
	return rows.Arrange(view.ByWeightApart, m.Weigh)[:f.most]
}

// value writes a value by its type: numbers as numbers, stacks as lists of function,
// offset and module, the innermost first.
func (w jsonWriter) value(v value.Value) {
	list := func(vs []value.Value) {
		w.raw("[")
		for i, v := range vs {
			if i > 0 {
				w.raw(",")
			}
			w.value(v)
		}
		w.raw("]")
	}
	switch v := v.(type) {
	case nil, value.Null:
		w.raw("null")
	case value.Int:
		w.number(int64(v))
	case value.Uint:
		// No sign and more than a float holds: text, as in number.
		if v > math.MaxInt64 {
			w.raw(`"` + strconv.FormatUint(uint64(v), 10) + `"`)
			return
		}
		w.number(int64(v))
	case value.Bool:
		w.raw(strconv.FormatBool(bool(v)))
	case value.Tuple:
		list(v)
	case value.Array:
		list(v)
	case value.Record:
		w.raw("{")
		for i, name := range v.Names {
			if i > 0 {
				w.raw(",")
			}
			w.text(name)
			w.raw(":")
			w.value(v.Values[i])
		}
		w.raw("}")
	case value.Avg, value.Stats:
		s, _ := value.Summary(v)
		w.raw(`{"count":`)
		w.number(s.Count)
		w.raw(`,"total":`)
		w.value(s.Sum())
		w.raw("}") // the average is for the reader to compute
	case value.Hist:
		w.raw("{")
		if v.Sum != nil {
			w.raw(`"sum":`)
			w.value(v.Sum)
			w.raw(",")
		}
		w.raw(`"buckets":[`)
		some := false
		for _, b := range v.Buckets {
			if b.Count == 0 {
				continue
			}
			if some {
				w.raw(",")
			}
			some = true
			w.raw("[")
			w.bound(b.Min, b.NoMin, b.Unsigned)
			w.raw(",")
			w.bound(b.Max, b.NoMax, b.Unsigned)
			w.raw(",")
			w.value(value.Uint(b.Count))
			w.raw("]")
		}
		w.raw("]}")
	case value.Series:
		w.raw(`{"interval":`)
		w.number(v.Interval)
		w.raw(`,"points":[`)
		for i, p := range v.Points {
			if i > 0 {
				w.raw(",")
			}
			w.raw("[")
			w.number(p.Epoch)
			w.raw(",")
			w.value(v.Number(p))
			w.raw("]")
		}
		w.raw("]}")
	case *value.Stack:
		w.stack(v)
	default:
		w.text(string(value.AppendText(nil, v)))
	}
}

// bound writes a bound of a bucket, null where it is open.
func (w jsonWriter) bound(n int64, none, unsigned bool) {
	switch {
	case none:
		w.raw("null")
	case unsigned:
		w.value(value.Uint(n))
	default:
		w.number(n)
	}
}

// stack writes frames as [function or place, offset, module].
func (w jsonWriter) stack(st *value.Stack) {
	w.raw("[")
	for i, f := range st.Named().Frames {
		if i > 0 {
			w.raw(",")
		}
		w.raw("[")
		if f.Func != "" {
			w.text(f.Func)
		} else {
			w.text(view.Unnamed(f))
		}
		w.raw(",")
		w.number(int64(f.Offset))
		w.raw(",")
		w.text(f.Module)
		w.raw("]")
	}
	w.raw("]")
}
