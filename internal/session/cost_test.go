package session

import (
	"testing"
	"time"
)

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

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
