package view

import "testing"

// A stack that is empty was followed to its end; one whose unwinding failed was not.
func TestBroken(t *testing.T) {
	for name, want := range map[string]bool{"[no stack]": false, brokenMark: true, "main": false} {
		s := Sample{Stack: []FrameAt{{Name: "main", Kind: UserFrame}, {Name: name, Kind: MarkFrame}}}
		if s.Broken() != want {
			t.Errorf("%s: %v", name, s.Broken())
		}
	}
}
