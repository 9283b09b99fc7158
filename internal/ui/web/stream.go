package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Times of a stream: a client that takes longer for a write is gone, and something is
// sent at least that often.
const (
	writeTime = 10 * time.Second
	heartbeat = 15 * time.Second
)

// stream sends what is known and then what changes, as server-sent events. A client that
// is slow is sent the latest state when it is ready again, and told what it missed.
func (v *View) stream(w http.ResponseWriter, r *http.Request) {
	after, err := afterOf(r)
	if err != nil {
		http.Error(w, "after is the number of events that were seen", http.StatusBadRequest)
		return
	}
	v.mu.Lock()
	// Each stream costs a look at all maps again and again, so that there are few.
	full := v.streams >= maxStreams
	if !full {
		v.streams++
	}
	v.mu.Unlock()
	if full {
		http.Error(w, fmt.Sprintf("%d pages show this run already", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		v.mu.Lock()
		v.streams--
		v.mu.Unlock()
	}()
	// Maps are read often only while somebody watches.
	defer v.cadence.Watch()()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(writeTime))
	// Headers go out at once: the browser shows that it is connected.
	if rc.Flush() != nil || r.Method == http.MethodHead {
		return
	}
	c := &client{v: v, maps: map[*view.Map]*shownMap{}}
	// Lines are those of a file of jsonl, so that one reader takes both.
	c.records = export.Records(&c.lines, v.script.Maps, sentRows)
	c.resume(after)
	for {
		changed, last := c.look()
		rc.SetWriteDeadline(time.Now().Add(writeTime))
		if c.send(w) != nil || rc.Flush() != nil || last {
			return
		}
		if !wait(r.Context(), changed) {
			return
		}
	}
}

// afterOf is how many events a client has seen before it was cut off: after in the address, or what a browser says
// by itself.
func afterOf(r *http.Request) (uint64, error) {
	text := cmp.Or(r.URL.Query().Get("after"), r.Header.Get("Last-Event-ID"))
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// resume passes over events that the client has seen. Who has seen more than there were saw another run.
func (c *client) resume(after uint64) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	if after <= c.v.number {
		c.next = after
	}
}

// wait waits for something new, or for the time to say that nothing is. It is false if
// nobody listens any more.
func wait(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-time.After(heartbeat):
	}
	// Changes that follow each other closely are sent together.
	select {
	case <-ctx.Done():
		return false
	case <-time.After(streamPause):
		return true
	}
}

// A client is a page that follows the run.
type client struct {
	v       *View
	records view.Feed
	lines   bytes.Buffer
	began   bool
	maps    map[*view.Map]*shownMap
	next    uint64 // the number of the event to be sent next
	ended   bool
}

// A shownMap is what a page knows of a map.
type shownMap struct {
	seq   uint64
	keys  []string      // drawn over time
	until time.Duration // the end of the last column
	some  bool          // columns were sent
}

// look collects what is new to the client as lines. last: nothing will follow.
func (c *client) look() (changed <-chan struct{}, last bool) {
	v := c.v
	v.mu.Lock()
	// Later news closes this channel, so that nothing is missed between here and wait.
	changed, last = v.changed, v.closed
	now := v.status
	events, missed := c.news()
	v.mu.Unlock()
	if now.began.Script != nil {
		// Making lines is part of what looking costs.
		v.cadence.Spent(proc.ThreadTime(func() { c.collect(now, events, missed) }))
	}
	return changed, last
}

// collect adds the lines of what is new.
func (c *client) collect(now status, events []view.Event, missed uint64) {
	// The script comes first, as in a file.
	if !c.began {
		c.began = true
		c.records.Take(now.began)
	}
	if missed > 0 {
		c.record(map[string]any{"type": "gap", "events": missed})
	}
	for _, ev := range events {
		c.records.Take(ev)
	}
	run := c.v.run.Run()
	for i := range run.Maps {
		c.snapshot(&run.Maps[i])
	}
	_, period, load := c.v.cadence.Now()
	c.record(map[string]any{
		"type": "status", "t": int64(max(now.looked-now.began.Boot, 0)), "probes": now.attached.Probes,
		"failed": now.attached.Failed, "events": c.next, "lost": now.loss.Records, "skipped": now.loss.Skipped,
		"period": period.Seconds(), "slowest": c.v.cadence.Slowest().Seconds(), "load": load,
	})
	if now.end != nil && !c.ended {
		c.ended = true
		c.records.Take(*now.end)
	}
	c.records.Take(view.Idle{})
}

// news are the events that the client has not seen, and how many are not kept any more.
func (c *client) news() (events []view.Event, missed uint64) {
	v := c.v
	// Events are numbered over the whole run, and the oldest are gone.
	first := v.number - uint64(len(v.events))
	if c.next < first {
		missed, c.next = first-c.next, first
	}
	events = v.events[c.next-first:]
	if over := len(events) - keptEvents; over > 0 {
		// A page shows no more events than that, and counts the others as missed.
		missed += uint64(over)
		events = events[over:]
	}
	c.next = v.number
	// Events are copied, as keep moves them.
	return slices.Clone(events), missed
}

// record adds a line that is not one of the files' formats.
func (c *client) record(fields map[string]any) {
	c.records.Take(view.Idle{}) // what comes before it stands before it
	line, err := json.Marshal(fields)
	if err == nil {
		c.lines.Write(append(line, '\n'))
	}
}

