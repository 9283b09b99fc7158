package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// CSV as RFC 4180 has it, a line of names first: one map, or the events of a script that
// has none. Numbers stand as they are, their unit in the name of the column.
var CSV = define(Format{
	Name: "csv", Ext: "csv", Takes: OneTable, Stamps: true, Write: writeCSV,
	Doc: "a map as a table (RFC 4180), or the events of a script that has no maps",
})

// A Cell is a field of a table: a number, or text from outside.
type Cell struct {
	Text string
	// Number says that a spreadsheet may take it for one.
	Number bool
}

// A tableWriter makes lines of cells of maps and events, each handed to emit, which must not keep it.
type tableWriter struct {
	line []Cell
	emit func([]Cell)
	rate func(*view.Row) string // nil: no column says how fast numbers grow
}

// raw adds a field that is a number, or a name of hawk's own.
func (w *tableWriter) raw(text string) { w.line = append(w.line, Cell{text, true}) }
func (w *tableWriter) text(s string)   { w.line = append(w.line, Cell{view.Line(s), false}) }
func (w *tableWriter) number(n int64)  { w.raw(strconv.FormatInt(n, 10)) }

// end hands the line on and begins another.
func (w *tableWriter) end() {
	w.emit(w.line)
	w.line = w.line[:0]
}

// value writes a value: numbers raw, all else as text.
func (w *tableWriter) value(v value.Value, o Options) {
	switch v := v.(type) {
	case nil, value.Null:
		// A value that is missing leaves its field empty: 0 would be a number.
		w.raw("")
	case value.Int, value.Uint, value.Bool:
		w.raw(string(value.AppendText(nil, v)))
	case *value.Stack:
		// A stack fits one field in the form that makers of flame graphs read.
		s := view.Sample{Stack: view.FramesOf(v)}
		w.text(foldedStack(s.Stack, o))
	default:
		w.text(string(value.AppendText(nil, v)))
	}
}

// writeCSV writes the one map that was chosen, or events.
func writeCSV(out io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	to := bufio.NewWriter(out)
	w := &tableWriter{emit: func(line []Cell) { WriteRecord(to, line) }}
	if len(maps) == 0 {
		w.events(r, o)
	} else {
		w.table(r, maps[0], o)
	}
	return to.Flush()
}

// WriteRecord writes a line, which ends in a newline alone: RFC 4180's readers take it. Text that a spreadsheet
// would compute gets an apostrophe.
func WriteRecord(to *bufio.Writer, line []Cell) {
	for i, c := range line {
		if i > 0 {
			to.WriteByte(',')
		}
		s := c.Text
		// Formulas begin with the first four; programs pass over tabs and returns in front of them.
		if !c.Number && s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
			s = "'" + s
		}
		// Spaces at either end are quoted, too: some readers cut them off.
		if strings.ContainsAny(s, "\",\n\r") || strings.TrimSpace(s) != s {
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		to.WriteString(s)
	}
	to.WriteByte('\n')
}

// table writes a map.
func (w *tableWriter) table(r *view.Run, m *view.Map, o Options) {
	names := append(keyColumns(m), valueColumns(m)...)
	snap := r.Snapshot(m)
	if o.Rates && (m.Kind == view.Counter || m.Kind == view.Gauge) {
		names = append(names, "per_second")
		w.rate = ratesSince(r.Before, snap)
	}
	for _, name := range view.Names(names, func(int) string { return "value" }) {
		w.raw(name)
	}
	w.end()
	// A map that was never read has names of columns and nothing below.
	if snap == nil {
		return
	}
	// Rows in order make files of two runs comparable line by line.
	for _, i := range snap.Rows.Arrange(view.ByKey, nil) {
		w.rowOf(m, snap.Rows.At(int(i)), o)
	}
}

// ratesSince says how fast a row of a map grew since an earlier look, "" of what nothing was known then.
func ratesSince(before []view.Snapshot, now *view.Snapshot) func(*view.Row) string {
	was := map[string]value.Value{}
	var seconds float64
	for i := range before {
		if old := &before[i]; now != nil && old.Map == now.Map {
			seconds = (now.End - old.End).Seconds()
			for i := range old.Rows.Len() {
				row := old.Rows.At(i)
				was[trackName(old.Map, &row)] = row.Value
			}
		}
	}
	return func(row *view.Row) string {
		counter := now.Map.Kind == view.Counter
		old, known := was[trackName(now.Map, row)]
		if seconds <= 0 || !known && !counter { // what is new began at nothing if it counts
			return ""
		}
		grew := now.Map.Count(row.Value) - now.Map.Count(old)
		// A counter that was cleared begins anew, and has not shrunk.
		if counter {
			grew = max(grew, 0)
		}
		return strconv.FormatFloat(float64(grew)/seconds, 'f', 3, 64)
	}
}

// rowOf writes a row of a map.
func (w *tableWriter) rowOf(m *view.Map, row view.Row, o Options) {
	keys := func() {
		switch {
		case row.Others > 0:
			for range m.Keys {
				w.text("(other)")
			}
		case m.Keyed():
			for _, part := range view.Flatten(m.Key, row.Key) {
				w.value(part, o)
			}
		}
	}
	end := w.end
	// Kinds with a rate have one line a row: row calls end once, where the rate belongs.
	if w.rate != nil {
		end = func() {
			w.raw(w.rate(&row))
			w.end()
		}
	}
	w.row(m, row.Value, keys, o, end)
}

