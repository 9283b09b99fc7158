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

// A trace of Perfetto: TracePackets with TrackEvents, protos/perfetto/trace. Times are
// those of the boot clock, tied to the clock on the wall by a snapshot of both.
var _ = define(Format{
	Name: "perfetto", Ext: "perfetto-trace", Takes: Everything, Binary: true, Stamps: true, Past: true,
	Write: writePerfetto,
	Doc:   "events on the tracks of their threads, numbers over time, for ui.perfetto.dev; exact to the nanosecond",
})

// Numbers of Perfetto's own.
const (
	perfettoRealtime   = 1 // BuiltinClock
	perfettoBoot       = 6
	perfettoSliceBegin = 1 // TrackEvent.Type
	perfettoSliceEnd   = 2
	perfettoInstant    = 3
	perfettoCounter    = 4
	perfettoSequence   = 1 // trusted_packet_sequence_id
	perfettoFirst      = 1 // SEQ_INCREMENTAL_STATE_CLEARED
)

// A perfettoWriter writes packets. Tracks are made when something is first on them.
type perfettoWriter struct {
	*bufio.Writer
	// The number that was given last; 0 is no track.
	next    uint64            // number of a track
	threads map[uint64]uint64 // tracks by process and thread
	names   map[string]uint64 // tracks by name
	some    bool              // a packet was written
}

// writePerfetto writes moments, then lengths of time, then counters. Packets need not be in the
// order of their times: Perfetto sorts them.
func writePerfetto(out io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	w := &perfettoWriter{Writer: bufio.NewWriter(out), threads: map[uint64]uint64{}, names: map[string]uint64{}}
	w.clocks(r)
	var slices []traceEvent
	for _, ev := range traceEvents(r) {
		if ev.length >= 0 {
			slices = append(slices, ev)
			continue
		}
		w.event(ev.Boot, perfettoInstant, w.thread(ev.Event), ev.name, ev.Event)
	}
	w.slices(slices)
	for _, t := range counterTracks(r, maps) {
		track := w.named(t.name, true)
		for _, p := range t.points {
			w.counter(p, track)
		}
	}
	for _, moment := range r.Moments {
		w.event(moment.At, perfettoInstant, w.named("script", false), moment.What, nil)
	}
	for _, gap := range gaps(r) {
		track := w.named("lost", false)
		w.event(gap.From, perfettoSliceBegin, track, view.Grouped(gap.Records)+" events lost", nil)
		w.event(gap.To, perfettoSliceEnd, track, "", nil)
	}
	return w.Flush()
}

// packet writes a packet of the one sequence.
func (w *perfettoWriter) packet(at time.Duration, fill func(m *message)) {
	var m message
	// The numbers of fields are those of TracePacket in protos/perfetto/trace/trace_packet.proto,
	// those below of TrackEvent and TrackDescriptor.
	m.uint(8, uint64(at)) // timestamp
	m.uint(58, perfettoBoot)
	m.uint(10, perfettoSequence)
	// Readers drop packets of a sequence until one says that its state begins.
	if !w.some {
		m.uint(13, perfettoFirst)
		w.some = true
	}
	fill(&m)
	var trace message
	trace.bytes(1, m)
	w.Write(trace)
}

// clocks ties the boot clock to that on the wall.
func (w *perfettoWriter) clocks(r *view.Run) {
	// Perfetto computes times by other clocks from the two numbers, which are of one moment.
	var both message
	for _, c := range []struct{ id, ns uint64 }{
		{perfettoBoot, uint64(r.Boot)}, {perfettoRealtime, uint64(r.Wall.UnixNano())},
	} {
		var m message
		m.uint(1, c.id)
		m.uint(2, c.ns)
		both.bytes(1, m)
	}
	w.packet(r.Boot, func(m *message) { m.bytes(6, both) })
}

