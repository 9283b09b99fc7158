package probe

import (
	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
)

// Here is what plans of several kinds have in common.

// PlanAlone is a Plan that gives every point a program attached by one
// mechanism.
func PlanAlone(m *Mechanism) func([]*Point, Uses, *Options) ([]*Group, error) {
	return func(points []*Point, _ Uses, _ *Options) ([]*Group, error) {
		out := make([]*Group, len(points))
		for i := range points {
			out[i] = &Group{Points: points[i : i+1 : i+1], Mechanism: m.ID}
		}
		return out, nil
	}
}

// Split makes one group of all points, or one of each. With cookies links carry the number of their point.
func Split(points []*Point, m *Mechanism, together, cookies bool) []*Group {
	if len(points) == 0 {
		return nil
	}
	if together {
		return []*Group{{Points: points, Mechanism: m.ID, Cookies: cookies}}
	}
	out := make([]*Group, len(points))
	for i := range points {
		out[i] = &Group{Points: points[i : i+1 : i+1], Mechanism: m.ID, Cookies: cookies}
	}
	return out
}

// CookieIndex is Index of mechanisms whose links carry cookies.
func CookieIndex(c *Context) *ir.Value { return c.B.Call(int(asm.FnGetAttachCookie), c.Ctx) }

// CookieOf is the cookie of point i.
func CookieOf(g *Group, i int) uint64 {
	if g.cookies != nil {
		return g.cookies[i]
	}
	if g.Cookies {
		return uint64(i)
	}
	return 0
}
