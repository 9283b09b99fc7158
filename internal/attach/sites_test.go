package attach

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// Sites are grouped by file in one pass: a wildcard can match many in many.
func TestSitesByFile(t *testing.T) {
	var sites []probe.Site
	const files, each = 300, 200
	for i := range each {
		for f := range files {
			sites = append(sites, probe.Site{Path: fmt.Sprint("file", f), Offset: uint64(i)})
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

// TestFarSemaphore: the kernel has 32 bits for where a semaphore is, and would count up another word.
func TestFarSemaphore(t *testing.T) {
	o := &probe.Options{Machine: machine.Host()}
	if _, err := o.Machine.PMUType("uprobe"); err != nil {
		t.Skip(err)
	}
	p := &probe.Point{}
	sites := []probe.Site{{Point: p, Path: "/proc/self/exe", Semaphore: 1<<32 + 8}}
	_, err := LinkSites(-1, &probe.Group{Points: []*probe.Point{p}}, sites, o, false, 0)
	if !errors.Is(err, errFarSemaphore) {
		t.Errorf("a semaphore beyond 4 GB: %v", err)
	}
}
