package probe

import (
	"fmt"
	"slices"
	"testing"
)

// TestListSideBySide: the order is that of the points, and an error ends it.
func TestListSideBySide(t *testing.T) {
	k := &Kind{Name: "k", CanonicalName: func(p *Point) string { return p.Func }}
	k.Describe = func(p *Point, _ *Options) ([]string, error) {
		if p.Func == "bad" {
			return nil, fmt.Errorf("%s cannot be described", p.Func)
		}
		return []string{"int " + p.Func}, nil
	}
	var points []*Point
	var want, got []string
	for i := range 1000 {
		name := fmt.Sprintf("f%d", i)
		points, want = append(points, &Point{Kind: k, Func: name}), append(want, name+" int "+name)
	}
	emit := func(l Listed) { got = append(got, l.Name+" "+l.Args[0]) }
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d points are listed as %d, error %v", len(want), len(got), err)
	}
	points[500] = &Point{Kind: k, Func: "bad"}
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err == nil ||
		err.Error() != "bad cannot be described" {
		t.Errorf("error %v", err)
	}
}
