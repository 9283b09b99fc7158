// Package live is what views of a run that goes on have in common: what the run has said
// so far, kept for whoever draws it at whatever moment, and maps as tables with the
// numbers that people look for. It knows nothing of terminals and browsers.
package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Bounds of the events that are kept.
const (
	maxEvents     = 10_000
	maxEventBytes = 8 << 20
	maxAsleep     = 10_000
)

// An Event is an event, or where others are missing.
type Event struct {
	view.Event
	Number uint64    // of all that came, from 1
	Lost   uint64    // this many are missing here, and there is no event
	Marked *view.Map // was printed here, and there is no event
}

// A State is a feed that keeps what views show. Who draws holds Lock; the run never
// waits for that, as what it says goes to a queue that is emptied by who draws.
type State struct {
	Cadence *view.Cadence // is told whether anything is new; nil: nobody is

	quick  sync.Mutex // for the moment of adding something
	queue  []view.Item
	events []Event // a ring once it is full
	oldest int     // in events
	bytes  int
	number uint64
	loss   view.Loss
	news   bool
	wake   chan struct{}

	looking sync.Mutex // for maps
	hist    *history.History
	begin   view.Begin
	probes  view.Attached
	end     *view.End
	now     map[*view.Map]*view.Snapshot
	windows map[*view.Map]*window
	at      time.Duration // of the last look
	pinned  *pinned       // nil: looked at as it is
	names   *names        // of stacks; nil: they are found when they are asked for
	asleep  []view.Asleep // when nobody looked
	rate    float64       // of events, a second
	counted uint64        // events at the last look
	// refreshed is when all maps had been looked at.
	refreshed time.Duration
}

// A window is what a map held when the script printed it, before it cleared it.
type window struct {
	open, closed view.Mark
	printed      bool // open is meant, and not closed yet
	any          bool // one was closed
}

// New makes a state that remembers as far back as the options say.
func New(o history.Options) *State {
	return &State{
		hist: history.New(o), now: map[*view.Map]*view.Snapshot{}, windows: map[*view.Map]*window{},
		wake: make(chan struct{}, 1),
	}
}

// Wake is ready when there is something new to draw.
func (s *State) Wake() <-chan struct{} { return s.wake }

// ring wakes who draws. It never waits: one wake is for all that is new.
func (s *State) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Take takes an item of the run. Looks at maps come from who reads them, all else from
// the reader of events, which does not wait.
func (s *State) Take(item view.Item) error {
	switch it := item.(type) {
	case view.Event:
		s.quick.Lock()
		s.number++
		s.keep(Event{Event: it, Number: s.number})
		s.quick.Unlock()
	case view.Snapshot:
		s.Lock()
		s.apply(it)
		s.Unlock()
	case view.Refreshed:
		s.Lock()
		// Where both locks are held, looking is taken first.
		s.quick.Lock()
		if span := (it.Boot - s.refreshed).Seconds(); span > 0 && s.refreshed > 0 {
			s.rate = float64(s.number-s.counted) / span
		}
		s.counted, s.refreshed, s.at = s.number, it.Boot, it.Boot
		// Changed forgets when it is asked, so that it is asked in any case.
		news := s.hist.Changed() || s.news
		s.news = false
		s.quick.Unlock()
		s.Unlock()
		if s.Cadence != nil {
			s.Cadence.Found(news)
		}
		s.ring()
	case view.Loss:
		s.quick.Lock()
		if more := it.Records - min(s.loss.Records, it.Records); more > 0 {
			// A gap has the number of the event before it.
			s.keep(Event{Lost: more, Number: s.number})
		}
		s.loss = it
		s.quick.Unlock()
	case view.Mark:
		s.quick.Lock()
		if !it.AtEnd {
			s.keep(Event{Event: view.Event{Boot: it.Boot}, Marked: it.Map, Number: s.number})
		}
		s.queue = append(s.queue, it)
		s.quick.Unlock()
	case view.Begin, view.Attached, view.Cleared, view.Asleep, view.End:
		s.quick.Lock()
		s.queue = append(s.queue, it)
		s.quick.Unlock()
		s.ring()
	}
	return nil
}

// keep adds to the ring of events.
func (s *State) keep(ev Event) {
	s.news = true
	// Beside its text an event takes about 64 bytes.
	size := 64 + len(ev.Text)
	for len(s.events) > 0 && (len(s.events)-s.oldest >= maxEvents || s.bytes+size > maxEventBytes) {
		if s.oldest == len(s.events) {
			break
		}
		s.bytes -= 64 + len(s.events[s.oldest].Text)
		// The text is freed now, the place once half of them are empty.
		s.events[s.oldest] = Event{}
		s.oldest++
	}
	if s.oldest >= maxEvents { // the front half of the slice is empty
		s.events = slices.Clone(s.events[s.oldest:])
		s.oldest = 0
	}
	s.events = append(s.events, ev)
	s.bytes += size
}

