package expand

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A trust says whose files are imported: hawk mostly runs as root, and whoever
// can change a file, or a directory above it, says what root traces.
type trust map[uint32]bool // by user

// trusted are root, who calls, the caller behind that, and who owns the script, which
// runs anyway.
func trusted(script string, caller uint32) trust {
	t := trust{0: true, uint32(os.Geteuid()): true, caller: true}
	var st unix.Stat_t
	if unix.Stat(script, &st) == nil {
		t[st.Uid] = true
	}
	return t
}

// open opens a file or directory, if nobody else can change it or put another in
// its place. From the root on each step is opened, looked at, and begun from. The
// file is nil if why says what is wrong with it.
// Looking at the path first and opening it afterwards would leave time to put another file
// there.
func (t trust) open(path string) (f fs.File, why string, err error) {
	real, err := t.real(path)
	if err != nil {
		return nil, "", err
	}
	steps := strings.Split(strings.Trim(real, "/"), "/")
	at := unix.AT_FDCWD
	for i := -1; i < len(steps); i++ {
		name, below := "/", "/"
		if i >= 0 {
			name, below = steps[i], "/"+strings.Join(steps[:i+1], "/")
		}
		flags := unix.O_PATH
		if i == len(steps)-1 {
			flags = unix.O_RDONLY | unix.O_NONBLOCK // of a pipe nobody waits for the other end
		}
		fd, err := unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at != unix.AT_FDCWD {
			unix.Close(at)
		}
		if err != nil {
			return nil, "", &os.PathError{Op: "open", Path: below, Err: err}
		}
		at = fd
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
			return nil, "", &os.PathError{Op: "stat", Path: below, Err: err}
		}
		if why := t.doubt(&st, i >= len(steps)-2); why != "" {
			unix.Close(fd)
			if i == len(steps)-1 {
				below = path
			}
			return nil, below + " " + why, nil
		}
	}
	return os.NewFile(uintptr(at), real), "", nil
}

// doubt says why a file or directory is not to be trusted. In a directory like
// /tmp nobody can replace what belongs to others, but new names can be anybody's:
// so it may be above, not the place itself.
func (t trust) doubt(st *unix.Stat_t, near bool) string {
	if !t[st.Uid] {
		return fmt.Sprintf("belongs to user %d", st.Uid)
	}
	if !near && st.Mode&unix.S_ISVTX != 0 {
		return ""
	}
	switch {
	case st.Mode&0o002 != 0:
		return "is writable by others"
	case st.Mode&0o020 != 0 && st.Gid != 0 && st.Gid != st.Uid: // a user's own group has the user's number
		return "is writable by group " + strconv.FormatUint(uint64(st.Gid), 10)
	}
	return ""
}

// doubts says why a path is not to be trusted, "" if it is.
func (t trust) doubts(path string) string {
	f, why, err := t.open(path)
	switch {
	case err != nil:
		return err.Error()
	case why != "":
		return why
	}
	f.Close()
	return ""
}
