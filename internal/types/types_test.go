package types

import "testing"

// An anonymous struct with a pointer to itself, which only malformed type
// information has.
func TestStructOfItself(t *testing.T) {
	s := NewStruct(StructKind, "", 16, 8, nil)
	s.fields = []Field{{Name: "next", Type: &Pointer{Elem: s}}, {Name: "n", Type: Uint64}}
	if got, want := s.String(), "struct {struct {…} *,uint64}"; got != want || s.String() != want {
		t.Errorf("%q, want %q", got, want)
	}
}
