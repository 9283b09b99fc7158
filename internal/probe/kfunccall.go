package probe

import (
	"github.com/hawktrace/hawk/internal/bpf"
)

// MayCall reports whether the kernel lets the group's program call a kernel
// function.
func (g *Group) MayCall(name string, o *Options) error {
	spec := bpf.ProgSpec{Type: g.Mech().Program, Attach: g.Mech().Attach}
	if g.Mech().BTFID != nil {
		id, module, err := g.Mech().BTFID(g, o)
		if err != nil {
			return err
		}
		if module != "" && module != Vmlinux {
			// Any function will do to learn which calls are allowed: one of the
			// kernel's own needs no descriptor.
			if id, err = o.Machine.AnyFunction(); err != nil {
				return err
			}
		}
		spec.AttachBTFID = id
	}
	return o.Machine.MayCall(name, spec)
}
