package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, content := range map[string]string{"a": "1", "sub/b": "2", "test/c": "3", "testing": "4"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := CopyTree(from, to, func(name string) bool { return name == "test" }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "sub/b": "2", "testing": "4", "link": "1"} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "test")); err == nil {
		t.Error("an omitted directory was copied")
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "a" {
		t.Errorf("link leads to %q, %v", target, err)
	}
}
