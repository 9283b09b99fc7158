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
	if !w.final {
		return true
	}
	for _, need := range f.Needs {
		if err := w.script.Options.Target.Has(need); err != nil {
			w.errorf(e, "missing-feature", "%s can not be used: %s", name, errno.Message(err))
			return false
		}
	}
	return true
}

// illegal says where a builtin may be used, in the words of the reference.
func (w *walker) illegal(e syntax.Expr, name string, f *builtin.Func) {
	kind := w.probe.Kind
	switch {
	case f.Probes&hasArgN != 0:
		d := w.errorf(e, "not-in-probe", "The %s builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes", name)
		if kind.Has&hasArgs != 0 {
			d.Hint("the arguments of %s probes have names: args.name", kind.Name)
		}
	case f.Probes&hasArgs != 0:
		d := w.errorf(e, "not-in-probe", "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe probes (%s used here)",
			kind.TypeName())
		if kind.Has&hasArgN != 0 {
			d.Hint("use arg0, arg1, … here")
		}
	case f.Probes&hasRetval != 0:
		d := w.errorf(e, "not-in-probe", "The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes")
		d.Advise(w.resultAdvice())
	case f.Probes&hasFunc != 0:
		w.errorf(e, "not-in-probe", "The func builtin can not be used with '%s' probes", kind.Name)
	case f.Probes&hasCtx != 0 && kind.Has&hasArgs != 0:
		w.errorf(e, "not-in-probe", "Use args instead of ctx in %s", kind.Name)
	default:
		w.errorf(e, "not-in-probe", "%s can not be used with %q probes", name, strings.ToLower(kind.Name))
	}
}
