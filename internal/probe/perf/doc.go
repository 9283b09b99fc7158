// Package perf has the probes that are events of perf_event_open: clocks (interval,
// profile), counters (software, hardware) and watchpoints.
package perf
