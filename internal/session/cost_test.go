package session

import (
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		nanos uint64
		in    time.Duration
		want  float64
	}{{0, time.Second, 0}, {10_000_000, time.Second, 1}, {3e9, time.Second, 300}, {0, 0, 0}} {
		if got := percent(c.nanos, c.in); got != c.want {
			t.Errorf("%d ns in %v are %g %%, want %g", c.nanos, c.in, got, c.want)
		}
	}
}
