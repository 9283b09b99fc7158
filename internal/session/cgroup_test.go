package session

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMountedCgroups(t *testing.T) {
	const mountinfo = `25 1 0:23 / / rw - ext4 /dev/vda rw
36 25 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
37 25 0:32 / /sys/fs/cgroup/cpu\040set rw - cgroup cgroup rw,cpuset
35 25 0:30 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
38 25 0:30 / /elsewhere rw - cgroup2 cgroup2 rw
damaged line
`
	want := [][2]string{
		{"unified", "/sys/fs/cgroup/unified"}, {"cpu set", "/sys/fs/cgroup/cpu set"},
		{"memory", "/sys/fs/cgroup/memory"},
	}
	got := mountedCgroups(mountinfo)
	if len(got) != len(want) {
		t.Fatalf("%d hierarchies, want %d", len(got), len(want))
	}
	for i, h := range got {
		if h.name != want[i][0] || h.root != want[i][1] {
			t.Errorf("hierarchy %d is %s at %s, want %v", i, h.name, h.root, want[i])
		}
	}
}

func TestCgroupPath(t *testing.T) {
	h := &hierarchy{root: t.TempDir()}
	number := func(name string) uint64 {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(h.root, name), &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	if err := os.MkdirAll(filepath.Join(h.root, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner := number("a/b")
	for id, want := range map[uint64]string{number("/"): "/", number("a"): "/a", inner: "/a/b"} {
		if got, ok := h.path(id); got != want || !ok {
			t.Errorf("path(%d) = %q, %v, want %q", id, got, ok, want)
		}
	}
	// What was seen before is gone, what is new is found.
	if err := os.Rename(filepath.Join(h.root, "a/b"), filepath.Join(h.root, "c")); err != nil {
		t.Fatal(err)
	}
	if got, ok := h.path(inner); got != "/c" || !ok {
		t.Errorf("path of the moved group = %q, %v", got, ok)
	}
	if err := os.Remove(filepath.Join(h.root, "c")); err != nil {
		t.Fatal(err)
	}
	if got, ok := h.path(inner); ok {
		t.Errorf("the removed group is at %q", got)
	}
}
