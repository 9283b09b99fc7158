// Package foreign opens files that others made, named or can put something else
// in place of: those that processes have mapped, the debug files that programs
// name, what run times write about their code.
//
// Nothing is opened before it is known to be a regular file: a path is followed
// to a descriptor that only refers to the file (O_PATH), that is looked at, and
// the very file is opened through it. So no device, FIFO or socket is ever
// opened, whose opening may have effects or wait. Paths below the root directory
// of a process do not lead out of there.
package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/proc"
)

// MaxSize bounds the files that are opened: the largest programs with debug
// information have some 16 GB.
const MaxSize = 32 << 30 // bytes

// ErrRefused is wrapped by errors about files that are there, but are not to be
// opened.
var ErrRefused = errors.New("not opened")

// errNoProc is what opening any file comes to where the kernel does not show descriptors.
var errNoProc = errors.New("/proc is not mounted, through which hawk opens files")

// A File is open for reading. Stat is what it was when it was opened.
type File struct {
	*os.File
	Stat unix.Stat_t
}

// Open opens a regular file that the user of hawk names, or that the kernel says
// is mapped.
func Open(path string) (*File, error) { return open(path, func(uint32) bool { return true }) }

// OpenOf opens a regular file that a file or process of another user names. It
// must belong to that user, to root or to who runs hawk: else people could have
// hawk read, and take for their own, files that are none of their business.
func OpenOf(path string, user uint32) (*File, error) {
	return open(path, func(owner uint32) bool {
		return owner == 0 || owner == user || int(owner) == os.Geteuid()
	})
}

// Stat is what Open would find at a path.
func Stat(path string) (st unix.Stat_t, err error) {
	fd, err := refer(path, &st)
	if err == nil {
		unix.Close(fd)
	}
	return st, err
}

// refer is Refer that looks at what is there.
func refer(path string, st *unix.Stat_t) (int, error) {
	fd, err := Refer(path)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Fstat(fd, st); err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return fd, nil
}

// open opens a regular file of an owner who is trusted. It is looked at by a descriptor that only
// refers to it first, since opening a device has effects.
func open(path string, mayOwn func(uint32) bool) (*File, error) {
	f := &File{}
	fd, err := refer(path, &f.Stat)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	switch {
	case f.Stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s is %w: it is no regular file", path, ErrRefused)
	case f.Stat.Size > MaxSize:
		return nil, fmt.Errorf("%s is %w: it has more than %d bytes", path, ErrRefused, int64(MaxSize))
	case !mayOwn(f.Stat.Uid):
		return nil, fmt.Errorf("%s is %w: it belongs to user %d, neither root nor the owner of what names it", path,
			ErrRefused, f.Stat.Uid)
	}
	again, err := retry(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(fd),
			unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOENT { // the descriptor is there, whatever has become of the file
		err = errNoProc
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f.File = os.NewFile(uintptr(again), path)
	return f, nil
}

// Refer returns a descriptor that refers to what is at a path, without opening
// it.
func Refer(path string) (int, error) {
	root, rest, ok := inRoot(path)
	if !ok {
		return retry(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	}
	dir, err := retry(func() (int, error) { return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	fd, err := referIn(dir, rest)
	if err != unix.ENOSYS && err != unix.EPERM {
		return fd, err
	}
	// A kernel or a sandbox without openat2: links are followed one by one, and none
	// at the end.
	return retry(func() (int, error) {
		return unix.Open(proc.Resolve(root, "/"+rest), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
}

// referIn is Refer for a path in the root directory that dir refers to.
func referIn(dir int, path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return retry(func() (int, error) { return unix.Openat2(dir, path, &how) })
}

// resolveCached is RESOLVE_CACHED.
const resolveCached = 0x20

// ReferCached is Refer of a path in the root directory of a process that does
// not wait for any file system: it fails if the kernel does not know the names of
// the path. Kernels before 5.12 may wait.
func ReferCached(path string) (int, error) {
	root, rest, ok := inRoot(path)
	if !ok {
		return -1, unix.EINVAL
	}
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | resolveCached}
	fd, err := unix.Openat2(dir, rest, &how)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EPERM {
		return Refer(path)
	}
	return fd, err
}

// Known is what the kernel knows of a file without asking the file system that
// it is on, which may not answer.
func Known(fd int) (st unix.Stat_t, err error) {
	var x unix.Statx_t
	if err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &x); err != nil {
		return st, err
	}
	st.Dev, st.Ino, st.Mode, st.Uid, st.Size = unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino,
		uint32(x.Mode), x.Uid, int64(x.Size)
	st.Mtim = unix.Timespec{Sec: x.Mtime.Sec, Nsec: int64(x.Mtime.Nsec)}
	return st, nil
}

// inRoot splits a path in the root directory of a process, /proc/PID/root/path.
func inRoot(path string) (root, rest string, ok bool) {
	after, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return "", "", false
	}
	pid, after, _ := strings.Cut(after, "/")
	if pid == "" || strings.Trim(pid, "0123456789") != "" && pid != "self" {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(after, "root/")
	return "/proc/" + pid + "/root", rest, ok
}

// retry repeats a call that a signal interrupted, and one that openat2 gave up
// because names changed meanwhile.
func retry(call func() (int, error)) (fd int, err error) {
	for range 64 {
		if fd, err = call(); err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

// Read reads a file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.All(most)
}

// All reads a whole file of at most so many bytes.
func (f *File) All(most int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(f.Stat.Size, most)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s is %w: it has more than %d bytes", f.Name(), ErrRefused, most)
	}
	return b.Bytes(), err
}
