// Package outfile writes the files that a command line names: those of -o, which keep what
// they hold until there is something else, and those that are replaced whole.
package outfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
)

// A File is written bit by bit. It is opened early, so that a wrong name shows at once, and keeps what it holds until
// there is something to replace it.
type File struct {
	*os.File
	made bool // by Open
	own  bool // is the output of this process: what else is written there stays
}

// Dash names standard output where a file could be named, as it does for other programs.
const Dash = "-"

// Open makes or opens a file. A pipe has an end for writing alone, so that one that nobody reads any more is an error
// and not full for ever.
func Open(name string) (*File, error) {
	if f := standard(name); f != nil {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		return &File{File: os.NewFile(uintptr(fd), name), own: true}, err
	}
	const flags = os.O_WRONLY | os.O_CREATE
	f, err := os.OpenFile(name, flags|os.O_EXCL, 0o666)
	made := err == nil
	if !made {
		f, err = os.OpenFile(name, flags, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("Failed to open output file: %q: %s", name, errno.Reason(err))
	}
	return &File{File: f, made: made}, nil
}

// Empty cuts the file to nothing. Pipes and devices have nothing to cut.
func (f *File) Empty() error {
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && !f.own {
		err = f.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("Failed to open output file: %q: %s", f.Name(), errno.Reason(err))
	}
	return nil
}

// End has what is written follow what the file holds. Pipes have no place to go to.
func (f *File) End() error {
	f.Seek(0, io.SeekEnd)
	return nil
}

// Drop closes a file that nothing was written to. One that was not there before goes.
func (f *File) Drop() {
	if f.made {
		os.Remove(f.Name())
	}
	f.Close()
}

// Done closes the file; what the system could not write it may say only then.
func (f *File) Done() error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("cannot write output file %q: %s", f.Name(), errno.Reason(err))
	}
	return nil
}

// Check says why a file cannot be written with Replace. It makes a file beside, as that does: who may write somewhere
// need not have room or leave to make files there.
func Check(name string) error {
	if standard(name) != nil {
		return nil
	}
	st, err := os.Stat(name)
	switch {
	case err == nil && st.IsDir():
		return unix.EISDIR
	case err == nil && !st.Mode().IsRegular(): // to open a pipe would wait for who reads it
		return unix.Access(name, unix.W_OK)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	tmp, err := beside(target(name))
	if err != nil {
		return Cause(err)
	}
	return Cause(cmp.Or(tmp.Close(), os.Remove(tmp.Name())))
}

// target is the file that a name leads to.
func target(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// Standard reports whether a file is an output of this process.
func Standard(name string) bool { return standard(name) != nil }

// standard is the output of this process that a file is, which a dash means and /dev/stdout leads to; nil if it is
// none. What else is written there stays: it is neither cut nor replaced.
func standard(name string) *os.File {
	if name == Dash {
		return os.Stdout
	}
	st, err := os.Stat(name)
	if err != nil {
		return nil
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if own, err := f.Stat(); err == nil && os.SameFile(own, st) {
			return f
		}
	}
	return nil
}

// Cause is what the system said, without the file: writing goes to another one than was named, which becomes the named
// one in the end.
func Cause(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// beside makes a file in the directory of another one.
func beside(name string) (*os.File, error) { return os.CreateTemp(filepath.Dir(name), ".hawk-new-") }

// Mode is what new files get of some permissions: what the process masks is not among them. Who sets the mask would
// change it for all threads; so it is read.
func Mode(of os.FileMode) os.FileMode {
	const most = 0o077 // where nobody knows
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "\nUmask:\t")
	word, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(word, 8, 32)
	if err != nil {
		mask = most
	}
	return of &^ os.FileMode(mask)
}

// Replace writes a file so that it is either the old or the new one, and keeps the old
// one's permissions. Errors of the system do not name a file.
func Replace(name string, write func(io.Writer) error) error { return Cause(replace(name, write)) }

func replace(name string, write func(io.Writer) error) error {
	if f := standard(name); f != nil {
		return write(f)
	}
	name = target(name)
	mode := Mode(0o666)
	st, err := os.Stat(name)
	if err == nil {
		if !st.Mode().IsRegular() { // a pipe or terminal cannot be replaced
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, mode)
			if err != nil {
				return err
			}
			return cmp.Or(write(f), f.Close())
		}
		mode = st.Mode().Perm()
	}
	tmp, err := beside(name)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = cmp.Or(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
