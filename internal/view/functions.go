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
	out := make([]Function, len(t.Names))
	for n := t.Len() - 1; n > 0; n-- {
		f := &out[t.name[n]]
		f.Self = Plus(f.Self, t.Self(n, t.Primary))
		up := t.parent[n]
		for up > 0 && t.name[up] != t.name[n] {
			up = t.parent[up]
		}
		if up <= 0 { // else it is in the total of the one above
			f.Total = Plus(f.Total, t.Total(n))
		}
	}
	return inOrder(out, t.Names, t.Kinds)
}

// Functions are those of the tree of a profile, which would take far more memory.
func (p *Profile) Functions() []Function {
	names := labels{hash: NewHasher()}
	var out []Function
	var last []int // the sample that a function was in last, counted from 1
	var path []FrameAt
	sample := 0
	p.Each(func(s *Sample) {
		sample++
		path = s.AppendPath(path[:0])
		for i := range path {
			n := names.number(path[i].Name, path[i].Kind)
			if n == len(out) {
				out, last = append(out, Function{}), append(last, 0)
			}
			f, weight := &out[n], s.Values[p.Primary]
			if i == len(path)-1 {
				f.Self = Plus(f.Self, weight)
			}
			if last[n] != sample {
				last[n], f.Total = sample, Plus(f.Total, weight)
			}
		}
	})
	return inOrder(out, names.names, names.kinds)
}

// inOrder gives functions their names, and has those come first that weigh most by themselves.
func inOrder(out []Function, names []string, kinds []FrameKind) []Function {
	for i := range out {
		out[i].Name, out[i].Kind = names[i], kinds[i]
	}
	order.By(out, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
