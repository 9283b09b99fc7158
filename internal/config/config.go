// Package config declares the settings: name, type, default, documentation.
// A setting comes from the environment, the script's config block or its
// default, in this order.
package config

import "strconv"

// Config is the effective settings of one run.
// The fields are set by the table of settings alone, so that a key has one name, one check and
// one default.
type Config struct {
	CacheUserSymbols  string // "PER_PID", "PER_PROGRAM", "NONE", "" = by the situation
	CppDemangle       bool
	EscapeOutput      string // "auto", "always", "never"
	EventRings        string // "auto", "1", "2", "4", "8"
	License           string
	LogSize           int
	MaxArgs           int
	MaxBPFProgs       int
	MaxCatBytes       int
	MaxMapKeys        int
	MaxProbes         int
	MaxStrlen         int
	MissingProbes     string // "error", "warn", "ignore"
	OnStackLimit      int
	OverlappingProbes string // "all", "first"
	PerfRBPages       int
	PrintMapsOnExit   bool
	ShowDebugInfo     bool
	StackMode         string
	StrTruncTrailer   string
	StrUnreadable     string
	TargetFilter      string // "current", "own"
	LazySymbolication bool
	Unstable          map[string]string // feature → "enable", "warn", "error"
}

// The settings of an unstable feature.
const (
	Enable = "enable"
	Warn   = "warn"
	Refuse = "error"
)

// OwnFilter reports whether the script itself asks which events are of the process of -p.
func (c *Config) OwnFilter() bool { return c.TargetFilter == "own" }

// Rings is how many ring buffers events go through on a machine with so many processors, a power of
// two. On few processors one is faster, as its records need not say when they were made.
// The explicit numbers are for tests, and for machines on which one measures.
func (c *Config) Rings(cpus int) int {
	switch n, err := strconv.Atoi(c.EventRings); {
	case err == nil:
		return min(max(n, 1), mostRings)
	case cpus <= 16:
		return 1
	case cpus <= 32:
		return 4
	}
	return mostRings
}

// mostRings is the largest number that event_rings may have.
const mostRings = 8

// Feature is the setting of an unstable feature by its name without prefix.
// A feature that has no setting is no longer unstable.
func (c *Config) Feature(name string) string {
	s := find(unstable + name)
	if s == nil {
		return Enable
	}
	return s.Get(c)
}

// Default returns the settings of a script that sets none.
func Default() *Config {
	return &Config{
		TargetFilter: "current",
		CppDemangle:  true, EscapeOutput: "auto", EventRings: "auto", License: "GPL", LogSize: 1000000,
		MaxArgs: 128, MaxBPFProgs: 1024, MaxCatBytes: 10240,
		MaxMapKeys: 4096, MaxProbes: 1024, MaxStrlen: 1024, MissingProbes: "error", OnStackLimit: 32,
		OverlappingProbes: "all",
		PrintMapsOnExit:   true, StackMode: "bpftrace", StrTruncTrailer: "..",
		StrUnreadable: "<unreadable>", LazySymbolication: true,
	}
}
