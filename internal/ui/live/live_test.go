package live_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/live/livetest"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

func TestAmount(t *testing.T) {
	for _, tt := range []struct {
		n    float64
		u    view.Unit
		want string
	}{
		{0, view.NoUnit, "0"}, {8412, view.NoUnit, "8,412"}, {9999, view.NoUnit, "9,999"},
		{12345, view.NoUnit, "12.3 k"}, {1234567, view.NoUnit, "1.23 M"}, {999999, view.NoUnit, "1 M"},
		{-8412, view.NoUnit, "-8,412"}, {-1e7, view.NoUnit, "-10 M"}, {0.5, view.NoUnit, "0.50"},
		{128, view.Microseconds, "128 µs"}, {1024, view.Microseconds, "1.02 ms"}, {999, view.Nanoseconds, "999 ns"},
		{90_000, view.Seconds, "90,000 s"}, {0.25, view.Milliseconds, "250 µs"}, {1, view.Bytes, "1 B"},
		{8.35 * 1024, view.Bytes, "8.35 KiB"}, {1023.99 * 1024, view.Bytes, "1 MiB"}, {3, view.MiB, "3 MiB"},
		{1 << 60, view.Bytes, "1 EiB"}, {12.5, view.Percent, "12.5 %"}, {7, view.Pages, "7 pages"},
		{1.8446744073709552e19, view.NoUnit, "18.4 E"}, {99.97, view.NoUnit, "100"},
	} {
		if got := live.Amount(tt.n, tt.u); got != tt.want {
			t.Errorf("%v of %v is %q, want %q", tt.n, tt.u, got, tt.want)
		}
	}
}

func TestBound(t *testing.T) {
	h := livetest.Hist(func(b int) uint64 { return map[int]uint64{7: 90, 10: 9, 13: 1}[b] })
	for _, tt := range []struct {
		part float64
		u    view.Unit
		want string
	}{
		{0.5, view.Microseconds, "≤ 256 µs"}, {0.9, view.Microseconds, "≤ 256 µs"},
		{0.99, view.Microseconds, "≤ 2.05 ms"},
		{1, view.Microseconds, "≤ 16.4 ms"}, {0.5, view.NoUnit, "≤ 255"}, {0.5, view.Bytes, "≤ 255 B"},
	} {
		if got := live.Bound(h, tt.part, tt.u); got != tt.want {
			t.Errorf("%v of %v: %q, want %q", tt.part, tt.u, got, tt.want)
		}
	}
	if got := live.Bound(value.Hist{}, 0.5, view.NoUnit); got != "–" {
		t.Errorf("of nothing: %q", got)
	}
	open := value.Hist{Buckets: []value.Bucket{{Min: 100, NoMax: true, Count: 1}}}
	if got := live.Bound(open, 0.99, view.NoUnit); got != "> 100" {
		t.Errorf("without an end: %q", got)
	}
}

func played(seconds int) *live.State {
	s := live.New(history.Options{})
	p := &livetest.Player{To: s}
	p.Begin()
	for range seconds {
		p.Second()
	}
	s.Lock()
	return s
}

// The first look has no rate, later ones that since the look before; a range of time has
// what happened in it.
func TestRates(t *testing.T) {
	s := played(1)
	tab := s.Table(livetest.Calls, live.Want{})
	tab.SortBy(tab.Sort, false)
	if got := tab.Text(&tab.Rows[0], 2); got != "–" {
		t.Errorf("the first look has a rate of %s", got)
	}
	s = played(20)
	tab = s.Table(livetest.Calls, live.Want{})
	tab.SortBy(tab.Sort, false)
	if a, b := tab.Text(&tab.Rows[0], 1), tab.Text(&tab.Rows[0], 2); a != "160 k" || b != "8,000" {
		t.Errorf("after 20 seconds of 8,000: %s, %s", a, b)
	}
	from := livetest.Boot + 5*time.Second
	tab = s.Table(livetest.Calls, live.Want{From: from, To: from + 4*time.Second})
	tab.SortBy(tab.Sort, true)
	if key, n := tab.Text(&tab.Rows[4], 0), tab.Text(&tab.Rows[4], 1); key != "postgres" || n != "32 k" {
		t.Errorf("in four seconds: %s %s", key, n)
	}
	tab.Filter(func(s string) bool { return s == "sshd" })
	if len(tab.Rows) != 1 || tab.Text(&tab.Rows[0], 1) != "6,400" {
		t.Errorf("of sshd: %d rows, %s", len(tab.Rows), tab.Text(&tab.Rows[0], 1))
	}
}

