//go:build linux && (amd64 || arm64)

package usdt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A directory is one that may hold the file.
type directory struct {
	path string
	make bool // if there is none
}

// directories lists where the file may be, in the order in which it is tried.
func directories(o *LoadOptions) []directory {
	var dirs []directory
	if o.Dir != "" {
		dirs = append(dirs, directory{path: o.Dir})
	}
	if dir := os.Getenv("USDT_DIR"); dir != "" {
		dirs = append(dirs, directory{path: dir})
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		dirs = append(dirs, directory{filepath.Join(dir, "usdt"), true})
	}
	return append(dirs, directory{filepath.Join(os.TempDir(), "usdt-"+strconv.Itoa(os.Geteuid())), true})
}

var (
	errForeign  = errors.New("belongs to another user")
	errWritable = errors.New("others can write to it")
	errContent  = errors.New("has another content")
	errGone     = errors.New("was removed at this moment")
)

// own reports why something is not of this user alone.
func own(f *os.File, typ uint32) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&syscall.S_IFMT != typ:
		return errors.New("is of another type")
	case int(st.Uid) != os.Geteuid():
		return errForeign
	case st.Mode&0o022 != 0:
		return errWritable
	case st.Nlink == 0:
		return errGone
	}
	return nil
}

// open opens something below a directory, or anywhere, but no link.
func open(dir *os.File, name string, flags int, mode uint32) (*os.File, error) {
	at, path := -100, name // AT_FDCWD
	if dir != nil {
		at, path = int(dir.Fd()), filepath.Join(dir.Name(), name)
	}
	for {
		fd, err := syscall.Openat(at, name, flags|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if err != syscall.EINTR {
			return nil, err
		}
	}
}

// open opens the directory and makes sure that nobody else can put files there.
// All that follows goes by this descriptor.
func (d directory) open() (*os.File, error) {
	path, err := filepath.Abs(d.path)
	if err != nil {
		return nil, err
	}
	if d.make {
		os.Mkdir(path, 0o755) // else opening fails
	}
	dir, err := open(nil, path, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := own(dir, syscall.S_IFDIR); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// store returns the file, which it makes if it is not there. The file has the lock that
// says that it is in use.
func (d directory) store(im *image) (*os.File, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for range 10 {
		f, err := find(dir, im)
		if errors.Is(err, syscall.ENOENT) {
			if err := create(dir, im); err != nil {
				return nil, err
			}
			f, err = find(dir, im)
		}
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errGone) && !errors.Is(err, syscall.ENOENT) {
			return nil, err
		}
	}
	return nil, errGone
}

// find opens a file that is there and checks that it is the right one.
func find(dir *os.File, im *image) (*os.File, error) {
	// Nothing but a regular file is waited for or changed by this.
	f, err := open(dir, im.name(), syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := check(f, im); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", im.name(), err)
	}
	return f, nil
}

// check reports whether a file that is there has the right owner, kind and bytes.
func check(f *os.File, im *image) error {
	if err := own(f, syscall.S_IFREG); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(len(im.bytes))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(content, im.bytes) {
		return errContent
	}
	// Where locks are not to be had, nobody removes files either. A lock by another process is one
	// that removes the file.
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK {
		runtime.Gosched()
		return errGone
	}
	now := time.Now().UnixMicro()
	tv := syscall.Timeval{Sec: now / 1e6, Usec: now % 1e6}
	syscall.Futimes(int(f.Fd()), []syscall.Timeval{tv, tv}) // in vain on a file system that is read-only
	return own(f, syscall.S_IFREG)
}

// create makes the file under another name first. So nobody ever sees a part of it.
func create(dir *os.File, im *image) error {
	tmp := fmt.Sprintf(".%s.%d.%d", im.name(), os.Getpid(), time.Now().UnixNano())
	f, err := open(dir, tmp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(im.bytes)
	if err == nil {
		err = f.Chmod(0o555)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = syscall.Renameat(int(dir.Fd()), tmp, int(dir.Fd()), im.name())
	}
	if err != nil {
		unlink(dir, tmp)
	}
	return err
}

func unlink(dir *os.File, name string) (done bool) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return false
	}
	_, _, e := syscall.Syscall(syscall.SYS_UNLINKAT, dir.Fd(), uintptr(unsafe.Pointer(p)), 0)
	return e == 0
}

// unusedFor is after what time a file that nobody has mapped is removed.
const unusedFor = 24 * time.Hour

// Tidy removes the files that ended processes of this user have left. It returns their
// paths. These are files that nobody has mapped and that are older than a day, in the directories
// that Load makes. Load tidies the directory that it uses. Files in [LoadOptions].Dir and
// $USDT_DIR stay.
func Tidy() (removed []string, err error) {
	for _, dir := range directories(&LoadOptions{}) {
		paths, failed := dir.tidy("")
		removed = append(removed, paths...)
		if !errors.Is(failed, syscall.ENOENT) {
			err = errors.Join(err, failed)
		}
	}
	return removed, err
}

// tidyOnce tidies a directory that this process has not tidied within the hour. A process may load
// thousands of providers, whose files are all in it.
func (d directory) tidyOnce(keep string) {
	registry.Lock()
	due := time.Since(registry.tidied[d.path]) > time.Hour
	if due {
		if registry.tidied == nil {
			registry.tidied = map[string]time.Time{}
		}
		registry.tidied[d.path] = time.Now()
	}
	registry.Unlock()
	if due {
		d.tidy(keep)
	}
}

// tidy removes files that nobody uses from a directory of our own making.
func (d directory) tidy(keep string) (removed []string, err error) {
	if !d.make {
		return nil, nil
	}
	d.make = false
	dir, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if name != keep && isOurs(name) && removeUnused(dir, name) {
			removed = append(removed, filepath.Join(dir.Name(), name))
		}
	}
	return removed, err
}

// isOurs reports whether a file has a name that create gives it. One that is being made
// has another.
func isOurs(name string) bool {
	name, made := strings.CutPrefix(name, ".")
	base, rest, ok := strings.Cut(name, ".so")
	if !ok || made != (rest != "") {
		return false
	}
	at := strings.LastIndexByte(base, '-')
	return at > 0 && len(base)-at-1 == 12 && strings.Trim(base[at+1:], "0123456789abcdef") == ""
}

// removeUnused removes a file that is old and locked by no process. A process that has
// mapped it holds a lock.
func removeUnused(dir *os.File, name string) (removed bool) {
	f, err := open(dir, name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < unusedFor {
		return false
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && unlink(dir, name)
}

// memoryFile makes a file that is in memory only. Newer kernels want to be told
// that it is to be executed, older ones do not know how.
func memoryFile(im *image) (*os.File, error) {
	const closeOnExec, executable = 1, 0x10
	name := "usdt:" + im.provider
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, err
	}
	fd, _, e := syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(p)), closeOnExec|executable, 0)
	if e == syscall.EINVAL {
		fd, _, e = syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(p)), closeOnExec, 0)
	}
	if e != 0 {
		return nil, fmt.Errorf("memfd_create: %w", e)
	}
	f := os.NewFile(fd, name)
	if _, err := f.Write(im.bytes); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
