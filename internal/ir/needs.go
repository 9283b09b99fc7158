package ir

import "slices"

// Needs reports whether p has any of the operations.
func (p *Prog) Needs(ops ...Op) bool {
	return slices.ContainsFunc(p.Funcs, func(f *Func) bool { return f.Needs(ops...) })
}

// Needs reports whether f has any of the operations.
func (f *Func) Needs(ops ...Op) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if slices.Contains(ops, v.Op) {
				return true
			}
		}
	}
	return false
}

// Callees lists the functions that f calls or takes the address of.
func (f *Func) Callees() []*Func {
	var list []*Func
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Fn != nil {
				list = append(list, v.Fn)
			}
		}
	}
	return list
}
