package attach

import (
	"fmt"
	"testing"
)

// Sites are grouped by file in one pass: a wildcard can match many in many.
func TestSitesByFile(t *testing.T) {
	var sites []Site
	const files, each = 300, 200
	for i := range each {
		for f := range files {
			sites = append(sites, Site{Path: fmt.Sprint("file", f), Offset: uint64(i)})
		}
	}
	groups := byFile(sites)
	if len(groups) != files {
		t.Fatalf("%d groups of %d files", len(groups), files)
	}
	for f, g := range groups {
		if len(g) != each {
			t.Errorf("%d sites in file %d", len(g), f)
		}
		for i, s := range g {
			if s.Path != fmt.Sprint("file", f) || s.Offset != uint64(i) {
				t.Fatalf("site %d of file %d is %+v", i, f, s)
			}
		}
	}
}
