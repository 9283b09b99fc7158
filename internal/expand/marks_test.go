package expand

import (
	"os"
	"testing"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// TestMarksOnce resolves several attach points on the marks of all files of a process: they are looked
// for once, and what was found is taken for each.
func TestMarksOnce(t *testing.T) {
	tree, _ := syntax.Parse(source.NewFile("in.bt", `usdt:*:some:one, usdt:*:some:two, usdt:*:some:th* {}`))
	e := &expander{opts: &probe.Options{Machine: recorded(t), PID: os.Getpid(), PIDFilter: true,
		ForListing: true, Marked: map[int][]probe.Marked{}},
		out: &Script{Config: config.Default()}}
	attach := tree.Items[0].(*syntax.Probe).Attach
	if points, r := e.one(attach[0]); r != skipped && r != noMatch {
		t.Fatalf("this test has a mark: %v", points)
	}
	if _, looked := e.opts.Marked[os.Getpid()]; !looked || len(e.opts.Marked) != 1 {
		t.Fatalf("nothing is kept: %v", e.opts.Marked)
	}
	e.opts.Marked[os.Getpid()] = []probe.Marked{{Path: "/x", Notes: []exe.Note{
		{Provider: "some", Name: "two"}, {Provider: "some", Name: "three"}, {Provider: "other", Name: "two"}}}}
	var got []string
	for _, at := range attach[1:] {
		found, _ := e.one(at)
		for _, a := range found {
			for _, p := range a.Points {
				got = append(got, p.Name())
			}
		}
	}
	if len(got) != 2 || got[0] != "usdt:/x:some:two" || got[1] != "usdt:/x:some:three" {
		t.Errorf("points are %v", got)
	}
}
