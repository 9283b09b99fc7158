package spell

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := strings.Fields("vfs_read vfs_write vfs_open printf print pid tid comm curtask nsecs count hist " +
		"lhist BEGIN")
	tests := []struct{ name, want string }{
		{"vfs_raed", "vfs_read"},
		{"vfs_wirte", "vfs_write"},
		{"prinft", "printf"},
		{"pritn", "print"},
		{"prinf", "printf"}, // a letter left out
		{"prind", "print"},
		{"pdi", "pid"},
		{"con", ""}, // a third of three letters is one edit, comm is two away
		{"begin", "BEGIN"},
		{"Count", "count"},
		{"curtsk", "curtask"},
		{"hst", "hist"},
		{"zzzzzz", ""},
		{"q", ""}, // nothing of a one-letter name would be left
		{"", ""},
		{"nsecs", ""}, // the name itself is no suggestion
		{strings.Repeat("x", 500), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.name, names); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNearestPrefersCase(t *testing.T) {
	if got := Nearest("Foo", []string{"foo", "FOO", "Fo"}); got != "foo" {
		t.Errorf("got %q, want the one with fewest letters in the wrong case", got)
	}
}

func TestNearestPrefersLength(t *testing.T) {
	if got := Nearest("prinft", []string{"print", "printf", "sprintf"}); got != "printf" {
		t.Errorf("got %q, want the one with two letters swapped", got)
	}
}

// TestDistance compares the banded computation with the plain recurrence.
func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, rng.IntN(9))
		for i := range b {
			b[i] = "abcA"[rng.IntN(4)]
		}
		return string(b)
	}
	var m matrix
	for range 20000 {
		a, b, limit := word(), word(), 1+rng.IntN(6)
		if abs(len(a)-len(b)) > limit {
			continue // Nearest filters these before
		}
		want := min(plain(strings.ToLower(a), strings.ToLower(b)), limit+1)
		if got := m.distance(a, b, limit); got != want {
			t.Fatalf("distance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
		}
	}
}

func plain(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
		for j := range d[i] {
			switch {
			case i == 0:
				d[i][j] = j
			case j > 0:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}

func BenchmarkNearest(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("%x_function_%d", i*7919, i)
	}
	for b.Loop() {
		Nearest("1e_functoin_77", names)
	}
}
