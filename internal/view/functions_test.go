package view

import (
	"slices"
	"testing"
)

// TestFunctions counts functions without a tree as with one, those that call themselves once.
func TestFunctions(t *testing.T) {
	p := &Profile{Types: []SampleType{{Name: "samples", Unit: "count"}}}
	for i, path := range [][]string{{"main", "f", "g"}, {"main", "f", "f", "g", "f"}, {"main"}, {"g", "main"}, {},
		{"f"}} {
		s := Sample{Values: []int64{int64(i + 1)}}
		for k, name := range path {
			s.Stack = append(s.Stack, FrameAt{Name: name, Kind: UserFrame + FrameKind(k%2)})
		}
		p.Samples = append(p.Samples, s)
	}
	tree := NewTrie(p, func(f *FrameAt) string { return f.Name }).Functions()
	if got := p.Functions(); !slices.Equal(got, tree) {
		t.Errorf("%+v are %+v in the tree", got, tree)
	}
}
