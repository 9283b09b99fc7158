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

// TestCgroupGone looks for a group that has ended once, not each time that it is asked for.
func TestCgroupGone(t *testing.T) {
	h := &hierarchy{Mount: cgroup.Mount{Root: t.TempDir()}}
	const none = 1<<63 + 1
	if _, ok := h.path(none); ok {
		t.Fatal("a number that nothing has is found")
	}
	h.paths = nil // what a look at all would fill
	if _, ok := h.path(none); ok || h.paths != nil {
		t.Errorf("all were looked at again")
	}
	h.gone[none] = h.gone[none].Add(-goneFor)
	if _, ok := h.path(none); ok || h.paths == nil {
		t.Errorf("it is never looked for again")
	}
}
