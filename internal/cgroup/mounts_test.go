package cgroup

import "testing"

func TestMounts(t *testing.T) {
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
	got := parseMounts(mountinfo)
	if len(got) != len(want) {
		t.Fatalf("%d hierarchies, want %d", len(got), len(want))
	}
	for i, h := range got {
		if h.Name != want[i][0] || h.Root != want[i][1] {
			t.Errorf("hierarchy %d is %s at %s, want %v", i, h.Name, h.Root, want[i])
		}
	}
}
