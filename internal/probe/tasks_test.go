package probe

import (
	"math/rand/v2"
	"testing"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/eval"
)

// matchComm runs the test for a pattern on a name.
func matchComm(t *testing.T, pattern, name string) bool {
	t.Helper()
	comm, err := ParseComm(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	b := ir.NewBuilder("match", 1)
	b.Ret(comm.match(b, b.Param(0, ir.Ptr)))
	m := eval.Machine{Context: append([]byte(name), make([]byte, commSize-len(name))...)}
	got, err := m.Run(&ir.Prog{Funcs: []*ir.Func{b.Fn}})
	if err != nil || got > 1 {
		t.Fatalf("%q on %q: %d, %v", pattern, name, got, err)
	}
	return got == 1
}

// TestComm compares the test that programs make of names with that of patterns in user space.
func TestComm(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"nginx", "nginx", true}, {"nginx", "nginx2", false}, {"nginx", "ngin", false}, {"ng*", "nginx", true},
		{"*", "", true}, {"*", "any", true}, {"?", "", false}, {"?*", "a", true}, {"*x", "nginx", true},
		{"*x", "nginy", false}, {"n*i*x", "nginx", true}, {"*aab*", "aaab", true}, {"??", "a", false},
		{"fifteen-letters", "fifteen-letters", true}, {"fifteen-letters-and-more", "fifteen-letters", true},
		{"*letters", "fifteen-letters", true}, {"\xff*", "\xff\xfe", true}, {"*\x80", "a\x80", true},
	} {
		if got := matchComm(t, test.pattern, test.name); got != test.want {
			t.Errorf("%q on %q: %v", test.pattern, test.name, got)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	made := func(letters string, most int) string {
		text := make([]byte, random.IntN(most+1))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		return string(text)
	}
	matches := 0
	for range 3000 {
		pattern, name := "a"+made("aab?*", 7), "a"+made("ab", 8)
		want := Glob(pattern, name)
		if got := matchComm(t, pattern, name); got != want {
			t.Errorf("%q on %q: %v", pattern, name, got)
		}
		if want {
			matches++
		}
	}
	if matches < 100 {
		t.Errorf("only %d of the made-up names match", matches)
	}
	for _, pattern := range []string{"", "a\x00b", "sixteen-letters?*"} {
		if _, err := ParseComm(pattern); err == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}
