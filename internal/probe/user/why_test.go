package user

import "testing"

func TestUnscoped(t *testing.T) {
	for _, c := range []struct{ name, symbol, want string }{
		{"work", "main.work", "main.work"},
		{"work", "main.overwork", ""},
		{"Work", "main.(*shop).Work", `"main.(*shop).Work"`},
		{"Parse", "example.org/x/y.Parse", `"example.org/x/y.Parse"`},
		{"work", "work.isra.0", "work.isra.0"},
		{"work", "work.part.0", ""},
		{"work", "work.cold", ""},
		{"dispatch", "_Z8dispatchi", "cpp:dispatch"},
		{"buy", "_ZN4shop3buyEi", `cpp:"shop::buy"`},
		{"buy", "_ZN4shop4buysEi", ""},
		{"buy", "_ZN4shop3buy17h0123456789abcdefE", `rust:"shop::buy"`},
		{"other", "_ZN4shop3buyEi", ""},
		{"shop::buy", "_ZN4shop3buyEi", `cpp:"shop::buy"`},
		{"shop::buy(int)", "_ZN4shop3buyEi", `cpp:"shop::buy(int)"`},
		{"buy(int)", "_ZN4shop3buyEi", `cpp:"shop::buy(int)"`},
		{"shop::buy(long)", "_ZN4shop3buyEi", ""},
		{"Cart::add(long)", "_ZNK4Cart3addEl", `cpp:"Cart::add(long) const"`},
		{"main.first", "main.first[go.shape.int]", `"main.first[go.shape.int]"`},
		{"first[int]", "main.first[go.shape.int]", `"main.first[go.shape.int]"`},
		{"main.first", "main.firstly[go.shape.int]", ""},
	} {
		if got := unscoped(c.name, c.symbol); got != c.want {
			t.Errorf("unscoped(%q, %q) = %q, want %q", c.name, c.symbol, got, c.want)
		}
	}
}
