package kernel

import (
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// moduleType finds a type that the kernel image has no definition of in the
// modules that a point is in: the image only knows that there is such a struct.
func moduleType(p *probe.Point, o *probe.Options, keyword, name string) (types.Type, bool) {
	// The image's definition is found without this function.
	if _, err := o.Machine.TypeByName(keyword, name); err == nil {
		return nil, false
	}
	modules := []string{p.Target}
	if p.Target == "" {
		fns, err := o.Functions()
		if err != nil {
			return nil, false
		}
		modules = fns.Modules(p.Func)
	}
	for _, m := range modules {
		if m == probe.Vmlinux {
			continue
		}
		if t, err := o.Machine.ModuleType(m, keyword, name); err == nil {
			return t, true
		}
	}
	return nil, false
}
