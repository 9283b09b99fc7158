package output

import (
	"slices"

	"github.com/hawktrace/hawk/internal/value"
)

// Cycles are cycles of a graph.
type Cycles struct {
	Names   []string // of the parts of an edge's value; those of stacks do not matter
	Found   []Cycle
	Stopped bool // there may be more: the graph is too large
	Dropped uint64
}

func (Cycles) item() {}

// stacks are what the value of an edge says, if it has a stack.
func (c *Cycle) stacks(all *Cycles, i int) (e stackEntry, ok bool) {
	s := Stacks{Names: all.Names}
	parts := keyParts(c.Edges[i])
	if r, is := c.Edges[i].(value.Record); is {
		parts = r.Values
	}
	ok = slices.ContainsFunc(parts, isStack)
	if ok {
		e = s.entry(parts)
	}
	return e, ok
}

// isStack reports whether a part of a value is a stack.
func isStack(v value.Value) bool {
	_, ok := v.(*value.Stack)
	return ok
}

// appendCycles adds a line for each cycle, and below it the stacks of its edges.
// The node that a cycle began with stands again at its end, so that a line reads as a way.
func appendCycles(dst []byte, c *Cycles) []byte {
	node := func(v value.Value) { dst = append(dst, value.Escape(string(value.AppendText(nil, v)))...) }
	for i := range c.Found {
		cycle := &c.Found[i]
		for _, n := range cycle.Nodes {
			node(n)
			dst = append(dst, " -> "...)
		}
		node(cycle.Nodes[0])
		dst = append(dst, '\n')
		for k, n := range cycle.Nodes {
			e, ok := cycle.stacks(c, k)
			if !ok {
				continue
			}
			dst = append(dst, "    "...)
			node(n)
			dst = append(dst, " -> "...)
			node(cycle.Nodes[(k+1)%len(cycle.Nodes)])
			dst = append(e.append(append(dst, '\n'), false), '\n')
		}
	}
	if c.Stopped {
		dst = append(dst, "(there may be more cycles: the graph is too large)\n"...)
	}
	return appendDropped(dst, c.Dropped)
}

// appendCycles adds cycles as one record.
func (j *JSON) appendCycles(dst []byte, c *Cycles) []byte {
	dst = append(dst, `{"type": "cycles", "data": [`...)
	list := func(i int) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
	}
	stacks := false
	for i := range c.Found {
		list(i)
		dst = append(dst, '[')
		for k, n := range c.Found[i].Nodes {
			list(k)
			dst = j.value(dst, n)
			_, ok := c.Found[i].stacks(c, k)
			stacks = stacks || ok
		}
		dst = append(dst, ']')
	}
	if stacks {
		dst = append(dst, `], "edges": [`...)
		for i := range c.Found {
			list(i)
			dst = append(dst, '[')
			for k := range c.Found[i].Nodes {
				list(k)
				e, _ := c.Found[i].stacks(c, k)
				dst = append(j.appendGroups(append(dst, '{'), e.groups), '}')
			}
			dst = append(dst, ']')
		}
	}
	dst = append(dst, ']')
	if c.Stopped {
		dst = append(dst, `, "stopped": true`...)
	}
	return appendJSONDropped(dst, c.Dropped)
}
