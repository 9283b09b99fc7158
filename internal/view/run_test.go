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
