package session

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A watcher is what a run keeps for those who take its feed. Without them there
// is none, and nothing of it costs anything.
type watcher struct {
	feed   view.Feed
	script *view.Script
	needs  view.Needs
	maps   []watched    // by the number of the script map
	sites  []*view.Site // by the number of the event
	loss   view.Loss
	costs  atomic.Uint64 // looks at what programs cost

	number int    // of the event that is being acted on, -1 between two
	rec    []byte // its record
	done   chan struct{}
	ended  sync.WaitGroup
}

// A watched is what is kept of a script map.
type watched struct {
	mu     sync.Mutex // for one at a time: reads of the map, clear and zero
	of     *view.Map
	ledger *view.Ledger // nil: no totals are kept
	seq    uint64
	wanted bool           // is read
	sites  []*object.Site // where updates of it may fail
}

// watchFeed begins the feed, if anybody takes it.
func (s *session) watchFeed() error {
	o := &s.o
	if o.Feed == nil {
		return nil
	}
	w := &watcher{feed: o.Feed, script: o.Meaning, needs: o.Needs, number: -1, done: make(chan struct{})}
	// Nothing is known of the script, so that its maps and events are text.
	if w.script == nil {
		w.script = &view.Script{}
	}
	w.maps = make([]watched, len(s.Object.Scripts))
	for i, m := range s.Object.Scripts {
		of := w.script.Map(m.Name)
		known := of != nil
		if !known {
			of = &view.Map{Name: m.Name, Type: m.Value, Kind: view.Text, Div: 1}
		}
		w.maps[i].of = of
		w.maps[i].wanted = known && (w.needs.Maps == nil || slices.Contains(w.needs.Maps, of))
		if w.needs.Totals && w.maps[i].wanted {
			w.maps[i].ledger = newLedger(m, of)
		}
	}
	for _, site := range s.Object.Sites {
		if site.Map >= 0 {
			w.maps[site.Map].sites = append(w.maps[site.Map].sites, site)
		}
	}
	for _, ev := range s.Object.Events {
		w.sites = append(w.sites, w.script.SiteAt(ev.Builtin, ev.At))
	}
	s.watcher = w
	begin := view.Begin{Script: w.script, Boot: bootTime(), Wall: time.Now(), PID: o.PID}
	if o.Child != nil {
		begin.PID, begin.Command = o.Child.PID(), o.Child.Path
	}
	return w.feed.Take(begin)
}

// newLedger is a ledger for a map whose cells add up, nil for others.
func newLedger(m *object.ScriptMap, of *view.Map) *view.Ledger {
	if m.Agg == nil {
		if of.Kind != view.Counter || m.Cell != 8 {
			return nil
		}
		return view.NewLedger(view.AddWords, 0, 0)
	}
	kind, ok := builtin.LookupAgg(m.Agg.Kind)
	if !ok || m.Parts != 0 || !kind.Additive {
		return nil
	}
	grows := 0
	if of.Kind == view.Summary || of.Kind == view.Gauge {
		grows = 1 // the total may be of negative numbers; the count behind it only grows
	}
	return view.NewLedger(func(dst, src []byte) { kind.Fold(m.Agg, dst, src) }, grows, 0)
}

