package machine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// CgroupID is the number of a control group by its directory in the version 2
// hierarchy, as the kernel's helpers know it.
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
	if fs.Type != unix.CGROUP2_SUPER_MAGIC || handle.Size() != 8 {
		return 0, fmt.Errorf("no directory of a control group of version 2")
	}
	return binary.NativeEndian.Uint64(handle.Bytes()), nil
}
