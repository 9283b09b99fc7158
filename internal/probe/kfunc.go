package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/machine"
)

// Kernel functions by name: what kprobes and fentry probes can be put on.

const vmlinux = "vmlinux"

// functions is the list of traceable kernel functions.
func (o *Options) functions() (*machine.Functions, error) {
	if o.Traceable != "" {
		return o.Machine.ReadFunctions(o.Traceable)
	}
	return o.Machine.FilterFunctions()
}

func (o *Options) warn(p *Point, format string, args ...any) {
	if o.WarnPoint != nil {
		o.WarnPoint(p.At, fmt.Sprintf(format, args...))
	}
}

// warnOnce says what is true of the machine or of a file at the first point that suffers from it.
func (o *Options) warnOnce(p *Point, msg string) {
	if o.WarnPoint == nil || o.warned[msg] {
		return
	}
	if o.warned == nil {
		o.warned = map[string]bool{}
	}
	o.warned[msg] = true
	o.WarnPoint(p.At, msg)
}

// moduleLoaded warns of a module that is not there, which is why nothing will
// match.
func moduleLoaded(p *Point, o *Options) bool {
	if p.Target == "" || p.Target == vmlinux || p.pattern.target.HasWild() || slices.Contains(o.Machine.Modules(), p.Target) {
		return true
	}
	o.warn(p, "specified module %s in probe %s is not loaded.", p.Target, p.Name())
	return false
}

// matchFunctions lists the traceable functions that a pattern covers, in the
// order of the kernel's list. Fragments that compilers split off never match.
func matchFunctions(pat *pattern, fns *machine.Functions, emit func(module, name string)) {
	module, name := pat.target, pat.fn
	lastModule, in := "", module.Text == "" || module.matches(vmlinux)
	fns.Each(func(fn, mod []byte) bool {
		if module.Text != "" && string(mod) != lastModule {
			lastModule = string(mod)
			in = module.matches(moduleName(lastModule))
		}
		if in && partMatches(name, fn) && !strings.Contains(string(fn), ".part.") {
			emit(moduleName(string(mod)), string(fn))
		}
		return true
	})
}

func moduleName(mod string) string {
	if mod == "" {
		return vmlinux
	}
	return mod
}

// functionNames lists the functions of the modules a point names, for
// suggestions.
func functionNames(p *Point, o *Options) []string {
	fns, err := o.functions()
	if err != nil {
		return nil
	}
	var out []string
	fns.Each(func(name, module []byte) bool {
		if p.Target == "" || p.pattern.target.matches(moduleName(string(module))) {
			out = append(out, string(name))
		}
		return true
	})
	return out
}