// Events are kept up to a bound, and what is missing among them is counted where it is.
func TestEvents(t *testing.T) {
	s := live.New(history.Options{})
	for i := range 25_000 {
		s.Take(view.Event{Text: fmt.Append(nil, i)})
		if i == 24_990 {
			s.Take(view.Loss{Records: 7})
			s.Take(view.Loss{Records: 7})
			s.Take(view.Loss{Records: 9})
		}
	}
	events, all := s.Events(1<<20, nil)
	if len(events) != 10_000 || all != 25_000 {
		t.Fatalf("%d events are kept of %d", len(events), all)
	}
	lost := []uint64{}
	for i, ev := range events {
		if ev.Lost > 0 {
			lost = append(lost, ev.Lost)
			if i < 9_980 {
				t.Errorf("the loss stands at %d", i)
			}
		}
	}
	if fmt.Sprint(lost) != "[7 2]" {
		t.Errorf("lost %v", lost)
	}
	last, _ := s.Events(1, func(ev *live.Event) bool { return string(ev.Text) == "24000" })
	if len(last) != 1 {
		t.Error("an event is not found")
	}
	big := make([]byte, 1<<20)
	for range 100 {
		s.Take(view.Event{Text: big})
	}
	if events, _ := s.Events(1<<20, nil); len(events) > 8 {
		t.Errorf("%d MiB of events are kept", len(events))
	}
}

// TestRun has a run for files be as long as it was, with the time in which nobody looked, however many looks there
// were.
func TestRun(t *testing.T) {
	for _, seconds := range []int{1, 3, 125, 130} {
		s := live.New(history.Options{})
		p := &livetest.Player{To: s}
		p.Begin()
		for range seconds {
			p.Second()
		}
		gap := view.Asleep{From: livetest.Boot + time.Second, Boot: livetest.Boot + 2*time.Second}
		s.Take(gap)
		run := s.Run()
		if len(run.Asleep) != 1 || run.Asleep[0] != gap {
			t.Errorf("%d seconds: asleep %v", seconds, run.Asleep)
		}
		ends := map[*view.Map]time.Duration{}
		for _, look := range run.Past {
			ends[look.Map] = max(ends[look.Map], look.End)
		}
		if end := livetest.Boot + time.Duration(seconds)*time.Second; ends[livetest.Calls] != end {
			t.Errorf("%d seconds: the last look is at %v, not %v", seconds, ends[livetest.Calls], end)
		}
	}
}

// TestLeft counts keys that a file of a run has not kept, but not those that a row stands for.
func TestLeft(t *testing.T) {
	m := livetest.Calls
	rows := []view.Row{{Key: value.Str("a"), Value: value.Uint(2)}, {Value: value.Uint(1), Others: 3}}
	for left, want := range map[int]int{0: 0, 3: 0, 10: 7} {
		s := live.New(history.Options{})
		s.Take(view.Snapshot{Map: m, Seq: 1, Rows: rows, Totals: true, Complete: true, Left: left})
		s.Lock()
		if got := s.Table(m, live.Want{}).Left; got != want {
			t.Errorf("of %d rows that are left out %d are counted, not %d", left, got, want)
		}
		if got := s.Left(m, live.Want{Of: live.OfWindow}); got != 0 {
			t.Errorf("a window leaves out %d", got)
		}
		s.Unlock()
	}
}
