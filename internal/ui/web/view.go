// Package web serves a run as a live page: maps as tables, numbers and histograms over
// time, flame graphs, events. The page asks for what it shows and can change nothing. It
// is a feed with a handler; who may ask is decided in front of it (package listen).
package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Options say how a run is served.
type Options struct {
	Version string        // of hawk
	Cadence *view.Cadence // how often maps are read
	History time.Duration // how far back the page shows; 0: history.DefaultSpan
	Export  export.Options
}

// Bounds of what is kept and sent.
const (
	keptEvents  = 10_000
	keptText    = 8 << 20 // bytes of events
	sentRows    = 2_000   // of a map, the heaviest
	drawnKeys   = 5       // of a map over time
	maxStreams  = 4
	streamPause = 100 * time.Millisecond // between two writes to a stream
	answerTime  = 500 * time.Millisecond // that a request waits for maps to be read
)

// A View is a run as a page shows it. Its methods may be called from any goroutine.
type View struct {
	o       Options
	script  *view.Script
	cadence *view.Cadence

	// past is a lock of its own: records of the run do not wait for a look at maps.
	past    sync.Mutex
	history *history.History
	run     view.Recorder

	mu      sync.Mutex // for all below
	status  status
	events  []view.Event
	text    int    // bytes of events
	number  uint64 // of the event that comes next
	changed chan struct{}
	streams int
	closed  bool
}

// status is what is known of the run beside maps and events.
type status struct {
	began    view.Begin
	attached view.Attached
	loss     view.Loss
	end      *view.End
	looked   time.Duration
	fresh    time.Time // when that was, by the clock of this process
}

// New is the view of a run that has not begun.
func New(script *view.Script, o Options) *View {
	v := &View{o: o, script: script, cadence: o.Cadence, changed: make(chan struct{}),
		history: history.New(history.Options{Span: o.History})}
	v.run.Past = true
	v.o.Export.Version = o.Version
	return v
}

// Cadence says how often maps are read for the page.
func (v *View) Cadence() *view.Cadence { return v.cadence }

// Take takes an item of the run.
func (v *View) Take(item view.Item) error {
	fresh := false
	switch it := item.(type) {
	case view.Event:
		// Events are not recorded in full: they are many, and the last are enough.
		v.mu.Lock()
		v.keep(it)
		v.mu.Unlock()
		return nil // Idle follows
	case view.Idle:
	default:
		if err := v.run.Take(item); err != nil {
			return err
		}
		v.past.Lock()
		err := v.history.Take(item)
		if _, ok := item.(view.Refreshed); ok {
			fresh = v.history.Changed()
		}
		v.past.Unlock()
		if err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch it := item.(type) {
	case view.Begin:
		v.status.began = it
	case view.Attached:
		v.status.attached = it
	case view.Loss:
		v.status.loss = it
	case view.Refreshed:
		v.status.looked, v.status.fresh = it.Boot, time.Now()
		// While nothing changes, maps are read more rarely.
		v.cadence.Found(fresh)
	case view.End:
		v.status.loss, v.status.end = it.Loss, &it
	case view.Idle:
	default:
		return nil
	}
	v.wake()
	return nil
}

// wake has streams look for what is new.
func (v *View) wake() {
	// Closing wakes all who wait; who comes later waits for the new channel.
	close(v.changed)
	v.changed = make(chan struct{})
}

// keep adds an event. From time to time the oldest make room, many at once.
func (v *View) keep(ev view.Event) {
	v.events = append(v.events, ev)
	v.text += len(ev.Text)
	v.number++
	// Twice as many gather before some go, so that each is moved but once.
	if len(v.events) < 2*keptEvents && v.text < 2*keptText {
		return
	}
	drop := max(len(v.events)-keptEvents, 0)
	for _, old := range v.events[:drop] {
		v.text -= len(old.Text)
	}
	// The newest event stays, however long it is.
	for v.text > keptText && drop < len(v.events)-1 {
		v.text -= len(v.events[drop].Text)
		drop++
	}
	v.events = slices.Delete(v.events, 0, drop)
}

// Close ends all streams.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.closed = true
		v.wake()
	}
}

// shown are the maps of the page as the script writes them: results first, then those of the script itself.
func (v *View) shown() (maps []*view.Map) {
	for _, role := range []view.Role{view.Result, view.State} {
		for _, m := range v.script.AsWritten() {
			if m.Role == role {
				maps = append(maps, m)
			}
		}
	}
	return maps
}

// refresh has maps read for one request, as they are read seldom while nobody follows the run. A request waits no
// longer than answerTime, and not if they were read as lately as somebody who follows it would have them.
func (v *View) refresh(ctx context.Context) {
	every, _, _ := v.cadence.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.status.fresh
	// While a page follows the run, maps are read often anyway.
	if v.streams > 0 || time.Since(before) < every {
		return
	}
	v.cadence.Ask()
	for late := time.After(answerTime); v.status.fresh.Equal(before) && v.status.end == nil && !v.closed; {
		changed := v.changed
		// Take needs the lock to say that maps were read.
		v.mu.Unlock()
		ended := false
		select {
		case <-changed:
		case <-ctx.Done():
			ended = true
		case <-late:
			ended = true
		}
		v.mu.Lock()
		if ended {
			return
		}
	}
}

// whole is the run so far, for files.
func (v *View) whole() *view.Run {
	run := v.run.Run()
	v.mu.Lock()
	defer v.mu.Unlock()
	// The recorder has no events: those that were kept are put in.
	run.Events = slices.Clone(v.events)
	run.Dropped = v.number - uint64(len(v.events))
	return run
}

// part is a map in a span of time since the start, all of it if to is 0. It returns nil
// if nothing is known of the map.
func (v *View) part(m *view.Map, from, to time.Duration) *view.Snapshot {
	run := v.run.Run()
	if to <= 0 {
		return run.Snapshot(m)
	}
	v.past.Lock()
	defer v.past.Unlock()
	// Without a past the map is sent as it is.
	line := v.history.Line(m)
	if line == nil || line.Len() == 0 {
		return run.Snapshot(m)
	}
	start, end := run.Boot+from, run.Boot+to
	i, j := line.Between(start, end)
	// The snapshot says what it covers: whole columns.
	if i < j {
		start, _ = line.Span(i)
		_, end = line.Span(j - 1)
	}
	return &view.Snapshot{Map: m, Start: start, End: end, Rows: view.RowsOf(line.Rows(i, j)), Complete: true}
}
