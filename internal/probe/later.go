package probe

// Kinds whose attach points are understood and checked, but that this version
// cannot attach: they have no Plan.

var _ = define(Kind{
	Name:  "test",
	Doc:   "A test of a script's own functions. Not supported by this version.",
	Forms: []string{"test:name"},
	Parse: parseNamed,
	Match: matchSelf,
})

var _ = define(Kind{
	Name:  "bench",
	Doc:   "A measurement of a script's own functions. Not supported by this version.",
	Forms: []string{"bench:name"},
	Parse: parseNamed,
	Match: matchSelf,
})

func parseNamed(p *Point, parts []Part, _ *Options) error {
	if len(parts) != 1 {
		return wrongCount(p, "1", parts)
	}
	p.Func = parts[0].Text
	return p.Kind.Supported()
}
