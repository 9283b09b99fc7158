package probe

import (
	"errors"
	"runtime"
	"sync"
)

// ListMatches is List for kinds whose listing is what their patterns match.
func ListMatches(k *Kind, parts []Part, o *Options, emit func(Listed)) error {
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
	if o.Verbose && k.Describe != nil && k.FileEach {
		return listSideBySide(points, o, emit)
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

// listSideBySide describes a few points at a time, and emits them in their
// order.
func listSideBySide(points []*Point, o *Options, emit func(Listed)) error {
	const share = 32 // points for each processor at a time
	workers := runtime.GOMAXPROCS(0)
	lines, errs := make([]Listed, workers*share), make([]error, workers)
	for len(points) > 0 {
		some := points[:min(len(points), len(lines))]
		var working sync.WaitGroup
		for w := range (len(some) + share - 1) / share {
			working.Go(func() {
				for i := w * share; i < min((w+1)*share, len(some)) && errs[w] == nil; i++ {
					lines[i], errs[w] = ListPoint(some[i], o)
				}
			})
		}
		working.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for i := range some {
			emit(lines[i])
		}
		points = points[len(some):]
	}
	return nil
}

// ListPoint is a matched point as listings print it, with its details if o.Verbose.
func ListPoint(p *Point, o *Options) (Listed, error) {
	l := Listed{Name: p.Name(), Point: p}
	if p.Kind.ListName != nil {
		l.Name = p.Kind.ListName(p)
	}
	if o.Verbose && p.Kind.Describe != nil {
		var err error
		if l.Details, err = p.Kind.Describe(p, o); err != nil {
			return l, err
		}
	}
	return l, nil
}

// Rateless is ListName of kinds that fire at a rate or count, which listings
// leave out; the colon invites one.
func Rateless(p *Point) string { return p.Kind.Name + ":" + p.Func + ":" }

// ListTwoParts is ListMatches for kinds that look for the last part in what
// the first names: left out, it is everything.
func ListTwoParts(k *Kind, parts []Part, o *Options, emit func(Listed)) error {
	switch len(parts) {
	case 0:
		parts = []Part{{Text: "*"}, {Text: "*"}}
	case 1:
		parts = []Part{{Text: "*"}, parts[0]}
	}
	return ListMatches(k, parts, o, emit)
}

// ListedByDefault reports whether a listing of everything includes the kind:
// what the kernel offers, but not the return half of a pair.
func (k *Kind) ListedByDefault() bool { return k.Wild == KernelWild || k.Rated }
