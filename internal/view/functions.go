package view

import (
	"cmp"

	"github.com/hawktrace/hawk/internal/order"
)

// A Function is what a function of a profile weighs by itself, and with all that it
// calls. Each stack counts once, however often the function is in it.
type Function struct {
	Name        string
	Kind        FrameKind
	Self, Total int64
}

// Functions are all functions of a tree by the primary weight, those that weigh most by
// themselves first.
func (t *Trie) Functions() []Function {
	type id struct {
		name string
		kind FrameKind
	}
	at := map[id]int{}
	var out []Function
	open := map[int]int{}
	var walk func(n int)
	walk = func(n int) {
		node := &t.Nodes[n]
		if n > 0 {
			f := id{t.Label(node), t.Kind(node)}
			k, ok := at[f]
			if !ok {
				k = len(out)
				at[f], out = k, append(out, Function{Name: f.name, Kind: f.kind})
			}
			out[k].Self = Plus(out[k].Self, node.Self[t.Primary])
			if open[k] == 0 {
				out[k].Total = Plus(out[k].Total, node.Total[t.Primary])
			}
			open[k]++
			defer func() { open[k]-- }()
		}
		for _, c := range node.Children {
			walk(c)
		}
	}
	walk(0)
	order.By(out, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
