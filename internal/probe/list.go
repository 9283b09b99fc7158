package probe

// listMatches is List for kinds whose listing is what their patterns match.
func listMatches(k *Kind, parts []Part, o *Options, emit func(Listed)) error {
	if len(parts) == 0 {
		parts = []Part{{Text: "*"}}
	}
	p := &Point{Kind: k}
	if err := k.Parse(p, parts, o); err != nil {
		return err
	}
	points, err := k.Match(p, o)
	if err != nil {
		return err
	}
	for _, q := range points {
		l, err := ListPoint(q, o)
		if err != nil {
			return err
		}
		emit(l)
	}
	return nil
}

// ListPoint is a matched point as listings print it, with its arguments if
// o.Verbose.
func ListPoint(p *Point, o *Options) (Listed, error) {
	l := Listed{Name: p.Name()}
	if p.Kind.listName != nil {
		l.Name = p.Kind.listName(p)
	}
	if o.Verbose && p.Kind.Describe != nil {
		var err error
		if l.Args, err = p.Kind.Describe(p, o); err != nil {
			return l, err
		}
	}
	return l, nil
}

// rateless is listName of kinds that fire at a rate or count, which listings
// leave out; the colon invites one.
func rateless(p *Point) string { return p.Kind.Name + ":" + p.Func + ":" }

// listTwoParts is listMatches for kinds that look for the last part in what
// the first names: left out, it is everything.
func listTwoParts(k *Kind, parts []Part, o *Options, emit func(Listed)) error {
	switch len(parts) {
	case 0:
		parts = []Part{{Text: "*"}, {Text: "*"}}
	case 1:
		parts = []Part{{Text: "*"}, parts[0]}
	}
	return listMatches(k, parts, o, emit)
}

// ListedByDefault reports whether a listing of everything includes the kind:
// what the kernel offers, but not the return half of a pair.
func (k *Kind) ListedByDefault() bool { return k.Wild == KernelWild || k.Rated }
