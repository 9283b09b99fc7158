package session

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/cgroup"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/probe"
)

// A hierarchy is a mounted tree of control groups.
type hierarchy struct {
	cgroup.Mount
	paths map[uint64]string    // by the number of the directory, as last seen
	gone  map[uint64]time.Time // numbers that no directory had, and when that was
}

// cgroups are the hierarchies, once somebody asked for one.
type cgroups struct {
	known       bool
	hierarchies []*hierarchy
}

// CgroupPaths names a control group in the hierarchies whose name matches a
// pattern, "" if it is in none.
func (s *session) CgroupPaths(id uint64, pattern string) string {
	if !s.cgroups.known {
		s.cgroups.known = true
		mounts, err := cgroup.Mounts()
		if err != nil {
			s.Errorf("cannot find control groups: %s", errno.Message(err))
		}
		for _, m := range mounts {
			s.hierarchies = append(s.hierarchies, &hierarchy{Mount: m})
		}
	}
	var out []string
	for _, h := range s.hierarchies {
		if !probe.Glob(pattern, h.Name) {
			continue
		}
		if path, ok := h.path(id); ok {
			out = append(out, h.Name+":"+path)
		}
	}
	return strings.Join(out, ",")
}

// path finds a group. Numbers are used again: what was found before counts only while the directory
// is still the same.
func (h *hierarchy) path(id uint64) (string, bool) {
	if path, ok := h.paths[id]; ok {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(h.Root, path), &st) == nil && st.Ino == id {
			return path, true
		}
	}
	// A group that has ended has no directory any more, and each look at all of them takes long
	// where there are many. Those of version 2 are in no other hierarchy in any case.
	now := time.Now()
	if at, ok := h.gone[id]; ok && now.Sub(at) < goneFor {
		return "", false
	}
	h.scan()
	path, ok := h.paths[id]
	if !ok {
		if h.gone == nil || len(h.gone) >= maxCgroups {
			h.gone = map[uint64]time.Time{}
		}
		h.gone[id] = now
	}
	return path, ok
}

const (
	maxCgroups = 1 << 17     // directories of a hierarchy that are looked at, and numbers that are remembered
	goneFor    = time.Minute // how long a number is not looked for again
)

// scan numbers all directories of the hierarchy, breadth first, up to maxCgroups of them.
func (h *hierarchy) scan() {
	h.paths = map[uint64]string{}
	queue := []string{"/"}
	for len(queue) > 0 && len(h.paths) < maxCgroups {
		dir := queue[0]
		queue = queue[1:]
		var st unix.Stat_t
		full := filepath.Join(h.Root, dir)
		if unix.Stat(full, &st) != nil {
			continue
		}
		h.paths[st.Ino] = dir
		entries, err := os.ReadDir(full)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() {
				queue = append(queue, filepath.Join(dir, e.Name()))
			}
		}
	}
}
