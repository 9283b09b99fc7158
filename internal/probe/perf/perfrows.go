package perf

import (
	"github.com/hawktrace/hawk/internal/probe"
)

var _ = probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{
	"timer":      intervalTimer,
	"interval":   intervalClock,
	"profile":    profileClock,
	"software":   softwareCounter,
	"hardware":   hardwareCounter,
	"watchpoint": watchpointMechanism,
})
