package user

import (
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
)

// Locations lists the addresses at which a point of a user-space kind has its
// breakpoints, in the numbering of its file.
func Locations(p *probe.Point, file *exe.File) []uint64 {
	switch extra := p.Extra.(type) {
	case place:
		if addr, ok := file.Address(extra.offset); ok {
			return []uint64{addr}
		}
	case []exe.Note:
		out := make([]uint64, len(extra))
		for i, n := range extra {
			out[i] = n.Addr
		}
		return out
	}
	return nil
}

// Breakpoint is the address of the breakpoint that fired, in a program on a
// user-space probe. A return probe asks the kernel for it.
func Breakpoint(c *probe.Context) *ir.Value {
	if m := c.Group.Mech(); m.Retval != nil {
		return m.Func(c)
	}
	return probe.CurrentIP(c)
}