// Lock lets maps be looked at as they are.
func (s *State) Lock() {
	s.looking.Lock()
	s.quick.Lock()
	queue := s.queue
	s.queue = nil
	s.quick.Unlock()
	for _, item := range queue {
		s.apply(item)
	}
}

// Unlock lets maps change.
func (s *State) Unlock() { s.looking.Unlock() }

// apply takes an item that changes what is known of maps and of the run.
func (s *State) apply(item view.Item) {
	s.hist.Take(item)
	switch it := item.(type) {
	case view.Begin:
		s.begin, s.at = it, it.Boot
	case view.Attached:
		s.probes = it
	case view.Snapshot:
		s.now[it.Map], s.at = &it, max(s.at, it.End)
	case view.Mark:
		// Prints of the end follow no clearing of the script's: they close no window.
		if !it.AtEnd {
			w := s.window(it.Map)
			w.open, w.printed = it, true
			s.at = max(s.at, it.Boot)
		}
	case view.Cleared:
		w := s.window(it.Map)
		if w.printed {
			w.closed, w.any = w.open, true
		}
		w.printed = false
	case view.Asleep:
		// Who is stopped again and again sees when that was last.
		if s.asleep = append(s.asleep, it); len(s.asleep) > maxAsleep {
			s.asleep = s.asleep[len(s.asleep)-maxAsleep:]
		}
	case view.End:
		s.end, s.at = &it, it.Boot
	}
}

// window is that of a map, which may be printed first or cleared first.
func (s *State) window(m *view.Map) *window {
	w := s.windows[m]
	if w == nil {
		w = &window{}
		s.windows[m] = w
	}
	return w
}

// All below is read between Lock and Unlock.

// Begin is how the run began; Script is nil before that.
func (s *State) Begin() view.Begin { return s.begin }

// Attached is how many probes are attached.
func (s *State) Attached() view.Attached { return s.probes }

// End is how the run ended, nil while it goes on.
func (s *State) End() *view.End { return s.end }

// At is when maps were read last, by the boot clock.
func (s *State) At() time.Duration {
	if s.pinned != nil {
		return s.pinned.at
	}
	return s.at
}

// Seen is how many columns of a map's history there were at that look.
func (s *State) Seen(line *history.Line) int {
	if s.pinned == nil {
		return line.Len()
	}
	_, n := line.Between(0, s.pinned.at)
	return n
}

// Line is what is known of a map over time, nil if nothing is.
func (s *State) Line(m *view.Map) *history.Line { return s.hist.Line(m) }

// Snapshot is what a map held at the last look, nil before the first.
func (s *State) Snapshot(m *view.Map) *view.Snapshot {
	if s.pinned != nil {
		return s.pinned.now[m]
	}
	return s.now[m]
}

// Loss is what was lost so far. It may be asked without Lock.
func (s *State) Loss() view.Loss {
	s.quick.Lock()
	defer s.quick.Unlock()
	return s.loss
}

// Events are the last most events that keep finds, the oldest first, and how many came in
// all. keep is nil for any. It may be asked without Lock.
func (s *State) Events(most int, keep func(*Event) bool) (out []Event, all uint64) {
	s.quick.Lock()
	defer s.quick.Unlock()
	for i := len(s.events) - 1; i >= s.oldest && len(out) < most; i-- {
		if keep == nil || keep(&s.events[i]) {
			out = append(out, s.events[i])
		}
	}
	slices.Reverse(out)
	return out, s.number
}

// EventRate is how many events came a second between the last two looks.
func (s *State) EventRate() float64 { return s.rate }

// Pin has maps stay as they are for who looks, while the run goes on and history grows.
func (s *State) Pin() {
	// Snapshots never change once they are handed out, so that pointers are copied.
	s.pinned = &pinned{now: maps.Clone(s.now), windows: map[*view.Map]*window{}, at: s.at}
	// Windows change in place: they are copied themselves.
	for m, w := range s.windows {
		was := *w
		s.pinned.windows[m] = &was
	}
}

// Unpin has them change again.
func (s *State) Unpin() { s.pinned = nil }

// pinned is what maps held when the picture was made to stand still.
type pinned struct {
	now     map[*view.Map]*view.Snapshot
	windows map[*view.Map]*window
	at      time.Duration
}

// Script is what the run is of, nil before it began.
func (s *State) Script() *view.Script {
	s.Lock()
	defer s.Unlock()
	return s.begin.Script
}
