// Package outfile writes the files that a command line names: those of -o, which keep what
// they hold until there is something else, and those that are replaced whole.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hawktrace/hawk/internal/errno"
)

// A File is the file of -o. It is opened early, so that a wrong name shows
// at once, and keeps what it holds until there is something to replace it.
type File struct {
	*os.File
}

// Open makes or opens the file of -o.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("Failed to open output file: %q: %s", name, errno.Reason(err))
	}
	return &File{f}, nil
}

// Empty cuts the file to nothing. Pipes and devices have nothing to cut.
func (f *File) Empty() error {
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() {
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

// Done closes the file; what the system could not write it may say only then.
func (f *File) Done() error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("cannot write output file %q: %s", f.Name(), errno.Reason(err))
	}
	return nil
}

// Replace writes a file so that it is either the old or the new one, and keeps the old
// one's permissions.
func Replace(name string, write func(io.Writer) error) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := os.FileMode(0o644)
	st, err := os.Stat(name)
	if err == nil {
		if !st.Mode().IsRegular() { // a pipe or terminal cannot be replaced
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, mode)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
		mode = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".hawk-new-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
