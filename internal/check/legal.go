package check

import (
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Short names of what kinds offer.
const (
	hasArgs   = probe.HasArgs
	hasArgN   = probe.HasArgN
	hasRetval = probe.HasRetval
	hasRegs   = probe.HasRegs
	hasFunc   = probe.HasFunc
	hasCtx    = probe.HasCtx
)

// legal reports whether the probe offers what a builtin needs, and the kernel
// too.
func (w *walker) legal(e syntax.Expr, name string, f *builtin.Func) bool {
	if f.Probes&^w.probe.Kind.Has != 0 {
		w.illegal(e, name, f)
		return false
	}
	// The kernel is asked once, in the walk that can report it.
	if !w.final {
		return true
	}
	for _, need := range f.Needs {
		if err := w.script.Options.Machine.Has(need); err != nil {
			w.errorf(e, "missing-feature", "%s can not be used: %s", name, errno.Message(err))
			return false
		}
	}
	return true
}

// illegal says where a builtin may be used, in the words of the reference.
// Hints are hawk's own; a test of the reference's may look for the rest.
func (w *walker) illegal(e syntax.Expr, name string, f *builtin.Func) {
	kind := w.probe.Kind
	switch {
	case f.Probes&hasArgN != 0:
		d := w.errorf(e, "not-in-probe",
			"The %s builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes", name)
		if entry := entryOf(kind); entry != "" {
			d.Hint("arguments are gone when a function returns: keep %s in a map by tid in the %s, @arg[tid] = %s, "+
				"and take @arg[tid] here", name, entry, name)
		} else if kind.Has&hasArgs != 0 {
			d.Hint("the arguments of %s probes have names: args.name", kind.Name)
		}
	case f.Probes&hasArgs != 0:
		d := w.errorf(e, "not-in-probe",
			"The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe probes "+
				"(%s used here)",
			kind.TypeName())
		if kind.Has&hasArgN != 0 {
			d.Hint("use arg0, arg1, … here")
		} else {
			d.Hint("args is in %s probes", offering(hasArgs))
		}
	case f.Probes&hasRetval != 0:
		d := w.errorf(e, "not-in-probe",
			"The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes")
		if advice := w.resultAdvice(); advice != "" {
			d.Advise(advice)
		} else {
			d.Hint("retval is in %s probes", offering(hasRetval))
		}
	case f.Probes&hasFunc != 0:
		w.errorf(e, "not-in-probe", "The func builtin can not be used with '%s' probes", kind.Name)
	case f.Probes&hasCtx != 0 && kind.Has&hasArgs != 0:
		w.errorf(e, "not-in-probe", "Use args instead of ctx in %s", kind.Name)
	default:
		w.errorf(e, "not-in-probe", "%s can not be used with %q probes", name, strings.ToLower(kind.Name))
	}
}

// offering names the kinds of probe that have something.
func offering(has probe.Has) string {
	var names []string
	for _, k := range probe.Kinds() {
		if k.Has&has != 0 {
			names = append(names, k.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// entryOf is the kind that fires at the entry of what a kind fires at the
// return of, "" if it fires at no return.
func entryOf(kind *probe.Kind) string {
	for _, k := range probe.Kinds() {
		if k.Returns == kind.Name {
			return k.Name
		}
	}
	return ""
}
