package session

import (
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/view"
)

func TestAsleep(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name              string
		bootNow, awakeNow time.Duration // 100 s and 40 s before
		gap               view.Asleep
		any               bool
	}{
		{"as it should be", 101 * s, 41 * s, view.Asleep{}, false},
		{"a busy machine", 102 * s, 42 * s, view.Asleep{}, false},
		{"the machine slept", 161 * s, 41 * s, view.Asleep{From: 100 * s, Boot: 160 * s}, true},
		{"hawk was stopped", 110 * s, 50 * s, view.Asleep{From: 100 * s, Boot: 110 * s, Stopped: true}, true},
	} {
		gap, any := asleep(100*s, 40*s, tt.bootNow, tt.awakeNow, s)
		if any != tt.any || any && gap != tt.gap {
			t.Errorf("%s: %+v, %v", tt.name, gap, any)
		}
	}
}