// slices writes lengths of time such that those of a track nest: one that begins within
// another and ends after it has a track of its own.
func (w *perfettoWriter) slices(list []traceEvent) {
	type lane struct {
		track uint64
		open  []time.Duration // ends, the innermost last
	}
	lanes := map[uint64][]*lane{} // by the track of the thread
	// Slices end innermost first, which is how Perfetto pairs beginnings with ends.
	closeUntil := func(l *lane, at time.Duration) {
		for n := len(l.open); n > 0 && l.open[n-1] <= at; n-- {
			w.event(l.open[n-1], perfettoSliceEnd, l.track, "", nil)
			l.open = l.open[:n-1]
		}
	}
	for i := range list {
		ev := &list[i]
		thread := w.thread(ev.Event)
		// Events are in the order in which they begin: what is open on a lane began earlier.
		var at *lane
		for _, l := range lanes[thread] {
			closeUntil(l, ev.begin())
			if n := len(l.open); at == nil && (n == 0 || l.open[n-1] >= ev.Boot) {
				at = l
			}
		}
		if at == nil {
			at = &lane{track: thread}
			if n := len(lanes[thread]); n > 0 {
				// The first lane is the track of the thread. Further ones are named tracks.
				at.track = w.named("overlapping "+strconv.Itoa(ev.TID)+" "+strconv.Itoa(n), false)
			}
			lanes[thread] = append(lanes[thread], at)
		}
		w.event(ev.begin(), perfettoSliceBegin, at.track, ev.name, ev.Event)
		at.open = append(at.open, ev.Boot)
	}
	// Lanes are closed in any order: packets carry their times.
	for _, of := range lanes {
		for _, l := range of {
			closeUntil(l, math.MaxInt64)
		}
	}
}

// thread is the track of the thread that sent an event.
func (w *perfettoWriter) thread(ev *view.Event) uint64 {
	if !ev.Stamped {
		return w.named("events", false)
	}
	key := uint64(ev.PID)<<32 | uint64(uint32(ev.TID))
	if n, ok := w.threads[key]; ok {
		return n
	}
	w.next++
	w.threads[key] = w.next
	var thread message
	// Perfetto drops the track of a thread without numbers; both are 0 of what an idle processor does.
	thread.number(1, uint64(ev.PID))
	thread.number(2, uint64(ev.TID))
	// The first event that a thread is seen with names its track.
	if ev.Site != nil {
		for i, a := range ev.Site.Args {
			if a.Name == "comm" && i < len(ev.Args) {
				thread.text(5, view.Line(string(value.AppendText(nil, ev.Args[i]))))
			}
		}
	}
	var track message
	track.uint(1, w.next)
	track.bytes(4, thread)
	w.packet(ev.Boot, func(m *message) { m.bytes(60, track) })
	return w.next
}

// named is a track of a name.
func (w *perfettoWriter) named(name string, counter bool) uint64 {
	if n, ok := w.names[name]; ok {
		return n
	}
	w.next++
	w.names[name] = w.next
	var track message
	track.uint(1, w.next)
	track.text(2, name)
	// An empty descriptor of counters makes the track one of numbers.
	if counter {
		track.bytes(8, nil)
	}
	// Descriptors hold for the whole trace, whatever their time.
	w.packet(0, func(m *message) { m.bytes(60, track) })
	return w.next
}

// event writes what happens on a track.
func (w *perfettoWriter) event(at time.Duration, kind, track uint64, name string, ev *view.Event) {
	var m message
	// Fields of TrackEvent: 9 type, 11 track_uuid, 22 categories, 23 name, 4 debug_annotations.
	m.uint(9, kind)
	m.uint(11, track)
	m.text(22, "hawk")
	m.text(23, name)
	if ev != nil {
		for i, a := range ev.Args {
			// Fields of DebugAnnotation: 10 name, 3 uint_value, 4 int_value, 6 string_value.
			var note message
			note.text(10, ev.Site.Args[i].Name)
			switch v := a.(type) {
			case value.Int:
				note.number(4, uint64(v))
			case value.Uint:
				note.number(3, uint64(v))
			case *value.Stack:
				note.text(6, foldedStack(view.FramesOf(v), Options{}))
			default:
				note.text(6, view.Line(string(value.AppendText(nil, v))))
			}
			m.bytes(4, note)
		}
	}
	w.packet(at, func(p *message) { p.bytes(11, m) })
}

// counter writes a point of a counter.
func (w *perfettoWriter) counter(p counterPoint, track uint64) {
	var m message
	m.uint(9, perfettoCounter)
	m.uint(11, track)
	m.double(44, p.value)
	w.packet(p.at, func(pk *message) { pk.bytes(11, m) })
}
