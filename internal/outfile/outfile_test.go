package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCheck has names that cannot be written say so, and leaves nothing beside those that can.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	fifo, file, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	err := errors.Join(unix.Mkfifo(fifo, 0o600), os.WriteFile(file, nil, 0o600), os.Symlink(file, link))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		filepath.Join(dir, "new"): nil, file: nil, link: nil, fifo: nil, "/dev/null": nil, dir: unix.EISDIR,
		filepath.Join(dir, "nosuch", "new"): unix.ENOENT, filepath.Join(file, "new"): unix.ENOTDIR,
		"/proc/new": unix.ENOENT, filepath.Join(dir, strings.Repeat("x", 300)): unix.ENAMETOOLONG,
	} {
		if err := Check(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if list, err := os.ReadDir(dir); len(list) != 3 {
		t.Errorf("there are %v, %v", list, err)
	}
}

// TestReplaceFails says what the system said, and no name that nobody has given.
func TestReplaceFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, err := range []error{&os.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}, Replace("/dev/full",
		func(w io.Writer) error {
			_, err := w.Write([]byte("x"))
			return err
		})} {
		if got := Replace(file, func(io.Writer) error { return err }); got != unix.ENOSPC {
			t.Errorf("got %v", got)
		}
	}
	if err := Replace(filepath.Join(file, "below"), nil); err != unix.ENOENT {
		t.Errorf("got %v", err)
	}
	if !Standard(Dash) || !Standard("/dev/stdout") || Standard(file) || Check(Dash) != nil {
		t.Error("a dash names standard output")
	}
}

// TestMode has new files be as readable as the process lets them, and others as they were.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chmod(old, 0o640)); err != nil {
		t.Fatal(err)
	}
	defer unix.Umask(unix.Umask(0o027))
	for mask, want := range map[int]os.FileMode{0o022: 0o644, 0o077: 0o600, 0: 0o666} {
		unix.Umask(mask)
		made := filepath.Join(dir, fmt.Sprint(mask))
		for name, want := range map[string]os.FileMode{made: want, old: 0o640} {
			err := Replace(name, func(w io.Writer) error { return nil })
			st, other := os.Stat(name)
			if err := errors.Join(err, other); err != nil {
				t.Fatal(err)
			}
			if st.Mode() != want {
				t.Errorf("mask %#o: %v, want %v", mask, st.Mode(), want)
			}
		}
	}
}

// TestOutput has what is written into the file that is the output of the process follow what is there.
func TestOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	old := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = old }()
	fmt.Fprintln(out, "one")
	if err := Replace(name, func(w io.Writer) error { _, err := fmt.Fprintln(w, "two"); return err }); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Empty(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "three")
	f.Close()
	fmt.Fprintln(out, "four")
	if got, err := os.ReadFile(name); string(got) != "one\ntwo\nthree\nfour\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDrop has files that were opened for nothing be as before.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	old, made := filepath.Join(dir, "old"), filepath.Join(dir, "made")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, made} {
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Drop()
	}
	if got, err := os.ReadFile(old); string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestPipeWithoutReader has a pipe that nobody reads any more be an error, where it would be full for ever.
func TestPipeWithoutReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader.Close()
	if _, err := f.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Errorf("%v", err)
	}
}
