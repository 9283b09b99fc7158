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
	// Half a microsecond is none, in whole ones.
	whole := value.Hist{Buckets: []value.Bucket{{Count: 1}, {Min: 1, Max: 1, Count: 1}}}
	for part, want := range map[float64]string{0.5: "≤ 1 µs", 1: "≤ 2 µs"} {
		if got := live.Bound(whole, part, view.Microseconds); got != want {
			t.Errorf("%v of times below 2 µs: %q", part, got)
		}
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
	pick := live.Pick{Column: -1, Most: 100}
	tab := s.Table(livetest.Calls, live.Want{}, pick)
	if got := tab.Text(&tab.Rows[0], 2); got != "–" {
		t.Errorf("the first look has a rate of %s", got)
	}
	s = played(20)
	tab = s.Table(livetest.Calls, live.Want{}, pick)
	if a, b := tab.Text(&tab.Rows[0], 1), tab.Text(&tab.Rows[0], 2); a != "160 k" || b != "8,000" {
		t.Errorf("after 20 seconds of 8,000: %s, %s", a, b)
	}
	from := livetest.Boot + 5*time.Second
	want := live.Want{From: from, To: from + 4*time.Second}
	pick.Reverse = true
	tab = s.Table(livetest.Calls, want, pick)
	if key, n := tab.Text(&tab.Rows[4], 0), tab.Text(&tab.Rows[4], 1); key != "postgres" || n != "32 k" {
		t.Errorf("in four seconds: %s %s", key, n)
	}
	pick.Matches = func(s string) bool { return s == "sshd" }
	tab = s.Table(livetest.Calls, want, pick)
	if len(tab.Rows) != 1 || tab.Text(&tab.Rows[0], 1) != "6,400" {
		t.Errorf("of sshd: %d rows, %s", len(tab.Rows), tab.Text(&tab.Rows[0], 1))
	}
}

// TestHeld has a table of now show what the map holds, and not keys that are gone.
func TestHeld(t *testing.T) {
	row := func(key string, n uint64) view.Row { return view.Row{Key: value.Str(key), Value: value.Uint(n)} }
	rows := []view.Row{row("gone", 3), row("less", 5), row("same", 7)}
	snap := view.Snapshot{Map: livetest.Calls, Seq: 1, Rows: view.RowsOf(rows), Totals: true, Complete: true}
	for want, now := range map[string]view.Rows{
		"less 2, same 7, ":         view.RowsOf([]view.Row{row("less", 2), row("same", 7)}),
		"gone 3, less 5, same 7, ": snap.Rows,
		"":                         {},
	} {
		s := live.New(history.Options{})
		snap.Now = now
		s.Take(snap)
		s.Lock()
		got := ""
		for _, r := range s.Rows(livetest.Calls, live.Want{Of: live.OfNow}).List() {
			got += fmt.Sprintf("%s %d, ", r.Key, r.Value)
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.Unlock()
	}
}

// TestFirst makes as few rows of many keys as are wanted: those that come first, however they came.
func TestFirst(t *testing.T) {
	m, s := livetest.Calls, live.New(history.Options{})
	var rows []view.Row
	for i := range 5000 {
		n := i * 1999 % 5000
		rows = append(rows, view.Row{Key: value.Str(fmt.Sprintf("%04d", n)), Value: value.Uint(n / 2)})
	}
	rows = append(rows, view.Row{Key: value.Null{}, Value: value.Uint(1 << 40), Others: 9})
	s.Take(view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf(rows), Totals: true, Complete: true})
	s.Lock()
	defer s.Unlock()
	for _, column := range []int{0, 1} {
		for _, reverse := range []bool{false, true} {
			all := s.Table(m, live.Want{}, live.Pick{Column: column, Reverse: reverse, Most: len(rows)})
			few := s.Table(m, live.Want{}, live.Pick{Column: column, Reverse: reverse, Most: 7})
			if all.All != len(rows) || few.All != len(rows) || len(all.Rows) != len(rows) || len(few.Rows) != 7 {
				t.Fatalf("%d and %d rows of %d and %d", len(all.Rows), len(few.Rows), all.All, few.All)
			}
			for i := range few.Rows {
				if got, want := few.Text(&few.Rows[i], 0), all.Text(&all.Rows[i], 0); got != want {
					t.Errorf("by column %d, reverse %v, row %d is %s, not %s", column, reverse, i, got, want)
				}
				if cap(few.Rows) > 14 {
					t.Errorf("there is room for %d rows", cap(few.Rows))
				}
			}
		}
	}
	one := s.Table(m, live.Want{}, live.Pick{Column: -1, Most: 1, Key: value.Str("0815")})
	if len(one.Rows) != 1 || one.Text(&one.Rows[0], 0) != "0815" {
		t.Errorf("of one key there are %d rows", len(one.Rows))
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
		s.Take(view.Snapshot{Map: m, Seq: 1, Rows: view.RowsOf(rows), Totals: true, Complete: true, Left: left})
		s.Lock()
		if got := s.Table(m, live.Want{}, live.Pick{Column: -1, Most: 100}).Left; got != want {
			t.Errorf("of %d rows that are left out %d are counted, not %d", left, got, want)
		}
		if got := s.Left(m, live.Want{Of: live.OfWindow}); got != 0 {
			t.Errorf("a window leaves out %d", got)
		}
		s.Unlock()
	}
}

// TestNamesThere takes stacks of a file as they are: their names are in it, and copies of them would be many.
func TestNamesThere(t *testing.T) {
	m := livetest.Bytes
	for _, fixed := range []bool{false, true} {
		s := live.New(history.Options{})
		done := make(chan struct{})
		s.NameStacks(done, func(f func()) { f() })
		st := livetest.Stack("main", "read")
		st.Fixed = fixed
		s.Take(view.Snapshot{Map: m, Seq: 1, Totals: true, Complete: true,
			Rows: view.RowsOf([]view.Row{{Key: value.Tuple{st, value.Str("cat")}, Value: value.Uint(1)}})})
		s.Lock()
		got := s.Rows(m, live.Want{}).At(0).Key.(value.Tuple)[0]
		if same := got == value.Value(st); same != fixed {
			t.Errorf("fixed %v: the stack is its own: %v", fixed, same)
		}
		s.Unlock()
		close(done)
	}
}
