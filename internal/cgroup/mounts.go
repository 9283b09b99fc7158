// Package cgroup finds control groups by what people call them: hierarchies by where they are
// mounted, containers by their names.
package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/order"
)

// Unified is the name of the version 2 hierarchy.
const Unified = "unified"

// A Mount is a mounted hierarchy of control groups.
type Mount struct {
	Name string // Unified for version 2, else that of its mount point
	Root string // the directory
}

// Mounts are the hierarchies that this process sees, version 2 first and the others in the order
// of their names.
func Mounts() ([]Mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

// parseMounts finds the hierarchies in the text of mountinfo.
func parseMounts(mountinfo string) []Mount {
	var out []Mount
	for line := range strings.SplitSeq(mountinfo, "\n") {
		// 35 24 0:29 / /sys/fs/cgroup rw,… shared:9 - cgroup2 cgroup2 rw
		const fixed = 6 // fields in front of the optional ones, which end at "-"
		fields := strings.Fields(line)
		if len(fields) < fixed {
			continue
		}
		end := slices.Index(fields[fixed:], "-") + fixed
		if end < fixed || end+1 == len(fields) {
			continue
		}
		// Blanks of paths are octal there.
		m := Mount{Root: machine.UnescapeMount(fields[4])}
		switch fields[end+1] {
		case "cgroup2":
			m.Name = Unified
		case "cgroup":
			m.Name = filepath.Base(m.Root)
		default:
			continue
		}
		// A hierarchy can be mounted again, as containers do; the first place is where the system
		// has it.
		if !slices.ContainsFunc(out, func(o Mount) bool { return o.Name == m.Name }) {
			out = append(out, m)
		}
	}
	order.Stably(out, func(a, b Mount) int {
		if av, bv := a.Name == Unified, b.Name == Unified; av != bv {
			if av {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