// bootTime is the boot clock, which goes on while the machine sleeps.
func bootTime() time.Duration { return clock(unix.CLOCK_BOOTTIME) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// say hands an item to the feed. The first error ends the run.
func (s *session) say(item view.Item) { s.keep(s.watcher.feed.Take(item)) }

// relay has the feed follow what is printed.
func (s *session) relay(item output.Item) {
	w := s.watcher
	switch it := item.(type) {
	case *output.Printf:
		s.sayEvent(it.Text)
	case output.Print:
		if w.needs.Events {
			s.sayEvent(append(value.AppendText(nil, it.Value), '\n'))
		}
	case output.Raw:
		s.sayEvent(it.Text)
	case output.Row:
		s.sayEvent(nil)
	case output.Message:
		s.sayEvent([]byte(it.Text))
	case output.Map:
		if of := w.script.Map(it.Name); of != nil {
			s.say(view.Mark{Map: of, Boot: bootTime(), Rows: view.RowsFrom(&mapRows{Entries: it.Entries}), Top: it.Top,
				Div: it.Div, AtEnd: w.number < 0})
		}
	case output.Attached:
		s.say(view.Attached{Probes: it.Probes, Failed: s.failing.unattached})
	case output.Lost:
		w.loss.Records += it.Events
		w.loss.Boot = bootTime()
		s.say(w.loss)
	case output.LostTotal:
		w.loss.Records = it.Events
	case output.Skipped:
		w.loss.Skipped = it.Events
	case output.Unread:
		w.loss.Strings = it.Strings
	}
}

// relayEmpty has the feed follow that a map was printed which holds nothing. No text says so, but
// a window in which nothing happened is one.
func (s *session) relayEmpty(it output.Map) {
	if s.watcher != nil && s.watcher.number >= 0 {
		s.relay(it)
	}
}

// sayEvent hands an event to the feed, with the values that its record has. The text is copied: it
// is used again.
func (s *session) sayEvent(text []byte) {
	w := s.watcher
	if !w.needs.Events {
		return
	}
	ev := view.Event{Boot: bootTime(), Text: slices.Clone(text)}
	if w.number >= 0 {
		ev.Site = w.sites[w.number]
		ev.Args = s.arguments(ev.Site, s.Object.Events[w.number].Args)
		stamped(&ev, s.Object.Events[w.number].Stamp, w.rec)
	}
	s.say(ev)
}

// stamped reads when and by whom a record was sent, if it says so.
func stamped(ev *view.Event, at int, rec []byte) {
	if at <= 0 || at+object.StampBytes > len(rec) {
		return
	}
	word := func(off int) uint64 { return binary.NativeEndian.Uint64(rec[at+off:]) }
	ev.Stamped, ev.Boot, ev.CPU = true, time.Duration(word(object.StampTime)), int(word(object.StampCPU))
	ev.PID, ev.TID = int(word(object.StampTask)>>32), int(uint32(word(object.StampTask)))
}

// arguments are the values of the event that is being acted on.
func (s *session) arguments(site *view.Site, args []object.Arg) []value.Value {
	if site == nil || len(site.Args) == 0 {
		return nil
	}
	rec := s.watcher.rec
	out := make([]value.Value, len(site.Args))
	if len(args) == 1 && len(site.Args) > 1 { // print takes its argument apart
		if members := view.Flatten(args[0].Type, s.Decode(args[0], rec)); len(members) == len(out) {
			return members
		}
	}
	for i, n := range site.Index {
		out[i] = value.Null{}
		if n < len(args) {
			out[i] = s.Decode(args[n], rec)
		}
	}
	return out
}

// acting notes the record that is being acted on, nil between two.
func (w *watcher) acting(rec []byte) {
	w.number, w.rec = -1, rec
	if rec != nil {
		w.number = int(binary.NativeEndian.Uint32(rec))
	}
}

// mapRows are the elements of a map as rows.
type mapRows struct {
	output.Entries
	low    []bool   // of which the value is a lower bound, as far as there are any
	others view.Row // stands for more of them, if there are any
}

// Len is how many rows there are.
func (e *mapRows) Len() int { return e.Entries.Len() + min(int(e.others.Others), 1) }

// Row makes row i.
func (e *mapRows) Row(i int) view.Row {
	if i == e.Entries.Len() {
		return e.others
	}
	at := e.At(i)
	return view.Row{Key: at.Key, Value: at.Value, AtLeast: i < len(e.low) && e.low[i]}
}

// CompareKeys orders two rows by their keys, that of others last.
func (e *mapRows) CompareKeys(i, j int) int {
	if last := e.Entries.Len(); i == last || j == last {
		return cmp.Compare(i, j)
	}
	return e.Entries.CompareKeys(i, j)
}

// refresh reads the maps again and again, on a goroutine of its own: the reader of
// events never waits for that. Maps that take long are read less often.
func (s *session) refresh() {
	w := s.watcher
	if w == nil || w.needs.Every <= 0 && w.needs.Cadence == nil {
		return
	}
	cadence := w.needs.Cadence
	if cadence == nil {
		cadence = view.NewCadence(w.needs.Every, view.DefaultBudget)
		if w.needs.Fine {
			cadence.Fine()
		}
	}
	w.ended.Add(1)
	go func() {
		defer w.ended.Done()
		before := look{boot: bootTime(), awake: clock(unix.CLOCK_MONOTONIC)}
		for period := cadence.Next(0); ; {
			all, last := false, false
			select {
			case <-w.done:
				last = true
			case <-cadence.Asked():
				all = true
			case <-time.After(period):
			}
			turns := cadence
			if w.needs.Cadence == nil && !w.needs.Fine {
				turns = nil // files hold what there is when they are made
			}
			var err error
			bootNow, awakeNow := bootTime(), clock(unix.CLOCK_MONOTONIC)
			if gap, any := before.asleep(bootNow, awakeNow, period); any {
				err = w.feed.Take(gap)
			}
			if last { // the run itself looks once more: what was before belongs in front of that
				return
			}
			cost := proc.ThreadTime(func() { err = errors.Join(err, s.lookAround(turns, all)) })
			before = look{bootNow, awakeNow, clock(unix.CLOCK_MONOTONIC) - awakeNow}
			if err != nil {
				return // what cannot be written says so at the end
			}
			period = cadence.Next(cost)
		}
	}()
}

// leastGap is the time without a look that views show.
const leastGap = 2 * time.Second

// A look is when maps were read, by clocks that tell sleep of the machine apart, and how long that took: where others
// have the processors it is far longer than what it costs, and hawk is not stopped meanwhile.
type look struct{ boot, awake, took time.Duration }

// asleep says whether the machine slept since a look began, or hawk did not run though it should have a period after
// its end. Of sleep it is known how long it was, and taken that it came first.
func (l look) asleep(bootNow, awakeNow, period time.Duration) (gap view.Asleep, any bool) {
	if slept := bootNow - l.boot - (awakeNow - l.awake); slept >= leastGap {
		return view.Asleep{From: l.boot, Boot: l.boot + slept}, true
	}
	return view.Asleep{From: l.boot, Boot: bootNow, Stopped: true}, awakeNow-l.awake-l.took-period >= leastGap
}

// lookAround reads all maps once for the feed, or those whose turn it is; turns is nil if all are alike.
func (s *session) lookAround(turns *view.Cadence, all bool) error {
	w := s.watcher
	for n := range w.maps {
		if !w.maps[n].wanted || !all && turns != nil && !turns.Due(n, bootTime()) {
			continue
		}
		var err error
		cost := proc.ThreadTime(func() { err = s.look(n) })
		if turns != nil {
			turns.Took(n, cost, bootTime())
		}
		if err != nil {
			return err
		}
	}
	if m := s.probeStats(); m != nil {
		if err := w.feed.Take(s.costs(m)); err != nil {
			return err
		}
	}
	return w.feed.Take(view.Refreshed{Boot: bootTime()})
}

// look reads a map once for the feed.
func (s *session) look(n int) error {
	w := s.watcher
	var snap view.Snapshot
	var ok bool
	err := s.owner.reader.with(func(own *session) error {
		snap, ok = own.snapshot(w, n)
		return nil
	})
	if err == nil && ok { // names of its stacks need the reader
		err = w.feed.Take(snap)
	}
	return err
}

// endFeed says what all maps held at the end, and that it is over.
func (s *session) endFeed() {
	w := s.watcher
	if w == nil {
		return
	}
	// The last look is the run's own: nothing changes any more, and it must not be mixed with one
	// on the way.
	close(w.done)
	w.ended.Wait()
	for n := range w.maps {
		if s.err != nil || s.signals.Load() > 1 {
			break
		}
		if snap, ok := s.snapshot(w, n); ok {
			s.say(snap)
		}
	}
	if m := s.probeStats(); m != nil {
		s.say(s.costs(m))
	}
	w.loss.Records = max(w.loss.Records, s.stats(false).Lost)
	s.say(view.End{Status: s.status, Cause: s.reason.String(), Boot: bootTime(), Loss: w.loss})
}

// snapshot is what a map holds, or its totals if they are kept; ok is false if nobody
// wants to know. s is who reads: the run, or who reads beside it.
func (s *session) snapshot(w *watcher, n int) (out view.Snapshot, ok bool) {
	k, m := &w.maps[n], s.Object.Scripts[n]
	if !k.wanted {
		return out, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq++
	out = view.Snapshot{Map: k.of, Seq: k.seq, Start: bootTime(), Totals: k.ledger != nil}
	var err error
	if out.Totals {
		out.Refused.Held, err = s.totals(&out, k, m, w.needs.Now)
	} else {
		var entries output.Entries
		entries, err = s.readMap(m)
		out.Rows = view.RowsFrom(&mapRows{Entries: entries})
		out.Refused.Held = entries.Len()
	}
	s.refused(m, k.sites, &out.Refused)
	out.End, out.Complete = bootTime(), err == nil
	return out, true
}

// refused says how many updates of a map the kernel has refused at its sites.
func (s *session) refused(m *object.ScriptMap, sites []*object.Site, r *view.Refused) {
	for _, site := range sites {
		if n := atomic.LoadUint64(s.word(site.Offset)); n > 0 {
			r.Updates += n
			r.Full = r.Full || failureCode(s.word(site.Offset+8)) == -int(unix.E2BIG)
		}
	}
	if m.Map >= 0 {
		r.Capacity = s.Object.Maps[m.Map].MaxEntries
	}
	if r.Full && m.Short != 0 { // elements with short keys have as much room of their own
		short := 0
		s.walk(m.Short, m.PerCPU, func(_, _ []byte) bool {
			short++
			return true
		})
		r.Held = max(short, r.Held-short)
	}
}

// totals reads a map into its ledger, and the ledger into out; with held, what the map holds, too. n is how many
// elements that are.
func (s *session) totals(out *view.Snapshot, k *watched, m *object.ScriptMap, held bool) (n int, err error) {
	l := k.ledger
	l.Begin()
	if m.Map < 0 {
		if cell := s.joined(m, s.heldCell); cell != nil {
			l.Seen(nil, cell)
		}
	} else {
		err = s.walkMap(m, func(key, val []byte) bool {
			if cell := cellOf(m, val); cell != nil {
				l.Seen(key, cell)
				n++
			}
			return true
		})
	}
	if err == nil {
		l.End()
	}
	add := s.adding(m)
	rows, now := &mapRows{}, &mapRows{}
	// Most maps hold all of their totals: what they hold is told apart from the first row on that does not.
	same := true
	l.Totals(func(key, cell, holds []byte, low bool) {
		if held && same && (len(holds) == 0 || &holds[0] != &cell[0]) {
			same = false
			for i := range rows.Entries.Len() {
				at := rows.At(i)
				now.Add(at.Key, at.Value)
			}
		}
		if low {
			rows.low = append(rows.low, make([]bool, rows.Entries.Len()-len(rows.low)+1)...)
			rows.low[rows.Entries.Len()] = true
		}
		if add(&rows.Entries, key, cell); held && !same && len(holds) > 0 {
			add(&now.Entries, key, holds)
		}
	})
	if cell, n, low := l.Others(); n > 0 {
		rows.others = view.Row{Key: value.Null{}, Value: s.shown(m, cell), AtLeast: low, Others: int32(n)}
		same = false
	}
	out.Rows = view.RowsFrom(rows)
	if out.Now = view.RowsFrom(now); held && same {
		out.Now = out.Rows
	}
	return n, err
}

// cellOf is the cell of an element, those of all CPUs as one; nil if the element does
// not exist for the user.
func cellOf(m *object.ScriptMap, val []byte) []byte {
	switch {
	case m.Agg != nil:
		return fold(m.Agg, val, m.Cell)
	case m.Soft && binary.NativeEndian.Uint64(val[8:]) == 0, len(val) < m.Cell:
		return nil
	}
	return val[:m.Cell]
}
