package deb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnpacked(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if dir, err := CacheDir(); err != nil || dir != filepath.Join(cache, "hawk", "vm") {
		t.Errorf("CacheDir = %s, %v", dir, err)
	}
	suite, err := Open("sid")
	if err != nil {
		t.Fatal(err)
	}
	dir, ok := suite.Unpacked("libc6")
	if ok {
		t.Errorf("an empty cache has %s", dir)
	}
	if other, _ := suite.Unpacked("libc6", "lib"); other == dir {
		t.Error("other dependencies have the same directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A package that is there is taken as it is: nothing is fetched for it.
	if got, err := suite.Unpack("libc6"); err != nil || got != dir {
		t.Errorf("Unpack = %s, %v; want %s", got, err, dir)
	}
}

// TestOptions makes sure that no setting leads to a directory of the system.
func TestOptions(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	suite, err := Open("trixie")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range suite.options() {
		if name, dir, ok := strings.Cut(o, "=/"); ok && !strings.HasPrefix("/"+dir, suite.dir) {
			t.Errorf("%s is %s, outside %s", name, dir, suite.dir)
		}
	}
}
