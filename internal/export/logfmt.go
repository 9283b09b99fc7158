package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Lines of key=value, as log collectors read them: events as they happen, maps at the end.
var _ = define(Format{
	Name: "logfmt", Ext: "log", Takes: Everything, Stamps: true, Stream: newLogfmt,
	Doc: "lines of key=value for collectors of logs: events as they happen, maps at the end",
})

// A logfmtFeed writes a line for each event.
type logfmtFeed struct {
	soFar
	w *bufio.Writer
}

// newLogfmt makes a feed of all that a run says about some maps.
func newLogfmt(w io.Writer, maps []*view.Map, _ Options) view.Feed {
	return &logfmtFeed{w: bufio.NewWriterSize(w, streamBuffer), soFar: newSoFar(maps)}
}

// Fields of hawk's own, of events and of elements of maps.
var (
	logEvent = []string{"time", "script", "site", "cpu", "pid", "tid", "msg"}
	logTable = []string{"map", "refused", "msg", "bucket", "count", "total", "interval", "value"}
)

// logName is the name of a field.
// Identifiers of scripts are names in logfmt as they are.
func logName(name string) string { return name }

// Take writes an item. Lines are written out as soon as the run has caught up.
func (f *logfmtFeed) Take(item view.Item) error {
	switch it := item.(type) {
	case view.Begin:
		f.begin(it, logEvent, logName)
	case view.Event:
		f.event(&it)
	case view.Snapshot:
		f.read(it)
	case view.Loss:
		f.head(it)
	case view.End:
		// Errors of a buffered writer stay in it, and Flush returns them.
		f.tables(f.table)
		fmt.Fprintf(f.w, "time=%s script=%s end=%s status=%d lost=%d\n", wall(&f.run, it.Boot),
			logText(f.run.Script.Name), it.Cause, it.Status, it.Loss.Records)
		return f.w.Flush()
	case view.Idle:
		return f.w.Flush()
	}
	return nil
}

// head writes how many events were lost.
func (f *logfmtFeed) head(l view.Loss) {
	fmt.Fprintf(f.w, "script=%s lost=%d\n", logText(f.run.Script.Name), l.Records)
}

// event writes an event, its text last as msg.
func (f *logfmtFeed) event(ev *view.Event) {
	fmt.Fprintf(f.w, "time=%s script=%s", wall(&f.run, ev.Boot), logText(f.run.Script.Name))
	if ev.Site != nil {
		fmt.Fprintf(f.w, " site=%d", f.sites[ev.Site])
	}
	if ev.Stamped {
		fmt.Fprintf(f.w, " cpu=%d pid=%d tid=%d", ev.CPU, ev.PID, ev.TID)
	}
	for i, a := range ev.Args {
		f.w.WriteString(" " + f.names[ev.Site][i] + "=" + logText(logValue(a)))
	}
	fmt.Fprintf(f.w, " msg=%s\n", logText(strings.TrimSuffix(string(ev.Text), "\n")))
}

// table writes a line for each element of a map, and each bucket of a histogram.
func (f *logfmtFeed) table(m *view.Map, snap *view.Snapshot) error {
	if n := snap.Refused.Updates; n > 0 {
		fmt.Fprintf(f.w, "map=%s refused=%d msg=%q\n", m.Name, n, m.Name+" "+snap.Refused.String())
	}
	names, columns := rowFields(m, logTable, logName)
	for _, i := range snap.Rows.Arrange(view.ByKey, nil) {
		row := snap.Rows.At(int(i))
		head := "map=" + m.Name
		if row.Others > 0 {
			head += " key=(other)"
		} else if m.Keyed() {
			for i, part := range view.Flatten(m.Key, row.Key) {
				head += " " + names[i] + "=" + logText(logValue(part))
			}
		}
		switch v := row.Value.(type) {
		// Buckets have a line each, so that collectors can add them up.
		case value.Hist:
			for _, b := range v.Buckets {
				if b.Count > 0 {
					fmt.Fprintf(f.w, "%s bucket=%s count=%d\n", head, logText(b.Label), b.Count)
				}
			}
			continue
		case value.Avg, value.Stats:
			s, _ := value.Summary(v)
			fmt.Fprintf(f.w, "%s count=%d total=%s\n", head, s.Count, logValue(s.Sum()))
		case value.Series:
			for _, p := range v.Points {
				fmt.Fprintf(f.w, "%s interval=%d value=%s\n", head, p.Epoch*v.Interval, logValue(v.Number(p)))
			}
		default:
			parts := columnsOf(m, v)
			for i, part := range parts {
				head += " " + columns[i] + "=" + logText(logValue(part))
			}
			if parts == nil {
				head += " value=" + logText(logValue(v))
			}
			f.w.WriteString(head + "\n")
		}
	}
	return nil
}

// logValue is the text of a value; of a stack that of folded stacks.
func logValue(v value.Value) string {
	if st, ok := v.(*value.Stack); ok {
		return foldedStack(view.FramesOf(st), Options{})
	}
	return string(value.AppendText(nil, v))
}

// logText is a text as the value of a field, quoted if it has anything but letters.
func logText(s string) string {
	for _, r := range s {
		// A space ends a value, = ends a name. The rest acts on terminals, or is no text.
		if r <= ' ' || r == '"' || r == '=' || r == '\\' || r == 0x7f || r == utf8.RuneError || view.Acts(r) {
			return strconv.QuoteToGraphic(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
