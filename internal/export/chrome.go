package export

import (
	"bufio"
	"io"
	"strconv"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

// The trace event format of Chrome, JSON. Perfetto is exacter: times here are microseconds.
var _ = define(Format{
	Name: "chrome", Ext: "json", Takes: Everything, Stamps: true, Past: true, Write: writeChrome,
	Doc: "events and numbers over time as text, for chrome://tracing, Perfetto and Firefox Profiler; microseconds",
})

// writeChrome writes a trace: "X" is a length of time, "i" a moment, "C" a number over time.
func writeChrome(out io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	w := jsonWriter{bufio.NewWriter(out)}
	w.raw(`{"displayTimeUnit":"ns","otherData":{"version":`)
	w.text("hawk " + o.Version)
	w.raw(`,"script":`)
	w.text(view.Line(r.Script.Called()))
	w.raw(`,"start":`)
	w.text(wall(r, r.Boot))
	w.raw(`},"traceEvents":[`)
	first := true
	begin := func(name, phase string, at time.Duration) {
		if !first {
			w.raw(",")
		}
		first = false
		w.raw("\n" + `{"name":`)
		w.text(name)
		w.raw(`,"ph":"` + phase + `","ts":` + micros(at))
	}
	for _, ev := range traceEvents(r) {
		// An event is sent when what it tells of is over: its length reaches back from there.
		if ev.length >= 0 {
			begin(ev.name, "X", ev.begin())
			w.raw(`,"dur":` + micros(ev.length))
		} else {
			begin(ev.name, "i", ev.Boot)
			// Scope t draws a moment on its thread alone, not across all of them.
			w.raw(`,"s":"t"`)
		}
		w.raw(`,"pid":`)
		w.int(int64(ev.PID))
		w.raw(`,"tid":`)
		w.int(int64(ev.TID))
		w.raw(`,"args":{`)
		for i, a := range ev.Args {
			if i > 0 {
				w.raw(",")
			}
			w.text(ev.Site.Args[i].Name)
			w.raw(":")
			w.value(a)
		}
		w.raw("}}")
	}
	for _, t := range counterTracks(r, maps) {
		for _, p := range t.points {
			begin(t.name, "C", p.at)
			// The format wants a process of everything; 0 is the one that no program is.
			w.raw(`,"pid":0,"args":{"value":` + strconv.FormatFloat(p.value, 'g', -1, 64) + "}}")
		}
	}
	// Tracks of hawk's own are threads 1 and 2 of process 0, the idle process, which has no other than 0.
	track := func(tid, name string) {
		begin("thread_name", "M", r.Boot)
		w.raw(`,"pid":0,"tid":` + tid + `,"args":{"name":"` + name + `"}}`)
	}
	for i, moment := range r.Moments {
		if i == 0 {
			track("1", "script")
		}
		begin(moment.What, "i", moment.At)
		w.raw(`,"s":"t","pid":0,"tid":1,"args":{}}`)
	}
	// A picture with gaps must say so.
	for i, gap := range gaps(r) {
		if i == 0 {
			track("2", "lost")
		}
		begin("lost", "X", gap.From)
		w.raw(`,"dur":` + micros(gap.To-gap.From) + `,"pid":0,"tid":2,"args":{"events":`)
		w.number(int64(gap.Records))
		w.raw("}}")
	}
	w.raw("]}\n")
	return w.Flush()
}

// micros is a time in microseconds, without loss.
func micros(d time.Duration) string {
	text := strconv.FormatInt(int64(d/1000), 10)
	if rest := d % 1000; rest > 0 {
		// The 1 in front keeps the zeros, and is cut off.
		text += "." + strconv.FormatInt(int64(1000+rest), 10)[1:]
	}
	return text
}
