package dwarf

import "testing"

func TestDictionary(t *testing.T) {
	for name, want := range map[string]int{
		"main.plain":                               -1,
		"main.(*conn).handle":                      -1,
		"main.Map[go.shape.int]":                   0,
		"main.Map[go.shape.int,go.shape.[]uint8]":  0,
		"main.(*Stack[go.shape.string]).Push":      1,
		"main.Pair[go.shape.int].First":            1,
		"main.Map[go.shape.int].func1":             -1,
		"main.(*Stack[go.shape.int]).Push.func2.1": -1,
		"main.odd[go.shape.":                       0,
	} {
		if got := dictionary(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestResultNames(t *testing.T) {
	for _, c := range []struct{ name, decl, want, wantDecl string }{
		{"~r0", "int ~r0", "r2", "int r2"},
		{"_", "error _", "r2", "error r2"},
		{"err", "error err", "err", "error err"},
	} {
		if p := result(Param{Name: c.name, Decl: c.decl}, 2); p.Name != c.want || p.Decl != c.wantDecl {
			t.Errorf("%s: %s, %s", c.decl, p.Name, p.Decl)
		}
	}
}
