package probe

import (
	"fmt"
	"slices"
	"testing"
)

// TestDeclared: the type of an argument is its declaration without the name.
func TestDeclared(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"pid_t pid", "pid", "pid_t"},
		{"char prev_comm[16]", "prev_comm", "char[16]"},
		{"__data_loc char[] name", "name", "__data_loc char[]"},
		{"struct file * file", "file", "struct file *"},
		{"const char *const *argv", "argv", "const char *const *"},
		{"int (*done)(struct done *)", "done", "int (*)(struct done *)"},
		{"?", "lost", ""},
	} {
		if d := Declared(c.text, c.name); d.Type != c.want || d.Text != c.text || d.Name != c.name {
			t.Errorf("%s: %q %q", c.text, d.Name, d.Type)
		}
	}
}

// TestListSideBySide: the order is that of the points, and an error ends it.
func TestListSideBySide(t *testing.T) {
	k := &Kind{Name: "k", CanonicalName: func(p *Point) string { return p.Func }}
	k.Describe = func(p *Point, _ *Options) ([]Detail, error) {
		if p.Func == "bad" {
			return nil, fmt.Errorf("%s cannot be described", p.Func)
		}
		return []Detail{Declared("int "+p.Func, p.Func)}, nil
	}
	var points []*Point
	var want, got []string
	for i := range 1000 {
		name := fmt.Sprintf("f%d", i)
		points, want = append(points, &Point{Kind: k, Func: name}), append(want, name+" int "+name)
	}
	emit := func(l Listed) { got = append(got, l.Name+" "+l.Details[0].Text) }
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d points are listed as %d, error %v", len(want), len(got), err)
	}
	points[500] = &Point{Kind: k, Func: "bad"}
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err == nil ||
		err.Error() != "bad cannot be described" {
		t.Errorf("error %v", err)
	}
}
