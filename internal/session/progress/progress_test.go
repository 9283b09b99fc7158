package progress

import (
	"bytes"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	p := &progress{verb: "Attaching", total: 5000}
	for _, tt := range []struct {
		done  int64
		since time.Duration
		want  string
	}{
		{0, 1900 * time.Millisecond, "Attaching 5000 probes (1 s)"},
		{1200, 3 * time.Second, "Attaching 1200 of 5000 probes (3 s)"},
	} {
		p.Done.Store(tt.done)
		if got := p.line(tt.since); got != tt.want {
			t.Errorf("%d after %s: %q, want %q", tt.done, tt.since, got, tt.want)
		}
	}
}

// TestProgressQuick: what is over soon leaves no trace on the terminal.
func TestProgressQuick(t *testing.T) {
	var out bytes.Buffer
	p := Start(&out, "Attaching", 1)
	p.Done.Add(1)
	p.End()
	if out.Len() > 0 {
		t.Errorf("shown: %q", out.String())
	}
}
