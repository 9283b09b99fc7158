package compile

import (
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/source"
)

// The codes of errors that hang on what the machine said when it was asked
// whether a probe or a helper exists, and on the types of the kernel. A process
// without privileges gets no answer, so that they mean nothing there.
var (
	ofMachine = map[source.Code]bool{
		"attach-target": true, "attach-denied": true, "missing-probe": true, "unsupported-probe": true, "no-args": true,
		"too-many-probes": true, "too-many-programs": true,
		"missing-feature": true, "not-supported": true, "kernel": true,
	}
	ofTypes = map[source.Code]bool{"unknown-type": true, "unknown-field": true, "unknown-identifier": true,
		"not-a-struct": true}
)

// ScriptErrors are the errors, among the messages about a script, that are the
// script's own, whatever the machine may be.
// The command reports these first where it may not trace, and then that it may not.
func ScriptErrors(ds *source.Diagnostics, t *machine.Machine) *source.Diagnostics {
	_, err := t.BTF()
	out := &source.Diagnostics{}
	for _, d := range ds.List() {
		if d.Severity == source.Error && !ofMachine[d.Code] && (err == nil || !ofTypes[d.Code]) {
			out.Add(d)
		}
	}
	return out
}
