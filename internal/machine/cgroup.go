package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CgroupID is the number of a control group by its directory in the version 2 hierarchy, as the
// kernel's helpers know it. The number is in the directory's file handle, which is what the kernel
// itself makes of the group (kernfs).
func (t *Machine) CgroupID(path string) (uint64, error) {
	if !t.Live() {
		return 0, errors.New("control groups are those of the running machine")
	}
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return 0, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, err
	}
	// Other file systems have handles of their own make.
	if fs.Type != unix.CGROUP2_SUPER_MAGIC || handle.Size() != 8 {
		return 0, fmt.Errorf("no directory of a control group of version 2")
	}
	return binary.NativeEndian.Uint64(handle.Bytes()), nil
}

// A ControlGroup is a control group of the version 2 hierarchy.
type ControlGroup struct {
	ID    uint64 // as the kernel's helpers know it
	Level int    // how many are above it; 0: the root
}

// rootCgroup is the number of the hierarchy's root, the first that the kernel gives.
const rootCgroup = 1

// ControlGroup finds a control group by its directory. Programs must be able to ask for what
// is above a task's own.
func (t *Machine) ControlGroup(path string) (ControlGroup, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w", failed.Path, failed.Err)
	}
	if err != nil {
		return ControlGroup{}, err
	}
	id, err := t.CgroupID(path)
	if err != nil {
		return ControlGroup{}, fmt.Errorf("%s: %w", path, err)
	}
	// Helpers ask for the ancestor of a level, which nothing tells but counting.
	level := 0
	for dir, at := path, id; at != rootCgroup; level++ {
		dir = filepath.Dir(dir)
		if at, err = t.CgroupID(dir); err != nil {
			return ControlGroup{}, fmt.Errorf(
				"%s: the root of the hierarchy is not above it: it is hidden by a namespace", path)
		}
	}
	missing := t.Has(AncestorCgroup)
	if _, err := t.Offset("cgroup", AncestorIDs); err == nil {
		missing = nil // programs read it themselves
	}
	return ControlGroup{id, level}, missing
}

// AncestorIDs is the member of struct cgroup with the numbers of all groups above it, by their
// levels, of kernels before 6.0.
const AncestorIDs = "ancestor_ids"
