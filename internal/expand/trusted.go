package expand

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// mostLinks is how many symbolic links are followed, as many as the kernel does.
const mostLinks = 40

// open opens a file or directory, if nobody else can change it or put another in
// its place. From the root on each step is opened, looked at, and begun from, and so
// is where a symbolic link leads: whose it is says which file is imported. The
// file is nil if why says what is wrong with it.
// Looking at the path first and opening it afterwards would leave time to put another file
// there.
func (t trust) open(path string) (f fs.File, why string, err error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	steps := append([]string{"/"}, names(whole)...)
	at, below := unix.AT_FDCWD, ""
	defer func() {
		if f == nil && at != unix.AT_FDCWD {
			unix.Close(at)
		}
	}()
	for links := 0; len(steps) > 0; {
		name := steps[0]
		steps = steps[1:]
		here := filepath.Join(below, name)
		var st unix.Stat_t
		fd, err := step(at, name, len(steps) == 0, &st)
		if err != nil {
			return nil, "", &os.PathError{Op: "open", Path: here, Err: err}
		}
		link := st.Mode&unix.S_IFMT == unix.S_IFLNK
		why := t.doubt(&st, len(steps) <= 1)
		if link {
			why = "" // its mode says nothing
			if !t[st.Uid] {
				why = fmt.Sprintf("belongs to user %d", st.Uid)
			}
		}
		if why != "" {
			unix.Close(fd)
			if len(steps) == 0 && links == 0 {
				here = path
			}
			return nil, here + " " + why, nil
		}
		if !link {
			if at != unix.AT_FDCWD {
				unix.Close(at)
			}
			at, below = fd, here
			continue
		}
		to := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", to)
		unix.Close(fd)
		if links++; err == nil && links > mostLinks {
			err = unix.ELOOP
		}
		if err != nil {
			return nil, "", &os.PathError{Op: "readlink", Path: here, Err: err}
		}
		steps = append(names(string(to[:n])), steps...)
		if filepath.IsAbs(string(to[:n])) {
			steps = append([]string{"/"}, steps...)
		}
	}
	return os.NewFile(uintptr(at), below), "", nil
}

// names are the steps of a path.
func names(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// step opens what a directory has under a name, for reading if it is the last one; a symbolic link itself.
func step(at int, name string, last bool, st *unix.Stat_t) (fd int, err error) {
	flags := unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = -1, unix.ELOOP
	if last {
		// Nobody waits for the other end of a pipe.
		fd, err = unix.Openat(at, name, flags|unix.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	if err == unix.ELOOP {
		fd, err = unix.Openat(at, name, flags|unix.O_PATH, 0)
	}
	if err != nil {
		return -1, err
	}
	if err := unix.Fstat(fd, st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
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