// keyColumns are the names of the parts of a key.
func keyColumns(m *view.Map) (out []string) {
	stacks := 0
	for _, k := range m.Keys {
		if k.Frames != view.NoFrames {
			stacks++
		}
	}
	for _, k := range m.Keys {
		switch {
		case k.Frames == view.NoFrames:
			out = append(out, k.Name+unitSuffix(k.Unit))
		// Where there is one stack, nobody asks whose it is.
		case stacks == 1:
			out = append(out, "frames")
		default:
			out = append(out, keyName(&k))
		}
	}
	return view.Names(out, func(int) string { return "key" })
}

// valueColumns are the names of what the values of a map consist of.
func valueColumns(m *view.Map) []string {
	unit := unitSuffix(m.Unit)
	switch m.Kind {
	case view.Summary:
		return []string{"count", "total" + unit, "average" + unit}
	case view.Histogram:
		return []string{"min" + unit, "max" + unit, "count"}
	case view.Series:
		return []string{"interval_start", "value" + unit}
	case view.Record:
		var out []string
		for _, c := range m.Columns {
			out = append(out, c.Name+unitSuffix(c.Unit))
		}
		return out
	}
	return []string{"value" + unit}
}

// unitSuffix is what a unit adds to the name of a column: latency_nanoseconds.
func unitSuffix(u view.Unit) string {
	if u == view.NoUnit {
		return ""
	}
	return "_" + u.String()
}

// row writes a row, or one for each bucket or point of its value.
func (w *tableWriter) row(m *view.Map, v value.Value, keys func(), o Options, end func()) {
	switch v := v.(type) {
	case value.Avg, value.Stats:
		keys()
		s, _ := value.Summary(v)
		w.summary(s)
	case value.Hist:
		for _, b := range v.Buckets {
			// Empty buckets are left out: there may be hundreds between two that hold something.
			if b.Count == 0 {
				continue
			}
			keys()
			w.bound(b.Min, b.NoMin, b.Unsigned)
			w.bound(b.Max, b.NoMax, b.Unsigned)
			w.raw(strconv.FormatUint(b.Count, 10))
			w.end()
		}
		return
	case value.Series:
		for _, p := range v.Points {
			keys()
			// All digits are written, so that times sort as text.
			w.raw(time.Unix(0, p.Epoch*v.Interval).UTC().Format("2006-01-02T15:04:05.000000000Z"))
			w.bound(p.Value, false, !v.Signed)
			w.end()
		}
		return
	default:
		keys()
		if m.Kind != view.Record {
			w.value(v, o)
			break
		}
		for _, part := range view.Flatten(m.Type, v) {
			w.value(part, o)
		}
	}
	end()
}

// summary adds the three fields of an average.
func (w *tableWriter) summary(v value.Stats) {
	w.bound(v.Count, false, true)
	w.bound(v.Total, false, !v.Signed)
	w.bound(v.Average(), false, !v.Signed)
}

// bound adds a number of either sign, empty if there is none.
func (w *tableWriter) bound(n int64, none, unsigned bool) {
	switch {
	case none:
		w.raw("")
	case unsigned:
		w.raw(strconv.FormatUint(uint64(n), 10))
	default:
		w.number(n)
	}
}

// events writes the events that have values. Those of several places stand in one table,
// with the columns of all and the line of the script.
func (w *tableWriter) events(r *view.Run, o Options) {
	var sites []*view.Site
	var names []string
	for _, s := range r.Script.Sites {
		if len(s.Args) == 0 {
			continue
		}
		sites = append(sites, s)
		for _, a := range s.Args {
			// Values of one name share a column, whichever site they are from.
			if name := a.Name + unitSuffix(a.Unit); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	own := []string{"time", "cpu", "pid", "tid"}
	if len(sites) > 1 {
		own = append(own, "line")
	}
	for _, name := range append(own, beside(own, names)...) {
		w.raw(name)
	}
	w.end()
	for i := range r.Events {
		ev := &r.Events[i]
		// Events without values have nothing to show in these columns.
		if !slices.Contains(sites, ev.Site) {
			continue
		}
		w.raw(wall(r, ev.Boot))
		for _, n := range []int{ev.CPU, ev.PID, ev.TID} {
			// An event of no thread has no numbers: those of the idle thread are 0.
			if ev.Stamped {
				w.number(int64(n))
			} else {
				w.raw("")
			}
		}
		if len(sites) > 1 {
			w.raw(fmt.Sprint(lineOf(ev.Site)))
		}
		for _, name := range names {
			n := slices.IndexFunc(ev.Site.Args, func(a view.Element) bool { return a.Name+unitSuffix(a.Unit) == name })
			if n < 0 || n >= len(ev.Args) {
				w.raw("")
				continue
			}
			w.value(ev.Args[n], o)
		}
		w.end()
	}
}

// wall is a time of the boot clock by the clock on the wall.
func wall(r *view.Run, boot time.Duration) string {
	// Wall and Boot are the same moment by two clocks.
	return r.Wall.Add(boot - r.Boot).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// lineOf is the line of the script that a site is in, 0 if that is not known.
func lineOf(s *view.Site) int {
	if s == nil || s.At.File == nil {
		return 0
	}
	line, _ := s.At.File.Position(s.At.Start)
	return line
}
