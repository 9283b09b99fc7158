package perf

import (
	"github.com/hawktrace/hawk/internal/probe"
)

// The names are part of scripts that were compiled ahead of time, which find the mechanism by
// them on another machine: they do not change.
var _ = probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{
	"timer":      intervalTimer,
	"interval":   intervalClock,
	"profile":    profileClock,
	"software":   softwareCounter,
	"hardware":   hardwareCounter,
	"watchpoint": watchpointMechanism,
})
