package machine

import "testing"

func BenchmarkTracepointFormat(b *testing.B) {
	h := needRoot(b)
	if _, err := h.Tracefs(); err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		h.formats = nil
		if _, err := h.TracepointFormat("sched", "sched_switch"); err != nil {
			b.Fatal(err)
		}
	}
}
