package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestResolve(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"bin", "opt/app/v2"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"bin/app": "/etc/app", "etc": "opt/app", "opt/app/app": "v2/app", "out": "../../../../opt",
		"a": "b", "b": "/a", "none": "/nowhere/x",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"/bin/app":      "/opt/app/v2/app",
		"/etc/../bin/x": "/bin/x",
		"/out/app/app":  "/opt/app/v2/app",
		"/none":         "/nowhere/x",
		"/":             "/",
	} {
		if got := Resolve(root, name); got != root+want {
			t.Errorf("%s: %s, want %s", name, got, root+want)
		}
	}
	Resolve(root, "/a/x") // ends
}
