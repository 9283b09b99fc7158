package perf

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers are those of linux/perf_event.h: cache | access << 8 | miss << 16.
func TestPMUEvents(t *testing.T) {
	for _, tt := range []struct {
		name   string
		typ    uint32
		config uint64
	}{
		{"cycles", unix.PERF_TYPE_HARDWARE, 0},
		{"L1-dcache-loads", unix.PERF_TYPE_HW_CACHE, 0},
		{"L1-dcache-load-misses", unix.PERF_TYPE_HW_CACHE, 0x10000},
		{"L1-icache-prefetch-misses", unix.PERF_TYPE_HW_CACHE, 0x10201},
		{"LLC-stores", unix.PERF_TYPE_HW_CACHE, 0x102},
		{"dTLB-prefetches", unix.PERF_TYPE_HW_CACHE, 0x203},
		{"iTLB-load-misses", unix.PERF_TYPE_HW_CACHE, 0x10004},
		{"branch-loads", unix.PERF_TYPE_HW_CACHE, 5},
		{"node-prefetch-misses", unix.PERF_TYPE_HW_CACHE, 0x10206},
		{"r01c0", unix.PERF_TYPE_RAW, 0x1c0},
		{"rFFFFFFFFFFFFFFFF", unix.PERF_TYPE_RAW, 1<<64 - 1},
	} {
		if e, ok := hardware.find(tt.name); !ok || e.Type != tt.typ || e.Config != tt.config || e.Count == 0 {
			t.Errorf("%s: %+v, %v", tt.name, e, ok)
		}
	}
	for _, name := range []string{"", "r", "r10000000000000000", "r-1", "branch-stores", "L1-icache-stores",
		"iTLB-prefetches", "LLC"} {
		if e, ok := hardware.find(name); ok {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
