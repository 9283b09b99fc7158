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
		took              time.Duration // a look that began at 100 s, and 40 s
		bootNow, awakeNow time.Duration
		gap               view.Asleep
		any               bool
	}{
		{"as it should be", 0, 101 * s, 41 * s, view.Asleep{}, false},
		{"a busy machine", 0, 102 * s, 42 * s, view.Asleep{}, false},
		{"a long look", 7 * s, 109 * s, 49 * s, view.Asleep{}, false},
		{"the machine slept", 0, 161 * s, 41 * s, view.Asleep{From: 100 * s, Boot: 160 * s}, true},
		{"hawk was stopped", 0, 110 * s, 50 * s, view.Asleep{From: 100 * s, Boot: 110 * s, Stopped: true}, true},
	} {
		gap, any := look{100 * s, 40 * s, tt.took}.asleep(tt.bootNow, tt.awakeNow, s)
		if any != tt.any || any && gap != tt.gap {
			t.Errorf("%s: %+v, %v", tt.name, gap, any)
		}
	}
}
