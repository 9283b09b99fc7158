package probe

// A MechanismID is what a compiled script calls a mechanism. Of two scripts that were
// compiled by one hawk, the same ID is the same mechanism; Name may be shared.
type MechanismID string

// Name is what -v and messages call the mechanism.
func (id MechanismID) Name() string {
	if m, ok := mechanisms[id]; ok {
		return m.Name
	}
	return string(id)
}

// mechanisms are all that there are.
var mechanisms = map[MechanismID]*Mechanism{
	"self":                   inProcess,
	"packet":                 dummyPacket,
	"timer":                  intervalTimer,
	"interval":               intervalClock,
	"profile":                profileClock,
	"software":               softwareCounter,
	"hardware":               hardwareCounter,
	"watchpoint":             watchpointMechanism,
	"iter":                   &iterMechanism,
	"iter.pinned":            &pinnedIter,
	"rawtracepoint":          untypedRaw,
	"rawtracepoint.typed":    typedRaw,
	"tracepoint.raw":         rawTracepoint,
	"tracepoint.perf":        perfTracepoint,
	"syscall.enter":          sysEnter,
	"syscall.exit":           sysExit,
	"syscall.enter.raw":      rawSysEnter,
	"syscall.exit.raw":       rawSysExit,
	"kprobe.multi":           &kprobeMulti,
	"kprobe.perf":            &kprobePerf,
	"kretprobe.multi":        &kretprobeMulti,
	"kretprobe.perf":         &kretprobePerf,
	"kprobe.session":         &kprobeSession,
	"fentry":                 &fentryMechanism,
	"fexit":                  &fexitMechanism,
	"fentry.program":         &fentryProgram,
	"fexit.program":          &fexitProgram,
	"uprobe.multi":           &uprobeMulti,
	"uprobe.perf":            &uprobePerf,
	"uretprobe.multi":        &uretprobeMulti,
	"uretprobe.perf":         &uretprobePerf,
	"uretprobe.places.multi": &goReturnMulti,
	"uretprobe.places.perf":  &goReturnPerf,
	"usdt.multi":             &usdtMulti,
	"usdt.perf":              &usdtPerf,
}

// id is what the mechanism is called where a script is kept.
func (m *Mechanism) id() MechanismID {
	for id, row := range mechanisms {
		if row == m {
			return id
		}
	}
	panic("probe: " + m.Name + " is not among the mechanisms")
}
