package main

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	times := make([]time.Duration, 20)
	for i := range times {
		times[i] = 100
	}
	times[3] = 900 // one that was disturbed counts for nothing
	if got := spread(times); got != 1 {
		t.Errorf("one slow loop of twenty: %v", got)
	}
	times[0], times[1] = 300, 300
	if got := spread(times); got != 3 {
		t.Errorf("three slow loops of twenty: %v", got)
	}
}
