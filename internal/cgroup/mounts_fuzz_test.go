package cgroup

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzMounts reads lists of mounts: a directory that is written as the kernel writes it is found
// under its own name, whatever else is mounted.
func FuzzMounts(f *testing.F) {
	f.Add("35 24 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup")
	f.Add("36 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", "/a b\t\\c#\n")
	f.Add("1 2 3 - \n - cgroup2\n\\04", "/")
	f.Fuzz(func(t *testing.T, text, dir string) {
		for _, h := range parseMounts(text) {
			if h.Name == "" {
				t.Errorf("a hierarchy without a name at %q", h.Root)
			}
		}
		if strings.ContainsAny(dir, "\r\v\f\u0085\u00a0") || strings.ContainsFunc(dir, func(r rune) bool {
			return r > 126
		}) || dir == "" {
			return // separators of fields for Go, not for the kernel
		}
		var escaped strings.Builder
		for _, c := range []byte(dir) {
			if strings.IndexByte(" \t\n\\#", c) >= 0 {
				fmt.Fprintf(&escaped, "\\%03o", c)
			} else {
				escaped.WriteByte(c)
			}
		}
		found := parseMounts("35 24 0:29 / " + escaped.String() + " rw - cgroup2 cgroup2 rw\n" + text)
		if len(found) == 0 || found[0].Root != dir {
			t.Errorf("%q is not found", dir)
		}
	})
}
