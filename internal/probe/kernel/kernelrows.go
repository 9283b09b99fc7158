package kernel

import (
	"github.com/hawktrace/hawk/internal/probe"
)

// The names are part of scripts that were compiled ahead of time: they do not change.
var _ = probe.AddMechanisms(map[probe.MechanismID]*probe.Mechanism{
	"iter":                &iterMechanism,
	"iter.pinned":         &pinnedIter,
	"rawtracepoint":       untypedRaw,
	"rawtracepoint.typed": typedRaw,
	"tracepoint.raw":      rawTracepoint,
	"tracepoint.perf":     perfTracepoint,
	"syscall.enter":       sysEnter,
	"syscall.exit":        sysExit,
	"syscall.enter.perf":  &perfSysEnter,
	"syscall.exit.perf":   &perfSysExit,
	"syscall.enter.raw":   rawSysEnter,
	"syscall.exit.raw":    rawSysExit,
	"kprobe.multi":        &kprobeMulti,
	"kprobe.perf":         &kprobePerf,
	"kretprobe.multi":     &kretprobeMulti,
	"kretprobe.perf":      &kretprobePerf,
	"kprobe.session":      &kprobeSession,
	"fentry":              &fentryMechanism,
	"fexit":               &fexitMechanism,
	"fentry.program":      &fentryProgram,
	"fexit.program":       &fexitProgram,
})
