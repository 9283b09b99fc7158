package view

import (
	"fmt"
	"testing"
)

// TestGaps has events be missing between the last one that came and when that was noticed.
func TestGaps(t *testing.T) {
	m := &Map{Name: "@"}
	r := Recorder{Past: true}
	for _, item := range []Item{
		Begin{Boot: 10}, Loss{Records: 0, Boot: 12}, Event{Boot: 20}, Loss{Records: 5, Boot: 30},
		Mark{Map: m, Boot: 31},
		Cleared{Map: m, Boot: 32}, Loss{Records: 6, Boot: 40}, Event{Boot: 45}, Mark{Map: m, Boot: 46, AtEnd: true},
		End{Boot: 50, Loss: Loss{Records: 9}},
	} {
		r.Take(item)
	}
	run := r.Run()
	if got := fmt.Sprint(run.Gaps, run.Moments); got != "[{20ns 30ns 5} {30ns 40ns 1} {45ns 50ns 3}] "+
		"[{31ns @ printed} {32ns @ cleared}]" {
		t.Error(got)
	}
}

// TestLast keeps the last events where there is no room for all, and leaves those alone that somebody has.
func TestLast(t *testing.T) {
	r := Recorder{Events: true}
	for i := range maxEvents + 2 {
		r.Take(Event{PID: i})
	}
	run := r.Run()
	r.Take(Event{PID: -1})
	n := len(run.Events)
	if n != maxEvents || run.Dropped != 2 || run.Events[0].PID != 2 || run.Events[n-1].PID != n+1 {
		t.Errorf("%d events, %d dropped, from %d to %d", n, run.Dropped, run.Events[0].PID, run.Events[n-1].PID)
	}
}
