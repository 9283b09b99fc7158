package session

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/cgroup"
)

func TestCgroupPath(t *testing.T) {
	h := &hierarchy{Mount: cgroup.Mount{Root: t.TempDir()}}
	number := func(name string) uint64 {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(h.Root, name), &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	if err := os.MkdirAll(filepath.Join(h.Root, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner := number("a/b")
	for id, want := range map[uint64]string{number("/"): "/", number("a"): "/a", inner: "/a/b"} {
		if got, ok := h.path(id); got != want || !ok {
			t.Errorf("path(%d) = %q, %v, want %q", id, got, ok, want)
		}
	}
	// The one seen before is gone, the new one is found.
	if err := os.Rename(filepath.Join(h.Root, "a/b"), filepath.Join(h.Root, "c")); err != nil {
		t.Fatal(err)
	}
	if got, ok := h.path(inner); got != "/c" || !ok {
		t.Errorf("path of the moved group = %q, %v", got, ok)
	}
	if err := os.Remove(filepath.Join(h.Root, "c")); err != nil {
		t.Fatal(err)
	}
	if got, ok := h.path(inner); ok {
		t.Errorf("the removed group is at %q", got)
	}
}
