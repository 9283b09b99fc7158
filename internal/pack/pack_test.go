package pack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPack(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("a tool of hawk\n", 1000)} {
		data, err := Pack([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{"a.z": {Data: data}, "cut.z": {Data: data[:len(data)-1]}}
		if got, err := File(files, "a.z"); err != nil || string(got) != text {
			t.Errorf("%d bytes: %d, %v", len(text), len(got), err)
		}
		if _, err := File(files, "cut.z"); err == nil {
			t.Errorf("%d bytes: the end is not missed", len(text))
		}
	}
	if _, err := File(fstest.MapFS{}, "none.z"); err == nil {
		t.Error("none")
	}
}

func TestDir(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(write bool, want ...string) {
		t.Helper()
		if differ, err := Dir(from, to, write); err != nil || !slices.Equal(differ, want) {
			t.Errorf("%q, %v, want %q", differ, err, want)
		}
	}
	write("a.js", "a")
	write("b.js", "b")
	write("of.md", "says where they are from")
	check(false, "a.js", "b.js")
	check(true)
	check(false)
	write("a.js", "changed")
	check(false, "a.js")
	check(true)
	os.Remove(filepath.Join(from, "b.js"))
	check(false, "b.js.z")
}