// snapshot adds a map that was read again: its rows, and how it changed. Stacks are asked
// for by who draws them.
func (c *client) snapshot(s *view.Snapshot) {
	of := c.maps[s.Map]
	if of == nil {
		of = &shownMap{}
		c.maps[s.Map] = of
	}
	if of.seq == s.Seq {
		return
	}
	of.seq = s.Seq
	if s.Map.Profile() {
		// There may be very many stacks: the page is told what they come to.
		sum := int64(0)
		for i := range s.Rows.Len() {
			row := s.Rows.At(i)
			sum = view.Plus(sum, s.Map.Weigh(row.Value))
		}
		// began was written before the first stream collects, and does not change any more.
		c.record(map[string]any{"type": "profile", "name": s.Map.Name, "entries": s.Rows.Len(), "weight": sum,
			"t": int64(s.End - c.v.status.began.Boot), "refusal": s.Refused.String()})
		return
	}
	c.records.Take(*s)
	c.past(s, of)
}

// past adds the columns of a map that the client has not seen. Which keys are drawn may
// change, and then all columns are sent.
func (c *client) past(s *view.Snapshot, of *shownMap) {
	v := c.v
	v.past.Lock()
	defer v.past.Unlock()
	line := v.history.Line(s.Map)
	if line == nil {
		return
	}
	keys, names := drawn(line, s)
	// Other keys are other lines: their columns are sent from the first on.
	all := !of.some || !slices.Equal(names, of.keys)
	from := 0
	if !all {
		// New columns are the last.
		for from = line.Len(); from > 0; from-- {
			if _, end := line.Span(from - 1); end <= of.until {
				break
			}
		}
	}
	// Nothing was added since, and the page has all the rest.
	if from == line.Len() && !all {
		return
	}
	of.some, of.keys = true, names
	var times [][]float64 // where each column begins and ends, and 1 if nobody looked in it
	for i := from; i < line.Len(); i++ {
		start, end := line.Span(i)
		times = append(times, []float64{c.seconds(start), c.seconds(end)})
		if n := len(times) - 1; line.Gap(i) {
			times[n] = append(times[n], 1)
		}
		of.until = end
	}
	fields := map[string]any{"type": "past", "name": s.Map.Name, "whole": all, "times": times}
	if s.Map.Kind == view.Histogram {
		columns := make([][][3]any, 0, len(times))
		for i := from; i < line.Len(); i++ {
			columns = append(columns, buckets(line.Rows(i, i+1)))
		}
		fields["buckets"] = columns
	} else {
		what := history.Count
		// A map that weighs by its total is drawn by it.
		if s.Map.Kind == view.Summary && s.Map.Weight == view.TotalWeight {
			what = history.Total
		}
		lines := [][]float64{line.Amounts(history.All, what, from, line.Len())}
		for _, key := range keys {
			lines = append(lines, line.Amounts(key, what, from, line.Len()))
		}
		fields["keys"], fields["lines"] = names, lines
	}
	c.record(fields)
}

// seconds is a time since the start as the page draws it, exact to milliseconds.
func (c *client) seconds(boot time.Duration) float64 {
	return float64((boot-c.v.status.began.Boot)/time.Millisecond) / 1000
}

// drawn are the keys of a map that weigh most, which are drawn over time, with their names.
func drawn(line *history.Line, s *view.Snapshot) (keys []history.Key, names []string) {
	// Histograms are drawn as heat, of all keys together.
	if !s.Map.Keyed() || s.Map.Kind == view.Histogram {
		return nil, nil
	}
	for _, n := range s.Rows.Arrange(view.ByWeight, s.Map.Weigh) {
		row := s.Rows.At(int(n))
		key, ok := line.Key(row.Key)
		// History may not keep a key apart, and others are none.
		if !ok || row.Others > 0 {
			continue
		}
		keys, names = append(keys, key), append(names, keyText(s.Map, row.Key))
		if len(keys) == drawnKeys {
			break
		}
	}
	return keys, names
}

// keyText is a key on one line.
func keyText(m *view.Map, key value.Value) string {
	var b []byte
	for i, part := range view.Flatten(m.Key, key) {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = value.AppendText(b, part)
	}
	return view.Line(string(b))
}

// buckets are the sums of the buckets of histograms: least and greatest value, null where
// there is none, and count.
func buckets(rows []view.Row) [][3]any {
	out := [][3]any{}
	var sum []value.Bucket
	for _, row := range rows {
		h, ok := row.Value.(value.Hist)
		if !ok {
			continue
		}
		for i, b := range h.Buckets {
			// Histograms of keys may be of different lengths; one place is one bucket in all.
			if i >= len(sum) {
				count := b.Count
				b.Count = 0
				sum = append(sum, b)
				b.Count = count
			}
			sum[i].Count += b.Count
		}
	}
	for _, b := range sum {
		if b.Count == 0 {
			continue
		}
		// The page has floats for numbers in any case.
		low, high := any(b.Low().Float()), any(b.High().Float())
		if b.NoMin {
			low = nil
		}
		if b.NoMax {
			high = nil
		}
		out = append(out, [3]any{low, high, b.Count})
	}
	return out
}

// send writes the collected lines as events, or a comment if there are none.
func (c *client) send(w http.ResponseWriter) error {
	defer c.lines.Reset()
	if c.lines.Len() == 0 {
		// A colon begins a comment, by which both ends know that the connection lives.
		_, err := w.Write([]byte(":\n\n"))
		return err
	}
	var out bytes.Buffer
	last := bytes.LastIndexByte(bytes.TrimSuffix(c.lines.Bytes(), []byte("\n")), '\n') + 1
	at := 0
	for line := range bytes.Lines(c.lines.Bytes()) {
		if at == last { // who has this has all that comes before it
			fmt.Fprintf(&out, "id: %d\n", c.next)
		}
		at += len(line)
		out.WriteString("data: ")
		out.Write(line)
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}
