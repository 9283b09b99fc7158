package user

import (
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
)

// Locations lists the addresses at which a point of a user-space kind has its
// breakpoints, in the numbering of its file.
func Locations(p *probe.Point, file *exe.File) []uint64 {
	if p.Place != nil {
		if addr, ok := file.Address(p.Place.Offset); ok {
			return []uint64{addr}
		}
		return nil
	}
	var out []uint64
	for _, n := range p.Notes {
		out = append(out, n.Addr)
	}
	return out
}

// Breakpoint is the address of the breakpoint that fired, in a program on a
// user-space probe. A return probe asks the kernel for it.
func Breakpoint(c *probe.Context) *ir.Value {
	if m := c.Group.Mech(); m.Retval != nil {
		return m.Func(c)
	}
	return probe.CurrentIP(c)
}
