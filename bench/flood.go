package main

import (
	"path/filepath"
)

// The number of calls is fixed, not the time, so that each tool has the same to deliver.
const (
	floodCalls  = 3_000_000
	floodScript = `tracepoint:syscalls:sys_enter_getppid { printf("%d %s %d\n", pid, comm, tid); }`
)

// flood measures how much arrives, and at what cost, when every event prints.
func flood(b *bench) ([]row, error) {
	// A file takes all at once, where a pipe would make its reader part of what is measured.
	file := filepath.Join(b.dir, "out")
	got, err := b.interleave(min(b.rounds, 3), func(t *tool) ([]float64, error) {
		// The bare call is the least of short loops, the traced one the mean of a long one: the
		// flood lasts, and what it costs once buffers are full belongs to it.
		bare := fastest(getppid)
		s, err := t.attach("-o", file, "-e", floodScript)
		if err != nil {
			return nil, err
		}
		traced := loop(getppid, floodCalls)
		if err := s.stop(); err != nil {
			return nil, err
		}
		arrived, err := arrivals(file)
		if err != nil {
			return nil, err
		}
		return []float64{
			100 * float64(arrived) / floodCalls, traced - bare,
			float64(s.cpu().Nanoseconds()) / float64(max(1, arrived)),
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{"(d) delivered", "%", got[0]},
		{"(d) added to the call", "ns", got[1]},
		{"(d) tool's processor time for an event", "ns", got[2]},
	}, nil
}
