package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/machine"
)

// Kernel functions by name: what kprobes and fentry probes can be put on.

const Vmlinux = "vmlinux"

// Functions is the list of traceable kernel functions.
func (o *Options) Functions() (*machine.Functions, error) {
	if o.Traceable != "" {
		return o.Machine.ReadFunctions(o.Traceable)
	}
	return o.Machine.FilterFunctions()
}

func (o *Options) Warn(p *Point, format string, args ...any) {
	if o.WarnPoint != nil {
		o.WarnPoint(p.At, fmt.Sprintf(format, args...))
	}
}

// WarnOnce says what is true of the machine or of a file at the first point that suffers from it.
func (o *Options) WarnOnce(p *Point, msg string) {
	if o.WarnPoint == nil || o.warned[msg] {
		return
	}
	if o.warned == nil {
		o.warned = map[string]bool{}
	}
	o.warned[msg] = true
	o.WarnPoint(p.At, msg)
}

// ModuleLoaded warns of a module that is not there, which is why nothing will
// match.
func ModuleLoaded(p *Point, o *Options) bool {
	if p.Target == "" || p.Target == Vmlinux || p.Pattern.Target.HasWild() ||
		slices.Contains(o.Machine.Modules(), p.Target) {
		return true
	}
	o.Warn(p, "specified module %s in probe %s is not loaded.", p.Target, p.Name())
	return false
}

// MatchFunctions lists the traceable functions that a pattern covers, in the
// order of the kernel's list. Fragments that compilers split off never match.
func MatchFunctions(pat *Pattern, fns *machine.Functions, emit func(module, name string)) {
	module, name := pat.Target, pat.Fn
	lastModule, in := "", module.Text == "" || module.Matches(Vmlinux)
	fns.Each(func(fn, mod []byte) bool {
		if module.Text != "" && string(mod) != lastModule {
			lastModule = string(mod)
			in = module.Matches(moduleName(lastModule))
		}
		if in && PartMatches(name, fn) && !strings.Contains(string(fn), ".part.") {
			emit(moduleName(string(mod)), string(fn))
		}
		return true
	})
}

func moduleName(mod string) string {
	if mod == "" {
		return Vmlinux
	}
	return mod
}

// FunctionNames lists the functions of the modules a point names, for
// suggestions.
func FunctionNames(p *Point, o *Options) []string {
	fns, err := o.Functions()
	if err != nil {
		return nil
	}
	var out []string
	fns.Each(func(name, module []byte) bool {
		if p.Target == "" || p.Pattern.Target.Matches(moduleName(string(module))) {
			out = append(out, string(name))
		}
		return true
	})
	return out
}
