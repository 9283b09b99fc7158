package ir

// Needs reports whether p has any of the operations.
func (p *Prog) Needs(ops ...Op) bool {
	for _, f := range p.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				for _, op := range ops {
					if v.Op == op {
						return true
					}
				}
			}
		}
	}
	return false
}
