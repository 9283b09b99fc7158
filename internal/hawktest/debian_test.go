package hawktest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLinkLibraries(t *testing.T) {
	root, to := t.TempDir(), filepath.Join(t.TempDir(), "libraries")
	for _, name := range []string{"lib/x86_64-linux-gnu/libz.so.1",
		"usr/lib/x86_64-linux-gnu/libcrypto.so.3", "lib/x86_64-linux-gnu/libc.so.6",
		"lib/x86_64-linux-gnu/libnss_files.so.2"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkLibraries(root, to); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(to)
	if err != nil || len(entries) != 2 || entries[0].Name() != "libcrypto.so.3" || entries[1].Name() != "libz.so.1" {
		t.Errorf("%v, %v; want libcrypto.so.3 and libz.so.1", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "libz.so.1")); err != nil ||
		string(text) != "lib/x86_64-linux-gnu/libz.so.1" {
		t.Errorf("the link leads to %q, %v", text, err)
	}
}
